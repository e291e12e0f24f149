//! What was seen of tasks besides how many there were in a second.

use super::ground::Seen;
use crate::report::Measurement;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use std::collections::BTreeMap;

/// A case, a number of workers, and who it was.
type Key = (String, usize, &'static str);

/// What was seen in one turn.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub seen: Seen,
    /// How many of a hundred pairs of tasks meet, and how many others are taken to, if that is known.
    pub meetings: (f64, Option<f64>),
}

/// All of it, of the last turn that was watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    all: BTreeMap<Key, Watched>,
    /// In the order in which they came first.
    order: Vec<Key>,
}

impl Figures {
    pub fn add(&mut self, key: Key, watched: Watched) {
        if self.all.insert(key.clone(), watched).is_none() {
            self.order.push(key);
        }
    }

    pub fn has(&self, key: &Key) -> bool {
        self.all.contains_key(key)
    }

    /// The measurements with what was seen.
    pub fn added_to(&self, mut results: Vec<Measurement>) -> Vec<Measurement> {
        for result in &mut results {
            let is_its = |(case, workers, name): &&Key| {
                (case, *workers, *name) == (&result.case, result.workers, &result.implementation)
            };
            let Some(Watched { seen, meetings }) = self.order.iter().find(is_its).map(|key| &self.all[key])
            else {
                continue;
            };
            let [median, most] = seen.latency.map(|time| time as f64 / 1e3);
            result.details = vec![
                ("p50_us", median),
                ("p99_us", most),
                ("load_max_to_mean", 1.0 + seen.spread.imbalance),
                ("blocked_percent", 100.0 * seen.spread.blocked),
                ("pairs_that_meet_percent", meetings.0),
            ];
            result
                .details
                .extend(meetings.1.map(|needless| ("pairs_that_meet_needlessly_percent", needless)));
            result.busy = seen.busy.clone();
        }
        results
    }

    /// For people.
    pub fn table(&self, is_virtual: bool) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
        let blocked = if is_virtual { "waited in tasks" } else { "at work besides" };
        table.set_header([
            "case",
            "workers",
            "implementation",
            "p50 µs",
            "p99 µs",
            "load max/mean",
            blocked,
            "meet",
            "needlessly",
        ]);
        for column in 3..9 {
            table.column_mut(column).expect("nine columns").set_cell_alignment(CellAlignment::Right);
        }
        let mut previous = None;
        for key in &self.order {
            let ((case, workers, name), Watched { seen, meetings }) = (key, &self.all[key]);
            let is_same = previous.replace((case, workers)) == Some((case, workers));
            let [median, most] = seen.latency.map(|time| format!("{:.1}", time as f64 / 1e3));
            table.add_row([
                if is_same { String::new() } else { case.clone() },
                if is_same { String::new() } else { workers.to_string() },
                (*name).to_string(),
                median,
                most,
                format!("{:.2}", 1.0 + seen.spread.imbalance),
                format!("{:.0}%", 100.0 * seen.spread.blocked),
                format!("{:.2}%", meetings.0),
                meetings.1.map_or_else(|| "–".to_string(), |needless| format!("{needless:.2}%")),
            ]);
        }
        let how = if is_virtual {
            "waited in tasks: of the time of all workers"
        } else {
            "at work besides: of the time of all workers, with claims, at locks, and between tasks; seen in turns of their own"
        };
        format!(
            "{table}\nµs: from the spawn of a task to its end; {how}; meet: of all pairs of tasks, and besides by what is claimed"
        )
    }
}
