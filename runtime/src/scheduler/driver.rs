//! The worker loop: what a platform drives.

use super::shared::phase;
use super::{Context, Shared};
use crate::annotation::Priority;
use crate::pool::Ring;
use crate::sync::{Relaxed, SeqCst, fence, under_model, yield_now};
use crate::task::{Task, catch, discard};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// A worker, ready to be driven by its platform: a thread calls [`run`](Self::run), a simulation
/// [`step`](Self::step).
pub struct Driver {
    cx: Context,
}

// SAFETY: the tasks in the rings are all `Send`, and descriptors belong to whoever runs them, on any thread; between two
// steps there is no join. (A context itself must not go anywhere: a task might exchange that of another runtime for its
// own.)
unsafe impl Send for Driver {}

/// What a worker did in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It ran tasks.
    Ran(usize),
    /// It found nothing to run.
    Idle,
    /// The runtime is stopped and the worker should return.
    Stopped,
}

/// Tasks that a thread runs between looks at the inbox.
const BURST: usize = 32;
/// An idle worker looks this often before it sleeps: some 20 µs, longer than a round trip, shorter than a time slice.
const LOOKS: u32 = under_model(2000, 1) as u32;
/// The first of these looks follow each other at once: a reply that is on its way is worth it, and a pause is long.
const EAGER_LOOKS: u32 = under_model(500, 0) as u32;
/// An idle worker looks into its own pool so often for once that it looks what others offer: that takes longer, and who
/// waits for work must not wait for its core as well.
const LOOK_AROUND: u32 = under_model(8, 1) as u32;
/// Tasks run between looks ahead.
const LOOK_EVERY: usize = 8;
/// Every that many bursts a lower priority goes first (ageing), and garbage is looked at.
const AGEING: u64 = 8;

/// Why a worker looks at a task before it runs it: bits of one word, so that all of them together cost one branch.
pub(super) mod unusual {
    /// The runtime is being shut down and drops what has not started.
    pub const CANCELLING: u8 = 1;
    /// The watchdog is told what runs.
    pub const WATCHED: u8 = 2;
    /// Tasks are counted and their times taken.
    pub const OBSERVED: u8 = 4;
    /// Each run has a span.
    #[cfg(feature = "tracing")]
    pub const TRACED: u8 = 8;
}

impl Driver {
    pub(crate) fn new(index: usize, shared: Arc<Shared>) -> Self {
        Self { cx: Context::new(index, shared) }
    }

    /// Index of the worker.
    pub fn worker(&self) -> usize {
        self.cx.index
    }

    /// Whether every task of the runtime that was spawned has run.
    pub(crate) fn finds_nothing_left(&self) -> bool {
        self.cx.shared.epochs.is_quiescent(self.cx.shared.ledgers())
    }

    /// Drives the worker until the runtime stops.
    pub fn run(mut self) {
        let mut idle = 0;
        loop {
            match self.step(BURST) {
                Progress::Ran(_) => idle = 0,
                Progress::Stopped => return,
                Progress::Idle if idle < LOOKS && !self.cx.shared.platform.is_oversubscribed() => {
                    idle += 1;
                    if idle > EAGER_LOOKS {
                        core::hint::spin_loop();
                    }
                }
                Progress::Idle => {
                    idle = 0;
                    self.sleep();
                }
            }
        }
    }

    /// Runs up to `most` tasks.
    pub fn step(&mut self, most: usize) -> Progress {
        let cx = &mut self.cx;
        cx.epoch = cx.shared.epochs.announce(&cx.ledger.0, cx.epoch);
        cx.receive(None);
        if cx.shared.phase.load(Relaxed) == phase::CANCELLING {
            // For good: nothing is spawned any more when that is over.
            cx.unusual |= unusual::CANCELLING;
        }
        if cx.idle_looks != 0 && cx.ready != 0 {
            cx.begin_work();
        }
        let mut ran = 0;
        while cx.ready != 0 && ran < most {
            // One catch for many tasks: what has to be done about a panic is left in `aftermath` by the guard that it
            // passed.
            let mut outcome = catch(|| cx.burst(most, &mut ran));
            // What is done about a panic may run application code, which may panic as well.
            while let Err(payload) = outcome {
                outcome = match cx.aftermath.take() {
                    Some(after) => catch(|| after(payload, cx)),
                    None => {
                        discard(payload);
                        Ok(())
                    }
                };
                cx.ran_watched();
                cx.end_unwound();
            }
        }
        if ran > 0 {
            cx.after_burst();
            return Progress::Ran(ran);
        }
        self.idle()
    }

