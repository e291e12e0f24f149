//! How a worker that finds no task goes on: it probes its own sources (run queue, inbox,
//! rings and the shared queue) for a while, then the offers of other workers, too.

use super::RuntimeState;
use super::runtime_state::WorkerSlot;
use crate::sync::{Relaxed, under_model};

/// Probes of a searching worker's own sources between two probes of other workers. Those take
/// longer, and delay a task that arrives meanwhile.
pub(super) const STEAL_INTERVAL: u32 = under_model(8, 1) as u32;

/// What a worker without tasks has tried, and what it has published about itself.
pub(super) struct Search {
    /// The slot says that this worker is idle.
    is_idle: bool,
    /// `RuntimeState::searching` counts this worker.
    is_searching: bool,
    /// Probes of the worker's own sources before it searches elsewhere.
    spin_limit: u32,
    /// Probes since the last one that found a task.
    probes: u32,
}

impl Search {
    pub fn new(spin_limit: u32) -> Self {
        Self { is_idle: false, is_searching: false, spin_limit, probes: 0 }
    }

    /// Returns the number of probes since the last one that found a task.
    #[inline(always)]
    pub fn probes(&self) -> u32 {
        self.probes
    }

    pub fn count_probe(&mut self) {
        self.probes = self.probes.wrapping_add(1);
    }

    /// Counts a probe if none has been counted since the last one that found a task.
    pub fn count_first_probe(&mut self) {
        self.probes = self.probes.max(1);
    }

    pub fn reset_probes(&mut self) {
        self.probes = 0;
    }

    /// Returns true if other workers are to be probed now.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.probes > self.spin_limit && (self.probes - self.spin_limit - 1).is_multiple_of(STEAL_INTERVAL)
    }

    /// Makes the next failed probe go on to other workers at once.
    pub fn probe_others_next(&mut self) {
        self.probes = self.spin_limit;
    }

    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Publishes in the worker's slot whether it is idle.
    pub fn set_idle(&mut self, is_idle: bool, slot: &WorkerSlot) {
        self.is_idle = is_idle;
        slot.idle.store(is_idle, Relaxed);
    }

    pub fn is_searching(&self) -> bool {
        self.is_searching
    }

    /// Counts the worker as searching, or no longer.
    pub fn set_searching(&mut self, is_searching: bool, shared: &RuntimeState) {
        if self.is_searching == is_searching {
            return;
        }
        self.is_searching = is_searching;
        if is_searching {
            shared.searching.0.fetch_add(1, Relaxed);
        } else {
            shared.searching.0.fetch_sub(1, Relaxed);
        }
    }

    /// Hands the search on to the next run queue that the same thread holds.
    pub fn pass_on(&mut self, next: &mut Self) {
        next.is_searching = core::mem::take(&mut self.is_searching);
        next.probes = core::mem::take(&mut self.probes);
    }
}
