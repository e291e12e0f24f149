//! The loop of a worker's thread.
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
//! `sleep.rs` has how it falls asleep.

use super::runtime_state::phase;
#[cfg(feature = "std")]
use super::worker_thread;
use super::{RuntimeState, Worker, WorkerView};
use crate::sync::{Relaxed, SeqCst, fence, probes, under_model, yield_now};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::slice;

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
    pub(super) generation: u64,
    /// Index in `owned` of the run queue that was held last.
    turn: usize,
    /// The thread of this driver stands in for one that is inside a task.
    is_stand_in: bool,
    /// Steps with tasks so far, and idle ones since.
    busy_steps: u32,
    idle_steps: u32,
    /// Idle steps from one look for events and due timers to the next.
    idle_interval: u32,
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
const SPIN_LIMIT: u32 = under_model(probes(2000), 1) as u32;
/// With sources of events the kernel ends the sleep in the same way as it would end a look, and
/// each look costs a system call.
const SPIN_LIMIT_WITH_EVENTS: u32 = under_model(probes(100), 1) as u32;
/// Probes without a pause between them: a reply may be on its way, and a pause takes longer.
const EAGER_PROBES: u32 = under_model(probes(500), 0) as u32;
/// Probes between two moments at which a thread that has work gets the core: most often a thread
/// outside the runtime that spawns.
const YIELD_INTERVAL: u32 = probes(256) as u32;
/// Steps with tasks from one look for events and due timers to the next.
const BUSY_INTERVAL: u32 = 8;
/// The number of no generation.
const UNKNOWN_GENERATION: u64 = u64::MAX;

impl Driver {
    pub(super) fn new(worker: usize, shared: Arc<RuntimeState>) -> Self {
        // In a simulation a look costs nothing, and each idle step may be the last.
        let idle_interval = if shared.is_simulated { 1 } else { YIELD_INTERVAL };
        let mut driver = Self {
            worker,
            shared,
            held: None,
            owned: Vec::new(),
            generation: 0,
            turn: 0,
            is_stand_in: false,
            busy_steps: 0,
            idle_steps: 0,
            idle_interval,
        };
        if !driver.look_up_assignment() {
            // The assignment has changed meanwhile. Its first step looks again, and may stop it.
            driver.generation = UNKNOWN_GENERATION;
        }
        if let [queue] = driver.owned[..] {
            driver.hold(queue);
        }
        driver
    }

