//! What a worker counts and records, and the checks before each task that this needs.

use super::Worker;
use super::observing::{Observing, Outer};
use super::run_queue::RunQueue;
use super::runtime_state::{RuntimeState, signals};
use crate::memory::Ledger;
use crate::monitor::{HeldGranules, WorkerCounters};
use crate::pool::Ring;
use crate::sync::{Padded, Relaxed};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// What a worker checks before it runs a task: bits of one word, so that all checks together cost
/// one branch.
pub(super) mod checks {
    /// The runtime is shutting down, and tasks that have not started are cancelled.
    pub const CANCELLING: u8 = 1;
    /// It is recorded which task runs.
    pub const WATCHED: u8 = 2;
    /// Tasks are counted and timed.
    pub const OBSERVED: u8 = 4;
    /// Each run has a span.
    #[cfg(feature = "tracing")]
    pub const TRACED: u8 = 8;
}

/// A worker's counters, its recorder, and the checks before each task.
pub(super) struct Trace {
    counters: Arc<Padded<WorkerCounters>>,
    /// Optional counters are kept, too.
    pub is_counting: bool,
    /// Bits of [`checks`].
    pub checks: u8,
    /// The signals of the runtime that are known here.
    signals: u32,
    /// `None` while the runtime is not observed.
    observing: Option<Box<Observing>>,
}

impl Trace {
    pub fn new(shared: &RuntimeState, worker: usize) -> Self {
        let observer = shared.constant_observer();
        let observing = observer.map(|observer| Box::new(Observing::new(observer, &shared.names, worker)));
        let watched = if shared.posts.is_some() { checks::WATCHED } else { 0 };
        let observed = if observing.is_some() { checks::OBSERVED } else { 0 };
        #[cfg(feature = "tracing")]
        let traced = if shared.spans { checks::TRACED } else { 0 };
        #[cfg(not(feature = "tracing"))]
        let traced = 0;
        Self {
            counters: shared.slots[worker].counters.clone(),
            is_counting: shared.counting,
            checks: watched | observed | traced,
            signals: 0,
            observing,
        }
    }

    /// Returns true if there are signals of the runtime that are not known here.
    #[inline(always)]
    pub fn has_signals(&self, shared: &RuntimeState) -> bool {
        shared.signals.0.load(Relaxed) != self.signals
    }

    /// Learns the signals of the runtime: whether tasks are cancelled, and in which session they
    /// are recorded. Between two runs, or in the midst of a suspended one.
    pub fn learn_signals(&mut self, shared: &RuntimeState, worker: usize) {
        self.signals = shared.signals.0.load(Relaxed);
        if self.signals & signals::CANCELLING != 0 {
            // The check stays: nothing is spawned after the shutdown.
            self.checks |= checks::CANCELLING;
        }
        let Some(observer) = &shared.observer else { return };
        let session = signals::session(self.signals);
        if session == 0 && !observer.asked.is_constant() {
            self.checks &= !checks::OBSERVED;
            if let Some(observing) = self.observing.take() {
                observing.close();
            }
            return;
        }
        self.checks |= checks::OBSERVED;
        let new = || Box::new(Observing::new(observer, &shared.names, worker));
        self.observing.get_or_insert_with(new).set_session(session);
    }

    #[inline(always)]
    pub fn counters(&self) -> &WorkerCounters {
        &self.counters.0
    }

    #[inline(always)]
    pub fn is_observed(&self) -> bool {
        self.observing.is_some()
    }

    /// Makes room in the ring that a task is about to enter, and records that it does.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline(always)]
    pub unsafe fn make_room(&self, task: NonNull<Task>, ring: &mut Ring) {
        match &self.observing {
            None => ring.make_room(),
            // SAFETY: forwarded.
            Some(observing) => unsafe { observing.queue(task, ring) },
        }
    }

    /// Records that a task leaves this worker, or waits where any worker may take it.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline(always)]
    pub unsafe fn put(&self, task: NonNull<Task>) {
        if let Some(observing) = &self.observing {
            // SAFETY: forwarded.
            unsafe { observing.put_elsewhere(task) };
        }
    }

