//! What all workers of a runtime share, and the slot that each of them has in it.
//!
//! Each field of a [`WorkerSlot`] belongs to a protocol between its worker and other threads:
//!
//! | field | written by | protocol |
//! |---|---|---|
//! | `inbox`, `asleep` | pushing threads; the worker | sleeping: `sleep.rs` |
//! | `owner`, `parked` | the worker set; the holder | resizing: `worker_set.rs` |
//! | `claims` | threads inside tasks that block | blocking: `block_in_place.rs` |
//! | `idle`, `load` | the worker; threads that rely on them | none: hints |
//! | `forks` | the worker; thieves | fork-join: `fork/steal.rs` |
//! | `steal_batch`, `unbound` | the worker; thieves | work stealing: `steal.rs` |
//! | `incoming` | one other worker each | round-robin: `round_robin.rs` |
//! | `ledger` | the worker | epochs: `memory/epoch.rs` |
//!
//! # A shutdown
//!
//! [`phase`] goes from OPEN to DRAINING or CANCELLING, then to STOPPED, and never back. The runtime
//! is drained once every ledger has as many finished tasks as started ones; the epochs detect that.
//! A worker that finds no task checks this, and wakes the thread that waits:
//!
//! ```text
//! waiting thread: finds a task still counted, is about to block
//! last worker:    finishes the task, finds no waker, sleeps    -> the shutdown never returns
//! ```
//!
//! So the waiting thread stores its waker before it checks, and each worker checks once more, after
//! a fence, when it falls asleep. Model: `model/sleep.rs`.

use super::offers::Offers;
use super::{Worker, worker_set::WorkerSet};
use crate::claims::GranuleTables;
use crate::events::Outside;
use crate::fork::{ForkStack, WaitHook};
use crate::limit::{Limit, OpenLimits};
use crate::managed::Autosizer;
use crate::memory::{Epochs, Heaps, Ledger, Retired};
use crate::monitor::{Observer, Posts, Watchdog, WorkerCounters};
use crate::object::{FreeWord, ObjectNames, RuntimeTag};
use crate::platform::{CpuTopology, Placement, Platform, VirtualTime};
use crate::pool::{Inbox, Injector, QueuePolicy, Ranked, SpscRing, StealBatch, TaskRing};
use crate::sync::{
    AcqRel, Acquire, AtomicBool, AtomicU32, AtomicU64, AtomicUsize, HandoffCell, Padded, Relaxed, SeqCst,
    SpinMutex, fence,
};
use crate::task::{Failure, Task};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;
use core::task::Waker;

/// The phases of a runtime.
pub(crate) mod phase {
    /// Tasks are spawned and run.
    pub const OPEN: u32 = 0;
    /// The tasks that were spawned run, and their follow-ups.
    pub const DRAINING: u32 = 1;
    /// Tasks that have not started are cancelled.
    pub const CANCELLING: u32 = 2;
    /// No task is left, and the workers return.
    pub const STOPPED: u32 = 3;
}

/// Bits of `RuntimeState::signals`.
pub(crate) mod signals {
    /// Tasks that have not started are cancelled.
    pub const CANCELLING: u32 = 1;
    const SESSION_SHIFT: u32 = 8;
    /// The session in which tasks are recorded on demand; 0 if there is none.
    pub const SESSION: u32 = u32::MAX << SESSION_SHIFT;

    /// Returns the bits of a session.
    pub fn of_session(session: u32) -> u32 {
        session << SESSION_SHIFT
    }

    /// Returns the session of these bits.
    pub fn session(signals: u32) -> u32 {
        signals >> SESSION_SHIFT
    }
}

