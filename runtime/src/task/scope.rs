//! Scopes of tasks with objects: tasks that may borrow from the stack of a waiting thread.

use super::bundle::{self, Bundle};
use super::frame_guard::FrameGuard;
use super::group::{Group, Membership, Of};
use super::{AccessSet, JoinError, TaskBuilder};
use crate::annotation::Priority;
use crate::fork::{Divide, Portions};
use crate::scheduler::{Context, Runtime};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// Spawns tasks that may borrow from outside the scope; made by [`Runtime::task_scope`].
pub struct TaskScope<'scope, 'env: 'scope> {
    rt: &'env Runtime,
    /// Taken by the guard that waits for the tasks.
    group: ManuallyDrop<Group>,
    /// Invariant, as in [`std::thread::Scope`]: tasks may borrow what outlives the scope, and
    /// nothing that its function owns.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// A task of a scope that is being described; made by [`TaskScope::task`].
#[must_use = "a task is spawned by one of the builder's last methods"]
pub struct ScopedTask<'scope, A> {
    builder: TaskBuilder<&'scope Runtime, A, Of<'scope>>,
    /// Invariant: the task may borrow for `'scope`, and no longer.
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl Runtime {
    /// Calls a function that spawns tasks, and waits until all of them are over, with the tasks
    /// that they have spawned [as siblings](TaskBuilder::as_sibling). Tasks may borrow what was
    /// borrowed before the scope began. They have objects and annotations as any task; to divide
    /// work without objects see [`scope`](Self::scope).
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let total = rt.plain(0).build();
    /// let parts = vec![vec![1, 2], vec![3], vec![4, 5, 6]];
    /// rt.task_scope(|scope| {
    ///     for part in &parts {
    ///         scope.task(total.write()).spawn(|total, _| *total += part.iter().sum::<i32>());
    ///     }
    /// })?;
    /// assert_eq!(rt.task(total.read()).submit(|total, _| *total).join()?, 21);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first failure of a task: a panic, a cancellation by a shutdown, a poisoned object or a
    /// lack of memory. [`JoinError::WouldBlock`] on a worker of the same runtime; the function was
    /// not called then. [`JoinError::Forked`] in a process that was forked from the runtime's: none
    /// of the tasks runs.
    ///
    /// # Panics
    ///
    /// If the function does, after all tasks are over.
    pub fn task_scope<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope TaskScope<'scope, 'env>) -> R,
    ) -> Result<R, JoinError> {
        if !self.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let scope = TaskScope { rt: self, group: ManuallyDrop::new(self.group()), lifetimes: PhantomData };
        let end = ScopeEnd(&scope);
        let result = body(&scope);
        end.wait().map(|()| result)
    }
}

/// The end of a scope. Dropping this waits for its tasks: its function has panicked.
struct ScopeEnd<'a, 'scope, 'env>(&'a TaskScope<'scope, 'env>);

impl ScopeEnd<'_, '_, '_> {
    fn guard(&self) -> FrameGuard<'_> {
        // SAFETY: called once, by `wait` or by `drop`, so that the group has one owner. Tasks of
        // the scope may still draw its tickets: a ticket keeps the state, to which the group
        // points.
        let group = unsafe { core::ptr::read(&*self.0.group) };
        FrameGuard::new(self.0.rt.shared(), group.handle(), false)
    }

    fn wait(self) -> Result<(), JoinError> {
        ManuallyDrop::new(self).guard().wait()
    }
}

impl Drop for ScopeEnd<'_, '_, '_> {
    fn drop(&mut self) {
        // The panic of the scope's function goes on; the failure of a task is dropped.
        _ = self.guard().wait();
    }
}

