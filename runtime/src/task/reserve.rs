//! Spawning tasks where there is room for them: see [`limit`](crate::limit).

use super::room::{MayReserve, Permits, WithRoom};
use super::spawner::sealed::{Origin, Spawn};
use super::{AccessSet, Handle, TaskBuilder};
use crate::limit::{Acquire, Limit, LimitError};
use crate::scheduler::Context;
use alloc::vec::{self, Vec};
use core::fmt;
use core::future::Future;
use core::iter::Chain;
use core::option;
use core::pin::Pin;
use core::task::{Poll, Waker};

/// The limits that concern a task, in the order in which it takes their permits.
///
/// All tasks take them in the same order, so that tasks that wait with permits in hand do not
/// deadlock. The runtime comes last: a task that waits for an object takes no room from others.
type Limits = Chain<Chain<vec::IntoIter<Limit>, option::IntoIter<Limit>>, option::IntoIter<Limit>>;

impl<P: Spawn, A: AccessSet, M: MayReserve> TaskBuilder<P, A, M> {
    /// Reserves room for the task, if there is room now. The task is then spawned by any method of
    /// the builder, and keeps the room until it is over; a builder that is dropped gives it back.
    ///
    /// Room is a permit of each [limit](crate::limit) that concerns the task: of the runtime, its
    /// group and its objects. Where none is set there is always room.
    ///
    /// ```
    /// use xtasking::limit::LimitError;
    ///
    /// let rt = xtasking::Runtime::builder().workers(1).most_tasks(1).build()?;
    /// let task = rt.task(()).try_reserve()?;
    /// assert_eq!(rt.task(()).try_reserve().err(), Some(LimitError::Full));
    /// let answer = task.submit(|(), _| 42);
    /// assert_eq!(answer.join()?, 42);
    /// assert!(rt.task(()).try_reserve().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LimitError::Full`] or [`LimitError::ShutDown`].
    pub fn try_reserve(mut self) -> Result<TaskBuilder<P, A, WithRoom<M>>, LimitError> {
        let mut permits = Permits::default();
        for limit in self.limits() {
            permits.add(limit.try_acquire()?);
        }
        Ok(self.with_room(permits))
    }

    /// Waits until there is room for the task, as a future, and reserves it as
    /// [`try_reserve`](Self::try_reserve) does. Waiters are served in the order in which they came.
    /// A future that is dropped leaves the queue, and passes on what it has got so far.
    ///
    /// Its output is an error only if the runtime is shutting down: [`LimitError::ShutDown`].
    ///
    /// ```
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     loop {
    /// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
    /// #             return output;
    /// #         }
    /// #         std::thread::yield_now();
    /// #     }
    /// # }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let log = rt.plain(Vec::new()).most_tasks(16).build();
    /// # let written: Result<_, Box<dyn std::error::Error>> = block_on(async {
    /// for line in 0..100 {
    ///     rt.task(log.write()).reserve().await?.spawn(move |log, _| log.push(line));
    /// }
    /// let lines = rt.task(log.read()).reserve().await?.submit(|log, _| log.len()).await?;
    /// # Ok(lines)
    /// # });
    /// # let lines = written?;
    /// assert_eq!(lines, 100);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reserve(mut self) -> Reserve<P, A, M> {
        let limits = self.limits();
        Reserve { task: Some(self), limits, waiter: None, permits: Permits::default() }
    }

    /// Blocks this thread until there is room for the task, and reserves it as
    /// [`try_reserve`](Self::try_reserve) does. In a simulation it drives the virtual cores until
    /// then.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let (group, sum) = (rt.group().most_tasks(8), Arc::new(AtomicU64::new(0)));
    /// for number in 0..100 {
    ///     let sum = sum.clone();
    ///     let task = rt.task(()).of(&group).reserve_blocking()?;
    ///     task.spawn(move |(), _| _ = sum.fetch_add(number, Relaxed));
    /// }
    /// group.wait()?;
    /// assert_eq!(sum.load(Relaxed), 4950);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LimitError::ShutDown`]. [`LimitError::WouldBlock`] on a worker of the same runtime, also
    /// if there is room: a task [tries](Self::try_reserve), or spawns without room.
    pub fn reserve_blocking(mut self) -> Result<TaskBuilder<P, A, WithRoom<M>>, LimitError> {
        let platform = self.origin_mut().shared().platform.clone();
        let mut waiter = self.reserve();
        let mut outcome = None;
        let waited = platform.block(&mut |waker| {
            if outcome.is_none() {
                outcome = waiter.poll_outcome(waker);
            }
            outcome.is_some()
        });
        outcome.filter(|_| waited.is_ok()).unwrap_or(Err(LimitError::WouldBlock))
    }

