//! What one text must know of those before, so that a scraper sees the same series each time.

use std::collections::{HashMap, HashSet};
use xtasking::metrics::{Inspection, TaskKind};

/// The series of one runtime.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// The names of tasks that are labels: the first that were seen.
    names: HashSet<String>,
    /// The greatest value of each series that counts.
    greatest: HashMap<String, f64>,
}

impl Series {
    /// Returns the value of a series that counts: the greatest so far.
    ///
    /// The runtime measures the length of its clock's ticks as it goes on. So a time that stands
    /// still in ticks may shrink by nanoseconds, which a scraper would take for a restart.
    pub fn raised(&mut self, series: &str, value: f64) -> f64 {
        if let Some(greatest) = self.greatest.get_mut(series) {
            *greatest = value.max(*greatest);
            return *greatest;
        }
        self.greatest.insert(series.to_owned(), value);
        value
    }

    /// Returns the kinds of tasks, bounded for all workers together. A name that is a label remains
    /// one, and one that came too late is never one.
    pub fn kinds(&mut self, kinds: &[TaskKind]) -> Vec<TaskKind> {
        let mut kept = Vec::new();
        let mut others = TaskKind::default();
        others.name = Inspection::OTHER_KINDS.to_owned();
        for kind in kinds {
            let is_label = self.names.contains(&kind.name)
                || kind.name != Inspection::OTHER_KINDS
                    && self.names.len() < Inspection::MAX_KINDS
                    && self.names.insert(kind.name.clone());
            if is_label {
                kept.push(kind.clone());
            } else {
                merge(&mut others, kind);
            }
        }
        kept.push(others);
        kept
    }
}

/// Counts the tasks of a kind as those of another.
fn merge(all: &mut TaskKind, kind: &TaskKind) {
    all.finished += kind.finished;
    all.runs += kind.runs;
    all.panics += kind.panics;
    all.waiting.merge(&kind.waiting);
    all.running.merge(&kind.running);
}
