//! How a worker runs the tasks of its run queue, in bursts, and what it does if there are none.

use super::driver::Progress;
use super::run_queue::{AGEING_INTERVAL, DISTURBED, UNBOUND};
use super::runtime_state::phase;
use super::search::STEAL_INTERVAL;
use super::trace::checks;
use super::{RuntimeState, Worker};
use crate::sync::{Relaxed, SeqCst, fence};
use crate::task::{Payload, Task, catch, discard};
use core::ptr::NonNull;

/// Tasks run between two prefetches.
const PREFETCH_GROUP: usize = 8;

impl Worker {
    /// Receives the tasks in the inbox, and runs up to `max_tasks` tasks. Returns how many it ran.
    #[inline]
    pub(super) fn work(&mut self, max_tasks: usize) -> usize {
        self.epoch.announce(&self.shared.epochs);
        self.receive(None);
        if self.unbound.has_shared_sources {
            self.nested = 0;
            // Now and then all sources are looked at, as hints may be lost.
            let (count, interval) = match self.search.probes() {
                0 => (self.queue.bursts, AGEING_INTERVAL),
                probes => (probes.into(), STEAL_INTERVAL.into()),
            };
            self.collect(count.is_multiple_of(interval));
        }
        self.check_signals();
        if self.search.probes() != 0 && self.has_tasks() {
            self.begin_work();
            self.wake_for_shared_tasks();
        }
        let mut ran = 0;
        while self.has_tasks() && ran < max_tasks {
            // One catch for many tasks: the guard that a panic passes leaves the cleanup in
            // `aftermath`.
            if let Err(payload) = catch(|| self.burst(max_tasks, &mut ran)) {
                self.settle_panic(payload);
                self.calm();
            }
        }
        if ran > 0 {
            self.after_burst();
        }
        ran
    }

    /// Learns whether tasks that have not started are to be cancelled, and whether tasks are
    /// recorded.
    #[inline(always)]
    pub(super) fn check_signals(&mut self) {
        if self.trace.has_signals(&self.shared) {
            self.learn_signals();
        }
    }

    #[cold]
    #[inline(never)]
    fn learn_signals(&mut self) {
        self.trace.learn_signals(&self.shared, self.index);
        self.queue.set_observed(self.trace.is_observed());
    }