impl<'scope> TaskScope<'scope, '_> {
    /// Begins a task with the objects it accesses: `()`, one access, a tuple or
    /// a list of accesses.
    pub fn task<A>(&'scope self, access: A) -> ScopedTask<'scope, A> {
        ScopedTask { builder: TaskBuilder::new(self.rt, access).of(&self.group), scope: PhantomData }
    }

    /// Divides a range or slice among the workers, in order, and begins a task on each worker, as
    /// for a bundle of the walks of its share. Shares differ by one item at most; empty ones are
    /// left out. [`zip`](crate::fork::zip) divides two sequences together.
    ///
    /// The scope ends when the slowest worker has finished its share; see
    /// [`portions`](Self::portions).
    ///
    /// ```
    /// use xtasking::fork::zip;
    ///
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let (rows, mut lengths) = (vec!["many", "small", "tasks"], [0; 3]);
    /// rt.task_scope(|scope| {
    ///     for (task, share) in scope.shares(zip(&rows[..], &mut lengths[..])) {
    ///         task.spawn(|(), _| share.into_iter().for_each(|(row, length)| *length = row.len()));
    ///     }
    /// })?;
    /// assert_eq!(lengths, [4, 5, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shares<S: Divide>(&'scope self, items: S) -> impl Iterator<Item = (ScopedTask<'scope, ()>, S)> {
        let workers = self.rt.workers().min(items.count());
        let mut rest = Some(items);
        (0..workers).filter_map(move |worker| {
            let items = rest.take()?;
            let count = items.count() / (workers - worker);
            let (share, others) = items.divide(count);
            rest = Some(others);
            Some((self.task(()).core(worker as u16), share))
        })
    }

    /// Begins a task on each worker. All of them take from the same range or slice, `size` items at
    /// a time (at least one), until no items are left. So a worker that is slow, or has other tasks
    /// to run, does less. A portion should be some microseconds of work or more.
    ///
    /// There are no more tasks than portions. The order of items is kept within a portion only.
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let (numbers, mut sums) = (vec![3; 10_000], [0; 2]);
    /// rt.task_scope(|scope| {
    ///     for ((task, numbers), sum) in scope.portions(&numbers[..], 1_000).zip(&mut sums) {
    ///         task.spawn(|(), _| *sum = numbers.sum());
    ///     }
    /// })?;
    /// assert_eq!(sums[0] + sums[1], 30_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn portions<S: Divide>(
        &'scope self,
        items: S,
        size: usize,
    ) -> impl Iterator<Item = (ScopedTask<'scope, ()>, Portions<S>)> {
        let workers = self.rt.workers().min(items.count().div_ceil(size.max(1)));
        let portions = Portions::new(items, size);
        (0..workers).map(move |worker| (self.task(()).core(worker as u16), portions.share()))
    }

    /// Returns the runtime.
    pub fn runtime(&self) -> &Runtime {
        self.rt
    }
}

macro_rules! annotations {
    ($($name:ident: $type:ty;)+) => {$(
        #[doc = concat!("As [`TaskBuilder::", stringify!($name), "`].")]
        pub fn $name(mut self, $name: $type) -> Self {
            self.builder = self.builder.$name($name);
            self
        }
    )+};
}

impl<'scope, A> ScopedTask<'scope, A> {
    annotations! {
        priority: Priority;
        core: u16;
        node: u16;
        cost: u16;
        rank: u16;
    }

    /// Spawns the task. Its failure is that of the scope.
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    pub fn spawn<F>(self, body: F)
    where
        A: AccessSet,
        F: for<'v> FnOnce(A::View<'v>, &mut Context) + Send + 'scope,
    {
        let body = ErasedBody::of(body);
        self.builder.spawn(move |view, cx| {
            // SAFETY: of this type. The scope waits for its group, and a member of a group is over
            // after its body was called or dropped.
            let body = unsafe { body.into_box::<F>() };
            body(view, cx);
        });
    }
}

/// A boxed body without its type, and so without its lifetime.
struct ErasedBody {
    address: NonNull<()>,
    drop: unsafe fn(NonNull<()>),
}

// SAFETY: made of bodies that are `Send`.
unsafe impl Send for ErasedBody {}

impl ErasedBody {
    fn of<F: Send>(body: F) -> Self {
        // SAFETY: the address comes from a box of this type, below, and is dropped once.
        let drop = |address: NonNull<()>| unsafe { drop(Box::from_raw(address.cast::<F>().as_ptr())) };
        Self { address: NonNull::from(Box::leak(Box::new(body))).cast(), drop }
    }

    /// # Safety
    ///
    /// The body is of this type, and what it borrows is still borrowed.
    unsafe fn into_box<F>(self) -> Box<F> {
        let body = ManuallyDrop::new(self);
        // SAFETY: made of a box of this type, and not dropped.
        unsafe { Box::from_raw(body.address.cast().as_ptr()) }
    }
}

impl Drop for ErasedBody {
    fn drop(&mut self) {
        // SAFETY: the body was not taken, as that prevents this call.
        unsafe { (self.drop)(self.address) };
    }
}

impl<'scope> ScopedTask<'scope, ()> {
    /// Spawns a bundle: one task that carries many walks. Its failure is that of the scope.
    pub fn bundle<B: Bundle + 'scope>(self, bundle: B) {
        self.bundle_then(bundle, |_, _| ());
    }

    /// Spawns a bundle, which is passed to `then` when all its walks have ended.
    pub fn bundle_then<B, G>(self, bundle: B, then: G)
    where
        B: Bundle + 'scope,
        G: FnOnce(B, &mut Context) + Send + 'scope,
    {
        let (request, (), group) = self.builder.into_parts();
        // SAFETY: the scope waits for its group, and a member of a group is over after its body was
        // run or dropped.
        unsafe { bundle::launch(request, bundle, then, group.sink()) };
    }
}
