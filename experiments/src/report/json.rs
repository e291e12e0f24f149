//! The report as one JSON object.

use super::{Parameters, Report};
use serde::{Serialize, Serializer};

/// Renders the report, for programs and, indented, for people.
pub(super) fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report has string keys and finite numbers");
    text.push('\n');
    text
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Pairs as a map.
pub(super) fn as_map<S: Serializer>(pairs: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}