    /// Records that a task was spawned that waits in no run queue for now.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    pub unsafe fn put_waiting(&self, task: NonNull<Task>) {
        if let Some(observing) = &self.observing {
            // SAFETY: forwarded.
            unsafe { observing.put(task) };
        }
    }

    /// Records that the current task, which has just begun, is deferred, and will begin again.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline]
    pub unsafe fn put_back(&mut self, task: NonNull<Task>) {
        if let Some(observing) = &mut self.observing {
            // SAFETY: forwarded.
            unsafe { observing.put_back(task) };
        }
    }

    /// Records that the current task, which has just begun, has been parked, and will begin again.
    pub fn note_attempt(&mut self) {
        if let Some(observing) = &mut self.observing {
            observing.note_attempt();
        }
    }

    /// Records that tasks entered the worker's run queue that were put elsewhere before.
    pub fn queued(&self, tasks: usize) {
        if let Some(observing) = &self.observing {
            observing.queued(tasks);
        }
    }

    /// Records that tasks came from another worker's run queue.
    pub fn stolen(&self, tasks: usize, from: usize) {
        if let Some(observing) = &self.observing {
            observing.stolen(tasks, from);
        }
    }

    /// Suspends the record of the current run: another task is about to run inside it, or while it
    /// `blocks` in place.
    pub fn suspend(&mut self, ledger: &Ledger, bursts: u64, blocks: bool) -> Option<Outer> {
        self.observing.as_mut().map(|observing| observing.suspend(ledger, bursts, blocks))
    }

    /// Resumes the record of a suspended run.
    pub fn resume(&mut self, outer: Option<Outer>, ledger: &Ledger) {
        if let (Some(observing), Some(outer)) = (&mut self.observing, outer) {
            observing.resume(outer, ledger);
        }
    }

    /// Records that the current task has panicked.
    pub fn note_panic(&mut self) {
        if let Some(observing) = &mut self.observing {
            observing.note_panic();
        }
    }

    /// Records that the current task begins to wait at a latch, unless it does already.
    pub fn begin_latch_wait(&mut self) {
        if let Some(observing) = &mut self.observing {
            observing.begin_latch_wait();
        }
    }

    /// Records that the current task has entered after it has waited at a latch.
    pub fn end_latch_wait(&mut self) {
        if let Some(observing) = &mut self.observing {
            observing.end_latch_wait();
        }
    }

    /// Records which granules the current task holds, if that is recorded.
    #[inline]
    pub fn hold(&mut self, granules: impl FnOnce() -> HeldGranules) {
        if let Some(observing) = &mut self.observing {
            observing.hold(granules);
        }
    }

    /// Records that the worker falls asleep.
    pub fn asleep(&self) {
        if let Some(observing) = &self.observing {
            observing.asleep();
        }
    }

    /// Records that the worker is awake again, if it was asleep.
    pub fn awake(&self) {
        if let Some(observing) = &self.observing {
            observing.awake();
        }
    }

    #[inline(always)]
    fn end(&mut self, finishes: bool, queue: &RunQueue, ledger: &Ledger) {
        if let Some(observing) = &mut self.observing {
            observing.end(finishes, queue.bursts, ledger, &self.counters.0);
        }
    }
}

impl Worker {
    /// Runs or cancels a task, as `run` does, and records the run if the runtime is observed.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker, and is no message of the runtime itself.
    #[inline(always)]
    pub(super) unsafe fn run_timed(
        &mut self,
        task: NonNull<Task>,
        run: impl FnOnce(NonNull<Task>, &mut Self),
    ) {
        let Trace { observing, counters, .. } = &mut self.trace;
        if let Some(observing) = observing {
            // SAFETY: forwarded.
            unsafe { observing.begin(task, &self.queue, self.epoch.ledger(), &counters.0) };
        }
        run(task, self);
        self.end_run();
    }

    /// Records that the current run is over, with its cleanup if its task panicked.
    #[inline(always)]
    pub(super) fn end_run(&mut self) {
        self.trace.end(false, &self.queue, self.epoch.ledger());
    }

    /// Records that the current task finishes. Before its handle is completed, so that a thread
    /// that joins the task finds it in the statistics.
    #[inline]
    pub(crate) fn observe_result(&mut self) {
        if self.trace.is_observed() {
            self.end_finished_run();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_finished_run(&mut self) {
        self.trace.end(true, &self.queue, self.epoch.ledger());
    }

    /// Records that the current task, which has just begun, has been parked, and will begin again.
    pub(crate) fn note_attempt(&mut self) {
        self.trace.note_attempt();
    }

    /// Records which granules the current task holds, if that is recorded.
    #[inline]
    pub(crate) fn record_granules(&mut self, granules: impl FnOnce() -> HeldGranules) {
        self.trace.hold(granules);
    }

    /// Runs a stolen job, and records the run if the runtime is observed. If `is_idle`, the worker
    /// is inside no task, and is busy with the job.
    pub(crate) fn observe_job(&mut self, is_idle: bool, run: impl FnOnce(&mut Self)) {
        let Some(observing) = &self.trace.observing else { return run(self) };
        let begin = observing.begin_job(is_idle);
        run(self);
        if let Some(observing) = &self.trace.observing {
            observing.end_job(is_idle, begin);
        }
    }
}