/// What other threads see of a run queue and its worker.
pub(crate) struct WorkerSlot {
    /// Index of the worker that owns the run queue. Changed under the lock of the worker set.
    pub(crate) owner: AtomicUsize,
    /// The run queue, while no thread holds it.
    pub(crate) parked: HandoffCell<Worker>,
    /// Tasks that wait for the run queue to go on. While there are any, no other thread takes it
    /// out of `parked`.
    pub(super) claims: AtomicUsize,
    pub(crate) inbox: Inbox,
    /// A push must wake a worker for this run queue: its holder sleeps or is about to; or it is
    /// parked where run queues may be stolen.
    pub(crate) asleep: Padded<AtomicBool>,
    /// The worker is awake and has no task. A thread that relies on that clears it.
    pub(crate) idle: AtomicBool,
    /// Cost of the queued tasks. The worker writes it after its bursts; a thread that chooses the
    /// run queue for its small load adds to it.
    pub(crate) load: AtomicU64,
    /// Jobs of the worker, which other workers may steal.
    pub(crate) forks: ForkStack,
    /// A batch of tasks that is offered to any worker.
    pub(crate) steal_batch: HandoffCell<StealBatch>,
    /// The other unbound tasks that the worker has under work stealing.
    pub(crate) unbound: Arc<TaskRing>,
    /// Rings from other workers to this one.
    pub(crate) incoming: Box<[Arc<SpscRing>]>,
    /// Held while a task with several objects enters the inboxes of their homes.
    pub(crate) enlisting: SpinMutex<()>,
    pub(crate) ledger: Arc<Padded<Ledger>>,
    pub(crate) counters: Arc<Padded<WorkerCounters>>,
    pub(crate) node: u16,
}

pub struct RuntimeState {
    pub(crate) slots: Box<[WorkerSlot]>,
    pub(crate) worker_set: WorkerSet,
    pub(crate) policy: QueuePolicy,
    /// The queue that all workers share, if the policy has one.
    pub(crate) ranked: Option<Ranked>,
    /// Unbound tasks from outside, under work stealing in real time.
    pub(crate) injector: Option<Injector>,
    pub(crate) nodes: usize,
    /// The cores of the workers, in order.
    pub(crate) topology: CpuTopology,
    /// The placement that the program has asked for.
    pub(crate) placement: Option<Placement>,
    /// The CPU of each worker that is pinned to one.
    pub(crate) cpus: Box<[u32]>,
    pub(crate) platform: Arc<dyn Platform>,
    /// True if the platform is a simulation. Calls ask for it, and are faster without the platform.
    pub(crate) is_simulated: bool,
    /// True if the platform has virtual time; see [`RuntimeState::virtual_time`].
    pub(crate) has_virtual_time: bool,
    /// True if the platform has a [barrier](Platform::barrier).
    pub(crate) has_barrier: bool,
    pub(crate) heaps: Arc<Heaps>,
    pub(crate) epochs: Epochs,
    pub(crate) limits: OpenLimits,
    /// Sources of events, and timers.
    pub(crate) outside: Outside,
    /// One of [`phase`].
    pub(crate) phase: AtomicU32,
    /// Bits of [`signals`], which each worker compares with those that it knows between two bursts.
    /// Relaxed for the workers: what they find there later, they would have found if they were
    /// faster. In a line of its own, as all workers read it often.
    pub(crate) signals: Padded<AtomicU32>,
    /// No thread waits for the end of the shutdown: the last worker without tasks stops the
    /// runtime.
    pub(crate) stop_when_drained: AtomicBool,
    /// The thread that waits for the end of a shutdown.
    pub(crate) drained: SpinMutex<Option<Waker>>,
    /// Retired objects whose worker has gone to sleep, or that a thread outside has dropped. `None`
    /// once the last run queue is dropped: then no task can reach an object, and it is freed at
    /// once.
    pub(crate) orphans: SpinMutex<Option<Vec<Retired>>>,
    /// Run queues that have not been dropped.
    pub(crate) run_queues: AtomicUsize,
    /// Run queues that are not asleep. In a line of its own, as each sleep writes it.
    pub(crate) awake: Padded<AtomicUsize>,
    /// Workers that search for work, asleep or not.
    pub(crate) searching: Padded<AtomicUsize>,
    /// Workers that sleep in a join until there are parts for them, or are about to.
    pub(crate) asleep_in_join: Padded<AtomicUsize>,
    pub(crate) offers: Offers,
    /// `orphans` may have some.
    pub(crate) has_orphans: AtomicBool,
    /// The next worker in turn; only roughly counted.
    pub(crate) turn: AtomicUsize,
    /// The word of a free object of this runtime, which differs from those of other runtimes.
    pub(crate) free_word: FreeWord,
    /// Names of objects, for reports.
    pub(crate) names: Arc<ObjectNames>,
    /// Granules, if the runtime is inspected.
    pub(crate) granule_tables: GranuleTables,
    /// Keeps other runtimes from using the number in `free_word`.
    pub(crate) _tag: RuntimeTag,
    /// Tasks between the one that runs and the one whose object is prefetched.
    pub(crate) distance: usize,
    /// Optional counters are kept, too.
    pub(crate) counting: bool,
    pub(crate) hook: Box<dyn Fn(Failure) + Send + Sync>,
    pub(crate) wait_hook: Option<WaitHook>,
    /// What runs on each worker, if it is to be known.
    pub(crate) posts: Option<Posts>,
    pub(crate) watchdog: Option<Watchdog>,
    pub(crate) observer: Option<Arc<Observer>>,
    pub(crate) follower: Option<Autosizer>,
    #[cfg(feature = "tracing")]
    pub(crate) spans: bool,
}

