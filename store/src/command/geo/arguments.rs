//! Units, coordinates and sizes among the arguments.

use super::point::Point;
use super::shape::Size;
use crate::command::CommandError;
use crate::resp::{Args, parse_double};

/// Reads a unit. Returns its length in meters.
pub(super) fn unit(arg: &[u8]) -> Result<f64, CommandError> {
    match arg.to_ascii_lowercase().as_slice() {
        b"m" => Ok(1.0),
        b"km" => Ok(1000.0),
        b"ft" => Ok(0.3048),
        b"mi" => Ok(1609.34),
        _ => Err(CommandError::fixed("ERR unsupported unit provided. please use M, KM, FT, MI")),
    }
}

/// Reads the coordinates that begin at an argument.
pub(super) fn point(args: Args<'_>, at: usize) -> Result<Point, CommandError> {
    let number = |at| parse_double(args.at(at)).ok_or(CommandError::NOT_A_FLOAT);
    let point = Point { longitude: number(at)?, latitude: number(at + 1)? };
    if point.is_valid() {
        return Ok(point);
    }
    let Point { longitude, latitude } = point;
    Err(CommandError::new(format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}")))
}

/// Reads a radius and its unit. Returns the size, and the unit in meters.
pub(super) fn radius(args: Args<'_>, at: usize) -> Result<(Size, f64), CommandError> {
    let radius = parse_double(args.at(at)).ok_or(CommandError::fixed("ERR need numeric radius"))?;
    if radius < 0.0 {
        return Err(CommandError::fixed("ERR radius cannot be negative"));
    }
    let unit = unit(args.at(at + 1))?;
    Ok((Size::Radius(radius * unit), unit))
}

/// Reads width and height of a box and their unit. Returns the size, and the unit in meters.
pub(super) fn sides(args: Args<'_>, at: usize) -> Result<(Size, f64), CommandError> {
    let width = parse_double(args.at(at)).ok_or(CommandError::fixed("ERR need numeric width"))?;
    let height = parse_double(args.at(at + 1)).ok_or(CommandError::fixed("ERR need numeric height"))?;
    if width < 0.0 || height < 0.0 {
        return Err(CommandError::fixed("ERR height or width cannot be negative"));
    }
    let unit = unit(args.at(at + 2))?;
    Ok((Size::Sides { width: width * unit, height: height * unit }, unit))
}
