//! Calls from a thread outside into the runtime, and back with a result.

use super::Fork;
use crate::scheduler::Runtime;
use crate::sync::UnsafeCell;
use crate::task::{FrameGuard, JoinError};
use core::ptr::NonNull;

/// A function and its result, in the frame of the waiting thread.
struct Call<B, R> {
    body: UnsafeCell<Option<B>>,
    result: UnsafeCell<Option<R>>,
}

impl<R, B: FnOnce(Fork<'_>) -> R> Call<B, R> {
    /// # Safety
    ///
    /// `call` has this type, and no other thread accesses it.
    unsafe fn run(call: NonNull<()>, cx: Fork<'_>) {
        // SAFETY: by this function's contract no other thread accesses the fields.
        unsafe {
            let call = call.cast::<Self>().as_ref();
            let body = call.body.with_mut(|body| (*body).take());
            let result = body.map(|body| body(cx));
            call.result.with_mut(|place| *place = result);
        }
    }
}

/// A call without its types, as the task carries it.
struct ErasedCall {
    address: NonNull<()>,
    run: unsafe fn(NonNull<()>, Fork<'_>),
}

// SAFETY: made in `Runtime::run` only, which requires that body and result are `Send`, and which
// waits meanwhile.
unsafe impl Send for ErasedCall {}

impl Runtime {
    /// Runs a function as a task, and waits for it. The function may borrow from the caller, and
    /// may divide its work by [`Fork::join`], which has an example.
    ///
    /// # Errors
    ///
    /// [`JoinError::Panicked`] if the function panics. [`JoinError::OutOfMemory`] if there is no
    /// memory for the task. [`JoinError::WouldBlock`] on a worker of the same runtime, which should
    /// call the function itself. [`JoinError::Forked`] in a process that was forked from the
    /// runtime's. [`JoinError::ShutDown`] by a [handle](crate::RuntimeHandle) when the runtime has
    /// begun to end. In the last four cases the function was dropped and has not run.
    pub fn run<R: Send>(&self, body: impl FnOnce(Fork<'_>) -> R + Send) -> Result<R, JoinError> {
        if !self.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let call = Call { body: UnsafeCell::new(Some(body)), result: UnsafeCell::new(None) };
        self.wait_for(ErasedCall::of(&call))?;
        // SAFETY: the task is over, so that no other thread accesses the result.
        let result = call.result.with_mut(|result| unsafe { (*result).take() });
        result.ok_or(JoinError::Abandoned)
    }

    /// Runs a call as a task. When this returns or unwinds, the task has run or never will.
    fn wait_for(&self, call: ErasedCall) -> Result<(), JoinError> {
        let handle = self.task(()).submit(move |(), cx| {
            // Captures the whole call, which is `Send`, and not its fields.
            let call = call;
            // SAFETY: `run` waits for this task, with the call in its frame.
            unsafe { (call.run)(call.address, cx.fork()) }
        });
        FrameGuard::new(self.shared(), handle, true).wait()
    }
}

impl ErasedCall {
    fn of<R: Send, B: FnOnce(Fork<'_>) -> R + Send>(call: &Call<B, R>) -> Self {
        Self { address: NonNull::from(call).cast(), run: Call::<B, R>::run }
    }
}