    /// Drives a worker whose first thread is inside a task.
    pub(super) fn stand_in(worker: usize, shared: Arc<RuntimeState>) -> Self {
        let mut driver = Self::new(worker, shared);
        driver.is_stand_in = true;
        // A thread may wait for its turn since before the assignment was looked up.
        driver.generation = UNKNOWN_GENERATION;
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

    /// Returns what this worker is doing, for reports while it is driven.
    pub fn view(&self) -> WorkerView {
        WorkerView::new(self.worker, self.shared.clone())
    }

    /// Drives the worker until the runtime stops, or is resized to fewer workers.
    pub fn run(mut self) {
        _ = self.run_until(|| false);
    }

    /// Drives the worker until `is_over` returns true, for a thread that waits and works meanwhile.
    /// Returns false if the worker has to return, as [`run`](Self::run) does. Otherwise it may be
    /// driven again, by any thread; no other thread relies on it in between.
    ///
    /// Calls `is_over` between any two [steps](Self::step) and each time that
    /// [`wake`](crate::platform::Platform::wake) ends a sleep; not again once it has returned true.
    ///
    /// The tasks run on the stack of the thread that waits. So it must hold nothing meanwhile that
    /// a task may wait for, such as a lock: that would be a deadlock.
    pub fn run_until(&mut self, mut is_over: impl FnMut() -> bool) -> bool {
        self.held.iter_mut().for_each(|worker| worker.count_as_awake());
        let (mut probes, mut spin_limit) = (0, SPIN_LIMIT);
        // A stand-in gives way between any two tasks.
        let max_tasks = if self.is_stand_in { 1 } else { BURST };
        loop {
            if is_over() {
                self.stand_aside();
                return true;
            }
            match self.step(max_tasks) {
                Progress::Ran(_) => probes = 0,
                Progress::Stopped => return false,
                Progress::Idle if probes < spin_limit && !self.shared.platform.is_oversubscribed() => {
                    if probes == 0 {
                        spin_limit = self.spin_limit();
                    }
                    probes += 1;
                    if probes > EAGER_PROBES {
                        if probes.is_multiple_of(YIELD_INTERVAL) {
                            self.yield_core();
                        }
                        core::hint::spin_loop();
                    }
                }
                Progress::Idle => {
                    probes = 0;
                    if self.sleep_until(&mut is_over) {
                        self.stand_aside();
                        return true;
                    }
                }
            }
        }
    }

    /// Returns after how many probes that found nothing the worker falls asleep.
    fn spin_limit(&self) -> u32 {
        let has_sources = self.owned.iter().any(|&queue| self.shared.has_sources(queue));
        if has_sources { SPIN_LIMIT_WITH_EVENTS } else { SPIN_LIMIT }
    }

    /// Lets another thread have the core, perhaps for long: no thread relies on this worker
    /// meanwhile.
    fn yield_core(&mut self) {
        if let Some(worker) = &mut self.held {
            worker.set_idle(false);
        }
        // Pairs with the fences of threads that wake a worker unless one is idle: either this
        // worker sees their task or offer, or they see that it is not idle.
        fence(SeqCst);
        if let Some(worker) = &self.held {
            worker.pass_on_offers();
        }
        if !self.shared.has_shared_tasks() {
            yield_now();
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
                ran => Progress::Ran(ran),
            },
            _ => self.step_round(max_tasks),
        };
        match progress {
            Progress::Ran(_) => {
                (self.busy_steps, self.idle_steps) = (self.busy_steps.wrapping_add(1), 0);
                if self.busy_steps.is_multiple_of(BUSY_INTERVAL) {
                    self.look_outside();
                }
            }
            Progress::Idle => {
                let is_due = self.idle_steps.is_multiple_of(self.idle_interval);
                self.idle_steps = self.idle_steps.wrapping_add(1);
                if is_due && self.look_outside() || self.steal_run_queue() {
                    return Progress::Ran(0);
                }
            }
            Progress::Stopped => {}
        }
        progress
    }

    /// Makes the next idle step look for events and due timers.
    pub(super) fn look_next(&mut self) {
        self.idle_steps = 0;
    }

    /// Looks for events and due timers of the run queues that this worker owns. Returns true if
    /// there are some.
    fn look_outside(&self) -> bool {
        // At all of them, whatever the first has.
        self.owned.iter().filter(|&&queue| self.shared.look_outside(queue)).count() > 0
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
            let taken = self.shared.take_unclaimed(queue)?;
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
    pub(super) fn release(&self, worker: Box<Worker>) {
        self.shared.release(worker, self.worker);
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

    /// Looks up the assignment, and parks a held run queue that has another owner now, or that a
    /// task waits for. Gives way to a thread of this worker that waits to go on with its task.
    /// Returns false if the calling thread has to return.
    #[cold]
    fn update_generation(&mut self) -> bool {
        loop {
            let is_wanted = self.look_up_assignment();
            let relay = self.shared.worker_set.relay(self.worker);
            let gives_way = relay.has_waiting();
            let keeps =
                |held: &Worker| self.owned.contains(&held.index) && !gives_way && !held.slot().is_claimed();
            if let Some(mut held) = self.held.take_if(|held| !keeps(held)) {
                held.set_idle(false);
                if !planted!("release-keeps-wake-up") {
                    self.pass_on_work(slice::from_ref(&held));
                }
                self.release(held);
            }
            if !gives_way {
                // Its run queues are with their owners, so it may return, unless it is wanted again
                // or another of its threads is inside a task.
                let stays = is_wanted || self.is_stand_in || relay.has_blocked();
                return stays || !self.shared.worker_set.leave(self.worker);
            }
            if self.is_stand_in {
                return false;
            }
            relay.give_up();
            self.shared.drive_again(self.worker);
        }
    }
}

impl Drop for Driver {
    /// Parks the held run queue, as a worker that could not be started may hold one. If the runtime
    /// has stopped, frees the parked ones: some may have been parked after it had freed them.
    fn drop(&mut self) {
        if let Some(mut worker) = self.held.take() {
            worker.set_idle(false);
            self.shared.park_queue(worker);
        }
        if self.shared.phase() == phase::STOPPED {
            self.shared.drop_parked();
        }
    }
}
