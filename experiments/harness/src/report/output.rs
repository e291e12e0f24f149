//! Writes a report to files.

use super::results::Report;
use super::{file, json, plot};
use crate::failure::Failure;
use std::path::Path;

/// Writes a report as JSON and as a figure, each if there is a path for it.
///
/// # Errors
///
/// If a file cannot be written, or the figure cannot be drawn.
pub fn write(report: &Report, json: Option<&Path>, plot: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = json {
        file::write(path, json::render(report).as_bytes())?;
    }
    if let Some(path) = plot {
        let figure = plot::render(report);
        let figure = figure.map_err(|error| Failure::Output(format!("cannot draw the figure: {error}")))?;
        file::write(path, figure.as_bytes())?;
    }
    Ok(())
}
