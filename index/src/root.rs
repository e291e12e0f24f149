//! The pointer with which tasks carry the data that all operations of a tree or a map share.
//!
//! A [`Root`] is an object of the runtime: it lives until all handles are dropped and every task
//! spawned before has run. Hence the tasks of an operation carry a plain pointer to it
//! ([`RootRef`]).

use core::ptr::NonNull;
use xtasking::{
    Context, TaskBuilder, Version,
    task::{RuntimeId, Spawner},
};

/// The data that all operations on a tree or a map share.
pub(crate) trait Root: Version {
    /// Returns the runtime that it belongs to.
    fn runtime(&self) -> RuntimeId;
}

/// What an operation calls at its end, with its result.
pub(crate) trait Continuation<R>: FnOnce(R, &mut Context) + Send + 'static {}

impl<R, F: FnOnce(R, &mut Context) + Send + 'static> Continuation<R> for F {}

/// An operation on a tree or a map.
pub(crate) trait Operation<R: Root>: Send + 'static {
    /// Spawns the operation's first task, in the given epoch.
    fn start<S: Spawner>(self, at: S, root: &R, epoch: Epoch);
}

/// To which operation of the runtime the first task of an operation belongs.
#[derive(Clone, Copy)]
pub(crate) enum Epoch {
    /// To one that begins here: the caller has a handle now.
    Own,
    /// To that of the spawning task: the caller had a handle when that task was spawned.
    Inherited,
}

impl Epoch {
    /// Annotates the first task.
    #[inline(always)]
    pub(crate) fn annotate<S: Spawner, A>(self, task: TaskBuilder<S, A>) -> TaskBuilder<S, A> {
        match self {
            Self::Own => task.begin_operation(),
            Self::Inherited => task,
        }
    }
}

/// A pointer to the root, carried by the tasks of an operation.
pub(crate) struct RootRef<R>(NonNull<R>);

// SAFETY: it is used as a shared reference to a root, which is `Sync`.
unsafe impl<R: Root> Send for RootRef<R> {}
impl<R> Clone for RootRef<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for RootRef<R> {}

impl<R: Root> RootRef<R> {
    pub(crate) fn new(root: &R) -> Self {
        Self(NonNull::from(root))
    }

    /// Starts an operation. Outside of tasks, a task is spawned that does so.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn begin<S: Spawner>(self, at: S, operation: impl Operation<R>) {
        // SAFETY: the root is alive, because the caller that starts an operation has a handle, or
        // had one when the running task was spawned. No operation's start keeps the reference.
        let root = unsafe { self.0.as_ref() };
        // Before a task carries the pointer: the epochs of another runtime do not keep the root.
        assert!(root.runtime() == at.runtime(), "a tree or map is used in another runtime");
        if S::IN_TASK {
            operation.start(at, root, Epoch::Own);
        } else {
            // Outside of an epoch a node might be freed before the operation's first task is
            // counted.
            at.task(()).spawn(move |(), cx| {
                // The handle may be gone: only the epoch of this task keeps the root alive.
                let root = self.get(cx);
                operation.start(cx, root, Epoch::Inherited);
            });
        }
    }

    /// Returns the root.
    ///
    /// A `RootRef` is created only from a handle, and carried by the tasks of an operation that
    /// this handle has started. The context is that of the running task.
    #[inline(always)]
    pub(crate) fn get<'a>(self, _: &Context) -> &'a R {
        // SAFETY: a handle existed when the operation's first task was spawned, so the root
        // outlives all its tasks. No caller keeps the reference longer than its task runs.
        unsafe { self.0.as_ref() }
    }
}
