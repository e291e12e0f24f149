//! The layout of a figure: panels, groups of cases, and a colour for each implementation.

use super::scale::Scale;
use crate::report::results::{Measurement, Report};
use plotters::prelude::RGBColor;

/// Colours that remain distinguishable with colour blindness (Okabe and Ito), strongest contrast
/// first.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(240, 228, 66),
    RGBColor(120, 120, 120),
];
/// The height of a panel in pixels.
pub(super) const PANEL_HEIGHT: u32 = 280;
/// The fraction of a group's width that its bars fill.
const BAR_FILL: f64 = 0.84;

/// The panels, cases and implementations of a figure, each in the order of the results.
#[derive(Default)]
pub(super) struct Axes<'a> {
    pub panels: Vec<(usize, &'a str)>,
    pub cases: Vec<&'a str>,
    pub implementations: Vec<&'a str>,
}

impl<'a> Axes<'a> {
    /// Collects them from all results.
    pub fn of(report: &'a Report) -> Self {
        let mut axes = Self::default();
        for result in &report.results {
            add(&mut axes.panels, (result.workers, result.unit));
            add(&mut axes.cases, &result.case);
            add(&mut axes.implementations, &result.implementation);
        }
        axes
    }

    /// Returns the width and the total height of all panels, in pixels.
    pub fn size(&self) -> (u32, u32) {
        // Wide enough for the number above each bar.
        let bars = (self.cases.len() * (self.implementations.len() + 1)) as u32;
        let width = (bars * 36 + 120).clamp(640, 4000);
        (width, PANEL_HEIGHT * self.panels.len().max(1) as u32)
    }

    /// Returns the left and right end of a measurement's bar, in units of groups, and its colour.
    pub fn bar(&self, result: &Measurement) -> (f64, f64, RGBColor) {
        let group = position(&self.cases, &result.case) as f64;
        let implementation = position(&self.implementations, &result.implementation);
        let width = BAR_FILL / self.implementations.len() as f64;
        let from = group + (1.0 - BAR_FILL) / 2.0 + width * implementation as f64;
        (from + width * 0.04, from + width * 0.96, colour(implementation))
    }
}

/// Returns the scale of a unit. All panels with this unit share it, so that their heights can be
/// compared.
pub(super) fn scale_of(report: &Report, unit: &str) -> Scale {
    let results = report.results.iter().filter(|result| result.unit == unit);
    Scale::of(results.flat_map(|result| [result.summary.median, result.summary.max]))
}

/// Adds an item to a list unless it is there already.
fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// Returns the position of an item in its list.
fn position(list: &[&str], item: &str) -> usize {
    list.iter().position(|other| *other == item).expect("the axes contain every result")
}

/// Returns the colour of an implementation, given by its position in the legend.
pub(super) fn colour(implementation: usize) -> RGBColor {
    COLOURS[implementation % COLOURS.len()]
}