    /// Spawns the task as [`spawn`](TaskBuilder::spawn) does, if there is room for it now: see
    /// [`try_reserve`](Self::try_reserve).
    ///
    /// ```
    /// use xtasking::limit::LimitError;
    ///
    /// let rt = xtasking::Runtime::builder().workers(1).build()?;
    /// let log = rt.plain(Vec::new()).most_tasks(1).build();
    /// let room = rt.task(log.write()).try_reserve()?;
    /// let refused = rt.task(log.write()).try_spawn(|log, _| log.push("later")).unwrap_err();
    /// assert_eq!(refused.error, LimitError::Full);
    /// room.submit(|log, _| log.push("first")).join()?;
    /// rt.task(log.write()).try_spawn(refused.body)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`try_reserve`](Self::try_reserve); the error has the body.
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    pub fn try_spawn<F>(self, body: F) -> Result<(), TrySpawnError<F>>
    where
        F: for<'v> FnOnce(A::View<'v>, &mut Context) + Send + 'static,
    {
        match self.try_reserve() {
            Ok(task) => {
                task.spawn(body);
                Ok(())
            }
            Err(error) => Err(TrySpawnError { error, body }),
        }
    }

    /// Spawns the task as [`submit`](TaskBuilder::submit) does, if there is room for it now: see
    /// [`try_reserve`](Self::try_reserve).
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(1).most_tasks(1000).build()?;
    /// match rt.task(()).try_submit(|(), _| 42) {
    ///     Ok(answer) => assert_eq!(answer.join()?, 42),
    ///     Err(refused) => println!("503: {}", refused.error),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`try_reserve`](Self::try_reserve); the error has the body.
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    pub fn try_submit<F, R>(self, body: F) -> Result<Handle<R>, TrySpawnError<F>>
    where
        F: for<'v> FnOnce(A::View<'v>, &mut Context) -> R + Send + 'static,
        R: Send + 'static,
    {
        match self.try_reserve() {
            Ok(task) => Ok(task.submit(body)),
            Err(error) => Err(TrySpawnError { error, body }),
        }
    }

    fn limits(&mut self) -> Limits {
        let mut objects = Vec::new();
        self.access().limits(&mut objects);
        // Two accesses may read the same object, which is one task to it.
        objects.sort_unstable_by_key(Limit::number);
        objects.dedup_by_key(|limit| limit.number());
        let group = self.membership().limit().cloned();
        let runtime = self.origin_mut().shared().limits.tasks().cloned();
        objects.into_iter().chain(group).chain(runtime)
    }

    fn with_room(self, permits: Permits) -> TaskBuilder<P, A, WithRoom<M>> {
        let (request, access, membership) = self.into_parts();
        TaskBuilder::from_parts(request, access, WithRoom::new(membership, permits))
    }
}

/// Waits until there is room for a task; made by [`TaskBuilder::reserve`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Reserve<P, A, M> {
    /// Taken with the room.
    task: Option<TaskBuilder<P, A, M>>,
    limits: Limits,
    /// Waits for a permit of the last limit that was taken out of `limits`.
    waiter: Option<Acquire>,
    permits: Permits,
}

type Reserved<P, A, M> = Result<TaskBuilder<P, A, WithRoom<M>>, LimitError>;

impl<P: Spawn, A: AccessSet, M: MayReserve> Reserve<P, A, M> {
    fn poll_outcome(&mut self, waker: &Waker) -> Option<Reserved<P, A, M>> {
        loop {
            if let Some(waiter) = &mut self.waiter {
                let outcome = waiter.poll_outcome(waker)?;
                self.waiter = None;
                match outcome {
                    Ok(permit) => self.permits.add(permit),
                    Err(error) => {
                        // Another poll gets no task without its permits.
                        self.task = None;
                        return Some(Err(error));
                    }
                }
            }
            match self.limits.next() {
                Some(limit) => self.waiter = Some(limit.acquire()),
                None => {
                    let task = self.task.take().expect("the future of room is polled after its end");
                    return Some(Ok(task.with_room(core::mem::take(&mut self.permits))));
                }
            }
        }
    }
}

// Nothing in it is pinned.
impl<P, A, M> Unpin for Reserve<P, A, M> {}

impl<P: Spawn, A: AccessSet, M: MayReserve> Future for Reserve<P, A, M> {
    type Output = Result<TaskBuilder<P, A, WithRoom<M>>, LimitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut core::task::Context<'_>) -> Poll<Self::Output> {
        self.poll_outcome(context.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

/// A task that was not spawned because there was no room for it, with its body.
pub struct TrySpawnError<F> {
    /// Why there was no room.
    pub error: LimitError,
    /// The body, to be spawned later.
    pub body: F,
}

impl<F> fmt::Debug for TrySpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrySpawnError").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<F> fmt::Display for TrySpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<F> core::error::Error for TrySpawnError<F> {}
