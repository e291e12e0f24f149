//! From a thread outside into the runtime, and back with a result.

use super::Fork;
use crate::platform::Platform;
use crate::scheduler::Runtime;
use crate::sync::{Backoff, UnsafeCell};
use crate::task::{Handle, JoinError};
use core::ptr::NonNull;
use core::task::Waker;

/// What the thread has and wants: it lies in the frame of the one who waits.
struct Errand<B, R> {
    body: UnsafeCell<Option<B>>,
    result: UnsafeCell<Option<R>>,
}

impl<R, B: FnOnce(Fork<'_>) -> R> Errand<B, R> {
    /// # Safety
    ///
    /// `errand` is one of this type, and nobody else looks at it.
    unsafe fn run(errand: NonNull<()>, cx: Fork<'_>) {
        // SAFETY: by the caller's promise.
        unsafe {
            let errand = errand.cast::<Self>().as_ref();
            let body = errand.body.with_mut(|body| (*body).take());
            let result = body.map(|body| body(cx));
            errand.result.with_mut(|place| *place = result);
        }
    }
}

/// An errand, as the task knows it.
struct Errands {
    address: NonNull<()>,
    run: unsafe fn(NonNull<()>, Fork<'_>),
}

// SAFETY: made in `run` only, where body and result may go to another thread, and the one outside waits meanwhile.
unsafe impl Send for Errands {}

impl Runtime {
    /// Runs a function as a task, and waits for it. It may use what the caller has borrowed, and divide its work by
    /// [`Fork::join`], which has an example.
    ///
    /// # Errors
    ///
    /// [`JoinError::Panicked`] if the function panics. [`JoinError::OutOfMemory`], and [`JoinError::WouldBlock`] on a
    /// worker of the same runtime, which had better call the function itself: then it was dropped and has not run.
    pub fn run<R: Send>(&self, body: impl FnOnce(Fork<'_>) -> R + Send) -> Result<R, JoinError> {
        if !self.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let errand = Errand { body: UnsafeCell::new(Some(body)), result: UnsafeCell::new(None) };
        self.wait_for(Errands::of(&errand))?;
        // SAFETY: the task is over.
        let result = errand.result.with_mut(|result| unsafe { (*result).take() });
        result.ok_or(JoinError::Abandoned)
    }

    /// Has a task run an errand. When this returns, or unwinds, the task has run or never will.
    fn wait_for(&self, errand: Errands) -> Result<(), JoinError> {
        let handle = self.task(()).submit(move |(), cx| {
            // All of it, not only its fields.
            let errand = errand;
            // SAFETY: `run` waits for this task with the errand in its frame.
            unsafe { (errand.run)(errand.address, cx.fork()) }
        });
        let platform = &*self.shared().platform;
        let mut sent = Sent { platform, handle, outcome: None };
        // If that is refused the errand may be under way all the same.
        _ = platform.block(&mut |waker| sent.is_over(waker));
        sent.see_to_its_end();
        match &mut sent.outcome {
            Some(outcome) => core::mem::replace(outcome, Ok(())),
            None => Err(JoinError::WouldBlock),
        }
    }
}

/// A task that uses a frame, which is left no sooner than the task is done: not even if the platform panics.
struct Sent<'a> {
    platform: &'a dyn Platform,
    handle: Handle<()>,
    outcome: Option<Result<(), JoinError>>,
}

impl Sent<'_> {
    fn is_over(&mut self, waker: &Waker) -> bool {
        self.outcome = self.handle.poll_outcome(waker);
        self.outcome.is_some()
    }

    /// Sees to it that the task does not begin any more; else it comes to its end without us.
    fn see_to_its_end(&mut self) {
        if self.outcome.is_some() || self.handle.cancel() {
            return;
        }
        let mut backoff = Backoff::new();
        while !self.is_over(Waker::noop()) {
            if !self.platform.interleave(true) {
                backoff.wait();
            }
        }
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.see_to_its_end();
    }
}

impl Errands {
    fn of<R: Send, B: FnOnce(Fork<'_>) -> R + Send>(errand: &Errand<B, R>) -> Self {
        Self { address: NonNull::from(errand).cast(), run: Errand::<B, R>::run }
    }
}
