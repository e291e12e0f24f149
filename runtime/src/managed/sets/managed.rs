//! A runtime as a managed pool.

use super::set::{AnySet, Set};
use super::size::{SharedAdviser, default_bounds, new_adviser};
use super::{SetError, SetId};
use crate::pool::RankOrder;
use crate::scheduler::Runtime;
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use slotmap::{DefaultKey, SlotMap};

/// A runtime as a managed pool: sets of plain functions, the number of workers, and advice on it.
///
/// | | |
/// |---|---|
/// | functions | [`enqueue`], [`enqueue_many`], [`enqueue_ranked`], [`enqueue_and_wait`] |
/// | waiting | [`wait`], [`wait_all`], [`is_over`], [`forget`] |
/// | workers | [`size`], [`resize`] |
/// | observing | [`statistics`] |
/// | advice | [`suggest`], [`follow`], [`within`] |
///
/// [`enqueue`]: Self::enqueue
/// [`enqueue_many`]: Self::enqueue_many
/// [`enqueue_ranked`]: Self::enqueue_ranked
/// [`enqueue_and_wait`]: Self::enqueue_and_wait
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
    pub(super) sets: SpinMutex<SlotMap<DefaultKey, SetEntry>>,
    pub(super) adviser: SharedAdviser,
}

/// A set that was not waited for to its end.
pub(super) struct SetEntry {
    set: Arc<dyn AnySet>,
    /// A thread waits for its id.
    awaited: bool,
}

impl<R: Deref<Target = Runtime>> Managed<R> {
    /// Makes a managed pool without sets on a runtime.
    pub fn new(runtime: R) -> Self {
        let adviser = new_adviser(&runtime, default_bounds(&runtime));
        Self { runtime, sets: SpinMutex::default(), adviser }
    }

    /// Enqueues a set of one function.
    pub fn enqueue(&self, body: impl FnOnce() + Send + 'static) -> SetId {
        self.enqueue_many([body])
    }

    /// Enqueues a set of any number of functions, even of none. The workers start on them at once.
    ///
    /// An id that is never waited for takes a few bytes until [`wait_all`](Self::wait_all) or
    /// [`forget`](Self::forget).
    pub fn enqueue_many<I>(&self, bodies: I) -> SetId
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        self.enqueue_ranked(RankOrder::MIDDLE, bodies)
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
        let set = Set::new(bodies, &self.runtime, rank);
        let id = self.insert(set.clone(), false);
        Set::spawn_runners(&set, &self.runtime);
        id
    }

    /// Waits until all functions of a set are over, and runs those that have not begun. An id can
    /// be waited for once.
    ///
    /// # Errors
    ///
    /// [`SetError::Failed`] with the first failure. [`SetError::Stale`] if the set was waited for
    /// or forgotten, or another thread waits for it. [`SetError::WouldBlock`] in a task of the same
    /// runtime or a function of that set, if functions still run after the caller has run all that
    /// had not begun.
    pub fn wait(&self, id: SetId) -> Result<(), SetError> {
        let set = {
            let mut sets = self.sets.lock();
            let entry = sets.get_mut(id.0).filter(|entry| !entry.awaited).ok_or(SetError::Stale)?;
            entry.awaited = true;
            entry.set.clone()
        };
        self.finish(id, &*set)
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
        let set = Set::new(bodies, &self.runtime, RankOrder::MIDDLE);
        let id = self.insert(set.clone(), true);
        if self.runtime.may_block() {
            Set::spawn_runners(&set, &self.runtime);
        }
        self.finish(id, &*set)
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
        let sets: Vec<_> = {
            let sets = self.sets.lock();
            sets.iter().map(|(key, entry)| (key, entry.set.clone())).collect()
        };
        // Runs what has not begun in any set before it waits for one.
        sets.iter().for_each(|(_, set)| set.run_remaining());
        let mut outcome = Ok(());
        for (key, set) in sets {
            if !set.wait() {
                outcome = Err(SetError::WouldBlock);
            } else if self.remove_unless_awaited(key)
                && let Some(error) = set.take_failure()
            {
                match outcome {
                    Ok(()) => outcome = Err(SetError::Failed(error)),
                    Err(_) => self.runtime.shared().report(error, None),
                }
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
        // The set may be dropped here. It contains user code, so not under the lock.
        let mut sets = self.sets.lock();
        let entry = if sets.get(id.0).is_some_and(|entry| !entry.awaited) { sets.remove(id.0) } else { None };
        drop(sets);
        entry.map(drop).ok_or(SetError::Stale)
    }

    /// Returns true if all functions of a set are over, so that a wait would return at once.
    ///
    /// # Errors
    ///
    /// [`SetError::Stale`] if the set was waited for to its end, or was forgotten.
    pub fn is_over(&self, id: SetId) -> Result<bool, SetError> {
        let sets = self.sets.lock();
        sets.get(id.0).map(|entry| entry.set.is_over()).ok_or(SetError::Stale)
    }

    fn insert(&self, set: Arc<dyn AnySet>, awaited: bool) -> SetId {
        SetId(self.sets.lock().insert(SetEntry { set, awaited }))
    }

    /// Waits for a set that is marked as awaited.
    fn finish(&self, id: SetId, set: &dyn AnySet) -> Result<(), SetError> {
        set.run_remaining();
        let is_over = set.wait();
        let mut sets = self.sets.lock();
        if !is_over {
            if let Some(entry) = sets.get_mut(id.0) {
                entry.awaited = false;
            }
            return Err(SetError::WouldBlock);
        }
        let entry = sets.remove(id.0);
        drop(sets);
        drop(entry);
        set.take_failure().map_or(Ok(()), |error| Err(SetError::Failed(error)))
    }

    /// Removes a set that is over. Returns false if another thread waits for it.
    fn remove_unless_awaited(&self, key: DefaultKey) -> bool {
        let mut sets = self.sets.lock();
        let entry = if sets.get(key).is_some_and(|entry| !entry.awaited) { sets.remove(key) } else { None };
        drop(sets);
        entry.is_some()
    }
}

impl<R> fmt::Debug for Managed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed").field("sets", &self.sets.lock().len()).finish_non_exhaustive()
    }
}
