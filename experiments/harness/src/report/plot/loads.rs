//! The load of each worker: a row for every case and number of workers, a column for every
//! implementation.

use super::axes::colour;
use super::canvas::{Area, DrawResult, INK, style};
use super::scale::{Scale, tick};
use crate::report::results::{Measurement, Report};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

const HEAD_HEIGHT: u32 = 54;
const ROW_HEIGHT: u32 = 118;
const LABELS_WIDTH: i32 = 62;
const MARGIN: i32 = 20;
/// The smallest multiple of the mean that determines the scale; a smaller load is drawn at the
/// axis.
const MIN_VISIBLE_SHARE: f64 = 0.02;

/// The loads to draw.
pub(super) struct Loads<'a> {
    /// The measurements with loads, grouped by case and number of workers.
    rows: Vec<Vec<&'a Measurement>>,
    /// The implementations with loads, each with its index in the legend.
    implementations: Vec<(usize, &'a str)>,
}

impl<'a> Loads<'a> {
    pub fn of(report: &'a Report, legend: &[&'a str]) -> Self {
        let mut rows: Vec<Vec<&Measurement>> = Vec::new();
        for result in report.results.iter().filter(|result| !result.busy.is_empty()) {
            let is_here = |row: &&mut Vec<&Measurement>| {
                (&row[0].case, row[0].workers) == (&result.case, result.workers)
            };
            match rows.iter_mut().find(is_here) {
                Some(row) => row.push(result),
                None => rows.push(vec![result]),
            }
        }
        let is_known = |name: &str| rows.iter().flatten().any(|result| result.implementation == name);
        let all = legend.iter().copied().enumerate();
        let implementations = all.filter(|(_, name)| is_known(name)).collect();
        Self { rows, implementations }
    }

    /// Returns the minimum width and the height, in pixels.
    pub fn size(&self) -> (u32, u32) {
        if self.rows.is_empty() {
            return (0, 0);
        }
        (960, HEAD_HEIGHT + ROW_HEIGHT * self.rows.len() as u32 + MARGIN as u32)
    }

    pub fn draw(&self, area: &Area) -> DrawResult {
        if self.rows.is_empty() {
            return Ok(());
        }
        let text = "Load of each worker, in the order of workers, as a multiple of the mean load";
        area.draw(&Text::new(text, (MARGIN, 16), style(14, HPos::Left, VPos::Center)))?;
        let width = area.dim_in_pixel().0 as i32 - LABELS_WIDTH - MARGIN;
        let column = |index: usize| LABELS_WIDTH + width * index as i32 / self.implementations.len() as i32;
        for (index, &(legend_index, name)) in self.implementations.iter().enumerate() {
            let left = column(index) + 5;
            area.draw(&Rectangle::new([(left, 36), (left + 10, 46)], colour(legend_index).filled()))?;
            area.draw(&Text::new(name.to_string(), (left + 15, 41), style(12, HPos::Left, VPos::Center)))?;
        }
        // All rows share one scale, so that they can be compared.
        let all = self.rows.iter().flatten().flat_map(|result| shares(&result.busy));
        let scale = Scale::of(all.filter(|&share| share >= MIN_VISIBLE_SHARE));
        for (index, row) in self.rows.iter().enumerate() {
            let upper = (HEAD_HEIGHT + ROW_HEIGHT * index as u32) as i32;
            let caption = format!("{}, {} workers", row[0].case, row[0].workers);
            let (x, y) = (column(0) + 5, upper + 12);
            area.draw(&Text::new(caption, (x, y), style(12, HPos::Left, VPos::Center)))?;
            for (index, &(legend_index, name)) in self.implementations.iter().enumerate() {
                // The first panel of a row has the labels at its left.
                let left = if index == 0 { 0 } else { column(index) };
                let panel = area
                    .clone()
                    .shrink((left, upper + 18), (column(index + 1) - left, ROW_HEIGHT as i32 - 18));
                let result = row.iter().find(|result| result.implementation == name);
                let busy = result.map_or(&[][..], |result| &result.busy);
                draw_panel(&panel, busy, scale, colour(legend_index), column(0) - left)?;
            }
        }
        Ok(())
    }
}

/// Returns each worker's load as a multiple of the mean.
fn shares(busy: &[u64]) -> impl Iterator<Item = f64> + Clone {
    let mean = busy.iter().sum::<u64>() as f64 / busy.len() as f64;
    busy.iter().map(move |&busy| if mean > 0.0 { busy as f64 / mean } else { 0.0 })
}

fn draw_panel(area: &Area, busy: &[u64], scale: Scale, colour: RGBColor, labels_width: i32) -> DrawResult {
    let workers = busy.len().max(1) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(5)
        .y_label_area_size(labels_width)
        .build_cartesian_2d(0.0..workers, scale)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_labels(5)
        .y_label_formatter(&|number| if labels_width > 0 { tick(number) } else { String::new() })
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.6))
        .label_style(style(11, HPos::Left, VPos::Top))
        .draw()?;
    // A step for each worker, closed along the axis.
    let steps = shares(busy).enumerate().flat_map(|(worker, share)| {
        let from = worker as f64;
        [(from, share), (from + 1.0, share)]
    });
    let outline: Vec<_> = steps.chain([(workers, 0.0), (0.0, 0.0)]).collect();
    if scale.is_logarithmic() {
        // On a logarithmic axis the size of a filled area means nothing.
        chart.draw_series([PathElement::new(outline, colour.stroke_width(2))])?;
    } else {
        chart.draw_series([Polygon::new(outline.clone(), colour.filled())])?;
        // A single step among many is too narrow to be visible without an outline.
        chart.draw_series([PathElement::new(outline, colour.stroke_width(1))])?;
    }
    chart.draw_series([PathElement::new([(0.0, 0.0), (workers, 0.0)], INK.mix(0.6).stroke_width(1))])?;
    chart.draw_series([PathElement::new([(0.0, 1.0), (workers, 1.0)], INK.stroke_width(1))])?;
    Ok(())
}
