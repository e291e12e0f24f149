//! A runtime as a managed pool.

use super::requests::Requests;
use super::set::Set;
use super::size::{SharedAdviser, default_bounds, new_adviser};
use super::stored_function::StoredFunction;
use super::{SetError, SetId};
use crate::pool::RankOrder;
use crate::scheduler::Runtime;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

/// A runtime as a managed pool: sets of plain functions, the number of workers, and advice on it.
///
/// | | |
/// |---|---|
/// | one function | [`spawn`], [`enqueue`] |
/// | several functions | [`enqueue_many`], [`enqueue_ranked`], [`enqueue_and_wait`] |
/// | ranks | [`with_default_rank`] |
/// | waiting | [`wait`], [`wait_all`], [`is_over`], [`forget`] |
/// | workers | [`size`], [`resize`] |
/// | observing | [`statistics`] |
/// | advice | [`suggest`], [`follow`], [`within`] |
///
/// [`spawn`]: Self::spawn
/// [`enqueue`]: Self::enqueue
/// [`enqueue_many`]: Self::enqueue_many
/// [`enqueue_ranked`]: Self::enqueue_ranked
/// [`enqueue_and_wait`]: Self::enqueue_and_wait
/// [`with_default_rank`]: Self::with_default_rank
/// [`wait`]: Self::wait
/// [`wait_all`]: Self::wait_all
/// [`is_over`]: Self::is_over
/// [`forget`]: Self::forget
/// [`size`]: Self::size
/// [`resize`]: Self::resize
/// [`statistics`]: Self::statistics
/// [`suggest`]: Self::suggest
/// [`follow`]: Self::follow
/// [`within`]: Self::within
///
/// This is for code that was written for a thread pool, without annotations and objects. Tasks are
/// waited for together as a [`Group`](crate::Group). `R` is a reference to a runtime, or an `Arc`
/// of one. A runtime may have several managed pools: each has its own sets, and all share the
/// workers.
///
/// The functions of a set run in no particular order, unless they have ranks. A thread that waits
/// for a set runs functions of that set until all have begun. So a function may run on a thread
/// outside the runtime, and a wait makes progress even if all workers are busy. A panic does not
/// stop the other functions: the wait returns the first one, and the runtime's hook receives the
/// rest.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::sync::Arc;
/// use xtasking::{Runtime, managed::SetError};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let pool = rt.managed();
/// let sum = Arc::new(AtomicU32::new(0));
/// let add = |number| {
///     let sum = sum.clone();
///     move || _ = sum.fetch_add(number, Relaxed)
/// };
/// let one = pool.enqueue(add(1));
/// let many = pool.enqueue_many((2..=10).map(add));
/// pool.wait(many)?;
/// pool.wait(one)?;
/// assert_eq!(sum.load(Relaxed), 55);
/// assert!(matches!(pool.wait(one), Err(SetError::Stale)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Managed<R> {
    pub(super) runtime: R,
    pub(super) requests: Arc<Requests>,
    pub(super) adviser: SharedAdviser,
    /// The rank of sets that are enqueued without one, if it was set.
    pub(super) default_rank: Option<u16>,
}

impl<R: Deref<Target = Runtime>> Managed<R> {
    /// Makes a managed pool without sets on a runtime.
    pub fn new(runtime: R) -> Self {
        let adviser = new_adviser(&runtime, default_bounds(&runtime));
        let requests = Arc::new(Requests::new(runtime.shared().clone()));
        Self { runtime, requests, adviser, default_rank: None }
    }

    /// Sets the [rank](crate::TaskBuilder::rank) of sets that are enqueued without one; before, it
    /// is [`RankOrder::MIDDLE`]. With [`RankOrder::LAST`] they start after all sets of a smaller
    /// rank, as in a queue in which requests without a priority go behind all that have one.
    ///
    /// Call it before the first set is enqueued: later calls have no effect on requests that wait.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex, mpsc};
    /// use xtasking::{QueuePolicy, Runtime, Shutdown, queues::RankOrder};
    ///
    /// let rt = Runtime::builder().workers(1).pool(QueuePolicy::Ranked(RankOrder::Exact)).build()?;
    /// let pool = rt.managed().with_default_rank(RankOrder::LAST);
    /// let order = Arc::new(Mutex::new(Vec::new()));
    /// let note = |name| {
    ///     let order = order.clone();
    ///     move || order.lock().unwrap().push(name)
    /// };
    /// // The only worker is busy while these come.
    /// let (go, gone) = mpsc::channel();
    /// pool.enqueue_ranked(0, [move || gone.recv().unwrap()]);
    /// pool.enqueue(note("clean up"));
    /// pool.enqueue_ranked(30_000, [note("report")]);
    /// go.send(()).unwrap();
    /// drop(pool);
    /// rt.shutdown(Shutdown::Drain);
    /// assert_eq!(*order.lock().unwrap(), ["report", "clean up"]);
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    #[must_use]
    pub fn with_default_rank(self, rank: u16) -> Self {
        Self { default_rank: Some(rank), ..self }
    }

    fn rank_of_sets(&self) -> u16 {
        self.default_rank.unwrap_or(RankOrder::MIDDLE)
    }

    /// Enqueues a set of one function. It allocates nothing but a block for each 64 calls, unless
    /// the function captures more than six words.
    ///
    /// The id may be dropped: once the function has run, nothing is left of the set, unless it has
    /// failed. A failure is kept until it is waited for, or until [`wait_all`](Self::wait_all) or
    /// [`forget`](Self::forget).
    #[inline]
    pub fn enqueue(&self, body: impl FnOnce() + Send + 'static) -> SetId {
        let id = self.requests.add(StoredFunction::new(body), false);
        self.requests.start(id, self.default_rank, &self.runtime);
        id
    }

