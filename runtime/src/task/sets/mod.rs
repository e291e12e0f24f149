//! A runtime as a managed pool: sets of plain functions, each with an id to wait for, on workers whose number may change.

mod set;
mod size;

use self::set::{Help, Set};
use self::size::Advising;
use super::JoinError;
use crate::pool::Ranking;
use crate::scheduler::Runtime;
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};

/// A runtime as a managed pool: what a thread pool offers, on the workers of a runtime, in one place.
///
/// | | |
/// |---|---|
/// | functions | [`enqueue`](Self::enqueue), [`enqueue_many`](Self::enqueue_many), [`enqueue_ranked`](Self::enqueue_ranked), [`enqueue_and_wait`](Self::enqueue_and_wait) |
/// | waiting | [`wait`](Self::wait), [`wait_all`](Self::wait_all), [`is_over`](Self::is_over), [`forget`](Self::forget) |
/// | workers | [`size`](Self::size), [`resize`](Self::resize) |
/// | watching them | [`statistics`](Self::statistics) |
/// | advice on their number | [`suggest`](Self::suggest), [`follow`](Self::follow), [`within`](Self::within) |
///
/// This is for code that is written for a thread pool, and knows neither annotations nor objects; tasks are waited for
/// together as a [`Group`](crate::Group). `R` is a reference to a runtime, or an `Arc` of one. A runtime may have several;
/// each knows its own sets, and the workers are the same.
///
/// Functions are enqueued as sets, run in no particular order (unless they have ranks), and are waited for by ids. Who waits takes part: it runs
/// functions of the set that it waits for, and of no other, until none is left that nobody has begun. So a function may
/// run on a thread outside of the runtime, and a wait goes on even if all workers are busy for long. A function that
/// panics keeps no other from running; the wait says the first panic, and the runtime's hook is told of others.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::sync::Arc;
/// use xtasking::{Runtime, SetError};
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
    runtime: R,
    sets: SpinMutex<SlotMap<DefaultKey, Entry>>,
    advising: Advising,
}

/// A set that was not waited for to its end.
struct Entry {
    set: Arc<dyn Help>,
    /// Somebody waits for its id.
    awaited: bool,
}

/// Names a set: plain data, that can be stored and sent anywhere.
///
/// It is good for one wait, and says [`SetError::Stale`] from then on, whatever other sets there are. (A place is used
/// again; only after 2³¹ sets in one place an id might be taken for a new one.) It means nothing to another [`Managed`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(DefaultKey);

impl SetId {
    /// The id as a number.
    pub fn to_bits(self) -> u64 {
        self.0.data().as_ffi()
    }

    /// The id that a number stands for; a number that was made up is stale, or names some set.
    pub fn from_bits(bits: u64) -> Self {
        Self(KeyData::from_ffi(bits).into())
    }
}

impl fmt::Debug for SetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetId({:#x})", self.to_bits())
    }
}

/// Why a wait has not seen all of a set run.
#[derive(Debug)]
pub enum SetError {
    /// The id names no set: it was waited for, or forgotten; or somebody waits for it at the moment.
    Stale,
    /// All of it has begun, but some still runs, and the caller must not wait for that: it is a task of the same runtime, or
    /// itself a function of that set. The id stays as good as it was.
    WouldBlock,
    /// All of it is over. This is the first failure: a panic; or [`JoinError::OutOfMemory`] or [`JoinError::Cancelled`],
    /// and then functions were dropped that had not begun.
    Failed(JoinError),
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str("there is no set of that id to wait for"),
            Self::WouldBlock => f.write_str("a part of the set still runs, and must not be waited for here"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SetError {}

impl<R: Deref<Target = Runtime>> Managed<R> {
    /// That runtime as a managed pool; so far there are no sets.
    pub fn new(runtime: R) -> Self {
        let advising = size::advising(&runtime, size::allowed(&runtime));
        Self { runtime, sets: SpinMutex::default(), advising }
    }

    /// A set of one function.
    pub fn enqueue(&self, body: impl FnOnce() + Send + 'static) -> SetId {
        self.enqueue_many([body])
    }

    /// A set of any number of functions, of none as well. The workers begin with them at once.
    ///
    /// An id that is never waited for takes a few bytes until all is [waited for](Self::wait_all), or it is
    /// [forgotten](Self::forget).
    pub fn enqueue_many<I>(&self, bodies: I) -> SetId
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        self.enqueue_ranked(Ranking::MIDDLE, bodies)
    }

    /// A set that is as urgent as its [rank](crate::TaskBuilder::rank) says: in a runtime with a [ranked
    /// pool](crate::Pool::Ranked) its functions come before all those of a greater rank that nobody has begun, whichever
    /// sets they are of.
    ///
    /// ```
    /// use std::sync::{Arc, Barrier, Mutex};
    /// use xtasking::{Pool, Ranking, Runtime, Shutdown};
    ///
    /// let rt = Runtime::builder().workers(1).pool(Pool::Ranked(Ranking::Exact)).build()?;
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
        Set::send(&set, &self.runtime);
        id
    }