    #[cold]
    fn idle(&mut self) -> Progress {
        let cx = &mut self.cx;
        cx.seat().load.store(0, Relaxed);
        if !cx.idle {
            cx.say_idle(true);
        }
        cx.idle_looks = cx.idle_looks.wrapping_add(1);
        if cx.idle_looks > cx.patience && (cx.idle_looks - cx.patience - 1).is_multiple_of(LOOK_AROUND) {
            cx.say_hungry(true);
            if cx.help_somebody() {
                return Progress::Ran(1);
            }
        }
        if cx.has_garbage() {
            cx.reclaim();
        }
        // Others may lack what this worker keeps to itself.
        let refused = cx.shared.heaps.quota().refused();
        if refused != cx.refused {
            cx.refused = refused;
            cx.heap.flush();
        }
        match cx.shared.phase.load(Relaxed) {
            phase::OPEN => Progress::Idle,
            phase::STOPPED => Progress::Stopped,
            _ => {
                cx.shared.tell_if_drained();
                Progress::Idle
            }
        }
    }

    /// Sleeps until somebody sends a task or shuts down.
    fn sleep(&mut self) {
        let cx = &mut self.cx;
        cx.leave_garbage();
        if cx.refused != 0 {
            // Memory has been short before: while this worker sleeps, others can use what it has.
            cx.heap.flush();
        }
        cx.say_idle(false);
        cx.say_hungry(true);
        cx.shared.epochs.go_offline(&cx.ledger.0);
        cx.epoch = crate::memory::OFFLINE;
        // SeqCst, with `Shared::push`: of its change to the inbox and its look at the flag on one side, and this
        // store and look at the inbox on the other, one side's second sees the other's first.
        cx.seat().asleep.0.store(true, SeqCst);
        // The last to fall asleep takes care of what the others left, or what was dropped outside meanwhile.
        let last = cx.shared.awake.fetch_sub(1, SeqCst) == 1;
        let garbage = last && cx.shared.has_orphans.load(SeqCst);
        // SAFETY: this is the inbox's worker.
        let tasks = !planted!("sleep-without-second-look") && unsafe { cx.inbox().may_have_tasks() };
        // With the one in `Context::offer`.
        fence(SeqCst);
        let work = cx.sees_offer();
        if cx.shared.phase() != phase::OPEN {
            // Of the workers that finish last, each having counted its tasks before its fence, one sees all the counts.
            fence(SeqCst);
            cx.shared.tell_if_drained();
        }
        if !garbage && !tasks && !work && cx.shared.phase() != phase::STOPPED {
            cx.counters.0.sleeps.add(1);
            cx.observe_sleep();
            while cx.seat().asleep.0.load(SeqCst) {
                cx.shared.platform.park(cx.index);
            }
            cx.observe_waking();
        } else {
            // Others have to finish first: with more workers than cores they need this one's.
            yield_now();
        }
        cx.seat().asleep.0.store(false, SeqCst);
        cx.shared.awake.fetch_add(1, SeqCst);
    }
}

impl Context {
    /// Runs tasks of one priority, the highest that has any (but now and then a lower one), until `ran` is `most`, none
    /// is left, or a more urgent one turns up. `ran` may be up to a group of tasks too high after a panic.
    #[inline(always)]
    fn burst(&mut self, most: usize, ran: &mut usize) {
        let (level, most) = self.choose_level(*ran, most);
        let more_urgent = (1 << level) - 1;
        loop {
            let ring = &mut self.rings[level];
            if ring.is_empty() {
                self.ready &= !(1 << level);
                return;
            }
            if self.distance > 0 {
                let lines = ring.look_ahead(self.distance);
                if self.counting {
                    self.counters.0.prefetches.add(lines);
                }
            }
            // One look serves several tasks; in a short queue it is soon out of date.
            let group = (ring.len() / 4).clamp(1, LOOK_EVERY).min(most - *ran);
            *ran += group;
            for left in (0..group).rev() {
                let task = self.rings[level].pop();
                // SAFETY: a task from the ring belongs to this worker.
                unsafe { self.run_task(task) };
                if self.ready & more_urgent != 0 {
                    *ran -= left;
                    return;
                }
            }
            if *ran == most {
                return;
            }
        }
    }

