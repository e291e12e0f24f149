//! Threads that read nodes without a task, and hold the epoch meanwhile.
//!
//! A reader claims a *slot* and stores the global epoch there. The global epoch advances from `g`
//! only if each slot is free or says `g`. So while a reader of epoch `e` reads, the global epoch is
//! at most `e + 1`, and no epoch from `e` on settles. `memory/epoch.rs` has the rest of the
//! protocol.
//!
//! ```text
//!        claim: compare-and-swap, then a fence
//!  FREE ──────────────────────────────────────> e, the epoch of the reader
//!   ^                                              │
//!   └──────────────── release: a store ────────────┘
//! ```
//!
//! Each thread prefers one slot, which is on cache lines of its own. If another reader is in that
//! slot, the thread takes the next one, and prefers it from then on. So threads that read at the
//! same time come to use different slots, and none has to register or to sign off. Two readers
//! share no word, except that all load the global epoch.
//!
//! What the fence rules out:
//!
//! ```text
//! reader: claims a slot; its store is not visible yet; finds a node by a link
//! writer: unlinks the node, retires it, sees only free slots, advances twice, frees the node
//! reader: reads the node                                  -> use after free
//! ```
//!
//! The reader's fence is before its look at the link, and the writer's fence (`Epochs::retirement`)
//! after its unlinking. A reader that still finds the node has the earlier fence of the two. Then
//! each look at the slots that belongs to the second advance after the retirement sees the claim.
//! It also sees that the reader's epoch is not newer than the retirement, so it does not advance.
//!
//! An epoch that is out of date when it is stored does no harm: it delays the next advance until
//! the reader has left. Model: `model/readers.rs`.

use crate::sync::{
    AtomicU64, AtomicUsize, Padded, Relaxed, Release, SeqCst, fence_after_exchange, under_model,
};

/// The number of readers that can have slots at the same time.
pub(super) const READER_SLOTS: usize = under_model(64, 2) as usize;
/// The word of a slot without a reader.
const FREE: u64 = u64::MAX;

/// The slots of the readers of one runtime.
pub(super) struct ReaderSlots {
    epochs: [Padded<AtomicU64>; READER_SLOTS],
    /// All slots from this one on have never been claimed.
    used: AtomicUsize,
}

impl ReaderSlots {
    pub fn new() -> Self {
        let epochs = core::array::from_fn(|_| Padded(AtomicU64::new(FREE)));
        Self { epochs, used: AtomicUsize::new(0) }
    }

    /// Claims a free slot for a reader of that epoch: the preferred one, else the first free one.
    /// Returns `None` if all are taken.
    #[inline(always)]
    pub fn claim(&self, epoch: u64, preferred: usize) -> Option<usize> {
        if self.try_claim(epoch, preferred) { Some(preferred) } else { self.claim_another(epoch) }
    }

    #[cold]
    fn claim_another(&self, epoch: u64) -> Option<usize> {
        (0..READER_SLOTS).find(|&slot| self.try_claim(epoch, slot))
    }

    /// Claims a slot if it is free.
    #[inline(always)]
    fn try_claim(&self, epoch: u64, slot: usize) -> bool {
        if self.used.load(Relaxed) <= slot {
            // SeqCst, with `all_follow`: an advance that misses this comes before the fence below.
            // (Where another reader has done this for the slot, the load has seen it, to the same
            // effect.)
            self.used.fetch_max(slot + 1, SeqCst);
        }
        // Relaxed: the fence below orders it. It continues the release sequence of the `release`
        // before it, so a thread that sees this epoch sees what the reader before has done.
        let claimed = self.epochs[slot].0.compare_exchange(FREE, epoch, Relaxed, Relaxed).is_ok();
        if claimed && !planted!("reader-without-fence") {
            // Pairs with the fence of `Epochs::retirement`.
            fence_after_exchange();
        }
        claimed
    }

    /// Frees a slot that the caller has claimed.
    #[inline(always)]
    pub fn release(&self, slot: usize) {
        // Release pairs with the load of `all_follow`: what the reader has read is read before an
        // object is freed.
        let order = if planted!("reader-released-early") { Relaxed } else { Release };
        self.epochs[slot].0.store(FREE, order);
    }

    /// Returns true if every reader is of this epoch.
    pub fn all_follow(&self, epoch: u64) -> bool {
        // SeqCst: with the fence of `claim`, see the head of this file.
        let used = self.used.load(SeqCst);
        self.epochs[..used].iter().all(|slot| {
            let reader = slot.0.load(SeqCst);
            reader == FREE || reader == epoch || planted!("reader-overlooked")
        })
    }
}

#[cfg(feature = "std")]
pub(super) use by_thread::prefer;
#[cfg(feature = "std")]
pub(crate) use by_thread::preferred;

/// The slot that each thread prefers, in all runtimes alike.
#[cfg(feature = "std")]
mod by_thread {
    use super::READER_SLOTS;
    use crate::sync::{Relaxed, global};
    use core::cell::Cell;

    std::thread_local! {
        static PREFERRED: Cell<usize> = const { Cell::new(READER_SLOTS) };
    }

    /// The number of threads that have asked so far.
    static THREADS: global::AtomicU64 = global::AtomicU64::new(0);

    /// Returns the slot that this thread prefers.
    #[inline(always)]
    pub fn preferred() -> usize {
        let slot = PREFERRED.get();
        if slot < READER_SLOTS { slot } else { choose() }
    }

    /// Chooses a slot for a thread that reads for the first time.
    #[cold]
    fn choose() -> usize {
        let slot = (THREADS.fetch_add(1, Relaxed) % READER_SLOTS as u64) as usize;
        PREFERRED.set(slot);
        slot
    }

    /// Makes this thread prefer another slot.
    #[inline(always)]
    pub fn prefer(slot: usize) {
        PREFERRED.set(slot);
    }
}

/// Returns the first slot: without an operating system threads are not told apart.
#[cfg(not(feature = "std"))]
pub(crate) const fn preferred() -> usize {
    0
}

/// Does nothing: threads are not told apart.
#[cfg(not(feature = "std"))]
pub(super) const fn prefer(_: usize) {}
