//! What all workers of a runtime share, and the seat that each of them has in it.

use super::{Context, follow::Follower, staff::Staff};
use crate::fork::{ForkStack, Job};
use crate::memory::{Epochs, Heaps, Ledger, Retired};
use crate::monitor::{Counters, Observer, Watchdog};
use crate::object::{AtRest, Realm};
use crate::platform::{Placement, Platform, Topology};
use crate::pool::{Inbox, Lane, Parcel, Pool, Ranked};
use crate::sync::{
    AcqRel, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Hatch, Padded, Relaxed, SeqCst, SpinMutex,
};
use crate::task::{Failure, Task};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;
use core::task::Waker;

/// What a runtime is doing.
pub(crate) mod phase {
    /// Running.
    pub const OPEN: u32 = 0;
    /// Running what was spawned; told when nothing is left.
    pub const DRAINING: u32 = 1;
    /// Cancelling what has not started; told when nothing is left.
    pub const CANCELLING: u32 = 2;
    /// Nothing is left: workers return.
    pub const STOPPED: u32 = 3;
}

/// A pool's place, as others see it. (Where there is no resizing "its worker" is always the same.)
pub(crate) struct Seat {
    /// The worker that looks after the pool. Changed under the lock of the staff's roster.
    pub(crate) keeper: AtomicUsize,
    /// The pool itself, while nobody has it in its hands.
    pub(crate) rest: Hatch<Context>,
    pub(crate) inbox: Inbox,
    /// Somebody has to be woken for this pool: its worker sleeps, or is about to; or it is at rest, where pools may be
    /// stolen.
    pub(crate) asleep: Padded<AtomicBool>,
    /// The worker is awake and has found nothing to do. Whoever makes use of that clears it.
    pub(crate) idle: AtomicBool,
    /// How much waits in the worker's pool, in units of cost: written by the worker now and then, raised by those who
    /// choose it for its small load.
    pub(crate) load: AtomicU64,
    /// Jobs of the worker's that others may ask for.
    pub(crate) forks: ForkStack,
    /// A job for whoever has nothing to do.
    pub(crate) offer: Hatch<Job>,
    /// Tasks for whoever has nothing to do.
    pub(crate) parcel: Hatch<Parcel>,
    /// What leads from others to this worker.
    pub(crate) lanes: Box<[Arc<Lane>]>,
    /// Held while a task with several objects enters the pools of its homes.
    pub(crate) enlisting: SpinMutex<()>,
    pub(crate) ledger: Arc<Padded<Ledger>>,
    pub(crate) counters: Arc<Padded<Counters>>,
    pub(crate) node: u16,
}

pub struct Shared {
    pub(crate) seats: Box<[Seat]>,
    pub(crate) staff: Staff,
    pub(crate) pool: Pool,
    /// The tasks that are bound to nothing, in pools of that kind.
    pub(crate) ranked: Option<Ranked>,
    pub(crate) nodes: usize,
    /// The cores that workers take, in order.
    pub(crate) topology: Topology,
    /// Where the workers are, if that was said: a place for each.
    pub(crate) placement: Option<Placement>,
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) heaps: Arc<Heaps>,
    pub(crate) epochs: Epochs,
    pub(crate) phase: AtomicU32,
    /// The runtime was dropped by one of its own tasks: the last worker to find nothing left stops all.
    pub(crate) stop_when_drained: AtomicBool,
    /// Who waits for the end of a shutdown.
    pub(crate) drained: SpinMutex<Option<Waker>>,
    /// Retired objects whose worker went to sleep, or that were dropped by a thread that is no worker.
    /// `None` when the last worker is gone: then nothing can reach an object, and it is freed at once.
    pub(crate) orphans: SpinMutex<Option<Vec<Retired>>>,
    /// Pools that are not gone yet.
    pub(crate) pools: AtomicUsize,
    /// Pools that do not sleep.
    pub(crate) awake: AtomicUsize,
    /// Workers that have had nothing to do for a while, asleep or not.
    pub(crate) hungry: Padded<AtomicUsize>,
    pub(crate) has_orphans: AtomicBool,
    /// Whose turn it is to get an object or an unplaced task from outside; only roughly counted.
    pub(crate) turn: AtomicUsize,
    /// How the objects of this runtime are told from those of others.
    pub(crate) at_rest: AtRest,
    /// Keeps the number in `at_rest` from being used by others.
    pub(crate) _realm: Realm,
    pub(crate) distance: usize,
    pub(crate) counting: bool,
    pub(crate) hook: Box<dyn Fn(Failure) + Send + Sync>,
    pub(crate) watchdog: Option<Watchdog>,
    pub(crate) observer: Option<Arc<Observer>>,
    pub(crate) follower: Option<Follower>,
    #[cfg(feature = "tracing")]
    pub(crate) spans: bool,
}

impl Shared {
    /// Puts a task into a worker's inbox and wakes it if it sleeps.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    #[inline]
    pub(crate) unsafe fn push(&self, worker: usize, task: NonNull<Task>) {
        let seat = &self.seats[worker];
        // SAFETY: by the caller's promise.
        unsafe { seat.inbox.push(task) };
        // SeqCst, as the inbox's own: see `Driver::sleep`.
        if !planted!("wake-forgotten") && seat.asleep.0.load(SeqCst) {
            self.wake(worker);
        }
    }

