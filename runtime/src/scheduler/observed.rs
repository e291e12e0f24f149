//! What a worker notes about its tasks where that was asked for; nothing of this is on anybody else's way.
//!
//! A look at the clock ends one task and begins the next one of the same burst: so what the worker does between two tasks
//! counts for the second.

use super::Context;
use crate::monitor::{Description, Event, Lead, Observer, Ran, Record, What};
use crate::pool::Ring;
use crate::sync::{Padded, Relaxed};
use crate::task::Task;
use alloc::sync::Arc;
use core::mem::replace;
use core::ptr::NonNull;

/// A worker's part in observing its runtime.
pub(crate) struct Observing {
    observer: Arc<Observer>,
    record: Arc<Padded<Record>>,
    worker: u32,
    /// Events are kept.
    keeps_events: bool,
    /// The burst in which the last run ended, and when.
    burst: u64,
    ended: u64,
    /// The run that goes on, if one does; if it unwinds, until what it has left is done.
    run: Run,
    is_running: bool,
    /// What is kept of it, as far as is known; of waits at latches it has those before.
    ran: Option<Ran>,
}

/// What is known of a run while another one goes on within it.
pub(super) struct Outer {
    run: Run,
    is_running: bool,
    ran: Option<Ran>,
    busy_since: u64,
    /// When the other one began, and how many tasks of this one's slot had ended.
    began: u64,
    finished: u64,
}

/// The run of a task.
#[derive(Clone, Copy, Default)]
struct Run {
    /// When it began.
    begin: u64,
    /// When the task was spawned.
    spawned: u64,
    /// Where the end of the task is counted, and how many ends of others there were.
    slot: u8,
    finished: u64,
    /// The time of those that ran within it.
    within: u64,
}

impl Observing {
    pub fn new(observer: &Arc<Observer>, worker: usize) -> Self {
        let record = observer.records[worker].clone();
        Self {
            observer: observer.clone(),
            keeps_events: record.0.events.is_some(),
            record,
            worker: worker as u32,
            burst: 0,
            ended: 0,
            run: Run::default(),
            is_running: false,
            ran: None,
        }
    }

    fn now(&self) -> u64 {
        self.observer.clock.now()
    }

    /// Notes that the worker spawns a task, or puts it somewhere again; not of messages of the runtime's own. Whether it
    /// is none.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline]
    pub unsafe fn put(&self, task: NonNull<Task>) -> bool {
        // SAFETY: by the caller's promise.
        unsafe {
            if task.as_ref().meta.is_protocol() {
                return false;
            }
            if self.observer.stamp(task, self.worker) {
                self.record.0.spawned.add(1);
            }
        }
        true
    }

    /// The same, out of the way of the others.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    #[cold]
    #[inline(never)]
    pub unsafe fn put_elsewhere(&self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe { self.put(task) };
    }

    /// Notes that a task comes into the worker's pool, where it makes room for it.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    #[inline(never)]
    pub unsafe fn queue(&self, task: NonNull<Task>, ring: &mut Ring) {
        ring.make_room();
        // SAFETY: by the caller's promise.
        if unsafe { self.put(task) } {
            self.record.0.queued.add(1);
        }
    }

    fn keep(&self, event: Event) {
        if let Some(events) = &self.record.0.events {
            events.lock().push(event);
        }
    }
}

impl Context {
    /// Runs or cancels a task, as `run` does, and takes its time.
    ///
    /// # Safety
    ///
    /// It belongs to this worker, and is no message of the runtime's own.
    #[inline(always)]
    pub(super) unsafe fn run_in_sight(
        &mut self,
        task: NonNull<Task>,
        run: impl FnOnce(NonNull<Task>, &mut Self),
    ) {
        // SAFETY: by the caller's promise.
        unsafe { self.begin(task) };
        run(task, self);
        self.end(false);
    }

