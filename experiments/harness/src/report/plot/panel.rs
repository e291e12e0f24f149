//! A panel: the measurements of one number of workers and one unit.

use super::axes::Axes;
use super::canvas::{Area, DrawResult, INK, style};
use super::scale::{Scale, tick};
use crate::plural::counted;
use crate::report::results::Report;
use crate::report::table;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Draws a bar for each measurement, or a dot if the axis is logarithmic, where the length of a bar
/// means nothing.
pub(super) fn draw(
    area: &Area,
    report: &Report,
    axes: &Axes,
    (workers, unit): (usize, &str),
    scale: Scale,
) -> DrawResult {
    let results = || report.results.iter().filter(|result| (result.workers, result.unit) == (workers, unit));
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_top(30)
        .margin_right(20)
        .x_label_area_size(28)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..axes.cases.len() as f64, scale)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_labels(6)
        .y_label_formatter(&tick)
        .y_desc(unit)
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.6))
        .label_style(style(12, HPos::Left, VPos::Top))
        .axis_desc_style(style(13, HPos::Left, VPos::Top))
        .draw()?;
    let above = style(11, HPos::Center, VPos::Bottom);
    for result in results() {
        let (from, to, colour) = axes.bar(result);
        let (middle, summary) = ((from + to) / 2.0, &result.summary);
        if scale.is_logarithmic() {
            chart.draw_series([Circle::new((middle, summary.median), 5, colour.filled())])?;
        } else {
            chart.draw_series([Rectangle::new([(from, 0.0), (to, summary.median)], colour.filled())])?;
        }
        let spread = vec![(middle, summary.min), (middle, summary.max)];
        chart.draw_series([PathElement::new(spread, INK.stroke_width(1))])?;
        let gap = if scale.is_logarithmic() { -8 } else { -3 };
        let number = Text::new(table::number(summary.median), (0, gap), above.clone());
        chart.draw_series([EmptyElement::at((middle, summary.max)) + number])?;
    }
    // The case names go below the axis, outside the coordinates of the chart.
    let (left, upper) = area.get_base_pixel();
    let below = style(13, HPos::Center, VPos::Top);
    for (group, case) in axes.cases.iter().enumerate() {
        let (x, y) = chart.plotting_area().map_coordinate(&(group as f64 + 0.5, 0.0));
        area.draw(&Text::new(case.to_string(), (x - left, y - upper + 9), below.clone()))?;
    }
    area.draw(&Text::new(counted(workers, "worker"), (20, 14), style(14, HPos::Left, VPos::Center)))?;
    Ok(())
}
