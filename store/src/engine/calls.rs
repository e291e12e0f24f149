//! Counts of the commands that one task has run.

use crate::server::{CommandCounts, Statistics};
use smallvec::SmallVec;

/// Counts by name. A pipeline mostly has few commands, and the same several times.
#[derive(Debug, Default)]
pub(super) struct Calls(SmallVec<[(&'static str, CommandCounts); 4]>);

impl Calls {
    /// Counts a call.
    pub(super) fn add(&mut self, command: &'static str, has_failed: bool) {
        let is_last = self.0.last().is_some_and(|(last, _)| std::ptr::eq(*last, command));
        if !is_last {
            self.0.push((command, CommandCounts::default()));
        }
        if let Some((_, counts)) = self.0.last_mut() {
            counts.calls += 1;
            counts.failed += u64::from(has_failed);
        }
    }

    /// Adds the counts to the server's.
    pub(super) fn flush(&mut self, statistics: &Statistics, session: u64) {
        for (command, counts) in self.0.drain(..) {
            statistics.count(session, command, counts);
        }
    }
}
