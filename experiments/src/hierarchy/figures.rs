//! Collects latency, load and conflict figures of the turns, and prints them as a table.

use super::testbed::RunStatistics;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use std::collections::BTreeMap;
use xtasking_harness::report::Measurement;

/// The case, the number of workers, and the name of the implementation.
type Key = (String, usize, &'static str);

/// The figures of one turn.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub statistics: RunStatistics,
    /// Percentage of task pairs that conflict, and with a false conflict, where known.
    pub conflicts: (f64, Option<f64>),
}

/// The figures of the last recorded turn of each key.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    all: BTreeMap<Key, Observation>,
    /// The keys in order of first appearance.
    order: Vec<Key>,
}

impl Figures {
    pub fn add(&mut self, key: Key, observation: Observation) {
        if self.all.insert(key.clone(), observation).is_none() {
            self.order.push(key);
        }
    }

    pub fn has(&self, key: &Key) -> bool {
        self.all.contains_key(key)
    }

    /// Returns `results` with the figures added to each measurement.
    pub fn added_to(&self, mut results: Vec<Measurement>) -> Vec<Measurement> {
        for result in &mut results {
            let is_its = |(case, workers, name): &&Key| {
                (case, *workers, *name) == (&result.case, result.workers, &result.implementation)
            };
            let Some(Observation { statistics, conflicts }) =
                self.order.iter().find(is_its).map(|key| &self.all[key])
            else {
                continue;
            };
            let [median, p99] = statistics.latency.map(|time| time as f64 / 1e3);
            result.details = vec![
                ("p50_us", median),
                ("p99_us", p99),
                ("load_max_to_mean", 1.0 + statistics.spread.imbalance),
                ("blocked_percent", 100.0 * statistics.spread.blocked),
                ("pairs_that_meet_percent", conflicts.0),
            ];
            result
                .details
                .extend(conflicts.1.map(|false_rate| ("pairs_that_meet_needlessly_percent", false_rate)));
            result.details.extend(statistics.least_load.map(|least| ("least_load_max_to_mean", least)));
            result.busy = statistics.busy.clone();
        }
        results
    }

    /// Formats the figures as a table for a terminal.
    pub fn table(&self, is_virtual: bool) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
        let blocked = if is_virtual { "waited in tasks" } else { "busy outside bodies" };
        table.set_header([
            "case",
            "workers",
            "implementation",
            "p50 µs",
            "p99 µs",
            "load max/mean",
            "at least",
            blocked,
            "conflicts",
            "false conflicts",
        ]);
        for column in 3..10 {
            table.column_mut(column).expect("ten columns").set_cell_alignment(CellAlignment::Right);
        }
        let unknown = || "–".to_string();
        let mut previous = None;
        for key in &self.order {
            let ((case, workers, name), Observation { statistics, conflicts }) = (key, &self.all[key]);
            let is_same = previous.replace((case, workers)) == Some((case, workers));
            let [median, p99] = statistics.latency.map(|time| format!("{:.1}", time as f64 / 1e3));
            table.add_row([
                if is_same { String::new() } else { case.clone() },
                if is_same { String::new() } else { workers.to_string() },
                (*name).to_string(),
                median,
                p99,
                format!("{:.2}", 1.0 + statistics.spread.imbalance),
                statistics.least_load.map_or_else(unknown, |least| format!("{least:.2}")),
                format!("{:.0}%", 100.0 * statistics.spread.blocked),
                format!("{:.2}%", conflicts.0),
                conflicts.1.map_or_else(unknown, |false_rate| format!("{false_rate:.2}%")),
            ]);
        }
        let how = if is_virtual {
            "waited in tasks: share of the time of all workers"
        } else {
            "busy outside bodies: share of the time of all workers spent on claims, locks and scheduling; \
                recorded in turns of their own"
        };
        format!(
            "{table}\nµs: from the spawn of a task to its end; at least: the load of the most even \
                assignment of these tasks, or less; {how}; conflicts: share of all pairs of tasks, \
                and of pairs that conflict only because of the resolution of claims"
        )
    }
}
