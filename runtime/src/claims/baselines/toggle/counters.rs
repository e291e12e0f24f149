//! What the hosts and thieves of one set of granules have done.

use crate::scheduler::RuntimeState;
use crate::sync::{AtomicU64, Relaxed};
use core::fmt;

/// Counts of what the hosts and thieves of a [`Toggle`](crate::claims::Control::Toggle) have done:
/// see [`Granules::toggle_counts`](crate::Granules::toggle_counts).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToggleCounts {
    /// Tasks that hosts have run themselves, with the locks of all buckets that they cover.
    pub outer_tasks: u64,
    /// The part of these that was run by the host of the first bucket.
    pub first_host_tasks: u64,
    /// Tasks that have waited in an inner bucket.
    pub inner_tasks: u64,
    /// Phases in which inner buckets were run.
    pub phases: u64,
    /// Inner buckets with tasks in these phases.
    pub inner_buckets: u64,
    /// Messages to idle workers to help a host.
    pub thieves: u64,
    /// Nanoseconds that hosts have waited for locks; in virtual time only.
    pub lock_wait_ns: u64,
    /// Nanoseconds that hosts have waited for thieves; in virtual time only.
    pub thief_wait_ns: u64,
}

/// The counters behind [`ToggleCounts`]. All are Relaxed: nothing is ordered by them.
#[derive(Default)]
pub(super) struct ToggleCounters {
    pub outer_tasks: AtomicU64,
    pub first_host_tasks: AtomicU64,
    pub inner_tasks: AtomicU64,
    pub phases: AtomicU64,
    pub inner_buckets: AtomicU64,
    pub thieves: AtomicU64,
    pub lock_wait_ns: AtomicU64,
    pub thief_wait_ns: AtomicU64,
}

impl ToggleCounters {
    pub fn get(&self) -> ToggleCounts {
        ToggleCounts {
            outer_tasks: self.outer_tasks.load(Relaxed),
            first_host_tasks: self.first_host_tasks.load(Relaxed),
            inner_tasks: self.inner_tasks.load(Relaxed),
            phases: self.phases.load(Relaxed),
            inner_buckets: self.inner_buckets.load(Relaxed),
            thieves: self.thieves.load(Relaxed),
            lock_wait_ns: self.lock_wait_ns.load(Relaxed),
            thief_wait_ns: self.thief_wait_ns.load(Relaxed),
        }
    }

    /// Counts a phase.
    pub fn count_phase(&self, tasks: usize, buckets: usize) {
        self.phases.fetch_add(1, Relaxed);
        self.inner_tasks.fetch_add(tasks as u64, Relaxed);
        self.inner_buckets.fetch_add(buckets as u64, Relaxed);
    }

    /// Waits, and adds the time to a counter if time is virtual. (Otherwise a look at the clock
    /// would take longer than most waits.)
    pub fn timed(&self, counter: &AtomicU64, shared: &RuntimeState, wait: impl FnOnce()) {
        let now = || if shared.has_virtual_time { shared.platform.now() } else { 0 };
        let began = now();
        wait();
        counter.fetch_add(now().saturating_sub(began), Relaxed);
    }
}

impl fmt::Display for ToggleCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outer_tasks, first_host_tasks, inner_tasks, phases, inner_buckets, thieves, .. } = self;
        write!(
            f,
            "hosts ran {outer_tasks} tasks themselves, {first_host_tasks} of them the first host; \
             {inner_tasks} tasks in {inner_buckets} inner buckets in {phases} phases; {thieves} calls of \
             thieves; hosts waited {} \u{b5}s for locks and {} \u{b5}s for thieves",
            self.lock_wait_ns / 1000,
            self.thief_wait_ns / 1000
        )
    }
}