    /// Waits until all functions of a set are over, and runs those itself that nobody has begun. An id can be waited for
    /// once.
    ///
    /// # Errors
    ///
    /// [`SetError::Failed`] with the first failure of a function. [`SetError::Stale`] if the set was waited for or
    /// forgotten, or somebody else waits for it. [`SetError::WouldBlock`] in a task of the same runtime, or in a function of
    /// that set, if something else of it still runs: when the caller has run what it could.
    pub fn wait(&self, id: SetId) -> Result<(), SetError> {
        let set = {
            let mut sets = self.sets.lock();
            let entry = sets.get_mut(id.0).filter(|entry| !entry.awaited).ok_or(SetError::Stale)?;
            entry.awaited = true;
            entry.set.clone()
        };
        self.finish(id, &*set)
    }

    /// Enqueues a set, and waits for it.
    ///
    /// In a task of the same runtime, which must not wait for others, the caller runs all of it.
    /// ([`Fork::join`](crate::Fork::join) lets others take part there.)
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait), but it is neither stale nor would it block.
    pub fn enqueue_and_wait<I>(&self, bodies: I) -> Result<(), SetError>
    where
        I: IntoIterator<Item: FnOnce() + Send + 'static>,
    {
        let set = Set::new(bodies, &self.runtime, Ranking::MIDDLE);
        let id = self.insert(set.clone(), true);
        if self.runtime.may_block() {
            Set::send(&set, &self.runtime);
        }
        self.finish(id, &*set)
    }

    /// Waits for all sets that there are at the moment, also for those that others wait for, and takes part in each. Their
    /// ids are stale then.
    ///
    /// # Errors
    ///
    /// The first failure of the first set that has one, of those that nobody else waits for; the others' are told to the
    /// runtime's hook. [`SetError::WouldBlock`] as for [`wait`](Self::wait): when the caller has run what it could, of all
    /// sets.
    pub fn wait_all(&self) -> Result<(), SetError> {
        let sets: Vec<_> = {
            let sets = self.sets.lock();
            sets.iter().map(|(key, entry)| (key, entry.set.clone())).collect()
        };
        // First what can be run, and only then what must be waited for.
        sets.iter().for_each(|(_, set)| set.help());
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

    /// Lets a set go on without anybody who waits for it. Its failures are told to the runtime's hook.
    ///
    /// # Errors
    ///
    /// [`SetError::Stale`] as for [`wait`](Self::wait).
    pub fn forget(&self, id: SetId) -> Result<(), SetError> {
        // The set, which may be dropped with this, is application code: not under the lock.
        let mut sets = self.sets.lock();
        let entry = if sets.get(id.0).is_some_and(|entry| !entry.awaited) { sets.remove(id.0) } else { None };
        drop(sets);
        entry.map(drop).ok_or(SetError::Stale)
    }

    /// Whether all functions of a set are over, so that a wait would return at once.
    ///
    /// # Errors
    ///
    /// [`SetError::Stale`] if the set was waited for to its end, or forgotten.
    pub fn is_over(&self, id: SetId) -> Result<bool, SetError> {
        let sets = self.sets.lock();
        sets.get(id.0).map(|entry| entry.set.is_over()).ok_or(SetError::Stale)
    }

    fn insert(&self, set: Arc<dyn Help>, awaited: bool) -> SetId {
        SetId(self.sets.lock().insert(Entry { set, awaited }))
    }

    /// Waits for a set that is marked as awaited.
    fn finish(&self, id: SetId, set: &dyn Help) -> Result<(), SetError> {
        set.help();
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

    /// Whether a set that is over was nobody else's to take.
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
