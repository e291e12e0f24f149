//! The report as a drawing: a panel for every number of workers (and unit, if there are several), in it a group of bars for
//! every case, one bar for every implementation, and the spread of its repetitions as a thin line. Below them is how much each
//! worker had to do, if that was seen.

mod loads;
mod scale;

use super::{Measurement, Report, table};
use loads::Loads;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scale::{Scale, tick};
use std::error::Error;

/// Colours that people who see few of them can tell apart (Okabe and Ito), the strongest contrast first.
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
const INK: RGBColor = RGBColor(40, 40, 40);
const FONT: &str = "sans-serif";

const TITLE_HEIGHT: u32 = 86;
const PANEL_HEIGHT: u32 = 280;
/// How much of a group's width its bars take.
const FILLING: f64 = 0.84;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Outcome = Result<(), Box<dyn Error>>;

/// What is drawn, each in the order in which it comes.
#[derive(Default)]
struct Axes<'a> {
    panels: Vec<(usize, &'a str)>,
    cases: Vec<&'a str>,
    implementations: Vec<&'a str>,
}

impl<'a> Axes<'a> {
    fn of(report: &'a Report) -> Self {
        let mut axes = Self::default();
        for result in &report.results {
            add(&mut axes.panels, (result.workers, result.unit));
            add(&mut axes.cases, &result.case);
            add(&mut axes.implementations, &result.implementation);
        }
        axes
    }

    fn size(&self) -> (u32, u32) {
        // Bars wide enough to read the number above each.
        let bars = (self.cases.len() * (self.implementations.len() + 1)) as u32;
        let width = (bars * 36 + 120).clamp(640, 4000);
        (width, TITLE_HEIGHT + PANEL_HEIGHT * self.panels.len().max(1) as u32)
    }

    /// From where to where the bar of a measurement goes, in groups, and its colour.
    fn bar(&self, result: &Measurement) -> (f64, f64, RGBColor) {
        let group = place(&self.cases, &result.case) as f64;
        let implementation = place(&self.implementations, &result.implementation);
        let width = FILLING / self.implementations.len() as f64;
        let from = group + (1.0 - FILLING) / 2.0 + width * implementation as f64;
        (from + width * 0.04, from + width * 0.96, colour(implementation))
    }
}

/// Adds an item to a list unless it is there already.
fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The place of an item in its list.
fn place(list: &[&str], item: &str) -> usize {
    list.iter().position(|other| *other == item).expect("the axes have been gathered from all results")
}

fn colour(implementation: usize) -> RGBColor {
    COLOURS[implementation % COLOURS.len()]
}