    /// # Safety
    ///
    /// As for [`run_in_sight`](Self::run_in_sight).
    #[inline(always)]
    unsafe fn begin(&mut self, task: NonNull<Task>) {
        let Some(observing) = &mut self.observing else { return };
        let begin = if observing.burst == self.bursts { observing.ended } else { observing.now() };
        // SAFETY: by the caller's promise; it was stamped when it came into the pool.
        let (lead, slot) = unsafe { (Lead::of(task), task.as_ref().meta.epoch()) };
        let record = &observing.record.0;
        record.busy_since.store(begin, Relaxed);
        if !lead.has_run {
            record.waiting.record(begin.saturating_sub(lead.spawned));
        }
        let finished = self.ledger.0.finished_in(slot);
        observing.run = Run { begin, spawned: lead.spawned, slot, finished, within: 0 };
        observing.is_running = true;
        if observing.keeps_events {
            // SAFETY: by the caller's promise.
            unsafe { self.describe(task, lead, begin) };
        }
        lead.has_run = true;
        lead.queued = 0;
    }

    /// # Safety
    ///
    /// As for [`run_in_sight`](Self::run_in_sight).
    #[inline(never)]
    unsafe fn describe(&mut self, task: NonNull<Task>, lead: &Lead, begin: u64) {
        let Some(observing) = &mut self.observing else { return };
        // SAFETY: by the caller's promise.
        let Description { task: name, objects } = unsafe { (task.as_ref().vtable.describe)(task) };
        let mut objects = objects.into_iter().flatten();
        observing.ran = Some(Ran {
            name,
            object: objects.next(),
            others: objects.collect(),
            spawned: lead.spawned,
            by: lead.by,
            waited: begin.saturating_sub(lead.queued),
            latch_waits: self.counters.0.latch_waits.get(),
            finished: false,
            depth: self.rings.iter().map(Ring::len).sum(),
        });
    }

    /// The run is over, unless that was noted: with all that it has left to be done, or, if `told`, but that the handle of
    /// its task is about to be told.
    #[inline(always)]
    fn end(&mut self, told: bool) {
        let Some(observing) = &mut self.observing else { return };
        if !replace(&mut observing.is_running, false) {
            return;
        }
        // On a virtual clock a task begins and ends at the same moment.
        let end = observing.now().max(observing.run.begin + 1);
        observing.burst = self.bursts;
        observing.ended = end;
        let Run { begin, spawned, slot, finished, within } = observing.run;
        let record = &observing.record.0;
        record.busy_since.store(0, Relaxed);
        let time = (end - begin).saturating_sub(within).max(1);
        record.busy.add(time);
        record.running.record(time);
        let finished = told || self.ledger.0.finished_in(slot) != finished;
        if finished {
            record.completion.record(end.saturating_sub(spawned));
        }
        if observing.keeps_events {
            self.keep_run(begin, end, finished);
        }
    }

    #[inline(never)]
    fn keep_run(&mut self, begin: u64, end: u64, finished: bool) {
        let Some(observing) = &mut self.observing else { return };
        let Some(ran) = observing.ran.take() else { return };
        let latch_waits = self.counters.0.latch_waits.get() - ran.latch_waits;
        observing.keep(Event { what: What::Task(Ran { latch_waits, finished, ..ran }), begin, end });
    }

    /// What a run that unwound has left is done.
    pub(super) fn end_unwound(&mut self) {
        self.end(false);
    }

