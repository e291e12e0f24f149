//! The number of workers of a managed pool.

use super::Managed;
use crate::managed::sizing::{Advice, Adviser, Sample};
use crate::monitor::Statistics;
use crate::scheduler::{BuildError, Runtime};
use crate::sync::SpinMutex;
use core::ops::{Deref, RangeInclusive};

/// The adviser; `None` if the runtime has no statistics.
pub(super) type SharedAdviser = SpinMutex<Option<Adviser>>;

/// Makes an adviser whose first span begins now.
pub(super) fn new_adviser(runtime: &Runtime, within: RangeInclusive<usize>) -> SharedAdviser {
    let adviser = |statistics| Adviser::new(within, runtime.workers(), Sample::of(&statistics));
    SpinMutex::new(runtime.statistics().map(adviser))
}

/// The default bounds of the number of workers.
pub(super) fn default_bounds(runtime: &Runtime) -> RangeInclusive<usize> {
    // Tasks do not block, so more workers than cores would have nothing to do.
    1..=runtime.topology().cores.len()
}

impl<R: Deref<Target = Runtime>> Managed<R> {
    /// Bounds the number of workers that may be [suggested](Self::suggest). The default is at least
    /// one, and at most one for each core of the platform: more help only if functions block.
    ///
    /// There is never less than one worker, and there are never more than the runtime [can
    /// have](crate::Builder::most_workers).
    #[must_use]
    pub fn within(self, workers: RangeInclusive<usize>) -> Self {
        Self { adviser: new_adviser(&self.runtime, workers), ..self }
    }

    /// Returns the runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Returns the number of workers that was last asked for.
    pub fn size(&self) -> usize {
        self.runtime.shared().worker_set.wanted()
    }

    /// Changes the number of workers while they run, as [`Runtime::resize`] does.
    ///
    /// # Errors
    ///
    /// As for [`Runtime::resize`].
    pub fn resize(&self, workers: usize) -> Result<(), BuildError> {
        self.runtime.resize(workers)
    }

    /// Returns what tasks and workers have done; see [`Runtime::statistics`]. A function of a set
    /// counts as a task if a worker has run it, not if a waiter has.
    pub fn statistics(&self) -> Option<Statistics> {
        self.runtime.statistics()
    }

    /// Suggests a number of workers, with the reason, from what has happened since the last call.
    /// Returns `None` if the runtime has no [statistics](crate::Builder::statistics).
    ///
    /// One thread should call it at intervals, some thousands of tasks apart: the shorter the
    /// interval, the less certain the advice. More workers are suggested at once; fewer only after
    /// three intervals of low load; and more are not suggested again for a while if the last ones
    /// had no effect. If the number is changed other than by [`follow`](Self::follow), the next
    /// advice is to keep it.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).statistics(true).build()?;
    /// let pool = rt.managed();
    /// for _ in 0..3 {
    ///     std::thread::sleep(std::time::Duration::from_millis(1));
    ///     pool.follow()?;
    /// }
    /// // There was nothing to do.
    /// assert_eq!(pool.size(), 1);
    /// assert_eq!(pool.suggest().map(|advice| advice.workers), Some(1));
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn suggest(&self) -> Option<Advice> {
        let statistics = self.runtime.statistics()?;
        self.adviser.lock().as_mut().map(|adviser| adviser.advise(&statistics))
    }

    /// Resizes the runtime as [`suggest`](Self::suggest) advises. A runtime that is built with
    /// [`follow_advice`](crate::Builder::follow_advice) does so by itself.
    ///
    /// # Errors
    ///
    /// As for [`Runtime::resize`]: the platform cannot start enough workers.
    pub fn follow(&self) -> Result<Option<Advice>, BuildError> {
        let advice = self.suggest();
        if let Some(advice) = advice.filter(|advice| advice.workers != advice.size) {
            self.runtime.resize(advice.workers)?;
            // What happened before the resize does not count for the next advice.
            let statistics = self.runtime.statistics();
            if let (Some(adviser), Some(statistics)) = (&mut *self.adviser.lock(), statistics) {
                adviser.begin_span(&statistics);
            }
        }
        Ok(advice)
    }
}

impl Runtime {
    /// Returns this runtime as a managed pool of workers.
    pub fn managed(&self) -> Managed<&Self> {
        Managed::new(self)
    }
}
