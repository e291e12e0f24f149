//! WorkerCounters. Each belongs to one worker, which alone writes it, so that counting costs a
//! plain addition.

use crate::memory::Heaps;
use crate::sync::{AtomicU64, Relaxed};

/// A number that one worker writes and any thread reads.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline(always)]
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed) + count, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counters of one worker. Its ledger counts tasks started and finished, its heap counts
/// blocks.
#[derive(Default)]
pub(crate) struct WorkerCounters {
    pub remote_spawns: Counter,
    pub snapshot_retries: Counter,
    pub versioned_retries: Counter,
    pub latch_waits: Counter,
    pub walk_steps: Counter,
    pub prefetches: Counter,
    pub steals: Counter,
    pub sleeps: Counter,
    pub retired: Counter,
    pub reclaimed: Counter,
    /// Retired objects taken over from other workers and from outside.
    pub adopted: Counter,
    /// Retired objects left to other workers.
    pub abandoned: Counter,
}

impl WorkerCounters {
    /// Returns the number of retired objects that this worker has not freed.
    pub fn garbage(&self) -> u64 {
        // What has gone is read first, so that it has come.
        let gone = self.reclaimed.get() + self.abandoned.get();
        (self.retired.get() + self.adopted.get()).saturating_sub(gone)
    }
}

/// What a runtime has done since it began, summed over its workers; see
/// [`Runtime::counters`](crate::Runtime::counters).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Counters {
    /// Tasks that have finished (run, cancelled or failed), including the runtime's own messages.
    pub tasks: u64,
    /// Tasks spawned into the spawning worker's own run queue.
    pub local_spawns: u64,
    /// Tasks sent to another worker.
    pub remote_spawns: u64,
    /// Tasks spawned from outside.
    pub external_spawns: u64,
    /// Failed optimistic reads of snapshot objects.
    pub snapshot_retries: u64,
    /// Failed optimistic reads of versioned objects.
    pub versioned_retries: u64,
    /// Times that a task had to wait at a latch.
    pub latch_waits: u64,
    /// Steps of the walks that bundles carry.
    pub walk_steps: u64,
    /// Cache lines prefetched.
    pub prefetches: u64,
    /// Halves of joins that idle workers took from others.
    pub steals: u64,
    /// Times that a worker went to sleep.
    pub sleeps: u64,
    /// Objects retired.
    pub retired: u64,
    /// Retired objects freed.
    pub reclaimed: u64,
    /// Where descriptors were allocated.
    pub allocations: Allocation,
}

/// Allocations of descriptors by level. Those not counted at a lower level were served by a core's
/// own heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Allocation {
    /// Descriptors served by the cores' heaps.
    pub core: u64,
    /// Batches that core heaps fetched from their node.
    pub node_batches: u64,
    /// Descriptors that the nodes served singly, to threads outside the runtime.
    pub node_single: u64,
    /// Bytes of pages that the nodes took.
    pub page_bytes: u64,
    /// Those of them on huge pages, as far as the platform knows.
    pub huge_page_bytes: u64,
    /// The limit in bytes of pages, if there is one; see
    /// [`Builder::memory_limit`](crate::Builder::memory_limit).
    pub page_limit: Option<u64>,
    /// Tasks that were not spawned because there was no memory for them.
    pub refused: u64,
}

impl Allocation {
    pub(crate) fn of(heaps: &Heaps, descriptors: u64) -> Self {
        let stats = heaps.stats();
        // Descriptors freed singly were returned unused.
        let single = stats.single_allocs - stats.single_frees;
        Self {
            core: descriptors.saturating_sub(single),
            node_batches: stats.fetched,
            node_single: single,
            page_bytes: stats.bytes,
            huge_page_bytes: stats.huge_bytes,
            page_limit: heaps.quota().limit(),
            refused: heaps.quota().refused(),
        }
    }
}
