//! The report as a JSON object.

use super::results::Report;

/// Renders the report as indented JSON.
pub(super) fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report has string keys and finite numbers");
    text.push('\n');
    text
}