    /// Cleans up after the panic of a task, if there was one.
    #[inline(always)]
    pub(super) fn settle(&mut self, outcome: Result<(), Payload>) {
        if let Err(payload) = outcome {
            self.settle_panic(payload);
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_panic(&mut self, payload: Payload) {
        let mut outcome = Err(payload);
        self.trace.note_panic();
        // The cleanup may run application code, which may panic as well.
        while let Err(payload) = outcome {
            outcome = match self.aftermath.take() {
                Some(after) => catch(|| after(payload, self)),
                None => {
                    discard(payload);
                    Ok(())
                }
            };
            self.end_watched_run();
            self.end_run();
        }
    }

    /// Does what a worker without tasks has to do: searches other workers, and from time to time
    /// reclaims memory and checks whether a shutdown is over.
    #[cold]
    pub(super) fn idle(&mut self) -> Progress {
        if self.groups.has_tickets() {
            // A task that waited for a group ran where the group ended, and used groups itself.
            self.return_tickets();
            self.after_burst();
            return Progress::Ran(0);
        }
        self.slot().load.store(0, Relaxed);
        if !self.search.is_idle() {
            self.set_idle(true);
        }
        self.search.count_probe();
        if self.search.is_due() {
            self.set_searching(true);
            if self.steal() {
                return Progress::Ran(0);
            }
            if self.run_stolen_job() {
                self.after_burst();
                return Progress::Ran(1);
            }
        }
        if self.has_garbage() {
            self.reclaim();
        }
        self.heap.flush_after_refusal(&self.shared.heaps);
        match self.shared.phase.load(Relaxed) {
            phase::OPEN => Progress::Idle,
            phase::STOPPED => Progress::Stopped,
            _ => {
                self.shared.notify_if_drained();
                Progress::Idle
            }
        }
    }

    /// Runs tasks of one priority: the highest that has tasks, or a lower one for ageing. Ends when
    /// `ran` reaches `max_tasks`, no task is left, or a more urgent one arrives. After a panic
    /// `ran` may be too high by up to `PREFETCH_GROUP`.
    #[inline(always)]
    fn burst(&mut self, max_tasks: usize, ran: &mut usize) {
        if self.queue.ready & UNBOUND != 0 && self.queue.is_turn_of_unbound() {
            return self.unbound_burst(max_tasks, ran);
        }
        let (level, max_tasks) = self.choose_level(*ran, max_tasks);
        let more_urgent = ((1 << level) - 1) | DISTURBED;
        loop {
            let ring = self.queue.ring(level);
            if ring.is_empty() {
                self.queue.ready &= !((1 << level) | DISTURBED);
                return;
            }
            if self.distance > 0 {
                let lines = ring.look_ahead(self.distance, self.free_word);
                if self.trace.is_counting {
                    self.trace.counters().prefetches.add(lines);
                }
            }
            // One prefetch serves several tasks. In a short queue it is soon out of date.
            let group = (ring.len() / 4).clamp(1, PREFETCH_GROUP).min(max_tasks - *ran);
            *ran += group;
            for left in (0..group).rev() {
                let task = self.queue.ring(level).pop();
                // SAFETY: a task in the ring belongs to this worker.
                unsafe { self.run_task(task) };
                if self.queue.ready & more_urgent != 0 {
                    *ran -= left;
                    if self.queue.is_disturbed() {
                        self.calm();
                    }
                    return;
                }
            }
            if *ran == max_tasks {
                return;
            }
        }
    }

    /// Returns the level to run now, and the count at which its burst ends.
    #[inline(always)]
    fn choose_level(&mut self, ran: usize, max_tasks: usize) -> (usize, usize) {
        let first = self.queue.highest_level();
        if self.queue.begin_burst() { self.age(first, ran, max_tasks) } else { (first, max_tasks) }
    }

    /// Ageing: one task of a lower priority goes first.
    #[cold]
    fn age(&mut self, first: usize, ran: usize, max_tasks: usize) -> (usize, usize) {
        if self.has_garbage() {
            self.reclaim();
        }
        let aged = self.queue.aged_level();
        if aged == first { (first, max_tasks) } else { (aged, ran + 1) }
    }

    /// Runs or cancels a task.
    ///
    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline(always)]
    pub(super) unsafe fn run_task(&mut self, task: NonNull<Task>) {
        // SAFETY: the task belongs to this worker, by the contract of this function.
        unsafe {
            let (vtable, meta) = (task.as_ref().vtable, task.as_ref().meta);
            self.current = meta;
            if meta.cost() != 0 {
                self.queue.extra_load -= meta.cost();
            }
            if self.trace.checks != 0 && !meta.is_protocol() {
                return run_checked(task, self);
            }
            (vtable.run)(task, self);
        }
    }

    /// Records that the current task is over, with its cleanup.
    #[cold]
    fn end_watched_run(&self) {
        if let Some(posts) = &self.shared.posts {
            posts.end(self.index);
        }
    }

    /// Publishes that this worker is no longer idle.
    #[cold]
    pub(crate) fn begin_work(&mut self) {
        self.search.reset_probes();
        self.set_idle(false);
        self.set_searching(false);
        // Pairs with the fences of threads that offer work and see whether a worker is idle: in
        // `Offers::note`, `RuntimeState::push_ranked` and `wake_for_tasks`. If such a thread still
        // sees this worker idle, this worker sees its note below, or its task after it has taken
        // another one. (Where both are in the same heap, the heap's lock alone would do.)
        if !planted!("work-begun-without-fence") {
            fence(SeqCst);
        }
        self.pass_on_offers();
    }

    /// Gives back the tickets of members that have finished.
    fn leave_groups(&mut self) {
        if self.groups.has_tickets() {
            self.return_tickets();
        }
    }

    /// Does what other workers would wait for until this burst is over: the current task waits, and
    /// perhaps for them.
    pub(crate) fn prepare_to_wait(&mut self) {
        if !planted!("wait-keeps-tickets") {
            self.leave_groups();
        }
        self.check_sleepers();
    }

    /// Publishes the load, which other threads compare, and the ends of members of groups.
    fn after_burst(&mut self) {
        self.leave_groups();
        if self.unbound.has_shared_sources {
            self.check_sleepers();
        }
        self.publish_load();
    }

    /// Publishes the cost of the tasks in the run queue.
    pub(super) fn publish_load(&self) {
        self.slot().load.store(self.queue.load(), Relaxed);
    }
}

/// Cancels a task, or runs it with the checks of the runtime.
///
/// # Safety
///
/// The task belongs to this worker.
#[cold]
#[inline(never)]
unsafe fn run_checked(task: NonNull<Task>, worker: &mut Worker) {
    // SAFETY: forwarded.
    unsafe {
        match worker.trace.checks {
            checks::OBSERVED => run_observed(task, worker),
            _ => run_otherwise(task, worker),
        }
    }
}

/// Not cold: an observed runtime runs all its tasks here.
///
/// # Safety
///
/// The task belongs to this worker.
#[inline(never)]
unsafe fn run_observed(task: NonNull<Task>, worker: &mut Worker) {
    // SAFETY: forwarded.
    unsafe { worker.run_timed(task, |task, worker| (task.as_ref().vtable.run)(task, worker)) };
}

/// # Safety
///
/// The task belongs to this worker.
#[cold]
#[inline(never)]
unsafe fn run_otherwise(task: NonNull<Task>, worker: &mut Worker) {
    // SAFETY: forwarded.
    unsafe { worker.run_timed(task, |task, worker| cancel_or_watch(task, worker)) };
}

/// # Safety
///
/// The task belongs to this worker.
unsafe fn cancel_or_watch(task: NonNull<Task>, worker: &mut Worker) {
    // SAFETY: the task belongs to this worker, by the contract of this function. It is described
    // before it runs, as that may free it.
    unsafe {
        let vtable = task.as_ref().vtable;
        if worker.trace.checks & checks::CANCELLING != 0 {
            return (vtable.cancel)(task, worker);
        }
        let describe = |shared: &RuntimeState| {
            let mut description = (vtable.describe)(task);
            shared.names.complete(&mut description);
            description
        };
        #[cfg(feature = "tracing")]
        let _span = (worker.trace.checks & checks::TRACED != 0)
            .then(|| crate::monitor::spans::enter(worker.index, || describe(&worker.shared)));
        if let Some(posts) = &worker.shared.posts {
            posts.begin(worker.index, describe(&worker.shared), worker.shared.platform.now());
        }
        (vtable.run)(task, worker);
        worker.end_watched_run();
    }
}
