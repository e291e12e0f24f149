//! The report as a table for the terminal.

use super::results::Report;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// Renders the results, one line for every measurement. There is a column of speed-ups if any
/// measurement has one, and one for each of the report's [columns](Report::columns).
pub fn render(report: &Report) -> String {
    let Some(first) = report.results.first() else { return "no results".to_string() };
    let has_units = report.results.iter().any(|result| result.unit != first.unit);
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    let has_speed_ups = report.results.iter().any(|result| result.speed_up.is_some());
    let mut header = vec![
        "case".to_string(),
        "workers".to_string(),
        "implementation".to_string(),
        if has_units { "median" } else { first.unit }.to_string(),
        "min – max".to_string(),
        format!("vs {}", first.implementation),
    ];
    if has_speed_ups {
        header.push("speed-up".to_string());
    }
    header.extend(report.columns.iter().map(ToString::to_string));
    let columns = header.len();
    table.set_header(header);
    for column in [1].into_iter().chain(3..columns) {
        table.column_mut(column).expect("a column of the header").set_cell_alignment(CellAlignment::Right);
    }
    let mut previous = None;
    for result in &report.results {
        // Case and workers are printed only where they change.
        let group = (&result.case, result.workers);
        let unit = if has_units { format!(" {}", result.unit) } else { String::new() };
        let (case, workers) = match previous.replace(group) == Some(group) {
            true => (String::new(), String::new()),
            false => (result.case.clone(), result.workers.to_string()),
        };
        let summary = &result.summary;
        let mut row = vec![
            case,
            workers,
            result.implementation.clone(),
            number(summary.median) + &unit,
            format!("{} – {}", number(summary.min), number(summary.max)),
            report.ratio(result).map_or_else(|| "–".to_string(), |ratio| format!("{ratio:.2}×")),
        ];
        if has_speed_ups {
            row.push(result.speed_up.map_or_else(|| "–".to_string(), number));
        }
        row.extend(report.columns.iter().map(|column| {
            let detail = result.details.iter().find(|(name, _)| name == column);
            detail.map_or_else(|| "–".to_string(), |&(_, detail)| number(detail))
        }));
        table.add_row(row);
    }
    table.to_string()
}

/// Formats a number with two or three significant digits, down to 0.0001.
pub(super) fn number(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{number:.2}"),
        size if size >= 0.01 => format!("{number:.3}"),
        _ => format!("{number:.4}"),
    }
}
