//! How many workers run, and which of them owns which run queue.
//!
//! The number of run queues never changes; [`Runtime::resize`] changes the number of workers. Each
//! run queue has an *owner*, the worker that looks after it, and is in one of two states:
//!
//! - *held*: in the hands of one worker's thread, which may run its tasks;
//! - *parked*: in its slot, where any thread may take it out with one exchange.
//!
//! With as many workers as run queues, each worker holds its own from beginning to end. With fewer,
//! a worker owns several, and holds one after the other; between two tasks it may park the one that
//! it holds. A change of owners counts the `generation` up, under a lock.
//!
//! # Rules
//!
//! 1. Only a held run queue is asleep. So a parked one has an owner that is awake, or that the
//!    parking thread wakes. (Under work stealing a parked one counts as asleep, too, so that a push
//!    wakes an idle worker for it as well.)
//! 2. Only a parked run queue gets another owner, unless all workers are woken to look up the new
//!    assignment.
//! 3. A worker that has not looked up the latest generation does not sleep.
//!
//! # The schedule that they rule out
//!
//! ```text
//! worker A: parks run queue 1, which has a task, for its new owner B
//! worker B: has looked for parked run queues before, finds none, sleeps
//!                                                   -> the task waits until B is woken otherwise
//! ```
//!
//! A stores the run queue in its slot, issues a fence, reads the owner, and wakes it. B issues a
//! fence and then checks the slots that it owns. Either B sees the parked run queue, or its wake
//! comes after that check, and `Platform::park` returns at once. A changed owner is covered by 2
//! and 3: B compares the generation after its fence, and is woken after each change.
//!
//! Model: `model/worker_set.rs`.

use super::relay::Relay;
use super::{BuildError, Driver, Runtime, RuntimeState, Worker};
use crate::pool::QueuePolicy;
use crate::sync::{
    AtomicBool, AtomicU64, AtomicUsize, Relaxed, SeqCst, SpinMutex, fence, fence_after_exchange,
};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use core::ptr::NonNull;

/// The workers of a runtime.
pub(crate) struct WorkerSet {
    /// Number of changes of the assignment of run queues to workers. Written under the lock.
    generation: AtomicU64,
    /// There are fewer workers than run queues. Only a hint.
    is_short: AtomicBool,
    /// For each worker: it sleeps and has no run queue, whose slot would say so.
    sleeps_without_queue: Box<[AtomicBool]>,
    /// For each worker: which of its threads drives it.
    relays: Box<[Relay]>,
    /// Threads that wait for a run queue, to resume the task that they are inside.
    pub(super) claimants: AtomicUsize,
    states: SpinMutex<WorkerStates>,
}

struct WorkerStates {
    /// The workers below this index are to run.
    wanted: usize,
    /// Which workers run, or are about to be started.
    present: Box<[bool]>,
}

impl WorkerSet {
    pub fn new(wanted: usize, max_workers: usize) -> Self {
        let states = WorkerStates { wanted, present: vec![false; max_workers].into() };
        Self {
            generation: AtomicU64::new(0),
            is_short: AtomicBool::new(false),
            sleeps_without_queue: (0..max_workers).map(|_| AtomicBool::new(false)).collect(),
            relays: (0..max_workers).map(|_| Relay::default()).collect(),
            claimants: AtomicUsize::new(0),
            states: SpinMutex::new(states),
        }
    }

    /// Returns the number of the current assignment.
    #[inline(always)]
    pub fn generation(&self) -> u64 {
        // Relaxed: the assignment is read under the lock. A worker that is about to sleep issues a
        // fence before, and is woken after each change.
        self.generation.load(Relaxed)
    }

    /// Makes all workers look up the assignment before their next step.
    pub(super) fn count_up(&self) {
        let _states = self.states.lock();
        self.generation.fetch_add(1, SeqCst);
    }

    pub(super) fn relay(&self, worker: usize) -> &Relay {
        &self.relays[worker]
    }

    /// Returns true if there are fewer workers than run queues.
    pub fn is_short(&self) -> bool {
        self.is_short.load(Relaxed)
    }

    /// Records that a worker sleeps and has no run queue, or no longer.
    pub fn set_asleep_without_queue(&self, worker: usize, is_asleep: bool) {
        self.sleeps_without_queue[worker].store(is_asleep, SeqCst);
    }

    /// Returns true if a worker without a run queue sleeps and no thread has woken it.
    pub fn is_asleep_without_queue(&self, worker: usize) -> bool {
        self.sleeps_without_queue[worker].load(SeqCst)
    }

    /// Returns the number of workers that are to run.
    pub fn wanted(&self) -> usize {
        self.states.lock().wanted
    }

