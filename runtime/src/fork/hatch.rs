//! Where a job passes from its owner to another worker.

use super::Job;
use crate::sync::{Acquire, AtomicPtr, Relaxed, Release};
use core::ptr::{NonNull, null_mut};

/// A place for one job. Its owner puts it in, and either a thief takes it, or the owner takes it back.
#[derive(Default)]
pub(crate) struct Hatch(AtomicPtr<Job>);

impl Hatch {
    /// Whether nothing is here; only a hint to all but the one who puts jobs in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.load(Relaxed).is_null()
    }

    /// Puts a job in. Nothing is here, and nobody else puts anything in.
    pub fn put(&self, job: NonNull<Job>) {
        debug_assert!(self.is_empty());
        // Release pairs with the Acquire of `take`: the thief sees the job.
        let order = if planted!("job-offered-early") { Relaxed } else { Release };
        // (An exchange, as loom orders a mere store too little beside the exchange of a thief who found nothing.)
        self.0.swap(job.as_ptr(), order);
    }

    /// Takes what is here: it is the caller's to run.
    pub fn take(&self) -> Option<NonNull<Job>> {
        if self.is_empty() {
            return None;
        }
        // Acquire pairs with the Release of `put`.
        NonNull::new(self.0.swap(null_mut(), Acquire))
    }

    /// Takes back a job that the caller had put in; `false` if somebody else took it.
    pub fn take_back(&self, job: NonNull<Job>) -> bool {
        // A job that is still here was seen by nobody, so there is nothing to be ordered after.
        self.0.compare_exchange(job.as_ptr(), null_mut(), Relaxed, Relaxed).is_ok()
            || planted!("job-taken-twice")
    }
}
