//! Counts of what one task has done.

use crate::server::{CommandCounts, KeyCounts, Statistics};
use smallvec::SmallVec;

/// Counts by name. A pipeline mostly has few commands, and the same several times.
#[derive(Debug, Default)]
pub(super) struct Calls {
    by_name: SmallVec<[(&'static str, CommandCounts); 4]>,
    keys: KeyCounts,
    changes: u64,
}

impl Calls {
    /// Counts a call.
    #[inline]
    pub(super) fn add(&mut self, command: &'static str, has_failed: bool) {
        let known = self.by_name.iter_mut().rev().find(|(name, _)| std::ptr::eq(*name, command));
        let counts = CommandCounts { calls: 1, failed: u64::from(has_failed), ..CommandCounts::default() };
        match known {
            Some((_, sum)) => *sum += counts,
            None => self.by_name.push((command, counts)),
        }
    }

    /// Counts a lookup.
    pub(super) fn add_lookup(&mut self, is_hit: bool) {
        self.keys.hits += u64::from(is_hit);
        self.keys.misses += u64::from(!is_hit);
    }

    /// Counts what happened to keys.
    pub(super) fn add_keys(&mut self, counts: KeyCounts) {
        self.keys.hits += counts.hits;
        self.keys.misses += counts.misses;
        self.keys.expired += counts.expired;
    }

    /// Counts changes of keys.
    pub(super) fn add_changes(&mut self, changes: u64) {
        self.changes += changes;
    }

    /// Adds the counts to the server's.
    pub(super) fn flush(&mut self, statistics: &Statistics, session: u64) {
        for (command, counts) in self.by_name.drain(..) {
            statistics.count(session, command, counts);
        }
        statistics.count_keys(session, std::mem::take(&mut self.keys));
        statistics.count_changes(std::mem::take(&mut self.changes));
    }
}
