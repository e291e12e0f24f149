//! What a worker records of its tasks, in a runtime that is observed.
//!
//! One reading of the clock ends a task and begins the next one of the same burst. So the worker's
//! own time between two tasks counts for the second.

use super::busy_clock::BusyClock;
use super::demand_recorder::{DemandRecorder, NotedRun};
use super::run_queue::RunQueue;
use crate::memory::Ledger;
use crate::monitor::{
    Arrival, Description, Event, HeldGranules, Observer, Ran, Record, What, WorkerCounters,
};
use crate::object::ObjectNames;
use crate::pool::Ring;
use crate::sync::{Padded, Relaxed};
use crate::task::Task;
use alloc::sync::Arc;
use core::mem::replace;
use core::ptr::NonNull;

/// The recorder of one worker.
pub(super) struct Observing {
    observer: Arc<Observer>,
    names: Arc<ObjectNames>,
    record: Arc<Padded<Record>>,
    worker: u32,
    /// Events are kept for a timeline.
    keeps_events: bool,
    /// What is recorded on demand.
    demand: DemandRecorder,
    /// The burst in which the last run ended.
    burst: u64,
    /// When the last run ended.
    ended: u64,
    busy: BusyClock,
    /// The current run. If its task panics, it includes the cleanup after the panic.
    run: Run,
    is_running: bool,
    /// The event of the current run, for the timeline. `latch_waits` is the worker's count at the
    /// beginning of the run.
    ran: Option<Ran>,
}

/// A run that is suspended while another task runs inside it.
pub(super) struct Outer {
    run: Run,
    is_running: bool,
    ran: Option<Ran>,
    noted: Option<NotedRun>,
    /// Whether the worker was at work.
    was_busy: bool,
    /// When the inner run began.
    began: u64,
    /// Finished tasks in the slot of this run when the inner run began.
    finished: u64,
}

/// A run of a task.
#[derive(Clone, Copy, Default)]
struct Run {
    /// When it began.
    begin: u64,
    /// When the task was spawned.
    spawned: u64,
    /// Epoch slot of the task, in which its end is counted.
    slot: u8,
    /// Finished tasks in that slot when the run began.
    finished: u64,
    /// Time of the tasks that ran inside this run.
    within: u64,
}

impl Observing {
    pub fn new(observer: &Arc<Observer>, names: &Arc<ObjectNames>, worker: usize) -> Self {
        let record = observer.records[worker].clone();
        let busy = BusyClock::new(observer, &record);
        Self {
            observer: observer.clone(),
            names: names.clone(),
            keeps_events: observer.asked.events > 0,
            demand: DemandRecorder::default(),
            record,
            worker: worker as u32,
            burst: 0,
            ended: 0,
            busy,
            run: Run::default(),
            is_running: false,
            ran: None,
        }
    }

    /// Learns in which session the worker records; 0 is none.
    pub fn set_session(&mut self, session: u32) {
        self.busy.set_session(session);
        self.keeps_events = self.observer.asked.events > 0 || session != 0;
        self.demand.set_session(session, &self.record.0);
    }

    fn now(&self) -> u64 {
        self.observer.clock.now()
    }

    /// Ends the record: the session is over, and this worker is between two tasks, or in the midst
    /// of a suspended one.
    pub fn close(&self) {
        self.busy.end_busy(self.now());
    }

    /// Records that the worker spawns a task or requeues it. Returns false for a message of the
    /// runtime itself, which is not recorded.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline]
    pub unsafe fn put(&self, task: NonNull<Task>) -> bool {
        // SAFETY: the task belongs to this worker, by the contract of this function.
        unsafe {
            if task.as_ref().meta.is_protocol() {
                return false;
            }
            if self.observer.stamp(task, self.worker, self.demand.session()) {
                self.record.0.spawned.add(1);
            }
        }
        true
    }

    /// As [`put`](Self::put), for a task that does not enter this worker's rings. Out of line, as
    /// the callers are hot without an observer.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    #[cold]
    #[inline(never)]
    pub unsafe fn put_elsewhere(&self, task: NonNull<Task>) {
        // SAFETY: forwarded.
        unsafe { self.put(task) };
    }

