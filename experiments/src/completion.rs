//! Detects that the last of several tasks has ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use xtasking::Promise;

/// A countdown that hands a promise to the task that reaches zero.
pub(crate) struct Completion<T> {
    pending: AtomicU64,
    promise: Mutex<Option<Promise<T>>>,
}

impl<T> Completion<T> {
    /// Creates a countdown from `pending`, which must not be zero.
    pub(crate) fn new(pending: u64, promise: Promise<T>) -> Self {
        Self { pending: AtomicU64::new(pending), promise: Mutex::new(Some(promise)) }
    }

    /// Counts one task as ended. Returns the promise if it was the last one.
    ///
    /// The last task sees all that the others did before they called this.
    #[inline]
    pub(crate) fn end_one(&self) -> Option<Promise<T>> {
        // AcqRel: the last decrement synchronizes with all others.
        if self.pending.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        self.promise.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::Completion;
    use xtasking::Runtime;

    #[test]
    fn only_the_last_task_gets_the_promise() {
        let rt = Runtime::builder().workers(1).build().unwrap();
        let (promise, handle) = rt.promise();
        let completion = Completion::new(3, promise);
        assert!(completion.end_one().is_none() && completion.end_one().is_none());
        completion.end_one().unwrap().fulfil(7);
        assert_eq!(handle.join().unwrap(), 7);
    }
}
