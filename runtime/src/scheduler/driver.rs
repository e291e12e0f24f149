//! The worker loop: what a platform drives.

use super::context::is_protocol;
use super::shared::phase;
use super::{Context, Shared};
use crate::annotation::Priority;
use crate::sync::{Relaxed, SeqCst};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// A worker, ready to be driven by its platform: a thread calls [`run`](Self::run), a simulation
/// [`step`](Self::step).
pub struct Driver {
    cx: Context,
}

/// What a worker did in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
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
const LOOKS: u32 = 2000;
/// Every that many tasks a lower priority goes first (ageing), and garbage is looked at.
const SOMETIMES: u64 = 64;

impl Driver {
    pub(crate) fn new(index: usize, shared: Arc<Shared>) -> Self {
        Self { cx: Context::new(index, shared) }
    }

    /// Index of the worker.
    pub fn worker(&self) -> usize {
        self.cx.index
    }

    /// Drives the worker until the runtime stops.
    pub fn run(mut self) {
        let mut idle = 0;
        loop {
            match self.step(BURST) {
                Step::Ran(_) => idle = 0,
                Step::Stopped => return,
                Step::Idle if idle < LOOKS && !self.cx.shared.platform.is_oversubscribed() => {
                    idle += 1;
                    core::hint::spin_loop();
                }
                Step::Idle => {
                    idle = 0;
                    self.sleep();
                }
            }
        }
    }

    /// Runs up to `most` tasks.
    pub fn step(&mut self, most: usize) -> Step {
        let cx = &mut self.cx;
        cx.epoch = cx.shared.epochs.announce(&cx.ledger.0, cx.epoch);
        cx.receive(None);
        cx.cancelling = cx.shared.phase.load(Relaxed) == phase::CANCELLING;
        let mut ran = 0;
        while ran < most {
            let Some(task) = cx.next() else { break };
            // SAFETY: a task from the ring belongs to this worker.
            unsafe { cx.run_task(task) };
            ran += 1;
        }
        if ran > 0 {
            cx.after_burst();
            return Step::Ran(ran);
        }
        self.idle()
    }

    #[cold]
    fn idle(&mut self) -> Step {
        let cx = &mut self.cx;
        cx.seat().load.store(0, Relaxed);
        if cx.has_garbage() {
            cx.reclaim();
        }
        match cx.shared.phase.load(Relaxed) {
            phase::OPEN => Step::Idle,
            phase::STOPPED => Step::Stopped,
            _ => {
                cx.shared.tell_if_drained();
                Step::Idle
            }
        }
    }

    /// Sleeps until somebody sends a task or shuts down.
    fn sleep(&mut self) {
        let cx = &mut self.cx;
        cx.leave_garbage();
        cx.shared.epochs.go_offline(&cx.ledger.0);
        cx.epoch = crate::memory::OFFLINE;
        // SeqCst, with `Shared::push`: of its exchange on the inbox and its look at the flag on one side, and this
        // store and look at the inbox on the other, one side's second sees the other's first.
        cx.seat().asleep.store(true, SeqCst);
        if !cx.inbox().may_have_tasks() && cx.shared.phase() == phase::OPEN {
            cx.counters.0.sleeps.add(1);
            while cx.seat().asleep.load(SeqCst) {
                cx.shared.platform.park(cx.index);
            }
        }
        cx.seat().asleep.store(false, SeqCst);
    }
}

impl Context {
    /// The next task: of the highest priority that has any, but now and then of a lower one.
    #[inline(always)]
    fn next(&mut self) -> Option<NonNull<crate::task::Task>> {
        self.ticks += 1;
        let order = if self.ticks.is_multiple_of(SOMETIMES) { self.aged_order() } else { [0, 1, 2] };
        for ring in order {
            let ring = &mut self.rings[ring];
            if !ring.is_empty() {
                if self.distance > 0 {
                    let lines = ring.look_ahead(self.distance);
                    if self.counting {
                        self.counters.0.prefetches.add(lines);
                    }
                }
                return ring.pop();
            }
        }
        None
    }

    /// Ageing: normal and low priority take turns at going first, so that neither starves.
    #[cold]
    fn aged_order(&mut self) -> [usize; Priority::COUNT] {
        if self.has_garbage() && self.ticks.is_multiple_of(SOMETIMES * 4) {
            self.reclaim();
        }
        if self.ticks.is_multiple_of(SOMETIMES * 2) { [2, 1, 0] } else { [1, 2, 0] }
    }

    /// # Safety
    ///
    /// The task belongs to this worker.
    #[inline(always)]
    unsafe fn run_task(&mut self, task: NonNull<crate::task::Task>) {
        // SAFETY: by the caller's promise.
        unsafe {
            let (vtable, meta) = (task.as_ref().vtable, task.as_ref().meta);
            self.current = meta;
            self.extra_load -= u64::from(meta.cost);
            let run = if self.cancelling && !is_protocol(meta) { vtable.cancel } else { vtable.run };
            run(task, self);
        }
    }

    /// Publishes the load, for those who look for the least loaded worker.
    fn after_burst(&mut self) {
        let tasks: usize = self.rings.iter().map(|ring| ring.len()).sum();
        self.seat().load.store(tasks as u64 + self.extra_load, Relaxed);
    }
}
