//! Tasks that wait, unspawned, for something else than a place in a pool.

use super::Task;
use super::builder::{Options, sealed::Spawn};
use crate::annotation::Place;
use crate::object::Fetch;
use crate::pool::{Pool, Ranking};
use crate::scheduler::Context;
use alloc::boxed::Box;
use core::ptr::NonNull;

/// A task as its spawner left it: admitted and complete.
pub(super) enum Waiting {
    /// It goes where these say, or to this home if there is one.
    Ready(NonNull<Task>, Options, Option<usize>),
    /// It has no objects, and is bound to nothing unless these say so.
    Bare(NonNull<Task>, Options),
    /// The same, of no epoch yet.
    Free(NonNull<Task>, Options),
    /// Envoys go to their homes. (In a box: what waits is mostly of the other kinds, and its place is not for the largest one.)
    Envoys(Box<[(usize, NonNull<Task>)]>),
}

impl Waiting {
    /// Whether nothing is said of where the task goes.
    pub fn may_go_anywhere(&self) -> bool {
        matches!(self, Self::Bare(_, options) if matches!(options.place, Place::Here))
    }

    /// Slot of the epoch of the task, if it is of one.
    pub fn epoch(&self) -> Option<u8> {
        match self {
            // SAFETY: the task was left here by a spawner that owned it.
            Self::Ready(task, ..) | Self::Bare(task, _) => Some(unsafe { task.as_ref() }.meta.epoch()),
            Self::Free(..) | Self::Envoys(..) => None,
        }
    }

    /// What the task costs, in multiples of a small one.
    pub fn cost(&self) -> u64 {
        match self {
            Self::Ready(_, options, _) | Self::Bare(_, options) | Self::Free(_, options) => {
                1 + u64::from(options.cost)
            }
            Self::Envoys(..) => 1,
        }
    }

    /// Notes that a task was spawned which [may go anywhere](Self::may_go_anywhere), and waits here for now.
    pub fn note(&self, spawner: &mut impl Spawn) {
        if let Self::Bare(task, _) = self {
            // SAFETY: the task was left here by this spawner, which owned it.
            unsafe { spawner.note(*task) };
        }
    }

    /// Runs such a task within what runs on this worker; sends another one.
    pub fn run_within(self, mut cx: &mut Context) {
        match self {
            // SAFETY: the task was left here by a spawner that owned it, and is the caller's.
            Self::Bare(task, _) => unsafe { cx.run_left(task) },
            other => other.send(&mut cx),
        }
    }

    /// Sends such a task to a worker; in a pool where others may take tasks over they may have it, or not.
    pub fn send_to(self, worker: usize, is_free: bool, spawner: &mut impl Spawn) {
        let Self::Bare(mut task, options) = self else { return self.send(spawner) };
        // SAFETY: the task was left here by a spawner that owned it, and is the caller's.
        unsafe {
            let meta = task.as_ref().meta;
            if is_free && (meta.rank() != Ranking::MIDDLE || Self::stays(worker, spawner)) {
                return spawner.send_bare(task, &options, meta);
            }
            if is_free && spawner.shared().pool == Pool::WorkStealing {
                task.as_mut().meta = meta.free();
            }
            let there = Options { place: Place::Core(worker as u16), ..options };
            spawner.send(task, &there, None, task.as_ref().meta, Fetch::NONE);
        }
    }

    /// Whether such a task had better stay with the worker that spawns it than be sent to its home: it is at home there; or that one has
    /// not even looked at what was sent before, and may be in a long task. What stays here may be taken over by whoever is idle.
    fn stays(home: usize, spawner: &impl Spawn) -> bool {
        let shared = spawner.shared();
        let is_slow = || {
            shared.pool == Pool::WorkStealing
                && shared.seats[home].inbox.seems_to_have_tasks()
                && !planted!("home-though-busy")
        };
        spawner.on_worker().is_some_and(|own| own == home || is_slow())
    }

    /// Has the worker that spawns such a task run it next.
    pub fn keep(self, spawner: &mut impl Spawn) {
        match self {
            // SAFETY: the task was left here by a spawner that owned it, and is the caller's.
            Self::Bare(task, options) => unsafe { spawner.keep_bare(task, &options, task.as_ref().meta) },
            other => other.send(spawner),
        }
    }

    /// Sends the task on its way: what it has waited for is there.
    pub fn send(self, spawner: &mut impl Spawn) {
        // SAFETY: the task, or its envoys, were left here by a spawner that owned them, and are the caller's.
        unsafe {
            match self {
                Self::Ready(task, options, home) => {
                    let &Task { meta, fetch, .. } = task.as_ref();
                    spawner.send(task, &options, home, meta, fetch);
                }
                Self::Bare(task, options) => spawner.send_bare(task, &options, task.as_ref().meta),
                Self::Free(mut task, options) => {
                    let begun = Options { operation: true, ..options };
                    let meta = task.as_ref().meta.in_epoch(spawner.admit(&begun).epoch());
                    task.as_mut().meta = meta;
                    // After it was counted in its epoch: a shutdown sees one of the two.
                    spawner.shared().epochs.end_wait();
                    spawner.send_bare(task, &options, meta);
                }
                Self::Envoys(mut envoys) => spawner.enlist(&mut envoys),
            }
        }
    }
}

/// What a spawner does that leaves its task somewhere, by a `leave` of its own, and is `spawner` in all else. If it can lack something
/// that its task needs, a method says whether it is there.
macro_rules! leaves_its_task {
    ($(if $may_allocate:ident)?) => {
        /// It is not the task that runs now which gets to the objects.
        const IN_TASK: bool = false;

        fn shared(&self) -> &alloc::sync::Arc<$crate::scheduler::Shared> {
            self.spawner.shared()
        }

        fn on_worker(&self) -> Option<usize> {
            self.spawner.on_worker()
        }

        fn operation(&self) -> Option<u8> {
            self.spawner.operation()
        }

        fn priority(&self) -> $crate::annotation::Priority {
            self.spawner.priority()
        }

        fn allocate(
            &mut self,
            class: $crate::memory::SizeClass,
        ) -> Option<core::ptr::NonNull<$crate::task::Task>> {
            $(if !self.$may_allocate() {
                return None;
            })?
            self.spawner.allocate(class)
        }

        unsafe fn give_back(
            &mut self,
            class: $crate::memory::SizeClass,
            task: core::ptr::NonNull<$crate::task::Task>,
        ) {
            // SAFETY: by the caller's promise.
            unsafe { self.spawner.give_back(class, task) };
        }

        unsafe fn draw_ticket(&mut self, tally: core::ptr::NonNull<$crate::task::Tally>) {
            // SAFETY: by the caller's promise.
            unsafe { self.spawner.draw_ticket(tally) };
        }

        unsafe fn note(&mut self, task: core::ptr::NonNull<$crate::task::Task>) {
            // SAFETY: by the caller's promise.
            unsafe { self.spawner.note(task) };
        }

        unsafe fn send(
            &mut self,
            task: core::ptr::NonNull<$crate::task::Task>,
            options: &$crate::task::builder::Options,
            home: Option<usize>,
            _: $crate::task::Meta,
            _: $crate::object::Fetch,
        ) {
            self.leave($crate::task::waiting::Waiting::Ready(task, *options, home));
        }

        unsafe fn enlist(&mut self, tasks: &mut [(usize, core::ptr::NonNull<$crate::task::Task>)]) {
            self.leave($crate::task::waiting::Waiting::Envoys((&*tasks).into()));
        }
    };
}
pub(super) use leaves_its_task;