impl WorkerSlot {
    /// Returns true if a task waits for the run queue to go on.
    pub(super) fn is_claimed(&self) -> bool {
        self.claims.load(SeqCst) != 0
    }
}

impl RuntimeState {
    /// Returns the platform's virtual time. In real time this reads a flag and does not call the
    /// platform.
    #[inline]
    pub(crate) fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        if self.has_virtual_time { self.platform.virtual_time() } else { None }
    }

    /// Lets other workers run in virtual time, and does nothing in real time; see
    /// [`VirtualTime::yield_to_others`].
    #[inline]
    pub(crate) fn yield_to_others(&self, is_waiting: bool) -> bool {
        self.virtual_time().is_some_and(|time| time.yield_to_others(is_waiting))
    }

    /// Passes a full fence, and makes all running threads pass one if the platform has a barrier.
    /// Returns false if that has failed, so that light fences of other threads are none.
    pub(crate) fn barrier(&self) -> bool {
        let passed = self.has_barrier && self.platform.barrier();
        if !passed {
            fence(SeqCst);
        }
        passed || !self.has_barrier
    }

    /// Returns true if the calling worker may steal from `victim`: always in real time.
    pub(crate) fn may_steal_from(&self, victim: usize) -> bool {
        self.virtual_time().is_none_or(|time| time.may_steal_from(victim))
    }

    /// Pushes a task to a worker's inbox, and wakes the worker if it sleeps.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    #[inline]
    pub(crate) unsafe fn push(&self, worker: usize, task: NonNull<Task>) {
        let slot = &self.slots[worker];
        // SAFETY: forwarded.
        unsafe { slot.inbox.push(task) };
        // SeqCst, as the push: with the store and the probe in `Worker::fall_asleep`, see
        // `sleep.rs`.
        if !planted!("wake-forgotten") && slot.asleep.0.load(SeqCst) {
            self.wake(worker);
        }
    }

    /// Wakes the owner of a run queue, if that is asleep.
    #[cold]
    pub(crate) fn wake(&self, queue: usize) {
        // Of several threads the one that clears the flag wakes. The worker sets it again before it
        // parks again.
        if self.slots[queue].asleep.0.swap(false, SeqCst) {
            self.platform.wake(self.owner(queue));
            if self.policy == QueuePolicy::WorkStealing && !self.slots[queue].parked.is_empty() {
                self.wake_for_tasks(queue);
            }
        }
    }

    /// Returns true if a worker searches.
    pub(crate) fn is_any_searching(&self) -> bool {
        self.searching.0.load(Relaxed) != 0
    }

    /// Returns true if a worker sleeps in a join until there are parts for it. The caller has
    /// passed a fence since it made work.
    pub(crate) fn is_any_asleep_in_join(&self) -> bool {
        // Acquire pairs with the Release of the sleeper: see `Worker::sleep_until_changed`.
        self.asleep_in_join.0.load(Acquire) != 0
    }

    pub(crate) fn wake_all(&self) {
        self.slots.iter().for_each(|slot| slot.asleep.0.store(false, SeqCst));
        // Only after all flags are clear, as a worker may hold any of the run queues.
        (0..self.slots.len()).for_each(|worker| self.platform.wake(worker));
    }

    /// Returns true if tasks are stamped now.
    #[inline]
    pub(crate) fn is_stamping(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.is_stamping())
    }

    /// Returns the observer if it records all the time, and not only on demand.
    pub(crate) fn constant_observer(&self) -> Option<&Arc<Observer>> {
        self.observer.as_ref().filter(|observer| observer.asked.is_constant())
    }

    pub(crate) fn ledgers(&self) -> impl Iterator<Item = &Ledger> + Clone {
        self.slots.iter().map(|slot| &slot.ledger.0)
    }

    pub(crate) fn phase(&self) -> u32 {
        self.phase.load(SeqCst)
    }

    /// Returns true if a shutdown has begun.
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.phase() != phase::OPEN
    }

    /// Returns the next worker in turn: as the home of an object, or for a task.
    pub(crate) fn next_in_turn(&self) -> usize {
        // Relaxed, and no exchange: a lost update only gives one worker two turns.
        let turn = self.turn.load(Relaxed);
        self.turn.store(turn.wrapping_add(1), Relaxed);
        turn % self.slots.len()
    }

    /// Returns the worker for an unplaced task from outside: the next in turn; but if that has to
    /// be woken, an idle one, or the one that is up soonest.
    pub(crate) fn next_for_task(&self) -> usize {
        let chosen = self.next_in_turn();
        if !self.slots[chosen].asleep.0.load(Relaxed) {
            return chosen;
        }
        // The swap makes the next task choose another worker.
        let is_idle = |slot: &WorkerSlot| slot.idle.load(Relaxed) && slot.idle.swap(false, Relaxed);
        self.slots.iter().position(is_idle).or_else(|| self.find_asleep_here()).unwrap_or(chosen)
    }

    /// Returns the least loaded worker of a node, and adds the task's cost to its load. All workers
    /// serve a node without workers.
    pub(crate) fn least_loaded(&self, node: u16, cost: u16) -> usize {
        let node = node % self.nodes as u16;
        let load = |worker: &usize| self.slots[*worker].load.load(Relaxed);
        let there = (0..self.slots.len()).filter(|&worker| self.slots[worker].node == node).min_by_key(load);
        let chosen = there.or_else(|| (0..self.slots.len()).min_by_key(load)).unwrap_or(0);
        self.slots[chosen].load.fetch_add(1 + u64::from(cost), Relaxed);
        chosen
    }

    /// Creates a limit, which the shutdown closes.
    pub(crate) fn open_limit(&self, most: usize) -> Limit {
        self.limits.open(most, &self.platform)
    }

    /// Lets the watchdog check the workers once. Returns false if the runtime has stopped.
    pub(crate) fn watch(&self) -> bool {
        if let (Some(watchdog), Some(posts)) = (&self.watchdog, &self.posts) {
            watchdog.check(posts, &*self.platform);
        }
        self.phase() != phase::STOPPED
    }

    /// Counts a run queue as dropped. With the last one, all that was left is freed.
    pub(crate) fn leave(&self) {
        // AcqRel: the last one sees what the others have left.
        if self.run_queues.fetch_sub(1, AcqRel) == 1 {
            let orphans = self.orphans.lock().take();
            for retired in orphans.into_iter().flatten() {
                // SAFETY: no run queue is left, so no task is that could reach the object.
                _ = unsafe { retired.free(None) };
            }
            #[cfg(feature = "std")]
            self.export();
        }
    }
}
