//! The data that all operations of a tree share, and the pointer with which tasks carry it.
//!
//! # Lifetimes
//!
//! [`Root`] is an object of the runtime: it lives until all handles are dropped and every task
//! spawned before has run. Hence the tasks of an operation carry a plain pointer to it
//! ([`RootRef`]). Nodes are allocated in the root's arena. A node is retired once neither another
//! node nor the root links to it. Operations that started before may still visit it.

use crate::node::Layout;
use core::ptr::NonNull;
use xtasking::{
    Context, Version,
    arena::{Arena, Link, LinkCell},
    task::{RuntimeId, Spawner},
};

/// The data that all operations share.
pub(super) struct Root<L: Layout> {
    pub(super) link: LinkCell<L>,
    pub(super) runtime: RuntimeId,
    pub(super) arena: Arena<L>,
}

// SAFETY: the link is atomic, and the arena does not change.
unsafe impl<L: Layout> Version for Root<L> {}

impl<L: Layout> Drop for Root<L> {
    fn drop(&mut self) {
        // SAFETY: the runtime drops the root only after every task that could reach a node of its
        // arena has ended.
        unsafe { self.arena.clone().dispose() };
    }
}

/// What an operation calls at its end, with its result.
pub(super) trait Continuation<R>: FnOnce(R, &mut Context) + Send + 'static {}

impl<R, F: FnOnce(R, &mut Context) + Send + 'static> Continuation<R> for F {}

/// An operation on the tree.
pub(super) trait Operation<L: Layout>: Send + 'static {
    /// Spawns the operation's first task, at the topmost node.
    fn start<S: Spawner>(self, at: S, top: Link<L>);
}

/// A pointer to the root, carried by the tasks of an operation.
pub(super) struct RootRef<L: Layout>(NonNull<Root<L>>);

// SAFETY: it is used as a shared reference to `Root`, which is `Sync`.
unsafe impl<L: Layout> Send for RootRef<L> {}
impl<L: Layout> Clone for RootRef<L> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<L: Layout> Copy for RootRef<L> {}

impl<L: Layout> RootRef<L> {
    pub(super) fn new(root: &Root<L>) -> Self {
        Self(NonNull::from(root))
    }

    /// Starts an operation at the topmost node. Outside of tasks, a task is spawned that does so.
    #[inline(always)]
    pub(super) fn begin<S: Spawner>(self, at: S, operation: impl Operation<L>) {
        if S::IN_TASK {
            let top = self.top(&at);
            operation.start(at, top);
        } else {
            at.task(()).spawn(move |(), cx| {
                let top = self.top(&cx);
                operation.start(cx, top);
            });
        }
    }

    /// Returns the topmost node, for an operation that a task starts. (Only tasks may call this:
    /// outside of an epoch the node might be freed before the operation's first task is counted.)
    #[inline(always)]
    fn top<S: Spawner>(self, at: &S) -> Link<L> {
        debug_assert!(S::IN_TASK);
        // SAFETY: the root is alive, because the caller that starts an operation has a handle of
        // the tree.
        let root = unsafe { self.0.as_ref() };
        assert!(root.runtime == at.runtime(), "a tree is used by a task of another runtime");
        root.link.get()
    }

    /// Returns the root.
    ///
    /// A `RootRef` is created only from a handle of the tree, and carried by the tasks of an
    /// operation that this handle has started. The context is that of the running task.
    #[inline(always)]
    pub(super) fn get<'a>(self, _: &Context) -> &'a Root<L> {
        // SAFETY: a handle existed when the operation's first task was spawned, so the root
        // outlives all its tasks. No caller keeps the reference longer than its task runs.
        unsafe { self.0.as_ref() }
    }
}
