//! An inner phase: the host and thieves claim whole inner buckets of the host, by a counter.
//!
//! No flag says whether a phase is open: the counter does, which stands at the number of buckets
//! while there is nothing to claim. So nothing can change between a check and a claim, and a thief
//! that comes late claims nothing. A second counter counts the buckets that are done, also by a
//! panic, and the host waits for all of them; so each thief at a bucket is counted. (The published
//! protocol has a flag, with its fences on the wrong sides, and no way for the host to learn that
//! thieves are done.)

use crate::sync::{AcqRel, Acquire, AtomicU32, Relaxed, Release};

/// The counters of one host: see the module's documentation.
pub(crate) struct Phase {
    buckets: u32,
    /// The bucket to be claimed next; at least `buckets` if none is left.
    next: AtomicU32,
    /// How many buckets of this phase are done.
    done: AtomicU32,
}

/// A claimed bucket, which is done when this is dropped.
pub(crate) struct ClaimedBucket<'p> {
    phase: &'p Phase,
    pub bucket: usize,
}

impl Phase {
    /// Creates the counters for `buckets` inner buckets. No phase is open.
    pub fn new(buckets: usize) -> Self {
        let buckets = buckets as u32;
        Self { buckets, next: AtomicU32::new(buckets), done: AtomicU32::new(buckets) }
    }

    /// Opens a phase. Only the host does so, when the last phase [is over](Self::is_over).
    pub fn open(&self) {
        // Relaxed: published by the swap. No other thread counts now, as all buckets are done.
        self.done.store(0, Relaxed);
        // AcqRel: the Release pairs with the Acquire of `claim`, which sees what the host has put
        // into the buckets. (Nothing relies on the Acquire: `is_over` has one.)
        self.next.swap(0, if planted!("toggle-opened-early") { Relaxed } else { AcqRel });
    }

    /// Claims a bucket of the open phase, if one is left. The caller owns its contents until the
    /// result is dropped.
    pub fn claim(&self) -> Option<ClaimedBucket<'_>> {
        // Relaxed: an old value means no claim, or is noticed below. This check keeps the counter
        // from growing without bound.
        if self.next.load(Relaxed) >= self.buckets {
            return None;
        }
        let bucket = if planted!("toggle-claimed-twice") {
            let bucket = self.next.load(Acquire);
            self.next.store(bucket + 1, Release);
            bucket
        } else {
            // AcqRel: the Acquire pairs with the Release of `open`; the Release continues it for
            // later claims.
            self.next.fetch_add(1, AcqRel)
        };
        if bucket >= self.buckets {
            if planted!("toggle-latecomer-counted") {
                self.done.fetch_add(1, Release);
            }
            return None;
        }
        Some(ClaimedBucket { phase: self, bucket: bucket as usize })
    }

    /// Returns true if there seems to be a bucket left to claim. A hint.
    pub fn has_more(&self) -> bool {
        self.next.load(Relaxed) < self.buckets
    }

    /// Returns true if all buckets are done. Then the host owns them.
    pub fn is_over(&self) -> bool {
        // Acquire pairs with the Release of each `ClaimedBucket`'s drop.
        self.done.load(Acquire) == self.buckets || planted!("toggle-thieves-left")
    }
}

impl Drop for ClaimedBucket<'_> {
    /// Counts the bucket, also while unwinding: a host would wait for ever for one that is not
    /// counted.
    fn drop(&mut self) {
        // Release pairs with the Acquire of `is_over`: the host sees the bucket as this thread left
        // it.
        self.phase.done.fetch_add(1, if planted!("toggle-done-early") { Relaxed } else { Release });
    }
}
