//! The text format of OpenMetrics 1.0.

use super::Series;
use std::fmt::Write;
use std::time::Duration;
use xtasking::metrics::Histogram;

/// The type of the content, with its version.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The limits of buckets: 1 and 3 of each power of ten, from 100 ns to 10 s, in nanoseconds.
const LIMITS: [u64; 17] = [
    100,
    300,
    1_000,
    3_000,
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
    300_000_000,
    1_000_000_000,
    3_000_000_000,
    10_000_000_000,
];

/// A text in the making.
#[derive(Debug)]
pub(super) struct Exposition<'a> {
    text: String,
    series: &'a mut Series,
}

/// What is said of a family of metrics before its samples.
pub(super) struct Family<'a> {
    name: &'a str,
    kind: &'static str,
    unit: &'static str,
    help: &'a str,
    /// Whether its samples may not fall while one runtime is shown.
    only_rises: bool,
}

impl<'a> Family<'a> {
    fn new(kind: &'static str, name: &'a str, unit: &'static str, help: &'a str) -> Self {
        Self { name, kind, unit, help, only_rises: false }
    }

    pub fn gauge(name: &'a str, unit: &'static str, help: &'a str) -> Self {
        Self::new("gauge", name, unit, help)
    }

    /// Its samples have the suffix `_total`.
    pub fn counter(name: &'a str, unit: &'static str, help: &'a str) -> Self {
        Self { only_rises: true, ..Self::new("counter", name, unit, help) }
    }

    /// A counter that may begin anew at zero, as scrapers notice.
    pub fn restarting_counter(name: &'a str, help: &'a str) -> Self {
        Self::new("counter", name, "", help)
    }

    pub fn histogram(name: &'a str, unit: &'static str, help: &'a str) -> Self {
        Self { only_rises: true, ..Self::new("histogram", name, unit, help) }
    }

    /// Its samples have a label of its own name, and are 1 or 0.
    pub fn state_set(name: &'a str, help: &'a str) -> Self {
        Self::new("stateset", name, "", help)
    }
}

impl<'a> Exposition<'a> {
    pub fn new(series: &'a mut Series) -> Self {
        Self { text: String::new(), series }
    }

    /// Begins a family. Its samples must follow before the next one begins.
    pub fn family<'s>(&'s mut self, family: Family<'s>) -> Samples<'s> {
        let Family { name, kind, unit, help, only_rises } = family;
        debug_assert!(unit.is_empty() || name.ends_with(unit), "the name ends with its unit");
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {}", escaped(help));
        Samples { text: &mut self.text, name, series: only_rises.then_some(&mut *self.series) }
    }

    /// Returns the text, with its end.
    pub fn end(mut self) -> String {
        self.text += "# EOF\n";
        self.text
    }
}

/// The samples of one family.
pub(super) struct Samples<'a> {
    text: &'a mut String,
    name: &'a str,
    /// If the family's samples never fall.
    series: Option<&'a mut Series>,
}

impl Samples<'_> {
    /// Writes a sample.
    pub fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: f64) {
        let mut series = format!("{}{suffix}", self.name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(series, "{before}{label}=\"{}\"", escaped(value));
        }
        series += if labels.is_empty() { "" } else { "}" };
        let value = self.series.as_mut().map_or(value, |all| all.raised(&series, value));
        let _ = writeln!(self.text, "{series} {value}");
    }

    /// Writes a histogram of durations. Its sum is as exact as the buckets of the runtime, to 3%.
    pub fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) {
        let mut buckets = histogram.buckets.iter().peekable();
        let mut count = 0;
        for limit in LIMITS {
            while let Some(bucket) = buckets.next_if(|bucket| bucket.up_to <= Duration::from_nanos(limit)) {
                count += bucket.count;
            }
            let limit = format!("{:?}", Duration::from_nanos(limit).as_secs_f64());
            self.bucket(labels, &limit, count);
        }
        self.bucket(labels, "+Inf", histogram.count());
        self.sample("_count", labels, histogram.count() as f64);
        self.sample("_sum", labels, histogram.sum() as f64 / 1e9);
    }

    fn bucket(&mut self, labels: &[(&str, &str)], limit: &str, count: u64) {
        let labels: Vec<_> = labels.iter().copied().chain([("le", limit)]).collect();
        self.sample("_bucket", &labels, count as f64);
    }
}

/// Returns a text as it stands in a label or a help.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
