//! Work that is offered to any worker: which one is woken for it, and how none of it is left to
//! sleepers.
//!
//! An offer wakes a sleeper only if no worker is idle, as an idle worker looks for offers. But it
//! may find other work first, and be busy with that for long:
//!
//! ```text
//! worker 0   offers a half; worker 1 is idle: wakes none
//! worker 1   takes a task from its inbox, which takes long
//! worker 2   sleeps                                  -> the half waits for its owner
//! ```
//!
//! So each offer is noted in [`Offers`]. A worker that stops being idle clears `idle`, issues a
//! fence, and reads the note. If there is one, and no other worker is idle, it removes the note,
//! looks at all offers, and wakes a sleeper if it sees one, which begins anew. The offering thread
//! publishes, notes, issues a fence, and looks for idle workers. Either it sees that the worker is
//! no longer idle, or the worker sees the note.
//!
//! An owner that offers halves has used up a steal request, perhaps that of a sleeper: it publishes
//! later halves only if it is asked again. So a worker that sees no offer, but a note of halves,
//! does what a worker does that falls asleep: it sends requests, passes a barrier, and looks again.
//! `docs/explanation/offers.md` has the argument.

use super::{Driver, RuntimeState, Worker};
use crate::sync::{AcqRel, AtomicU32, Padded, Relaxed, SeqCst, fence};
use alloc::boxed::Box;

/// Kinds of offers, as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfferKinds(u32);

impl OfferKinds {
    /// Halves of joins and pieces of scopes.
    pub const JOBS: Self = Self(1);
    /// A batch of unbound tasks.
    pub const TASKS: Self = Self(2);
}

/// The kinds of offers that may have been left to an idle worker while others slept. In a line of
/// its own.
#[derive(Default)]
pub(crate) struct Offers(Padded<AtomicU32>);

impl Offers {
    fn note(&self, OfferKinds(kinds): OfferKinds) {
        // A worker that removes the note after this load passes a fence, and then sees the offer:
        // the caller has passed one since it published it.
        if self.0.0.load(Relaxed) & kinds != kinds {
            // AcqRel: the worker that removes the note sees the offer.
            self.0.0.fetch_or(kinds, AcqRel);
        }
        // Pairs with the fence in `Worker::begin_work`.
        fence(SeqCst);
    }

    fn is_noted(&self) -> bool {
        // Relaxed: the caller's fence in `Worker::begin_work` orders it.
        self.0.0.load(Relaxed) != 0
    }

    /// Removes the note. The caller passes a fence before it looks at the offers.
    fn take(&self) -> OfferKinds {
        // AcqRel pairs with `note`.
        OfferKinds(if self.is_noted() { self.0.0.swap(0, AcqRel) } else { 0 })
    }
}

impl RuntimeState {
    /// Makes sure that a worker looks at what the caller, or another thread, has offered to all of
    /// them. The caller has passed a sequentially consistent fence since it was published. The
    /// choice begins behind `worker`, as in [`wake_for_work`](Self::wake_for_work).
    #[cold]
    pub(crate) fn wake_for_offer(&self, worker: usize, kinds: OfferKinds) {
        if !self.are_all_awake() {
            self.offers.note(kinds);
            self.wake_for_work(worker);
        }
    }

    /// Wakes a worker for work that any may take, unless a worker is idle or none sleeps. The
    /// choice begins behind `worker`, which most often offers the work, and comes last.
    #[cold]
    pub(super) fn wake_for_work(&self, worker: usize) {
        if self.are_all_awake() || self.is_any_idle() {
            return;
        }
        let mut others = (1..=self.slots.len()).map(|distance| (worker + distance) % self.slots.len());
        let asleep = self.find_asleep_here().or_else(|| others.find(|&other| self.is_asleep(other)));
        if let Some(asleep) = asleep {
            self.wake(asleep);
        }
    }

    /// Returns true if no run queue is asleep.
    pub(super) fn are_all_awake(&self) -> bool {
        self.awake.0.load(Relaxed) == self.slots.len()
    }

    fn is_any_idle(&self) -> bool {
        self.slots.iter().any(|slot| slot.idle.load(Relaxed))
    }

    fn is_asleep(&self, queue: usize) -> bool {
        let slot = &self.slots[queue];
        slot.asleep.0.load(Relaxed) && slot.parked.is_empty()
    }

    /// Returns the run queue of a sleeping worker on the caller's CPU: it is up as soon as the
    /// caller waits, where another CPU may have to be woken first.
    pub(super) fn find_asleep_here(&self) -> Option<usize> {
        let here = self.platform.current_cpu()?;
        self.cpus.iter().position(|&cpu| cpu == here).filter(|&queue| self.is_asleep(queue))
    }
}

impl Worker {
    /// Wakes another worker if there are offers that were left to this one, which looks for none
    /// from now on. The caller has passed a sequentially consistent fence since it cleared `idle`.
    pub(super) fn pass_on_offers(&self) {
        let shared = &self.shared;
        // Another idle worker sees the note: it clears `idle` after this load, and so its fence is
        // later than the caller's.
        let is_for_others = || !shared.offers.is_noted() || shared.is_any_idle();
        if shared.are_all_awake() || is_for_others() || planted!("idle-worker-keeps-offers") {
            return;
        }
        let kinds = shared.offers.take();
        // Pairs with the fences before `wake_for_offer`.
        fence(SeqCst);
        if self.sees_offers() || kinds != OfferKinds::TASKS && self.asks_for_jobs() {
            shared.wake_for_offer(self.index, kinds);
        }
    }

    /// Asks all other workers for jobs, on behalf of those that sleep. Returns true if there is
    /// one.
    fn asks_for_jobs(&self) -> bool {
        self.request_from_all();
        // Pairs with the light fence of a join, as in `Worker::fall_asleep`.
        _ = self.shared.barrier();
        self.sees_job()
    }

    /// Returns true if there are jobs or unbound tasks that another worker could steal.
    fn sees_offers(&self) -> bool {
        !self.slot().steal_batch.is_empty() || self.sees_unbound_tasks() || self.sees_job()
    }

    /// Removes the note of offers: this worker is about to look at all of them. Returns what it
    /// said, for [`note_offers`](Self::note_offers).
    pub(super) fn take_offers(&self) -> OfferKinds {
        self.shared.offers.take()
    }

    /// Notes offers that this worker has found, but not taken.
    pub(super) fn note_offers(&self, kinds: OfferKinds) {
        self.shared.offers.note(kinds);
    }
}

impl Driver {
    /// Leaves to other workers what was left or sent to this one, which looks for work no longer.
    /// The run queues that it holds are marked neither idle nor asleep.
    pub(super) fn pass_on_work(&self, held: &[Box<Worker>]) {
        // Pairs with the fences of threads that publish work and wake a worker unless one is idle,
        // and with that in `wake_for_tasks`: either this thread sees the work below, or that thread
        // sees that this worker is neither idle nor asleep, and wakes another one.
        fence(SeqCst);
        let worker = self.worker();
        if self.shared.has_shared_tasks() || self.shared.find_neglected(worker).is_some() {
            self.shared.wake_for_tasks(worker);
        } else if held.iter().any(|worker| worker.sees_offers()) {
            self.shared.wake_for_offer(worker, OfferKinds::JOBS);
        } else if let Some(worker) = held.first() {
            worker.pass_on_offers();
        }
    }
}
