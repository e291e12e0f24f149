//! The loop of a worker's thread, and how it sleeps.
//!
//! # States of a worker
//!
//! - *Running*: runs tasks in bursts of [`BURST`], and drains its inbox between them. Ends when a
//!   burst finds no task.
//! - *Idle*: probes its run queue, up to [`SPIN_LIMIT`] times. After some of these probes it is
//!   also *searching*: it probes what other workers offer. Ends when it finds a task, or at the
//!   limit.
//! - *Falling asleep*: has set its flag `asleep`, and rechecks every source.
//! - *Parked*: blocked in [`Platform::park`](crate::platform::Platform::park), until another thread
//!   clears `asleep` and calls `Platform::wake`.
//!
//! # A push (`RuntimeState::push`)
//!
//! 1. Publish the task in the inbox. Sequentially consistent.
//! 2. Load `asleep`. Sequentially consistent. If it is false, the push is done.
//! 3. Swap `asleep` to false. The one thread that reads true calls `Platform::wake`.
//!
//! # Falling asleep ([`Driver::sleep`])
//!
//! 1. Free garbage or leave it to other workers, go offline in the epochs, count as searching.
//! 2. Store `asleep = true`. Sequentially consistent.
//! 3. Subtract one from `awake`. The last worker to do so takes care of garbage that was left.
//! 4. Probe the inbox. Sequentially consistent.
//! 5. Send steal requests, pass a barrier, and probe all other sources: rings, jobs, batches, the
//!    shared queue.
//! 6. If any probe found something, undo 2 and 3 and go on. Otherwise park for as long as `asleep`
//!    is true.
//!
//! # The schedule that this rules out
//!
//! ```text
//! worker: probes its inbox, which is empty
//! pusher: pushes a task, loads asleep = false, wakes none
//! worker: stores asleep = true, parks                     -> the task waits for the next push
//! ```
//!
//! Two checks decide: the pusher publishes (P1), then loads `asleep` (P2); the worker stores
//! `asleep` (W2), then probes the inbox (W4). All four are sequentially consistent, so they have
//! one order. If P2 comes before W2, then P1 comes before W4, and the probe sees the task.
//! Otherwise P2 sees `asleep`, and the pusher wakes the worker.
//!
//! Sources other than the inbox are published without a sequentially consistent instruction. There
//! both sides issue a fence between their write and their read, to the same effect; for joins see
//! `fork/steal.rs`. Models: `model/sleep.rs`, `model/lane.rs`, `model/ranked.rs`, `model/fork.rs`.
//! `docs/explanation/sleeping.md` has it all in more words; `worker_set.rs` has several run queues.

use super::runtime_state::phase;
#[cfg(feature = "std")]
use super::worker_thread;
use super::{RuntimeState, Worker};
use crate::pool::QueuePolicy;
use crate::sync::{Relaxed, SeqCst, fence, under_model, yield_now};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A worker, for its platform to drive: a thread calls [`run`](Self::run), a simulation
/// [`step`](Self::step).
///
/// A platform that has threads and a virtual clock calls [`step_at`](Self::step_at), and
/// [`sleep`](Self::sleep) when there is nothing to run.
pub struct Driver {
    worker: usize,
    pub(super) shared: Arc<RuntimeState>,
    /// The run queue that this worker holds.
    pub(super) held: Option<Box<Worker>>,
    /// The run queues that this worker owns, as of `generation`.
    pub(super) owned: Vec<usize>,
    /// The generation of the assignment that this worker has looked up.
    generation: u64,
    /// Index in `owned` of the run queue that was held last.
    turn: usize,
}

// SAFETY: tasks are `Send`, and so are the contents of a worker between two steps, when no join is
// open. (`Worker` itself is not `Send`: a task could swap its context for that of another runtime.)
unsafe impl Send for Driver {}

/// What a worker did in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It ran this many tasks.
    Ran(usize),
    /// It found no task.
    Idle,
    /// The worker has to return: the runtime has stopped, or has been
    /// [resized](crate::Runtime::resize) to fewer workers.
    Stopped,
}

