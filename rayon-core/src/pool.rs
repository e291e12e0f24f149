//! A pool of threads.

use crate::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};
use crate::current::Yield;
use crate::registry::Registry;
use crate::scope::{Scope, ScopeFifo, in_place_scope_fifo_in, in_place_scope_in, scope_fifo_in, scope_in};
use crate::spawn::detached;
use crate::worker::Worker;
use crate::{ThreadPoolBuildError, join};
use std::fmt;
use std::sync::Arc;
use xtasking::{Fork, Runtime};

/// A pool of threads, which are the workers of a runtime of its own.
///
/// Dropping it returns at once; its threads end when all jobs have run.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (a, b) = pool.install(|| rayon_core::join(|| 1, || 2));
/// assert_eq!(a + b, 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    registry: Arc<Registry>,
}

impl ThreadPool {
    pub(crate) fn of(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// Builds a pool.
    ///
    /// # Errors
    ///
    /// Fails as [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) does.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated, reason = "a part of the interface")]
    pub fn new(configuration: crate::Configuration) -> Result<Self, Box<dyn std::error::Error>> {
        configuration.build()
    }

    /// Returns the global pool. The first call builds it. (rayon has no such function.)
    ///
    /// # Errors
    ///
    /// Fails if there is none and it cannot be built.
    pub fn global() -> Result<Self, ThreadPoolBuildError> {
        Ok(Self::of(crate::global::try_global()?.clone()))
    }

    /// Returns the runtime, for tasks beside rayon's jobs. (rayon has no such function.)
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let counter = pool.runtime().plain(0).build();
    /// pool.runtime().task(counter.write()).spawn(|count, _| *count += 1);
    /// assert_eq!(pool.runtime().task(counter.read()).submit(|count, _| *count).join()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn runtime(&self) -> &Runtime {
        self.registry.runtime()
    }

    /// Calls a function within a task of the pool's [runtime](Self::runtime): rayon's functions
    /// divide the work of that task. (rayon has no such function.)
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let pool = Arc::new(rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?);
    /// let numbers = pool.runtime().plain(vec![3, 1, 2]).build();
    /// // The task has the object for itself, and all workers may take part.
    /// let within = pool.clone();
    /// let sum = pool.runtime().task(numbers.write()).submit(move |numbers, cx| {
    ///     within.within(cx.fork(), || {
    ///         let (left, right) = numbers.split_at_mut(1);
    ///         rayon_core::join(|| left.sort(), || right.sort());
    ///     });
    ///     numbers[1]
    /// });
    /// assert_eq!(sum.join()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the function does, or if the fork belongs to another runtime.
    pub fn within<R>(&self, fork: Fork<'_>, body: impl FnOnce() -> R) -> R {
        assert!(fork.belongs_to(self.runtime()), "a fork of another runtime than that of this pool");
        Worker::enter(&self.registry, fork, |_| body())
    }

    /// Calls a function in this pool: rayon's functions use it meanwhile.
    ///
    /// # Panics
    ///
    /// Panics if the function does.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.in_worker(|_, _| op())
    }

    /// Calls a function on every worker: [`broadcast`](crate::broadcast()) in this pool.
    ///
    /// # Panics
    ///
    /// Panics if a call does, after all have ended.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.registry, op)
    }

    /// Returns the number of threads.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// Returns the index of the calling thread, or `None` if it is no worker of this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.registry.current_index()
    }

    /// Returns true if the calling worker has spawned jobs that have not begun, or `None` if the
    /// thread is no worker of this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.registry.current_index().map(|index| self.registry.queues.has_own(index))
    }

    /// Runs two functions, perhaps in parallel: [`join`](crate::join()) in this pool.
    ///
    /// # Panics
    ///
    /// Panics if either function does.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// Calls a function that spawns jobs: [`scope`](crate::scope()) in this pool.
    ///
    /// # Panics
    ///
    /// Panics if the function or a job does.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        scope_in(&self.registry, op)
    }

    /// Calls a function that spawns jobs: [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// # Panics
    ///
    /// Panics if the function or a job does.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        scope_fifo_in(&self.registry, op)
    }

    /// Calls a function here that spawns jobs: [`in_place_scope`](crate::in_place_scope) in this
    /// pool.
    ///
    /// # Panics
    ///
    /// Panics if the function or a job does.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(&self.registry, op)
    }

    /// Calls a function here that spawns jobs: [`in_place_scope_fifo`](crate::in_place_scope_fifo)
    /// in this pool.
    ///
    /// # Panics
    ///
    /// Panics if the function or a job does.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place_scope_fifo_in(&self.registry, op)
    }

    /// Runs a function: [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.registry.push(detached(&self.registry, op));
    }

    /// Runs a function: [`spawn_fifo`](crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.registry.push_fifo(detached(&self.registry, op));
    }

    /// Runs a function on every worker: [`spawn_broadcast`](crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.registry, op);
    }

    /// Runs a job, as [`yield_now`](crate::yield_now) does. Returns `None` if the calling thread is
    /// no worker of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.registry.current_index().and_then(|_| crate::yield_now())
    }

    /// Runs a job of this worker, as [`yield_local`](crate::yield_local) does. Returns `None` if
    /// the calling thread is no worker of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.registry.current_index().and_then(|_| crate::yield_local())
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("num_threads", &self.current_num_threads()).finish_non_exhaustive()
    }
}
