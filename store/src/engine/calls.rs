//! Counts of what one task has done.

use crate::server::{CommandCounts, KeyCounts, Statistics, Times};
use smallvec::SmallVec;

/// Counts by name. A pipeline mostly has few commands, and the same several times.
#[derive(Debug, Default)]
pub(super) struct Calls {
    by_name: SmallVec<[Tally; 4]>,
    /// The index of the last one that was counted, or another one.
    last: usize,
    times: SmallVec<[Times; 4]>,
    keys: KeyCounts,
    changes: u64,
}

/// The counts of a command.
#[derive(Debug)]
struct Tally {
    name: &'static str,
    counts: CommandCounts,
    /// The calls whose time is known.
    measured: u64,
}

impl Tally {
    fn unmeasured(&self) -> u64 {
        self.counts.calls - self.measured
    }
}

impl Calls {
    #[inline(never)]
    fn tally(&mut self, command: &'static str) -> &mut Tally {
        let known = self.by_name.iter().rposition(|tally| std::ptr::eq(tally.name, command));
        let at = known.unwrap_or_else(|| {
            self.by_name.push(Tally { name: command, counts: CommandCounts::default(), measured: 0 });
            self.by_name.len() - 1
        });
        self.last = at;
        &mut self.by_name[at]
    }

    /// Counts a call.
    #[inline]
    pub(super) fn add(&mut self, command: &'static str, has_failed: bool) {
        let is_same = self.by_name.get(self.last).is_some_and(|tally| std::ptr::eq(tally.name, command));
        let tally = if is_same { &mut self.by_name[self.last] } else { self.tally(command) };
        tally.counts.calls += 1;
        tally.counts.failed += u64::from(has_failed);
    }

    /// Adds the time of a call that was counted before.
    pub(super) fn add_time(&mut self, command: &'static str, nanoseconds: u64) {
        self.tally(command).counts.nanoseconds += nanoseconds;
        self.times.push(Times { command, calls: 1, nanoseconds });
    }

    /// Says how long the calls took in all whose time is not known: each the same share. Returns
    /// it.
    pub(super) fn measure(&mut self, nanoseconds: u64) -> u64 {
        let calls: u64 = self.by_name.iter().map(Tally::unmeasured).sum();
        let share = nanoseconds.checked_div(calls).unwrap_or(0);
        for tally in &mut self.by_name {
            let calls = tally.unmeasured();
            if calls > 0 {
                tally.measured += calls;
                tally.counts.nanoseconds += share * calls;
                self.times.push(Times { command: tally.name, calls, nanoseconds: share });
            }
        }
        share
    }

    /// Says how long the last call took, which has not ended yet.
    pub(super) fn measure_begun(&mut self, nanoseconds: u64) {
        if let Some(tally) = self.by_name.iter_mut().rev().find(|tally| tally.unmeasured() > 0) {
            tally.measured += 1;
            tally.counts.nanoseconds += nanoseconds;
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

    /// Adds the counts to the server's, and the times if `keeps_times`.
    pub(super) fn flush(&mut self, statistics: &Statistics, worker: usize, keeps_times: bool) {
        if !self.by_name.is_empty() {
            let counts = self.by_name.drain(..).map(|tally| (tally.name, tally.counts));
            statistics.count_all(worker, counts, if keeps_times { &self.times } else { &[] });
            self.times.clear();
        }
        statistics.count_keys(worker, std::mem::take(&mut self.keys));
        statistics.count_changes(worker, std::mem::take(&mut self.changes));
    }
}

#[cfg(test)]
mod tests {
    use super::Calls;

    #[test]
    fn a_time_is_shared_by_the_calls_that_it_was_measured_for() {
        let mut calls = Calls::default();
        let (get, set) = ("get", "set");
        [get, get, set].iter().for_each(|name| calls.add(name, false));
        assert_eq!(calls.measure(3000), 1000);
        calls.add(set, false);
        assert_eq!(calls.measure(50), 50);
        assert_eq!(calls.measure(70), 0, "nothing is left to measure");
        calls.add(get, false);
        calls.measure_begun(10);
        calls.add_time(get, 5);
        let shown: Vec<_> = calls.times.iter().map(|t| (t.command, t.calls, t.nanoseconds)).collect();
        assert_eq!(shown, [(get, 2, 1000), (set, 1, 1000), (set, 1, 50), (get, 1, 5)]);
        let spent: Vec<_> = calls.by_name.iter().map(|tally| tally.counts.nanoseconds).collect();
        assert_eq!(spent, [2015, 1050]);
    }
}
