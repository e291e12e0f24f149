//! Drawing area, ink and text style, shared by all parts of a figure.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
const FONT: &str = "sans-serif";

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type DrawResult = Result<(), Box<dyn Error>>;

/// Returns a text style with a size in pixels. The factor undoes that plotters divides the size by
/// 1.24.
pub(super) fn style(size: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    (FONT, f64::from(size) * 1.24).into_font().color(&INK).pos(Pos::new(horizontal, vertical))
}