/// Draws the report.
pub(super) fn render(report: &Report) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let axes = Axes::of(report);
        let loads = Loads::of(report, &axes.implementations);
        let (size, below) = (axes.size(), loads.size());
        let whole = (size.0.max(below.0), size.1 + below.1);
        let root = SVGBackend::with_string(&mut svg, whole).into_drawing_area();
        root.fill(&WHITE)?;
        let (top, bottom) = root.split_vertically(TITLE_HEIGHT);
        let (bars, bottom) = bottom.split_vertically(size.1 - TITLE_HEIGHT);
        title(&top, report, &axes)?;
        loads.draw(&bottom)?;
        for (area, &of) in bars.split_evenly((axes.panels.len().max(1), 1)).iter().zip(&axes.panels) {
            panel(area, report, &axes, of)?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Text of a size in pixels; plotters writes a 1.24th of the size that it is given.
fn style(size: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    (FONT, f64::from(size) * 1.24).into_font().color(&INK).pos(Pos::new(horizontal, vertical))
}

/// The title, the machine and the legend, one below the other.
fn title(area: &Area, report: &Report, axes: &Axes) -> Outcome {
    let text = |size| style(size, HPos::Left, VPos::Center);
    area.draw(&Text::new(format!("xtasking {}", report.experiment), (20, 20), text(20)))?;
    let machine = format!("{}, {} cores", report.machine.cpu, report.machine.cores);
    area.draw(&Text::new(machine, (20, 43), text(12)))?;
    let mut x = 20;
    for (index, name) in axes.implementations.iter().enumerate() {
        area.draw(&Rectangle::new([(x, 61), (x + 12, 73)], colour(index).filled()))?;
        area.draw(&Text::new(name.to_string(), (x + 18, 67), text(13)))?;
        // The width of a letter can only be guessed without the fonts of whoever will look at the drawing.
        x += 40 + 8 * name.chars().count() as i32;
    }
    Ok(())
}

/// The bars of one number of workers and one unit.
fn panel(area: &Area, report: &Report, axes: &Axes, (workers, unit): (usize, &str)) -> Outcome {
    let results = || report.results.iter().filter(|result| (result.workers, result.unit) == (workers, unit));
    let scale = Scale::of(results().flat_map(|result| [result.summary.median, result.summary.max]));
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
        chart.draw_series([Rectangle::new([(from, 0.0), (to, summary.median)], colour.filled())])?;
        let spread = vec![(middle, summary.min), (middle, summary.max)];
        chart.draw_series([PathElement::new(spread, INK.stroke_width(1))])?;
        let number = Text::new(table::number(summary.median), (0, -3), above.clone());
        chart.draw_series([EmptyElement::at((middle, summary.max)) + number])?;
    }
    // The names stand below the axis, where the coordinates of the chart do not reach.
    let (left, upper) = area.get_base_pixel();
    let below = style(13, HPos::Center, VPos::Top);
    for (group, case) in axes.cases.iter().enumerate() {
        let (x, y) = chart.plotting_area().map_coordinate(&(group as f64 + 0.5, 0.0));
        area.draw(&Text::new(case.to_string(), (x - left, y - upper + 9), below.clone()))?;
    }
    let noun = if workers == 1 { "worker" } else { "workers" };
    area.draw(&Text::new(format!("{workers} {noun}"), (20, 14), style(14, HPos::Left, VPos::Center)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::report::Parameters;

    fn report(results: &[(&str, usize, &str, f64)]) -> Report {
        let results = results.iter().map(|&(case, workers, implementation, median)| {
            let numbers = vec![median * 0.95, median, median * 1.02];
            Measurement::new(case, implementation, workers, "Mops/s", numbers)
        });
        Report {
            experiment: "ycsb",
            machine: Machine::detect(),
            parameters: Parameters::default(),
            results: results.collect(),
        }
    }

    #[test]
    fn every_bar_and_label_is_there() {
        let report = report(&[
            ("insert", 1, "one", 1.25),
            ("insert", 1, "two <&>", 2.5),
            ("insert", 2, "one", 130.0),
            ("C", 1, "one", 0.0),
        ]);
        let svg = render(&report).unwrap();
        // Every text stands on a line of its own.
        for text in
            ["insert", "C", "1 worker", "2 workers", "1.25", "130", "two &lt;&amp;&gt;", "Mops/s", "0.5"]
        {
            assert!(svg.lines().any(|line| line == text), "{text} is not in {svg}");
        }
        // The background, two entries of the legend and four bars.
        assert_eq!(svg.matches("<rect").count(), 1 + 2 + 4);
    }

    #[test]
    fn nothing_can_be_drawn_too() {
        assert!(render(&report(&[])).unwrap().ends_with("</svg>\n"));
    }

    #[test]
    fn the_load_of_each_worker_is_there() {
        let mut report = report(&[("fib", 3, "one", 2.0), ("fib", 3, "two", 0.0), ("C", 3, "one", 0.5)]);
        report.results[0].busy = vec![9_000, 0, 0];
        report.results[1].busy = vec![40, 41, 39];
        let svg = render(&report).unwrap();
        assert!(svg.lines().any(|line| line == "fib, 3 workers"), "{svg}");
        // Nothing is known of the other case.
        assert!(svg.lines().all(|line| line != "C, 3 workers"), "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 2);
    }
}