    /// The level to run now, and up to which count.
    #[inline(always)]
    fn choose_level(&mut self, ran: usize, most: usize) -> (usize, usize) {
        let first = self.ready.trailing_zeros() as usize % Priority::COUNT;
        self.bursts += 1;
        if self.bursts.is_multiple_of(AGEING) { self.aged_level(first, ran, most) } else { (first, most) }
    }

    /// Ageing: one task of a lower priority goes first; those that have any take turns, so that none starves.
    #[cold]
    fn aged_level(&mut self, first: usize, ran: usize, most: usize) -> (usize, usize) {
        if self.has_garbage() {
            self.reclaim();
        }
        let lowest = 7 - self.ready.leading_zeros() as usize;
        let low_turn = self.bursts.is_multiple_of(2 * AGEING);
        let aged = if low_turn || self.ready & 2 == 0 { lowest } else { 1 };
        if aged == first { (first, most) } else { (aged, ran + 1) }
    }

    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline(always)]
    unsafe fn run_task(&mut self, task: NonNull<Task>) {
        // SAFETY: by the caller's promise.
        unsafe {
            let (vtable, meta) = (task.as_ref().vtable, task.as_ref().meta);
            self.current = meta;
            if meta.cost() != 0 {
                self.extra_load -= meta.cost();
            }
            if self.unusual != 0 && !meta.is_protocol() {
                return run_unusual(task, self);
            }
            (vtable.run)(task, self);
        }
    }

    /// The task that the watchdog knows of is over, with all that it has left to be done.
    #[cold]
    fn ran_watched(&self) {
        if let Some(watchdog) = &self.shared.watchdog {
            watchdog.end(self.index);
        }
    }

    /// Says that this worker, which had nothing to do, has something.
    #[cold]
    pub(crate) fn begin_work(&mut self) {
        self.idle_looks = 0;
        self.say_idle(false);
        self.say_hungry(false);
    }

    /// Publishes the load, for those who look for the least loaded worker.
    fn after_burst(&mut self) {
        let tasks: usize = self.rings.iter().map(Ring::len).sum();
        self.seat().load.store(tasks as u64 + self.extra_load, Relaxed);
    }
}

/// Cancels a task, or runs it under the eyes of the watchdog and the observer.
///
/// # Safety
///
/// The task belongs to this worker.
#[cold]
#[inline(never)]
unsafe fn run_unusual(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: by the caller's promise.
    unsafe {
        match cx.unusual {
            unusual::OBSERVED => run_observed(task, cx),
            _ => run_otherwise(task, cx),
        }
    }
}

/// Where tasks are observed, all of them are: so this is not cold.
///
/// # Safety
///
/// The task belongs to this worker.
#[inline(never)]
unsafe fn run_observed(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: by the caller's promise.
    unsafe { cx.run_in_sight(task, |task, cx| (task.as_ref().vtable.run)(task, cx)) };
}

/// # Safety
///
/// The task belongs to this worker.
#[cold]
#[inline(never)]
unsafe fn run_otherwise(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: by the caller's promise.
    unsafe { cx.run_in_sight(task, |task, cx| cancel_or_watch(task, cx)) };
}

/// # Safety
///
/// The task belongs to this worker.
unsafe fn cancel_or_watch(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: by the caller's promise; described while it is still there.
    unsafe {
        let vtable = task.as_ref().vtable;
        if cx.unusual & unusual::CANCELLING != 0 {
            return (vtable.cancel)(task, cx);
        }
        #[cfg(feature = "tracing")]
        let _span = (cx.unusual & unusual::TRACED != 0)
            .then(|| crate::monitor::spans::enter(cx.index, || (vtable.describe)(task)));
        if let Some(watchdog) = &cx.shared.watchdog {
            watchdog.begin(cx.index, (vtable.describe)(task), cx.shared.platform.now());
        }
        (vtable.run)(task, cx);
        cx.ran_watched();
    }
}