    #[cold]
    pub(crate) fn wake(&self, worker: usize) {
        // Whoever clears the flag wakes; the worker sets it again before it sleeps again.
        if self.seats[worker].asleep.0.swap(false, SeqCst) {
            self.platform.wake(self.keeper(worker));
            if self.pool == Pool::WorkStealing && !self.seats[worker].rest.is_empty() {
                // Its keeper may be at work elsewhere for long, and somebody else have nothing to do.
                self.wake_for_work(worker);
            }
        }
    }

    pub(crate) fn is_anybody_hungry(&self) -> bool {
        self.hungry.0.load(Relaxed) != 0
    }

    /// The same, for one who is counted as such.
    pub(crate) fn is_anybody_else_hungry(&self) -> bool {
        self.hungry.0.load(Relaxed) > 1
    }

    /// Wakes somebody for work that `worker` offers, unless somebody is looking for work or nobody sleeps. That worker comes
    /// last: it may be that nobody in particular offers it.
    #[cold]
    pub(crate) fn wake_for_work(&self, worker: usize) {
        if self.awake.load(Relaxed) == self.seats.len()
            || self.seats.iter().any(|seat| seat.idle.load(Relaxed))
        {
            return;
        }
        let mut others = (1..=self.seats.len()).map(|distance| (worker + distance) % self.seats.len());
        let sleeps = |seat: &Seat| seat.asleep.0.load(Relaxed) && seat.rest.is_empty();
        if let Some(asleep) = others.find(|&other| sleeps(&self.seats[other])) {
            self.wake(asleep);
        }
    }

    pub(crate) fn wake_all(&self) {
        self.seats.iter().for_each(|seat| seat.asleep.0.store(false, SeqCst));
        // After that, as any of them may hold any pool.
        (0..self.seats.len()).for_each(|worker| self.platform.wake(worker));
    }

    pub(crate) fn ledgers(&self) -> impl Iterator<Item = &Ledger> + Clone {
        self.seats.iter().map(|seat| &seat.ledger.0)
    }

    pub(crate) fn phase(&self) -> u32 {
        self.phase.load(SeqCst)
    }

    /// In a shutdown: tells who waits, if nothing is left.
    pub(crate) fn tell_if_drained(&self) {
        if self.phase.load(Relaxed) != phase::OPEN && self.epochs.is_quiescent(self.ledgers()) {
            if let Some(waker) = self.drained.lock().take() {
                waker.wake();
            }
            if self.stop_when_drained.load(SeqCst) {
                self.phase.store(phase::STOPPED, SeqCst);
                self.wake_all();
            }
        }
    }

    /// The worker whose turn it is: to be the home of an object, or to get a task.
    pub(crate) fn next_in_turn(&self) -> usize {
        // A lost update only gives one worker two things.
        let turn = self.turn.load(Relaxed);
        self.turn.store(turn.wrapping_add(1), Relaxed);
        turn % self.seats.len()
    }

    /// The worker that an unplaced task from outside goes to: each in turn, but rather one that is looking for work
    /// than one that has to be woken.
    pub(crate) fn next_for_task(&self) -> usize {
        let chosen = self.next_in_turn();
        if !self.seats[chosen].asleep.0.load(Relaxed) {
            return chosen;
        }
        // The swap sees to it that the next task finds another one.
        let is_idle = |seat: &Seat| seat.idle.load(Relaxed) && seat.idle.swap(false, Relaxed);
        self.seats.iter().position(is_idle).unwrap_or(chosen)
    }

    /// The least loaded worker of a node; its load is raised by the task's cost. A node without workers is served by
    /// all.
    pub(crate) fn least_loaded(&self, node: u16, cost: u16) -> usize {
        let node = node % self.nodes as u16;
        let load = |worker: &usize| self.seats[*worker].load.load(Relaxed);
        let there = (0..self.seats.len()).filter(|&worker| self.seats[worker].node == node).min_by_key(load);
        let chosen = there.or_else(|| (0..self.seats.len()).min_by_key(load)).unwrap_or(0);
        self.seats[chosen].load.fetch_add(1 + u64::from(cost), Relaxed);
        chosen
    }

    /// Takes over objects that no worker will free by itself.
    pub(crate) fn adopt(&self, retired: impl Iterator<Item = Retired>) {
        let mut orphans = self.orphans.lock();
        if let Some(orphans) = &mut *orphans {
            orphans.extend(retired);
            // SeqCst, with `Context::sleep`: either it sees the orphans, or `wake_for_garbage` sees that all sleep.
            self.has_orphans.store(true, SeqCst);
        } else {
            drop(orphans);
            // SAFETY: no worker is left, so no task is.
            retired.for_each(|retired| unsafe { retired.free(None) });
        }
    }

    /// Has somebody look at the orphans if all workers sleep.
    pub(crate) fn wake_for_garbage(&self, worker: usize) {
        if !planted!("garbage-left-to-sleepers") && self.awake.load(SeqCst) == 0 {
            self.wake(worker);
        }
    }

    /// One look of the watchdog; whether there will be something to see later.
    pub(crate) fn watch(&self) -> bool {
        if let Some(watchdog) = &self.watchdog {
            watchdog.look(&*self.platform);
        }
        self.phase() != phase::STOPPED
    }

    /// A pool is gone; with the last one all that was left is freed.
    pub(crate) fn leave(&self) {
        if self.pools.fetch_sub(1, AcqRel) == 1 {
            let orphans = self.orphans.lock().take();
            for retired in orphans.into_iter().flatten() {
                // SAFETY: no worker is left, so no task is.
                unsafe { retired.free(None) };
            }
            #[cfg(feature = "std")]
            self.export();
        }
    }
}