/// Tasks that a thread runs between two probes of the inbox.
const BURST: usize = 32;
/// Probes of an idle worker before it sleeps: some 20 µs, longer than a round trip and shorter than
/// a time slice. None where workers outnumber cores.
const SPIN_LIMIT: u32 = under_model(2000, 1) as u32;
/// Probes without a pause between them: a reply may be on its way, and a pause takes longer.
const EAGER_PROBES: u32 = under_model(500, 0) as u32;
/// Probes between two moments at which a thread that has work gets the core: most often a thread
/// outside the runtime that spawns.
const YIELD_INTERVAL: u32 = 256;
/// The number of no generation.
const UNKNOWN_GENERATION: u64 = u64::MAX;

impl Driver {
    pub(super) fn new(worker: usize, shared: Arc<RuntimeState>) -> Self {
        let mut driver = Self { worker, shared, held: None, owned: Vec::new(), generation: 0, turn: 0 };
        if !driver.look_up_assignment() {
            // The assignment has changed meanwhile. Its first step looks again, and may stop it.
            driver.generation = UNKNOWN_GENERATION;
        }
        if let [queue] = driver.owned[..] {
            driver.hold(queue);
        }
        driver
    }

    /// Returns the index of the worker.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Returns the core that the worker is [placed](crate::Builder::placement) on, by the
    /// platform's own number.
    pub fn core(&self) -> Option<usize> {
        self.shared.placement.as_ref().map(|placement| placement.sites()[self.worker].cpu as usize)
    }

    /// Returns true if every task of the runtime that was spawned has run.
    pub(crate) fn finds_nothing_left(&self) -> bool {
        self.shared.epochs.is_quiescent(self.shared.ledgers())
    }

    /// Drives the worker until the runtime stops, or is resized to fewer workers.
    pub fn run(mut self) {
        let mut probes = 0;
        loop {
            match self.step(BURST) {
                Progress::Ran(_) => probes = 0,
                Progress::Stopped => return,
                Progress::Idle if probes < SPIN_LIMIT && !self.shared.platform.is_oversubscribed() => {
                    probes += 1;
                    if probes > EAGER_PROBES {
                        if probes.is_multiple_of(YIELD_INTERVAL) {
                            yield_now();
                        }
                        core::hint::spin_loop();
                    }
                }
                Progress::Idle => {
                    probes = 0;
                    self.sleep();
                }
            }
        }
    }

    /// Runs up to `max_tasks` tasks.
    pub fn step(&mut self, max_tasks: usize) -> Progress {
        #[cfg(feature = "std")]
        worker_thread::set_driven();
        if self.shared.worker_set.generation() != self.generation && !self.update_generation() {
            return Progress::Stopped;
        }
        let progress = match &mut self.held {
            Some(worker) if self.owned.len() == 1 => match worker.work(max_tasks) {
                0 => worker.idle(),
                ran => return Progress::Ran(ran),
            },
            _ => self.step_round(max_tasks),
        };
        if progress == Progress::Idle && self.steal_run_queue() { Progress::Ran(0) } else { progress }
    }

    /// Returns true if this worker became the owner of a parked run queue with tasks, whose owner
    /// is busy with another one. Only under work stealing.
    fn steal_run_queue(&mut self) -> bool {
        let Some(queue) = self.shared.find_neglected(self.worker) else { return false };
        let Some(taken) = self.shared.become_owner(queue, self.worker) else { return false };
        taken.counters().steals.add(1);
        self.hold_instead(taken);
        true
    }

    /// Goes from one owned run queue to the next until one has tasks.
    fn step_round(&mut self, max_tasks: usize) -> Progress {
        for _ in 0..self.owned.len() {
            self.turn = (self.turn + 1) % self.owned.len();
            if let Some(worker) = self.hold(self.owned[self.turn]) {
                let ran = worker.work(max_tasks);
                if ran > 0 {
                    return Progress::Ran(ran);
                }
            }
        }
        // The next round ends with another run queue, so that each becomes idle at times.
        self.turn += 1;
        match &mut self.held {
            Some(worker) => worker.idle(),
            None if self.shared.phase.load(Relaxed) == phase::STOPPED => Progress::Stopped,
            None => Progress::Idle,
        }
    }

