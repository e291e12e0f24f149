//! What a worker does with a pool in its hands: runs some of its tasks, or finds that there are none.

use super::Context;
use super::driver::Progress;
use super::free::{FREE, Free, RINGS};
use super::shared::phase;
use crate::annotation::Priority;
use crate::pool::Ring;
use crate::sync::{Relaxed, SeqCst, fence, under_model};
use crate::task::{Payload, Task, catch, discard};
use core::ptr::NonNull;

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

impl Context {
    /// Receives what was sent, and runs up to `most` tasks. Returns how many.
    #[inline]
    pub(super) fn work(&mut self, most: usize) -> usize {
        self.epoch = self.shared.epochs.announce(&self.ledger.0, self.epoch);
        self.receive(None);
        if self.collects {
            self.nested = 0;
            // Hints may be lost.
            let (count, every) = if self.idle_looks == 0 {
                (self.bursts, AGEING)
            } else {
                (self.idle_looks.into(), LOOK_AROUND.into())
            };
            self.collect(count.is_multiple_of(every));
        }
        self.look_at_phase();
        if self.idle_looks != 0 && self.ready != 0 {
            self.begin_work();
        }
        let mut ran = 0;
        while self.ready != 0 && ran < most {
            // One catch for many tasks: what has to be done about a panic is left in `aftermath` by the guard that it
            // passed.
            let outcome = catch(|| self.burst(most, &mut ran));
            self.settle(outcome);
        }
        if ran > 0 {
            self.after_burst();
        }
        ran
    }

    /// Learns that what has not started is to be dropped.
    #[inline(always)]
    pub(super) fn look_at_phase(&mut self) {
        if self.shared.phase.load(Relaxed) == phase::CANCELLING {
            // For good: nothing is spawned any more when that is over.
            self.unusual |= unusual::CANCELLING;
        }
    }

    /// Does what is to be done about a panic of a task, if there was any.
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
        // That may run application code, which may panic as well.
        while let Err(payload) = outcome {
            outcome = match self.aftermath.take() {
                Some(after) => catch(|| after(payload, self)),
                None => {
                    discard(payload);
                    Ok(())
                }
            };
            self.ran_watched();
            self.end_unwound();
        }
    }

    /// There was nothing to do: looks around, and does what is done now and then.
    #[cold]
    pub(super) fn idle(&mut self) -> Progress {
        if self.groups.have_tickets() {
            // What came after a group ran at once where it ended, and had to do with groups itself.
            self.give_tickets_back();
            return Progress::Ran(0);
        }
        self.seat().load.store(0, Relaxed);
        if !self.idle {
            self.say_idle(true);
        }
        self.idle_looks = self.idle_looks.wrapping_add(1);
        if self.idle_looks > self.patience
            && (self.idle_looks - self.patience - 1).is_multiple_of(LOOK_AROUND)
        {
            self.say_hungry(true);
            if self.steal() {
                return Progress::Ran(0);
            }
            if self.help_somebody() {
                self.leave_groups();
                return Progress::Ran(1);
            }
        }
        if self.has_garbage() {
            self.reclaim();
        }
        // Others may lack what this worker keeps to itself.
        let refused = self.shared.heaps.quota().refused();
        if refused != self.refused {
            self.refused = refused;
            self.heap.flush();
        }
        match self.shared.phase.load(Relaxed) {
            phase::OPEN => Progress::Idle,
            phase::STOPPED => Progress::Stopped,
            _ => {
                self.shared.tell_if_drained();
                Progress::Idle
            }
        }
    }

    /// Runs tasks of one priority, the highest that has any (but now and then a lower one), until `ran` is `most`, none
    /// is left, or a more urgent one turns up. `ran` may be up to a group of tasks too high after a panic.
    #[inline(always)]
    fn burst(&mut self, most: usize, ran: &mut usize) {
        if self.ready & FREE != 0 && self.is_turn_of_free() {
            return self.free_burst(most, ran);
        }
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
        let first = (self.ready & RINGS).trailing_zeros() as usize % Priority::COUNT;
        self.bursts += 1;
        if self.bursts.is_multiple_of(AGEING) { self.aged_level(first, ran, most) } else { (first, most) }
    }

    /// Ageing: one task of a lower priority goes first; those that have any take turns, so that none starves.
    #[cold]
    fn aged_level(&mut self, first: usize, ran: usize, most: usize) -> (usize, usize) {
        if self.has_garbage() {
            self.reclaim();
        }
        let lowest = 7 - (self.ready & RINGS).leading_zeros() as usize;
        let low_turn = self.bursts.is_multiple_of(2 * AGEING);
        let aged = if low_turn || self.ready & 2 == 0 { lowest } else { 1 };
        if aged == first { (first, most) } else { (aged, ran + 1) }
    }

    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline(always)]
    pub(super) unsafe fn run_task(&mut self, task: NonNull<Task>) {
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
        if let Free::Ranked { .. } = self.free {
            // With the one in `Shared::push_ranked`: whoever still sees this worker look for work has put the task where it
            // will be seen when this worker has taken another one. (From the same heap its lock would do.)
            fence(SeqCst);
        }
    }

    /// Says which members of groups are over.
    fn leave_groups(&mut self) {
        if self.groups.have_tickets() {
            self.give_tickets_back();
        }
    }

    /// Publishes the load, for those who look for the least loaded worker, and the ends of groups.
    fn after_burst(&mut self) {
        self.leave_groups();
        if self.collects {
            self.see_who_sleeps();
        }
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
