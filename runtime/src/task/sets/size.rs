//! How many workers a managed pool has.

use super::Managed;
use crate::monitor::{Advice, Adviser, Reading, Statistics};
use crate::scheduler::{BuildError, Runtime};
use crate::sync::SpinMutex;
use core::ops::{Deref, RangeInclusive};

/// Who gives advice, unless the runtime has no statistics.
pub(super) type Advising = SpinMutex<Option<Adviser>>;

/// An adviser whose first span of time begins now.
pub(super) fn advising(runtime: &Runtime, within: RangeInclusive<usize>) -> Advising {
    let adviser = |statistics| Adviser::new(within, runtime.workers(), Reading::of(&statistics));
    SpinMutex::new(runtime.statistics().map(adviser))
}

/// As many workers as a runtime may be advised to have, unless others are said.
pub(super) fn allowed(runtime: &Runtime) -> RangeInclusive<usize> {
    // Tasks do not block, so that there is nothing for others to do.
    1..=runtime.topology().cores.len()
}

impl<R: Deref<Target = Runtime>> Managed<R> {
    /// How many workers it may be [suggested](Self::suggest) to have. Without this there is one at least, and at most one
    /// for each core of the platform: more would help only where functions block.
    ///
    /// There are never fewer than one, and never more than the runtime [can have](crate::Builder::most_workers).
    #[must_use]
    pub fn within(self, workers: RangeInclusive<usize>) -> Self {
        Self { advising: advising(&self.runtime, workers), ..self }
    }

    /// The runtime, for all that it offers besides.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// How many workers are to run, as was asked for last.
    pub fn size(&self) -> usize {
        self.runtime.shared().staff.wanted()
    }

    /// Changes the number of workers while they run, as [`Runtime::resize`] does.
    ///
    /// # Errors
    ///
    /// As for [`Runtime::resize`].
    pub fn resize(&self, workers: usize) -> Result<(), BuildError> {
        self.runtime.resize(workers)
    }

    /// What tasks and workers have done, as [`Runtime::statistics`] says. Each function of a set that a worker has run counts
    /// as a task; those that were run by who waits do not count.
    pub fn statistics(&self) -> Option<Statistics> {
        self.runtime.statistics()
    }

    /// How many workers there should be, and why, from what has happened since this was asked for the last time; `None`
    /// if the runtime has no [statistics](crate::Builder::statistics).
    ///
    /// It is to be called now and then, some thousands of tasks apart, and by one thread: the shorter the time in between,
    /// the less certain is what follows from it. More workers are suggested at once; fewer only when the load has been
    /// small for three times in a row; and if more had no effect, they are suggested again only after a while. (After the
    /// number has changed by anything but [`follow`](Self::follow) the next advice is not to change it.)
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
        self.advising.lock().as_mut().map(|adviser| adviser.advise(&statistics))
    }

    /// As [`suggest`](Self::suggest), and does it. Who wants the runtime to do so by itself says so when it is
    /// [built](crate::Builder::follow_advice).
    ///
    /// # Errors
    ///
    /// As for [`Runtime::resize`]: the platform cannot start so many.
    pub fn follow(&self) -> Result<Option<Advice>, BuildError> {
        let advice = self.suggest();
        if let Some(advice) = advice.filter(|advice| advice.workers != advice.size) {
            self.runtime.resize(advice.workers)?;
            // What was before does not count for the next advice.
            let statistics = self.runtime.statistics();
            if let (Some(adviser), Some(statistics)) = (&mut *self.advising.lock(), statistics) {
                adviser.begin(&statistics);
            }
        }
        Ok(advice)
    }
}

impl Runtime {
    /// This runtime as a managed pool of workers.
    pub fn managed(&self) -> Managed<&Self> {
        Managed::new(self)
    }
}