    /// Returns the number of the current assignment, and whether that worker is to run.
    pub fn look_up(&self, worker: usize) -> (u64, bool) {
        let states = self.states.lock();
        (self.generation(), worker < states.wanted)
    }

    /// Takes out a worker that owns no run queue. Returns false if it is wanted again.
    pub fn leave(&self, worker: usize) -> bool {
        let mut states = self.states.lock();
        let leaves = worker >= states.wanted;
        states.present[worker] = !leaves;
        leaves
    }
}

impl RuntimeState {
    /// Returns the worker that owns a run queue.
    pub(super) fn owner(&self, queue: usize) -> usize {
        self.slots[queue].owner.load(SeqCst)
    }

    /// Wakes a worker for tasks that any may run: in a parked run queue, whose owner may be busy
    /// with another one for long, or in the injector. The choice begins behind `worker`.
    pub(super) fn wake_for_tasks(&self, worker: usize) {
        // Pairs with the fences in `Worker::fall_asleep` and `Driver::sleep`: either a worker that
        // falls asleep sees the tasks, or this thread sees that it sleeps. And with the fence in
        // `Worker::begin_work`: a worker that this thread still sees idle sees the tasks.
        // An exchange precedes it: the push of a task, that of a flag `asleep`, or a fence.
        fence_after_exchange();
        self.wake_for_work(worker);
        if self.worker_set.is_short() && !planted!("worker-without-queue-forgotten") {
            let wakes = |asleep: &AtomicBool| asleep.load(Relaxed) && asleep.swap(false, SeqCst);
            if let Some(worker) = self.worker_set.sleeps_without_queue.iter().position(wakes) {
                self.platform.wake(worker);
            }
        }
    }

    /// Takes a parked run queue out of its slot, unless a thread has claimed it: the caller holds
    /// it.
    pub(super) fn take_unclaimed(&self, queue: usize) -> Option<Box<Worker>> {
        // A thread that claims it just now finds it in its holder's hands, and asks for it.
        if self.slots[queue].is_claimed() { None } else { self.take_parked(queue) }
    }

    /// Takes a parked run queue out of its slot: the caller holds it.
    pub(super) fn take_parked(&self, queue: usize) -> Option<Box<Worker>> {
        // SAFETY: `park_queue` leaked the box into the slot, and the slot gives it to one taker
        // alone.
        let taken = self.slots[queue].parked.take().map(|worker| unsafe { Box::from_raw(worker.as_ptr()) });
        if taken.is_some() {
            self.slots[queue].asleep.0.store(false, Relaxed);
        }
        taken
    }

    /// Finds a parked run queue that seems to have tasks and has another owner than `worker`. Only
    /// under work stealing.
    pub(super) fn find_neglected(&self, worker: usize) -> Option<usize> {
        if self.policy != QueuePolicy::WorkStealing || !self.worker_set.is_short() {
            return None;
        }
        // A worker without a run queue needs one for them.
        let has_injected = self.has_injected_tasks();
        let is_neglected = |queue: &usize| {
            let slot = &self.slots[*queue];
            !slot.parked.is_empty()
                && slot.owner.load(Relaxed) != worker
                && (slot.load.load(Relaxed) > 0 || slot.inbox.seems_to_have_tasks() || has_injected)
        };
        (0..self.slots.len()).map(|distance| (worker + distance) % self.slots.len()).find(is_neglected)
    }

    /// Makes a worker the owner of a parked run queue, which the caller holds then.
    pub(super) fn become_owner(&self, queue: usize, worker: usize) -> Option<Box<Worker>> {
        // An owner that was assigned meanwhile has not looked yet, or does not find it parked.
        let states = self.worker_set.states.lock();
        if worker >= states.wanted {
            return None;
        }
        let taken = self.take_unclaimed(queue)?;
        self.slots[queue].owner.store(worker, SeqCst);
        if !planted!("run-queue-taken-over-unsaid") {
            self.worker_set.generation.fetch_add(1, SeqCst);
        }
        Some(taken)
    }

    /// Parks a run queue, between two tasks. The caller wakes its owner.
    pub(super) fn park_queue(&self, mut worker: Box<Worker>) {
        worker.count_as_awake();
        self.slots[worker.index].parked.put(NonNull::from(Box::leak(worker)));
        // Pairs with the fence in `Driver::sleep`: either the owner sees the parked run queue, or
        // the caller reads its owner after this and wakes it.
        fence(SeqCst);
    }