    /// The handle of the task that runs is about to be told: who has joined it finds it in the statistics.
    #[inline]
    pub(crate) fn observe_result(&mut self) {
        if self.observing.is_some() {
            self.end_told();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_told(&mut self) {
        self.end(true);
    }

    /// Notes that a task is put where it waits for any worker, or is on its way to one.
    pub(super) fn observe_put(&self, task: NonNull<Task>) {
        if let Some(observing) = &self.observing {
            // SAFETY: the task belongs to this worker.
            unsafe { observing.put_elsewhere(task) };
        }
    }

    /// Notes that so many tasks came into the pool, which were put somewhere before.
    pub(super) fn observe_queued(&self, tasks: usize) {
        if let Some(observing) = &self.observing {
            observing.record.0.queued.add(tasks as u64);
        }
    }

    /// Notes that so many tasks came into the pool from that of another worker.
    pub(super) fn observe_stolen(&self, tasks: usize, from: usize) {
        self.observe_queued(tasks);
        if let Some(observing) = &self.observing {
            observing.observer.records[from].0.given.fetch_add(tasks as u64, Relaxed);
        }
    }

    /// Another task is about to run within the one that runs.
    pub(super) fn observe_outer(&mut self) -> Option<Outer> {
        let observing = self.observing.as_mut()?;
        Some(Outer {
            run: observing.run,
            is_running: replace(&mut observing.is_running, false),
            ran: observing.ran.take(),
            busy_since: observing.record.0.busy_since.load(Relaxed),
            began: observing.now(),
            finished: self.ledger.0.finished_in(observing.run.slot),
        })
    }

    /// That task is over: its time is not that of the one around it, and neither is its end.
    pub(super) fn observe_return(&mut self, outer: Option<Outer>) {
        let (Some(observing), Some(outer)) = (&mut self.observing, outer) else { return };
        let Outer { mut run, is_running, ran, busy_since, began, finished } = outer;
        run.within += observing.now().saturating_sub(began);
        run.finished += self.ledger.0.finished_in(run.slot) - finished;
        (observing.run, observing.is_running, observing.ran) = (run, is_running, ran);
        observing.record.0.busy_since.store(busy_since, Relaxed);
    }

    /// Notes what the worker does with a half of a join that it has taken from another one. If `idle`, it has no task, and
    /// this is what it is busy with.
    pub(crate) fn observe_half(&mut self, idle: bool, run: impl FnOnce(&mut Self)) {
        let Some(observing) = &self.observing else { return run(self) };
        let begin = observing.now();
        if idle {
            observing.record.0.busy_since.store(begin, Relaxed);
        }
        run(self);
        if let Some(observing) = &self.observing {
            let end = observing.now().max(begin + 1);
            if idle {
                observing.record.0.busy_since.store(0, Relaxed);
                observing.record.0.busy.add(end - begin);
            }
            observing.keep(Event { what: What::Half, begin, end });
        }
    }

    /// Notes that the worker falls asleep.
    pub(super) fn observe_sleep(&self) {
        if let Some(observing) = &self.observing {
            observing.record.0.asleep_since.store(observing.now(), Relaxed);
        }
    }

    /// Notes that the worker is awake again, if it has slept.
    pub(super) fn observe_waking(&self) {
        let Some(observing) = &self.observing else { return };
        let record = &observing.record.0;
        let begin = record.asleep_since.load(Relaxed);
        if begin != 0 {
            let end = observing.now().max(begin);
            record.asleep_since.store(0, Relaxed);
            record.asleep.add(end - begin);
            observing.keep(Event { what: What::Sleep, begin, end });
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use crate::platform::Simulation;
    use crate::{Runtime, Sequencing, Shutdown};

    #[test]
    fn what_a_shutdown_cancels_has_finished_as_well() {
        for seed in 0..10 {
            let builder = Runtime::builder().platform(Simulation::new(3, seed)).timeline(10);
            let rt = builder.build().unwrap();
            let objects = [(); 3].map(|()| rt.plain(0u64).pin(Sequencing).build());
            for index in 0..90 {
                let [a, b, c] = [0, 1, 2].map(|next| &objects[(index + next) % 3]);
                rt.task((a.write(), b.write())).spawn(|_, _| ());
                let c = c.clone();
                rt.task(()).spawn(move |(), cx| cx.task(c.write()).spawn(|_, _| ()));
                if index == 45 {
                    rt.task(()).submit(|(), _| ()).join().unwrap();
                }
            }
            // The runtime is gone then.
            let shared = rt.shared().clone();
            rt.shutdown(Shutdown::Cancel);
            let statistics = shared.statistics().unwrap();
            let finished = statistics.finished;
            assert!((182..271).contains(&finished) && statistics.spawned == finished, "{statistics}");
            assert_eq!((statistics.waiting.count(), statistics.occupancy()), (finished, 0));
            let in_pools = |worker: &crate::WorkerStatistics| worker.occupancy();
            assert_eq!(statistics.workers.iter().map(in_pools).sum::<u64>(), 0);
        }
    }
}
