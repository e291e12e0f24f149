//! What INFO counts.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counters of the whole server. Sessions use different ones of them, so that they do not contend.
#[derive(Debug, Default)]
pub struct Statistics {
    lanes: [CounterLane; LANES],
    connections: AtomicU64,
    changes: AtomicU64,
}

/// A part of the counters, in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CounterLane {
    /// In the order in which they were first called; a client calls few. A name may be there
    /// several times, as it is found by its address.
    commands: Mutex<Vec<(&'static str, CommandCounts)>>,
    hits: AtomicU64,
    misses: AtomicU64,
    expired: AtomicU64,
}

const LANES: usize = 16;

/// How often a command was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandCounts {
    /// How often it ran.
    pub calls: u64,
    /// How often it ran and replied with an error.
    pub failed: u64,
    /// How often it was refused before it ran.
    pub rejected: u64,
}

impl AddAssign for CommandCounts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.rejected += other.rejected;
    }
}

/// What happened to keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// How often a key that was to be read was there.
    pub hits: u64,
    /// How often it was not.
    pub misses: u64,
    /// How many keys were removed because they had expired.
    pub expired: u64,
}

impl Statistics {
    /// Adds to the counts of a command.
    pub(crate) fn count(&self, session: u64, command: &'static str, counts: CommandCounts) {
        let lane = &self.lanes[session as usize % LANES];
        let mut lane = lane.commands.lock().unwrap_or_else(PoisonError::into_inner);
        match lane.iter_mut().find(|(name, _)| std::ptr::eq(*name, command)) {
            Some((_, sum)) => *sum += counts,
            None => lane.push((command, counts)),
        }
    }

    /// Adds to the counts of what happened to keys.
    pub(crate) fn count_keys(&self, session: u64, counts: KeyCounts) {
        let lane = &self.lanes[session as usize % LANES];
        let KeyCounts { hits, misses, expired } = counts;
        for (counter, count) in [(&lane.hits, hits), (&lane.misses, misses), (&lane.expired, expired)] {
            if count > 0 {
                // Relaxed, as all below: statistics order nothing.
                counter.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    /// Returns the counts of what happened to keys.
    pub fn keys(&self) -> KeyCounts {
        let sum = |counter: fn(&CounterLane) -> &AtomicU64| {
            self.lanes.iter().map(|lane| counter(lane).load(Ordering::Relaxed)).sum()
        };
        let [hits, misses, expired] =
            [sum(|lane| &lane.hits), sum(|lane| &lane.misses), sum(|lane| &lane.expired)];
        KeyCounts { hits, misses, expired }
    }

    pub(crate) fn count_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_changes(&self, changes: u64) {
        if changes > 0 {
            self.changes.fetch_add(changes, Ordering::Relaxed);
        }
    }

    /// Returns the number of sessions that were opened.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Returns the number of changes of keys.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Returns the counts of the commands that were called, by name.
    pub fn commands(&self) -> BTreeMap<&'static str, CommandCounts> {
        let mut all = BTreeMap::<_, CommandCounts>::new();
        for lane in &self.lanes {
            for (name, counts) in &*lane.commands.lock().unwrap_or_else(PoisonError::into_inner) {
                *all.entry(*name).or_default() += *counts;
            }
        }
        all
    }

    /// Sets the counters to zero, as CONFIG RESETSTAT does.
    pub(crate) fn reset(&self) {
        for lane in &self.lanes {
            lane.commands.lock().unwrap_or_else(PoisonError::into_inner).clear();
            for counter in [&lane.hits, &lane.misses, &lane.expired] {
                counter.store(0, Ordering::Relaxed);
            }
        }
        self.connections.store(0, Ordering::Relaxed);
    }
}