    /// Holds a run queue, and parks the one held before. `None` if another worker holds it.
    fn hold(&mut self, queue: usize) -> Option<&mut Worker> {
        if self.held.as_ref().is_none_or(|held| held.index != queue) {
            let taken = self.shared.take_parked(queue)?;
            self.hold_instead(taken);
        }
        self.held.as_deref_mut()
    }

    /// Holds a run queue that was taken out of its slot, and parks the one held before.
    fn hold_instead(&mut self, mut taken: Box<Worker>) {
        taken.holder = self.worker;
        if let Some(mut held) = self.held.take() {
            held.search.pass_on(&mut taken.search);
            self.release(held);
        }
        self.held = Some(taken);
    }

    /// Parks a run queue, and wakes its owner if that is another worker.
    fn release(&self, mut worker: Box<Worker>) {
        let queue = worker.index;
        // The next holder says anew how many tasks have arrived.
        worker.queue.arrived = None;
        worker.set_idle(false);
        worker.set_searching(false);
        let has_tasks = worker.has_tasks();
        worker.publish_load();
        let may_be_stolen = self.shared.policy == QueuePolicy::WorkStealing;
        // SeqCst, as the load in `RuntimeState::push`: either the pushing thread sees this, or this
        // thread sees its task below.
        worker.slot().asleep.0.store(may_be_stolen, SeqCst);
        self.shared.park_queue(worker);
        let owner = self.shared.owner(queue);
        if owner != self.worker {
            self.shared.platform.wake(owner);
        }
        if may_be_stolen && (has_tasks || self.shared.slots[queue].inbox.seems_to_have_tasks()) {
            // An idle worker may steal the run queue.
            self.shared.wake_for_parked(queue);
        }
    }

    /// Looks up which run queues this worker owns. Returns true if the worker is to run.
    fn look_up_assignment(&mut self) -> bool {
        let (generation, is_wanted) = self.shared.worker_set.look_up(self.worker);
        self.generation = generation;
        self.owned.clear();
        if is_wanted {
            let queues = 0..self.shared.slots.len();
            self.owned.extend(queues.filter(|&queue| self.shared.owner(queue) == self.worker));
        }
        is_wanted
    }

    /// Looks up the assignment, and parks a held run queue that has another owner now. Returns
    /// false if the worker has to return.
    #[cold]
    fn update_generation(&mut self) -> bool {
        let is_wanted = self.look_up_assignment();
        if let Some(held) = self.held.take() {
            if self.owned.contains(&held.index) {
                self.held = Some(held);
            } else {
                self.release(held);
            }
        }
        // Its run queues are with their owners, so it may return, unless it is wanted again.
        is_wanted || !self.shared.worker_set.leave(self.worker)
    }

    /// Sleeps until a task is sent, work is offered, or the worker is needed otherwise.
    ///
    /// Meanwhile it [parks](crate::platform::Platform::park), several times if need be. It returns
    /// without parking if work has arrived already, or if other threads have to go on first.
    /// [`run`](Self::run) calls it after enough probes that found nothing.
    pub fn sleep(&mut self) {
        let mut held: Vec<_> = self.held.take().into_iter().collect();
        for &queue in &self.owned {
            held.extend(self.shared.take_parked(queue).map(|mut worker| {
                worker.holder = self.worker;
                worker
            }));
        }
        // Each of them falls asleep, whatever the others have found.
        let mut found_something =
            held.iter_mut().map(|worker| worker.fall_asleep()).filter(|&found| found).count() > 0;
        let worker_set = &self.shared.worker_set;
        worker_set.set_asleep_without_queue(self.worker, held.is_empty());
        // Pairs with the fences in `park_queue` and `wake_for_parked`: either this worker sees the
        // parked run queue or its tasks, or that thread sees that this worker sleeps and wakes it.
        fence(SeqCst);
        found_something |= self.shared.find_neglected(self.worker).is_some();
        if found_something || self.is_needed_elsewhere(held.len()) {
            // With more workers than cores, other threads need this core to finish first.
            yield_now();
        } else {
            let was_woken = || match held[..] {
                [] => !worker_set.is_asleep_without_queue(self.worker),
                _ => held.iter().any(|worker| !worker.is_asleep()),
            };
            while !was_woken() && !self.is_needed_elsewhere(held.len()) {
                self.shared.platform.park(self.worker);
            }
        }
        worker_set.set_asleep_without_queue(self.worker, false);
        for worker in &mut held {
            worker.wake_up();
        }
        let last = held.pop();
        held.into_iter().for_each(|worker| self.release(worker));
        self.held = last;
    }

