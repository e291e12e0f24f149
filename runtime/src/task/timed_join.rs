//! Waiting for a task with a limit.

use super::deadline::Deadline;
use super::failure::JoinError;
use super::handle::Handle;
use core::time::Duration;

impl<R> Handle<R> {
    /// Blocks this thread until the task is done, but at most for `limit`. Returns the task's
    /// outcome, or this handle if the limit has passed; the task is not cancelled.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let task = rt.task(()).submit(|(), _| 1);
    /// match task.join_timeout(Duration::from_secs(60)) {
    ///     Ok(outcome) => assert_eq!(outcome?, 1),
    ///     Err(handle) => _ = handle.cancel(),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the handle if the task was not done in time. The inner errors are those of
    /// [`join`](Self::join).
    pub fn join_timeout(self, limit: Duration) -> Result<Result<R, JoinError>, Self> {
        let deadline = Deadline::after(self.shared(), limit);
        self.join_deadline(deadline)
    }

    /// Blocks this thread until the task is done, but at most until a moment. Otherwise as
    /// [`join_timeout`](Self::join_timeout).
    ///
    /// # Errors
    ///
    /// As for [`join_timeout`](Self::join_timeout).
    pub fn join_deadline(mut self, deadline: Deadline) -> Result<Result<R, JoinError>, Self> {
        let mut outcome = None;
        let shared = self.shared().clone();
        let waited = shared.platform.block_until(deadline.nanoseconds(), &mut |waker| {
            if outcome.is_none() {
                outcome = self.poll_outcome(waker);
            }
            outcome.is_some()
        });
        match (waited, outcome) {
            (_, Some(outcome)) => Ok(outcome),
            (Ok(_), None) => Err(self),
            (Err(_), None) => Ok(Err(shared.wait_failure())),
        }
    }
}
