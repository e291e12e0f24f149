//! The worker that runs a task, as the task sees it.

use super::Worker;
use crate::fork::Fork;
use crate::memory::Deferred;
use crate::task::TaskBuilder;
use crate::task::group::Group;
use alloc::sync::Arc;
use core::ptr::{self, NonNull};

/// The worker that a task runs on: spawns follow-ups, and says where the task runs.
///
/// The body of each task gets it as its last argument.
#[repr(transparent)]
pub struct Context {
    pub(crate) worker: Worker,
}

impl Context {
    /// Views a worker as the context of the task that it runs.
    #[inline(always)]
    pub(crate) fn of(worker: &mut Worker) -> &mut Self {
        // SAFETY: `Context` is a transparent wrapper of `Worker`. The result borrows the worker.
        unsafe { &mut *ptr::from_mut(worker).cast() }
    }

    /// Begins a follow-up of the running task, with the objects that it accesses: `()`, one access,
    /// a tuple or a list of them.
    #[inline(always)]
    pub fn task<A>(&mut self, access: A) -> TaskBuilder<&mut Self, A> {
        TaskBuilder::new(self, access)
    }

    /// Returns a new group, without members so far.
    pub fn group(&self) -> Group {
        Group::new(self.worker.shared().clone())
    }

    /// Begins fork-join parallelism inside this task.
    #[inline(always)]
    pub fn fork(&mut self) -> Fork<'_> {
        Fork::begin(&mut self.worker)
    }

    /// Drops a value once nothing can reach it any more that runs or waits now: when all tasks
    /// spawned before have run, including the follow-ups of their operations, and all
    /// [readers](crate::arena::Reader) made before are dropped.
    ///
    /// So a writer replaces a value on the heap to which a word of its object points, and passes
    /// the old one here. Tasks of operations that began before may still read it. A panic of the
    /// value's destructor is discarded.
    pub fn drop_later<T: Send + 'static>(&mut self, value: T) {
        // SAFETY: the owner frees its own value, whatever the object, and no other thing has it.
        unsafe { self.worker.retire(NonNull::dangling(), Arc::new(Deferred::new(value))) };
    }

    /// Returns the index of the worker.
    #[inline(always)]
    pub fn worker(&self) -> usize {
        self.worker.index()
    }

    /// Returns the number of run queues, which is the largest possible number of workers:
    /// [`Builder::most_workers`](crate::Builder::most_workers).
    pub fn workers(&self) -> usize {
        self.worker.shared().slots.len()
    }

    /// Returns true if the runtime is shutting down. An endless chain of follow-ups should end
    /// then: the shutdown waits for it.
    pub fn is_shutting_down(&self) -> bool {
        self.worker.shared().is_shutting_down()
    }
}
