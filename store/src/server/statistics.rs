//! What INFO counts.

use ahash::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counters of the whole server. Sessions use different ones of them, so that they do not contend.
#[derive(Debug, Default)]
pub struct Statistics {
    lanes: [Lane; LANES],
    connections: AtomicU64,
    changes: AtomicU64,
}

/// A part of the counters, in cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Lane(Mutex<HashMap<&'static str, CommandCounts, RandomState>>);

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

impl Default for Lane {
    fn default() -> Self {
        // The names are the program's own.
        Self(Mutex::new(HashMap::with_hasher(RandomState::with_seeds(0, 0, 0, 0))))
    }
}

impl Statistics {
    /// Adds to the counts of a command.
    pub(crate) fn count(&self, session: u64, command: &'static str, counts: CommandCounts) {
        let lane = &self.lanes[session as usize % LANES];
        let mut lane = lane.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = lane.entry(command).or_default();
        sum.calls += counts.calls;
        sum.failed += counts.failed;
        sum.rejected += counts.rejected;
    }

    pub(crate) fn count_connection(&self) {
        // Relaxed, as all below: statistics order nothing.
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
            for (name, counts) in &*lane.0.lock().unwrap_or_else(PoisonError::into_inner) {
                let sum = all.entry(*name).or_default();
                sum.calls += counts.calls;
                sum.failed += counts.failed;
                sum.rejected += counts.rejected;
            }
        }
        all
    }

    /// Sets the counters to zero, as CONFIG RESETSTAT does.
    pub(crate) fn reset(&self) {
        for lane in &self.lanes {
            lane.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.connections.store(0, Ordering::Relaxed);
    }
}
