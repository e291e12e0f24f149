//! Handles that cancel their task when they are dropped.

use super::failure::JoinError;
use super::handle::Handle;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A [`Handle`] that cancels its task when it is dropped; made by [`Handle::cancel_on_drop`].
///
/// Keep it in the future that answers a request. If the client disconnects, the server drops that
/// future, and the task does not run if it has not started.
#[must_use = "dropping this cancels the task"]
pub struct CancelOnDrop<R> {
    /// `None` only while this is being detached.
    handle: Option<Handle<R>>,
}

impl<R> Handle<R> {
    /// Makes a handle that cancels the task when it is dropped, as [`cancel`](Self::cancel) does.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use xtasking::{JoinError, Runtime};
    ///
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let (open, gate) = mpsc::channel::<()>();
    /// rt.task(()).spawn(move |(), _cx| _ = gate.recv()); // the only worker is busy
    /// let (promise, answer) = rt.promise();
    /// let request = rt.task(()).submit(move |(), _cx| promise.fulfil(1)).cancel_on_drop();
    /// drop(request); // the client has gone
    /// drop(open);
    /// assert!(matches!(answer.join(), Err(JoinError::Abandoned)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel_on_drop(self) -> CancelOnDrop<R> {
        CancelOnDrop { handle: Some(self) }
    }
}

impl<R> CancelOnDrop<R> {
    /// Returns true if the result is there.
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_some_and(Handle::is_finished)
    }

    /// Asks that the task does not start, as [`Handle::cancel`].
    pub fn cancel(&self) -> bool {
        self.handle.as_ref().is_some_and(Handle::cancel)
    }

    /// Blocks this thread until the task is done, as [`Handle::join`].
    ///
    /// # Errors
    ///
    /// As for [`Handle::join`]. With [`JoinError::WouldBlock`] the task is cancelled, if that is in
    /// time.
    pub fn join(mut self) -> Result<R, JoinError> {
        self.handle.as_mut().map_or(Err(JoinError::Abandoned), Handle::wait)
    }

    /// Returns a handle that does not cancel the task when it is dropped.
    pub fn detach(mut self) -> Handle<R> {
        self.handle.take().expect("it is detached once")
    }
}

impl<R> Drop for CancelOnDrop<R> {
    fn drop(&mut self) {
        if !planted!("drop-cancels-nothing") {
            self.cancel();
        }
    }
}

impl<R> Future for CancelOnDrop<R> {
    type Output = Result<R, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.handle {
            Some(handle) => Pin::new(handle).poll(context),
            None => Poll::Pending,
        }
    }
}

impl<R> core::fmt::Debug for CancelOnDrop<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CancelOnDrop").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