    /// Makes room in the ring of the worker's run queue that a task is about to enter, and records
    /// that it does.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    #[inline(never)]
    pub unsafe fn queue(&self, task: NonNull<Task>, ring: &mut Ring) {
        ring.make_room();
        // SAFETY: forwarded.
        if unsafe { self.put(task) } {
            self.queued(1);
        }
    }

    /// Records that tasks entered the worker's run queue that were put elsewhere before.
    pub fn queued(&self, tasks: usize) {
        self.record.0.queued.add(tasks as u64);
    }

    /// Records that tasks came from another worker's run queue.
    pub fn stolen(&self, tasks: usize, from: usize) {
        self.queued(tasks);
        self.observer.records[from].0.given.fetch_add(tasks as u64, Relaxed);
    }

    /// Begins the run of a task.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker, and is no message of the runtime itself.
    #[inline(always)]
    pub unsafe fn begin(
        &mut self,
        task: NonNull<Task>,
        queue: &RunQueue,
        ledger: &Ledger,
        counters: &WorkerCounters,
    ) {
        let begin = if self.burst == queue.bursts { self.ended } else { self.now() };
        // SAFETY: the task belongs to this worker, by the contract of this function. It was stamped
        // when it was put, if tasks have leads.
        let (arrival, slot) =
            unsafe { (self.observer.start(task, begin, self.demand.session()), task.as_ref().meta.epoch()) };
        self.busy.begin_busy(begin);
        let record = &self.record.0;
        if arrival.is_first {
            record.waiting.record(begin.saturating_sub(arrival.spawned));
        }
        let finished = ledger.finished_in(slot);
        self.run = Run { begin, spawned: arrival.spawned, slot, finished, within: 0 };
        self.is_running = true;
        if self.keeps_events {
            // SAFETY: forwarded.
            unsafe { self.describe(task, arrival, begin, queue, counters) };
        }
    }

    /// Prepares the event of a run.
    ///
    /// # Safety
    ///
    /// As for [`begin`](Self::begin).
    #[inline(never)]
    unsafe fn describe(
        &mut self,
        task: NonNull<Task>,
        arrival: Arrival,
        begin: u64,
        queue: &RunQueue,
        counters: &WorkerCounters,
    ) {
        // SAFETY: the task belongs to this worker, by the contract of `begin`, and has not run yet.
        let (mut description, meta) = unsafe { ((task.as_ref().vtable.describe)(task), task.as_ref().meta) };
        if self.demand.session() != 0 {
            self.demand.begin(&self.observer, &self.record.0, description, arrival, begin, meta);
        } else {
            // On demand, names are looked up by the thread that reads.
            self.names.complete(&mut description);
        }
        let Description { task: name, objects } = description;
        let mut objects = objects.into_iter().flatten();
        self.ran = Some(Ran {
            name,
            object: objects.next(),
            others: objects.collect(),
            spawned: arrival.spawned,
            by: arrival.by,
            waited: begin.saturating_sub(arrival.queued),
            latch_waits: counters.latch_waits.get(),
            finished: false,
            depth: queue.len(),
        });
    }

    /// Ends the current run, unless it has ended. If `finishes`, the task finishes although the
    /// ledger does not count it yet: the run ends just before the task's handle is completed.
    #[inline(always)]
    pub fn end(&mut self, finishes: bool, bursts: u64, ledger: &Ledger, counters: &WorkerCounters) {
        if !replace(&mut self.is_running, false) {
            return;
        }
        // On a virtual clock a task begins and ends at the same moment.
        let end = self.now().max(self.run.begin + 1);
        self.burst = bursts;
        self.ended = end;
        let Run { begin, spawned, slot, finished, within } = self.run;
        self.busy.end_busy(end);
        let record = &self.record.0;
        let time = (end - begin).saturating_sub(within).max(1);
        record.running.record(time);
        let finished = finishes || ledger.finished_in(slot) != finished;
        if finished {
            record.completion.record(end.saturating_sub(spawned));
        }
        if self.keeps_events {
            self.demand.end(&self.record.0, time, finished);
            self.keep_run(begin, end, finished, counters);
        }
    }

