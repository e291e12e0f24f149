//! Sources of tasks: threads outside the runtime, and running tasks.
//!
//! Two traits divide the work. An [`Origin`](sealed::Origin) pays for a task: it allocates the
//! descriptor, counts the task in an epoch and knows the run queues. A [`Spawn`](sealed::Spawn)
//! delivers the complete task. An origin delivers to a run queue. The spawners of tasks that wait
//! for a group or for granules store the task there, and use the origin behind them for everything
//! else.

use super::{Meta, Task, TaskBuilder};
use crate::object::Fetch;
use crate::scheduler::RuntimeState;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Spawns tasks: the [`Runtime`](crate::Runtime) from outside, a [`Context`](crate::Context) from
/// inside a task.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not spawn tasks",
    label = "neither a runtime nor a context",
    note = "pass `&Runtime` outside of tasks, and inside of a task the `&mut Context` that its body gets"
)]
pub trait Spawner: sealed::Origin + Sized {
    /// Begins a task with the objects it touches: `()`, one access, a tuple or a list of
    /// accesses.
    #[inline(always)]
    fn task<A>(self, access: A) -> TaskBuilder<Self, A> {
        TaskBuilder::new(self, access)
    }

    /// Returns the runtime that the task will belong to.
    #[inline(always)]
    fn runtime(&self) -> RuntimeId {
        RuntimeId(Arc::as_ptr(self.shared()).addr())
    }
}
impl<T: sealed::Origin> Spawner for T {}

/// Tells runtimes apart, for data structures that belong to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeId(usize);

/// A task with a complete descriptor, and the parts of it that a run queue needs: they are still in
/// registers when the task is spawned.
#[derive(Clone, Copy)]
pub struct CompleteTask {
    pub(crate) task: NonNull<Task>,
    pub(crate) meta: Meta,
    pub(crate) fetch: Fetch,
}

/// How a complete task reaches the run queues.
pub enum Route<'r> {
    /// To the home of its object if given, else where its options say.
    Bound(Option<usize>),
    /// Without objects: any worker may run it, unless its options name a place.
    Unbound,
    /// Its placeholders go to the homes of its objects, all in one step.
    Enlist(&'r mut [(usize, NonNull<Task>)]),
}

pub(crate) mod sealed {
    use super::{Arc, CompleteTask, Route, RuntimeState};
    use crate::annotation::Priority;
    use crate::memory::SizeClass;
    use crate::scheduler::Context;
    use crate::task::options::Options;
    use crate::task::{GroupState, JoinError, Meta, Task};
    use core::ptr::NonNull;