    /// Parks a run queue that a worker holds, and wakes its owner if that is another worker.
    pub(super) fn release(&self, mut worker: Box<Worker>, holder: usize) {
        let queue = worker.index;
        // The next holder says anew how many tasks have arrived.
        worker.queue.arrived = None;
        worker.set_idle(false);
        worker.set_searching(false);
        let has_tasks = worker.has_tasks();
        worker.publish_load();
        let may_be_stolen = self.policy == QueuePolicy::WorkStealing;
        // SeqCst, as the load in `RuntimeState::push`: either the pushing thread sees this, or this
        // thread sees its task below.
        worker.slot().asleep.0.store(may_be_stolen, SeqCst);
        self.park_queue(worker);
        let owner = self.owner(queue);
        if owner != holder {
            self.platform.wake(owner);
        }
        // The fence in `park_queue` pairs with that in `take_claimed`: either this thread sees the
        // claimant, or the claimant finds the run queue.
        if self.worker_set.claimants.load(SeqCst) != 0 {
            (0..self.slots.len()).for_each(|worker| self.platform.wake(worker));
        }
        if may_be_stolen && (has_tasks || self.slots[queue].inbox.seems_to_have_tasks()) {
            // An idle worker may steal the run queue.
            self.wake_for_tasks(queue);
        }
    }

    /// Frees the parked run queues once the runtime has stopped.
    pub(super) fn drop_parked(&self) {
        (0..self.slots.len()).for_each(|queue| drop(self.take_parked(queue)));
    }

    /// Assigns the run queues to this many workers, and wakes all. Returns the workers that have to
    /// be started; they count as present.
    fn set_wanted(&self, workers: usize) -> Box<[usize]> {
        let mut states = self.worker_set.states.lock();
        let absent = (0..workers).filter(|&worker| !core::mem::replace(&mut states.present[worker], true));
        let absent = absent.collect();
        self.assign(&mut states, workers);
        drop(states);
        self.wake_all();
        absent
    }

    /// Assigns the run queues to this many workers.
    fn assign(&self, states: &mut WorkerStates, workers: usize) {
        states.wanted = workers;
        self.worker_set.is_short.store(workers < self.slots.len(), Relaxed);
        for (queue, slot) in self.slots.iter().enumerate() {
            slot.owner.store(if queue < workers { queue } else { queue % workers }, SeqCst);
        }
        if !planted!("resize-unsaid") {
            self.worker_set.generation.fetch_add(1, SeqCst);
        }
    }

    /// Notes that these workers could not be started, and assigns their run queues to those that
    /// are there, if there is any. Another thread may have asked for fewer meanwhile.
    fn do_without(&self, missing: &[usize]) {
        let mut states = self.worker_set.states.lock();
        missing.iter().for_each(|&worker| states.present[worker] = false);
        let there = states.present.iter().take_while(|&&is_present| is_present).count();
        let forgets_another = planted!("failed-resize-forgets-another");
        let workers = if forgets_another { missing[0] } else { there.min(states.wanted) };
        self.assign(&mut states, workers.max(1));
        drop(states);
        self.wake_all();
    }

    /// Changes the number of workers, and starts those that are missing.
    pub(crate) fn set_workers(self: &Arc<Self>, workers: usize) -> Result<(), BuildError> {
        let absent = self.set_wanted(workers);
        for (position, &worker) in absent.iter().enumerate() {
            if let Err(why) = self.platform.start(Driver::new(worker, self.clone())) {
                self.do_without(&absent[position..]);
                return Err(BuildError::Platform(why));
            }
        }
        Ok(())
    }
}

impl Runtime {
    /// Changes the number of workers while they run.
    ///
    /// With fewer workers than before, the others finish their current tasks and end. The remaining
    /// ones look after their run queues from then on: no task is lost, and no order changes. With
    /// more workers, those that have not ended yet stay, and the missing ones are started. The call
    /// returns before all of that has happened.
    ///
    /// # Errors
    ///
    /// If the number is 0 or larger than [`Builder::most_workers`](super::Builder::most_workers),
    /// or the platform cannot start a worker. In the last case fewer workers run, but at least one.
    /// [`BuildError::ShutDown`] if a [handle](crate::RuntimeHandle) asks for it when the runtime
    /// has begun to end.
    pub fn resize(&self, workers: usize) -> Result<(), BuildError> {
        match workers {
            0 => Err(BuildError::NoWorkers),
            _ if workers > self.workers() => Err(BuildError::TooManyWorkers(workers)),
            _ => {
                let _open = self.keep_open().map_err(|_| BuildError::ShutDown)?;
                self.shared().set_workers(workers)
            }
        }
    }

    /// Returns the number of workers that run. After a [`resize`](Self::resize) to fewer workers it
    /// is larger for a while, until the others have finished their current tasks.
    pub fn running_workers(&self) -> usize {
        self.shared().worker_set.states.lock().present.iter().filter(|&&present| present).count()
    }
}
