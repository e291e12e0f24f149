//! What a worker notes about its tasks where that was asked for; nothing of this is on anybody else's way.
//!
//! A look at the clock ends one task and begins the next one of the same burst: so what the worker does between two tasks
//! counts for the second.

use super::Context;
use crate::monitor::{Description, Event, Lead, Observer, Ran, Record, What};
use crate::pool::Ring;
use crate::sync::Relaxed;
use crate::task::Task;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// A worker's part in observing its runtime.
pub(crate) struct Observing {
    observer: Arc<Observer>,
    worker: usize,
    /// The burst in which the last run ended, and when.
    last: (u64, u64),
    /// The run that is not over.
    run: Option<Run>,
}

/// The run of a task that goes on.
struct Run {
    /// When it began.
    begin: u64,
    /// When the task was spawned.
    spawned: u64,
    /// When the task was put into the pool, and by whom it was spawned, for the timeline.
    queued: u64,
    by: u32,
    /// Where the end of the task is counted, and how many ends there are already.
    slot: u8,
    finished: u64,
    /// Times that the worker's tasks have waited at latches.
    latch_waits: u64,
    /// Tasks left in the pool.
    depth: usize,
    /// For the timeline.
    description: Option<Description>,
}

impl Observing {
    pub fn new(observer: &Arc<Observer>, worker: usize) -> Self {
        Self { observer: observer.clone(), worker, last: (0, 0), run: None }
    }

    fn record(&self) -> &Record {
        self.observer.record(self.worker)
    }

    /// Notes that the worker spawns a task, or puts it somewhere again; not of messages of the runtime's own. Whether it
    /// is none.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    #[cold]
    #[inline(never)]
    pub unsafe fn put(&self, task: NonNull<Task>) -> bool {
        // SAFETY: by the caller's promise.
        unsafe {
            if task.as_ref().meta.is_protocol() {
                return false;
            }
            if self.observer.stamp(task, self.worker as u32) {
                self.record().spawned.add(1);
            }
        }
        true
    }

    /// Notes that a task comes into the worker's pool.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    pub unsafe fn queue(&self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        if unsafe { self.put(task) } {
            self.record().queued.add(1);
        }
    }

    fn keep(&self, what: What, begin: u64, end: u64) {
        if let Some(events) = &self.record().events {
            events.lock().push(Event { what, begin, end });
        }
    }
}

impl Context {
    /// Whether somebody wants to know the names of tasks.
    pub(super) fn keeps_events(&self) -> bool {
        self.observing.as_ref().is_some_and(|observing| observing.record().events.is_some())
    }

    /// A task begins to run, or to be dropped.
    ///
    /// # Safety
    ///
    /// It belongs to this worker, and is no message of the runtime's own.
    pub(super) unsafe fn begin_observed(&mut self, task: NonNull<Task>, description: Option<Description>) {
        let Some(observing) = &mut self.observing else { return };
        let record = observing.observer.record(observing.worker);
        let begin = match observing.last {
            (burst, end) if burst == self.bursts => end,
            _ => observing.observer.clock.now(),
        };
        // SAFETY: by the caller's promise; it was stamped when it came into the pool.
        let (lead, slot) = unsafe { (Lead::of(task), task.as_ref().meta.epoch()) };
        record.runs.add(1);
        record.since.store(begin, Relaxed);
        if lead.runs == 0 {
            record.waiting.record(begin.saturating_sub(lead.spawned));
        }
        lead.runs = lead.runs.saturating_add(1);
        let depth = if description.is_some() { self.rings.iter().map(Ring::len).sum() } else { 0 };
        observing.run = Some(Run {
            begin,
            spawned: lead.spawned,
            queued: core::mem::take(&mut lead.queued),
            by: lead.by,
            slot,
            finished: self.ledger.0.finished_in(slot),
            latch_waits: self.counters.0.latch_waits.get(),
            depth,
            description,
        });
    }

    /// The run that began is over, with all that it has left to be done; if there was any.
    pub(super) fn end_observed(&mut self) {
        let Some(observing) = &mut self.observing else { return };
        let Some(run) = observing.run.take() else { return };
        let end = observing.observer.clock.now();
        observing.last = (self.bursts, end);
        let record = observing.record();
        // On a virtual clock a task begins and ends at the same moment.
        let time = end.saturating_sub(run.begin).max(1);
        record.since.store(0, Relaxed);
        record.busy.add(time);
        record.running.record(time);
        let finished = self.ledger.0.finished_in(run.slot) != run.finished;
        if finished {
            record.finished.add(1);
            record.completion.record((run.begin + time).saturating_sub(run.spawned));
        }
        if let Some(description) = run.description {
            let latch_waits = self.counters.0.latch_waits.get() - run.latch_waits;
            let ran = Ran {
                description,
                spawned: run.spawned,
                by: run.by,
                waited: run.begin.saturating_sub(run.queued),
                latch_waits,
                finished,
                depth: run.depth,
            };
            observing.keep(What::Task(ran), run.begin, run.begin + time);
        }
    }

    /// Notes what the worker does with a half of a join that it has taken from another one. If `idle`, it has no task, and
    /// this is what it is busy with.
    pub(crate) fn observe_half<R>(&mut self, idle: bool, run: impl FnOnce(&mut Self) -> R) -> R {
        let Some(observing) = &self.observing else { return run(self) };
        let begin = observing.observer.clock.now();
        if idle {
            observing.record().since.store(begin, Relaxed);
        }
        let result = run(self);
        if let Some(observing) = &self.observing {
            let time = observing.observer.clock.now().saturating_sub(begin).max(1);
            if idle {
                observing.record().since.store(0, Relaxed);
                observing.record().busy.add(time);
            }
            observing.keep(What::Half, begin, begin + time);
        }
        result
    }

    /// Notes that the worker sleeps.
    pub(super) fn observe_sleep(&mut self, sleep: impl FnOnce(&mut Self)) {
        let clock = |cx: &Self| cx.observing.as_ref().map(|observing| observing.observer.clock.now());
        let begin = clock(self);
        sleep(self);
        if let (Some(observing), Some(begin), Some(end)) = (&self.observing, begin, clock(self)) {
            observing.record().asleep.add(end.saturating_sub(begin));
            observing.keep(What::Sleep, begin, end);
        }
    }
}