    /// Pays for tasks and knows the run queues. Only the runtime implements it.
    ///
    /// The trait cannot be named elsewhere, but code that is generic over a
    /// [`Spawner`](super::Spawner) can call its methods. So those that rely on their caller are
    /// unsafe, or take an argument that no other crate can make: [`Options`] or a [`SizeClass`].
    /// The others only read, or do what may be done at any time.
    pub trait Origin {
        /// True if the origin is a running task.
        const IN_TASK: bool;
        /// Keeps the runtime from ending; nothing inside a task, which does that itself.
        type Open;
        /// Keeps the runtime from ending during a spawn, until the result is dropped.
        ///
        /// # Errors
        ///
        /// [`JoinError::ShutDown`] if the runtime has begun to end.
        #[doc(hidden)]
        fn keep_open(&self) -> Result<Self::Open, JoinError>;
        #[doc(hidden)]
        fn shared(&self) -> &Arc<RuntimeState>;
        /// Index of the worker on which the origin runs, if it is a task.
        #[doc(hidden)]
        fn on_worker(&self) -> Option<usize>;
        /// Epoch slot of the running task, which its follow-ups inherit; `None` outside.
        #[doc(hidden)]
        fn operation(&self) -> Option<u8>;
        /// The priority of a task that has none of its own.
        #[doc(hidden)]
        fn priority(&self) -> Priority;
        /// Returns an uninitialised block of that size class; `None` if there is no memory left.
        #[doc(hidden)]
        fn allocate(&mut self, class: SizeClass) -> Option<NonNull<Task>>;
        /// Frees a block.
        ///
        /// # Safety
        ///
        /// The block was allocated in this class by an origin of the same runtime, and is not used
        /// any more.
        #[doc(hidden)]
        unsafe fn give_back(&mut self, class: SizeClass, task: NonNull<Task>);
        /// Draws a ticket of a group.
        ///
        /// # Safety
        ///
        /// Another ticket of the group is out during the call, so that the group cannot end.
        #[doc(hidden)]
        unsafe fn draw_ticket(&mut self, state: NonNull<GroupState>);
        /// Counts one more started task; returns its meta word.
        #[doc(hidden)]
        fn admit(&mut self, options: &Options) -> Meta;
        /// Pushes a task to the run queue of worker `home` if given, else where the options say.
        ///
        /// # Safety
        ///
        /// The caller owns the task and gives it up. The task was admitted here, and its descriptor
        /// is complete.
        #[doc(hidden)]
        unsafe fn send(&mut self, task: CompleteTask, options: &Options, home: Option<usize>);
        /// Pushes tasks to the inboxes of their homes, in one step as other threads see it.
        ///
        /// # Safety
        ///
        /// As for [`send`](Self::send), for each of the tasks.
        #[doc(hidden)]
        unsafe fn enlist(&mut self, tasks: &mut [(usize, NonNull<Task>)]);
        /// Records the spawn of a task that enters no run queue for now, if tasks are observed.
        ///
        /// # Safety
        ///
        /// The caller owns the task. It was admitted here, and its descriptor is complete.
        #[doc(hidden)]
        unsafe fn note(&mut self, task: NonNull<Task>);
        /// Pushes an unbound task where the queue policy says, unless the options say where.
        ///
        /// # Safety
        ///
        /// As for [`send`](Self::send); the task has no objects.
        #[doc(hidden)]
        unsafe fn send_unbound(&mut self, task: NonNull<Task>, options: &Options, meta: Meta);
        /// As [`send_unbound`](Self::send_unbound), but the spawning worker runs the task next,
        /// unless it [offers](Self::offer) it to other workers first.
        ///
        /// # Safety
        ///
        /// As for [`send_unbound`](Self::send_unbound).
        #[doc(hidden)]
        unsafe fn keep_unbound(&mut self, task: NonNull<Task>, options: &Options, meta: Meta) {
            // SAFETY: this function's contract is that of `send_unbound`.
            unsafe { self.send_unbound(task, options, meta) };
        }
        /// Lets other workers steal the kept tasks.
        #[doc(hidden)]
        fn offer(&mut self) {}
        /// Returns true if unbound tasks with these options have run queues of their own.
        #[doc(hidden)]
        #[inline(always)]
        fn has_unbound_queue(&self, options: &Options) -> bool {
            let _ = options;
            true
        }
        /// If every queue is full, returns the context in which to run a task inline. The caller
        /// must do so immediately. The task's options are [plain](Options::PLAIN).
        #[doc(hidden)]
        #[inline(always)]
        fn inline_context(&mut self, options: &Options) -> Option<&mut Context> {
            let _ = options;
            None
        }
    }

    /// Delivers a complete task: an origin pushes it, other spawners store it until it may run.
    pub trait Spawn: Sized {
        /// The origin that pays for the task.
        type Origin: Origin;
        /// True if the task comes from a running task and is pushed at once.
        const IN_TASK: bool = false;
        /// True if the task is pushed at once, and its epoch keeps nothing for the spawner.
        const DELIVERS_AT_ONCE: bool = false;
        #[doc(hidden)]
        fn origin_mut(&mut self) -> &mut Self::Origin;
        /// See [`Origin::allocate`].
        #[doc(hidden)]
        #[inline(always)]
        fn allocate_descriptor(&mut self, class: SizeClass) -> Option<NonNull<Task>> {
            self.origin_mut().allocate(class)
        }
        /// See [`Origin::admit`].
        #[doc(hidden)]
        #[inline(always)]
        fn admit_task(&mut self, options: &Options) -> Meta {
            self.origin_mut().admit(options)
        }
        /// Pushes or stores the task. Called once for each task, before [`finish`](Self::finish).
        ///
        /// # Safety
        ///
        /// The caller owns the task, and the placeholders of its route, and gives them up. All were
        /// admitted here, and their descriptors are complete.
        #[doc(hidden)]
        unsafe fn deliver(&mut self, task: CompleteTask, options: &Options, route: Route<'_>);
        /// Ends the spawn. A stored task may run from here on.
        #[doc(hidden)]
        #[inline(always)]
        fn finish(self) {}
    }

    impl<T: Origin> Spawn for T {
        type Origin = T;
        const IN_TASK: bool = T::IN_TASK;
        const DELIVERS_AT_ONCE: bool = true;

        #[cfg_attr(not(debug_assertions), inline(always))]
        fn origin_mut(&mut self) -> &mut T {
            self
        }

        #[cfg_attr(not(debug_assertions), inline(always))]
        unsafe fn deliver(&mut self, task: CompleteTask, options: &Options, route: Route<'_>) {
            let CompleteTask { task: descriptor, meta, .. } = task;
            // SAFETY: this function's contract is that of `send`, `send_unbound`, `note` and
            // `enlist`.
            unsafe {
                match route {
                    Route::Bound(home) => self.send(task, options, home),
                    Route::Unbound => self.send_unbound(descriptor, options, meta),
                    Route::Enlist(placeholders) => {
                        self.note(descriptor);
                        self.enlist(placeholders);
                    }
                }
            }
        }
    }
}
