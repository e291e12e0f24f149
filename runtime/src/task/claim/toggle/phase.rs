//! An inner phase: whoever has time claims whole inner buckets of a host, by a counter.
//!
//! There is no flag that says whether a phase goes on: the counter says so, which stands at the number of buckets as long as
//! there is nothing to claim. So there is nothing between a look and a claim that could change, and whoever comes too late
//! claims nothing. Each bucket is counted again when it is done, however that came about, and the host waits for all of them;
//! so nobody is at a bucket who was not counted. (The published protocol has a flag, with its fences on the wrong sides, and
//! does not say how the host learns that thieves are done.)

use crate::sync::{AcqRel, Acquire, AtomicU32, Relaxed, Release};

/// See the module's documentation.
pub(crate) struct Phase {
    buckets: u32,
    /// The bucket to be claimed next; none if there are not so many.
    next: AtomicU32,
    /// How many of those that were claimed are done.
    done: AtomicU32,
}

/// A bucket that was claimed, until that is dropped.
pub(crate) struct Claimed<'p> {
    phase: &'p Phase,
    /// Which.
    pub bucket: usize,
}

impl Phase {
    /// None goes on, of so many buckets.
    pub fn new(buckets: usize) -> Self {
        let buckets = buckets as u32;
        Self { buckets, next: AtomicU32::new(buckets), done: AtomicU32::new(buckets) }
    }

    /// Lets the buckets be claimed. Its host does so, when the phase before [is over](Self::is_over).
    pub fn open(&self) {
        // Relaxed: published below. Nobody counts now: all that was claimed is done.
        self.done.store(0, Relaxed);
        // AcqRel: the Release pairs with the Acquire of `claim`, so that what the host has put into the buckets is seen. (Nothing
        // rests on the Acquire: `is_over` has shown the host all that was done before.)
        self.next.swap(0, if planted!("toggle-opened-early") { Relaxed } else { AcqRel });
    }

    /// Claims a bucket of the phase that goes on, if it has one left. What is in it is the caller's until that is dropped.
    pub fn claim(&self) -> Option<Claimed<'_>> {
        // Relaxed: if it is old, nothing is claimed, or it is seen below. So the counter does not go on and on.
        if self.next.load(Relaxed) >= self.buckets {
            return None;
        }
        let bucket = if planted!("toggle-claimed-twice") {
            let bucket = self.next.load(Acquire);
            self.next.store(bucket + 1, Release);
            bucket
        } else {
            // AcqRel: the Acquire pairs with the Release of `open`, also by way of those who claimed before.
            self.next.fetch_add(1, AcqRel)
        };
        if bucket >= self.buckets {
            if planted!("toggle-latecomer-counted") {
                self.done.fetch_add(1, Release);
            }
            return None;
        }
        Some(Claimed { phase: self, bucket: bucket as usize })
    }

    /// Whether somebody else could claim a bucket just now, as far as can be seen.
    pub fn has_more(&self) -> bool {
        self.next.load(Relaxed) < self.buckets
    }

    /// Whether all buckets are done, which are the host's then.
    pub fn is_over(&self) -> bool {
        // Acquire pairs with the Release of each `Claimed`'s drop.
        self.done.load(Acquire) == self.buckets || planted!("toggle-thieves-left")
    }
}

impl Drop for Claimed<'_> {
    /// Also while unwinding: a host would wait for ever for one that is not counted.
    fn drop(&mut self) {
        // Release pairs with the Acquire of `is_over`: the host sees the bucket as it was left.
        self.phase.done.fetch_add(1, if planted!("toggle-done-early") { Relaxed } else { Release });
    }
}