    /// Returns true if this worker, which holds this many run queues, has to look at others, or at
    /// the assignment.
    fn is_needed_elsewhere(&self, holds: usize) -> bool {
        let has_parked = || self.owned.iter().any(|&queue| !self.shared.slots[queue].parked.is_empty());
        let is_stopped = || self.shared.phase() == phase::STOPPED;
        self.shared.worker_set.generation() != self.generation
            || holds < self.owned.len() && has_parked()
            || holds == 0 && is_stopped()
    }
}

impl Worker {
    /// Marks this run queue as asleep, and probes everywhere a second time. Returns true if there
    /// is something to do. The head of this file has the steps.
    fn fall_asleep(&mut self) -> bool {
        self.epoch.leave_garbage(&self.shared, self.index, self.trace.counters());
        self.heap.flush_before_sleep();
        self.set_idle(false);
        self.set_searching(true);
        self.epoch.go_offline(&self.shared.epochs);
        // SeqCst, with `RuntimeState::push`: either the load of the flag there sees this store, or
        // the probe of the inbox below sees the task.
        self.slot().asleep.0.store(true, SeqCst);
        // The last worker to fall asleep takes care of what the others have left, and of objects
        // that other threads have dropped meanwhile. SeqCst, with `RuntimeState::wake_for_garbage`.
        let is_last = self.shared.awake.fetch_sub(1, SeqCst) == 1;
        let has_orphans = is_last && self.shared.has_orphans.load(SeqCst);
        // SAFETY: only the holder of a run queue probes its inbox so.
        let has_inbox = !planted!("sleep-without-recheck") && unsafe { self.inbox().may_have_tasks() };
        if !planted!("sleep-without-request") {
            self.request_from_all();
        }
        // Pairs with the fences of threads that publish work elsewhere: `Worker::serve_requests`,
        // `Unbound::share`, `RoundRobin::check_sleepers` and `RuntimeState::push_ranked`; and with
        // the light fence of `Top::leaves_fast_path`.
        if !planted!("sleep-without-barrier") {
            self.shared.barrier();
        }
        self.collect(true);
        let is_offered = self.sees_job() || self.sees_steal_batch();
        if self.shared.phase() != phase::OPEN {
            // Each worker counts its tasks before its fence. So of the workers that finish last,
            // one sees all the counts.
            fence(SeqCst);
            self.shared.notify_if_drained();
        }
        // From rings between workers, or from an earlier holder that had not run all of them.
        let has_left = self.has_tasks() && !planted!("sleep-with-tasks-left");
        let found_something =
            has_orphans || has_inbox || has_left || is_offered || self.shared.phase() == phase::STOPPED;
        if !found_something {
            self.counters().sleeps.add(1);
            self.trace.asleep();
        }
        found_something
    }

    /// Returns true if no thread has woken this run queue since it fell asleep.
    fn is_asleep(&self) -> bool {
        self.slot().asleep.0.load(SeqCst)
    }

    fn wake_up(&mut self) {
        self.trace.awake();
        self.slot().asleep.0.store(false, SeqCst);
        self.shared.awake.fetch_add(1, SeqCst);
    }
}

impl Drop for Driver {
    /// Parks the held run queue, as a worker that could not be started may hold one. If the runtime
    /// has stopped, frees the parked ones: some may have been parked after it had freed them.
    fn drop(&mut self) {
        if let Some(worker) = self.held.take() {
            self.shared.park_queue(worker);
        }
        if self.shared.phase() == phase::STOPPED {
            self.shared.drop_parked();
        }
    }
}