    /// Runs a function on a worker, without an id: as [`enqueue`](Self::enqueue) and
    /// [`forget`](Self::forget) in one, which takes less time. A panic goes to the runtime's hook.
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let rt = xtasking::Runtime::builder().workers(1).build()?;
    /// rt.managed().spawn(move || sender.send("written").unwrap());
    /// assert_eq!(receiver.recv(), Ok("written"));
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    #[inline]
    pub fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        let id = self.requests.add(StoredFunction::new(body), true);
        self.requests.start(id, self.default_rank, &self.runtime);
    }

    /// Enqueues a set of any number of functions, even of none. The workers start on them at once.
    /// Nothing is left of a set that is over, as for [`enqueue`](Self::enqueue).
    pub fn enqueue_many<I>(&self, bodies: I) -> SetId
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        self.enqueue_ranked(self.rank_of_sets(), bodies)
    }

    /// Enqueues a set with a [rank](crate::TaskBuilder::rank). In a runtime with [ranked
    /// queues](crate::QueuePolicy::Ranked) its functions start before those of a greater rank that
    /// have not started, in whichever set.
    ///
    /// ```
    /// use std::sync::{Arc, Barrier, Mutex};
    /// use xtasking::{QueuePolicy, Runtime, Shutdown, queues::RankOrder};
    ///
    /// let rt = Runtime::builder().workers(1).pool(QueuePolicy::Ranked(RankOrder::Exact)).build()?;
    /// let pool = rt.managed();
    /// let order = Arc::new(Mutex::new(Vec::new()));
    /// let note = |name| {
    ///     let order = order.clone();
    ///     move || order.lock().unwrap().push(name)
    /// };
    /// // The only worker is busy while these come.
    /// let both = Arc::new(Barrier::new(2));
    /// let worker = both.clone();
    /// pool.enqueue(move || {
    ///     worker.wait();
    ///     worker.wait();
    /// });
    /// both.wait();
    /// pool.enqueue_ranked(20, [note("report"), note("report")]);
    /// pool.enqueue_ranked(10, [note("query")]);
    /// both.wait();
    /// drop(pool);
    /// rt.shutdown(Shutdown::Drain);
    /// assert_eq!(*order.lock().unwrap(), ["query", "report", "report"]);
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn enqueue_ranked<I>(&self, rank: u16, bodies: I) -> SetId
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        let set = Set::new(bodies, &self.requests, rank, false);
        Set::spawn_runners(&set, &self.runtime);
        set.id()
    }

    /// Waits until all functions of a set are over, and runs those that have not begun. An id can
    /// be waited for once.
    ///
    /// # Errors
    ///
    /// [`SetError::Failed`] with the first failure. [`SetError::Stale`] if the set was waited for
    /// or forgotten, or another thread waits for it. [`SetError::WouldBlock`] in a task of the same
    /// runtime or a function of that set, if functions still run after the caller has run all that
    /// had not begun. [`JoinError::Forked`](crate::JoinError::Forked) in a process that was forked
    /// from the runtime's, if functions were running then.
    pub fn wait(&self, id: SetId) -> Result<(), SetError> {
        let found = self.requests.begin_wait(id)?;
        self.requests.finish_wait(id, found)
    }

    /// Enqueues a set and waits for it.
    ///
    /// In a task of the same runtime, which must not wait, the caller runs the whole set. (There
    /// [`Fork::join`](crate::Fork::join) lets other workers take part.)
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait), but never [`SetError::Stale`] or [`SetError::WouldBlock`].
    pub fn enqueue_and_wait<I>(&self, bodies: I) -> Result<(), SetError>
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        let set = Set::new(bodies, &self.requests, self.rank_of_sets(), true);
        if self.runtime.may_block() {
            Set::spawn_runners(&set, &self.runtime);
        }
        let found = self.requests.find(set.id());
        self.requests.finish_wait(set.id(), found)
    }

    /// Waits for all sets that exist now, also for those that other threads wait for, and takes
    /// part in each. Their ids are stale afterwards.
    ///
    /// # Errors
    ///
    /// The first failure of the first set that has one and that no other thread waits for; the
    /// failures of further sets go to the runtime's hook. [`SetError::WouldBlock`] as for
    /// [`wait`](Self::wait), after the caller has run what it could of all sets.
    pub fn wait_all(&self) -> Result<(), SetError> {
        let (failures, are_all_over) = self.requests.wait_for_all();
        let mut outcome = if are_all_over { Ok(()) } else { Err(SetError::WouldBlock) };
        for error in failures {
            match outcome {
                Ok(()) => outcome = Err(SetError::Failed(error)),
                Err(_) => self.runtime.shared().report(error, None),
            }
        }
        outcome
    }

    /// Detaches a set: its failures go to the runtime's hook.
    ///
    /// # Errors
    ///
    /// [`SetError::Stale`] as for [`wait`](Self::wait).
    pub fn forget(&self, id: SetId) -> Result<(), SetError> {
        if let Some(error) = self.requests.forget(id)? {
            self.runtime.shared().report(error, None);
        }
        Ok(())
    }

    /// Returns true if all functions of a set are over, so that a wait would return at once.
    ///
    /// # Errors
    ///
    /// [`SetError::Stale`] if the set was waited for to its end, or was forgotten.
    pub fn is_over(&self, id: SetId) -> Result<bool, SetError> {
        self.requests.is_over(id)
    }
}

impl<R> fmt::Debug for Managed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed").field("sets", &self.requests.unfinished()).finish_non_exhaustive()
    }
}
