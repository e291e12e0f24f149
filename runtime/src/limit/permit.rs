//! Limits and permits, as programs hold them.

use super::semaphore::Semaphore;
use super::{Acquire, LimitError};
use crate::platform::Platform;
use alloc::sync::{Arc, Weak};
use core::fmt;

/// A number of permits; see the [module](crate::limit). Clones share them.
///
/// ```
/// use xtasking::limit::LimitError;
///
/// let rt = xtasking::Runtime::builder().workers(1).build()?;
/// let limit = rt.limit(2);
/// let (first, _second) = (limit.try_acquire()?, limit.try_acquire()?);
/// assert_eq!(limit.try_acquire().err(), Some(LimitError::Full));
/// drop(first);
/// assert!(limit.try_acquire().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Limit(Arc<Shared>);

/// What the clones of a limit and its permits share.
pub(super) struct Shared {
    semaphore: Semaphore,
    /// No other limit of the runtime has it.
    number: u64,
    platform: Arc<dyn Platform>,
}

impl Limit {
    pub(super) fn new(most: usize, number: u64, platform: Arc<dyn Platform>) -> Self {
        Self(Arc::new(Shared { semaphore: Semaphore::new(most), number, platform }))
    }

    pub(super) fn semaphore(&self) -> &Semaphore {
        &self.0.semaphore
    }

    pub(super) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.0)
    }

    pub(super) fn upgrade(weak: &Weak<Shared>) -> Option<Self> {
        weak.upgrade().map(Self)
    }

    /// Returns the number that tells this limit from others of the runtime. Older ones have smaller
    /// numbers, so that an order by number is the same when a simulation is replayed.
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Returns the number of permits.
    pub fn most(&self) -> usize {
        self.semaphore().most()
    }

    /// Returns the number of permits that are out: of tasks that are spawned and not finished.
    pub fn used(&self) -> usize {
        self.semaphore().used()
    }

    /// Returns the number of waiters.
    pub fn waiting(&self) -> usize {
        self.semaphore().waiting()
    }

    /// Returns a permit if one is there. It goes back when it is dropped, on any thread.
    ///
    /// # Errors
    ///
    /// [`LimitError::Full`] or [`LimitError::ShutDown`].
    pub fn try_acquire(&self) -> Result<Permit, LimitError> {
        self.semaphore().try_take().map(|()| Permit::of(self.clone()))
    }

    /// Waits for a permit, as a future. Waiters are served in the order in which they came.
    ///
    /// Its output is an error only if the runtime is shutting down: [`LimitError::ShutDown`].
    pub fn acquire(&self) -> Acquire {
        Acquire::new(self.clone())
    }

    /// Blocks this thread until there is a permit. In a simulation it drives the virtual cores
    /// until then.
    ///
    /// # Errors
    ///
    /// [`LimitError::ShutDown`], and [`LimitError::WouldBlock`] on a worker of the runtime.
    pub fn acquire_blocking(&self) -> Result<Permit, LimitError> {
        let mut waiter = self.acquire();
        let mut outcome = None;
        let waited = self.0.platform.block(&mut |waker| {
            if outcome.is_none() {
                outcome = waiter.poll_outcome(waker);
            }
            outcome.is_some()
        });
        outcome.filter(|_| waited.is_ok()).unwrap_or(Err(LimitError::WouldBlock))
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit")
            .field("most", &self.most())
            .field("used", &self.used())
            .finish_non_exhaustive()
    }
}

/// A permit of a [`Limit`]. It goes back when it is dropped.
#[must_use = "a permit goes back when it is dropped"]
#[derive(Debug)]
pub struct Permit(Limit);

impl Permit {
    /// Returns the permit that was taken from the limit's semaphore.
    pub(super) fn of(limit: Limit) -> Self {
        Self(limit)
    }

    /// Returns the limit.
    pub fn limit(&self) -> &Limit {
        &self.0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.semaphore().give_back();
    }
}
