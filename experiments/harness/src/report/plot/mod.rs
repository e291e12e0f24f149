//! The report as a figure: a panel for every number of workers, and for every unit.
//!
//! A panel has a group for every case, with a bar for every implementation. A thin line shows the
//! range of the repetitions. Below the panels follow the loads of the workers, if they were
//! measured.
//!
//! | module | what it holds |
//! |---|---|
//! | `axes` | the layout: panels, groups and colours |
//! | `panel` | the bars or dots of one panel |
//! | `loads` | the loads of the workers |
//! | `scale` | linear and logarithmic axes |
//! | `canvas` | drawing area, ink and text style |
//! | `text` | title, legend and explanations |

mod axes;
mod canvas;
mod loads;
mod panel;
mod scale;
mod text;

use super::results::Report;
use axes::{Axes, scale_of};
use loads::Loads;
use plotters::prelude::*;
use std::error::Error;
use text::{Foot, Head};

/// Draws the figure as SVG.
pub(super) fn render(report: &Report) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let axes = Axes::of(report);
        let loads = Loads::of(report, &axes.implementations);
        let (size, below) = (axes.size(), loads.size());
        let width = size.0.max(below.0);
        let scales: Vec<_> = axes.panels.iter().map(|&(_, unit)| scale_of(report, unit)).collect();
        let (head, foot) = (Head::of(report, &axes, width), Foot::of(report, &axes, &scales, width));
        let total_size = (width, head.height() + size.1 + below.1 + foot.height());
        let root = SVGBackend::with_string(&mut svg, total_size).into_drawing_area();
        root.fill(&WHITE)?;
        let (top, rest) = root.split_vertically(head.height());
        let (bars, rest) = rest.split_vertically(size.1);
        let (bottom, last) = rest.split_vertically(below.1);
        head.draw(&top)?;
        let areas = bars.split_evenly((axes.panels.len().max(1), 1));
        for ((area, &of), &scale) in areas.iter().zip(&axes.panels).zip(&scales) {
            panel::draw(area, report, &axes, of, scale)?;
        }
        loads.draw(&bottom)?;
        foot.draw(&last)?;
        root.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::report::{Measurement, Parameters};

    fn report(results: &[(&str, usize, &str, f64)]) -> Report {
        let results = results.iter().map(|&(case, workers, implementation, median)| {
            let numbers = vec![median * 0.95, median, median * 1.02];
            Measurement::new(case, implementation, workers, "Mops/s", numbers)
        });
        Report {
            experiment: "ycsb",
            title: "Every bar is there.",
            columns: &[],
            legend: vec![("one".to_string(), "the first".to_string())],
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
        // The SVG has every text on a line of its own.
        for text in
            ["insert", "C", "1 worker", "2 workers", "1.25", "130", "two &lt;&amp;&gt;", "Mops/s", "10"]
        {
            assert!(svg.lines().any(|line| line == text), "{text} is not in {svg}");
        }
        assert!(svg.lines().any(|line| line == "Every bar is there."), "{svg}");
        assert!(svg.lines().any(|line| line == "one: the first."), "{svg}");
        // The maximum is more than 100 times the minimum: dots, on the same logarithmic axis in
        // both panels.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.lines().filter(|line| *line == "100").count(), 2);
        // The background, and two entries of the legend.
        assert_eq!(svg.matches("<rect").count(), 1 + 2);
    }

    #[test]
    fn numbers_of_one_magnitude_are_bars_on_one_scale() {
        let svg = render(&report(&[("C", 1, "one", 1.0), ("C", 2, "one", 9.0)])).unwrap();
        assert_eq!((svg.matches("<circle").count(), svg.matches("<rect").count()), (0, 1 + 1 + 2));
        assert_eq!(svg.lines().filter(|line| *line == "8").count(), 2, "{svg}");
    }

    #[test]
    fn an_empty_report_can_be_drawn() {
        assert!(render(&report(&[])).unwrap().ends_with("</svg>\n"));
    }

    #[test]
    fn the_load_of_each_worker_is_there() {
        let mut report = report(&[("fib", 3, "one", 2.0), ("fib", 3, "two", 0.0), ("C", 3, "one", 0.5)]);
        report.results[0].busy = vec![9_000, 0, 0];
        report.results[1].busy = vec![40, 41, 39];
        let svg = render(&report).unwrap();
        assert!(svg.lines().any(|line| line == "fib, 3 workers"), "{svg}");
        // The other case has no loads.
        assert!(svg.lines().all(|line| line != "C, 3 workers"), "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 2);
    }
}