    /// Records that the current task, which has just begun, waits on, and will begin again.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    #[cold]
    #[inline(never)]
    pub unsafe fn put_back(&mut self, task: NonNull<Task>) {
        // SAFETY: forwarded.
        unsafe { self.put(task) };
        self.note_attempt();
    }

    /// Records that the current task, which has just begun, has to wait on.
    pub fn note_attempt(&mut self) {
        self.demand.note_attempt(&self.record.0);
    }

    /// Records that the current task has panicked.
    pub fn note_panic(&mut self) {
        self.demand.note_panic();
    }

    /// Records that the current task begins to wait at a latch, unless it does already.
    pub fn begin_latch_wait(&mut self) {
        if self.demand.session() != 0 {
            self.demand.begin_latch_wait(self.now());
        }
    }

    /// Records that the current task has entered after it has waited at a latch.
    pub fn end_latch_wait(&mut self) {
        if self.demand.session() != 0 {
            self.demand.end_latch_wait(self.now());
        }
    }

    /// Records which granules the current task holds.
    #[inline]
    pub fn hold(&mut self, granules: impl FnOnce() -> HeldGranules) {
        if self.demand.session() != 0 {
            self.demand.hold(&self.record.0, granules());
        }
    }

    #[inline(never)]
    fn keep_run(&mut self, begin: u64, end: u64, finished: bool, counters: &WorkerCounters) {
        let Some(ran) = self.ran.take() else { return };
        let latch_waits = counters.latch_waits.get() - ran.latch_waits;
        self.keep(Event { what: What::Task(Ran { latch_waits, finished, ..ran }), begin, end });
    }

    fn keep(&self, event: Event) {
        if !self.keeps_events {
            return;
        }
        let mut events = self.record.0.events.lock();
        // Under the lock: the end of a session drops the events, and then none comes.
        if self.observer.asked.events > 0 || self.demand.session() == self.observer.session() {
            events.push(event);
        }
    }

    /// Suspends the current run: another task is about to run inside it, or while it `blocks` in
    /// place. The inner task begins now.
    pub fn suspend(&mut self, ledger: &Ledger, bursts: u64, blocks: bool) -> Outer {
        if blocks {
            self.demand.set_blocked(&self.record.0, true);
        }
        let began = self.now();
        (self.burst, self.ended) = (bursts, began);
        Outer {
            noted: self.demand.suspend(),
            run: self.run,
            is_running: replace(&mut self.is_running, false),
            ran: self.ran.take(),
            was_busy: self.busy.end_busy(began),
            began,
            finished: ledger.finished_in(self.run.slot),
        }
    }

    /// Resumes a suspended run. Neither the time nor the end of the inner task counts for it.
    pub fn resume(&mut self, outer: Outer, ledger: &Ledger) {
        let Outer { mut run, is_running, ran, noted, was_busy, began, finished } = outer;
        let now = self.now();
        self.demand.resume(noted);
        self.demand.set_blocked(&self.record.0, false);
        run.within += now.saturating_sub(began);
        run.finished += ledger.finished_in(run.slot) - finished;
        (self.run, self.is_running, self.ran) = (run, is_running, ran);
        if was_busy {
            self.busy.begin_busy(now);
        }
    }

    /// Begins the run of a stolen job. If `is_idle`, the worker is inside no task, and is busy with
    /// the job. Returns when the run began.
    pub fn begin_job(&self, is_idle: bool) -> u64 {
        let begin = self.now();
        if is_idle {
            self.busy.begin_busy(begin);
        }
        begin
    }

    /// Ends the run of a stolen job that began then.
    pub fn end_job(&self, is_idle: bool, begin: u64) {
        let end = self.now().max(begin + 1);
        if is_idle {
            self.busy.end_busy(end);
        }
        self.keep(Event { what: What::Half, begin, end });
    }

    /// Records that the worker falls asleep.
    pub fn asleep(&self) {
        self.busy.begin_sleep(self.now());
    }

    /// Records that the worker is awake again, if it was asleep.
    pub fn awake(&self) {
        let end = self.now();
        if let Some(begin) = self.busy.end_sleep(end) {
            self.keep(Event { what: What::Sleep, begin, end });
        }
    }
}
