//! Numbered pieces of work, each on a worker of its own choice, for a caller that waits for them.

use crate::scheduler::Runtime;
use crate::task::{FrameGuard, JoinError, throw};
use alloc::vec::Vec;
use core::ptr::NonNull;

/// A function in the frame of the waiting thread, without its type, as tasks carry it.
#[derive(Clone, Copy)]
struct BorrowedBody {
    address: NonNull<()>,
    run: unsafe fn(NonNull<()>, usize),
}

// SAFETY: made in `run_pieces` only, which requires that the body is `Sync`, and which waits for
// every task that has a copy.
unsafe impl Send for BorrowedBody {}

impl BorrowedBody {
    fn of<B: Fn(usize) + Sync>(body: &B) -> Self {
        Self { address: NonNull::from(body).cast(), run: Self::run::<B> }
    }

    /// # Safety
    ///
    /// `address` is that of a living `B`.
    unsafe fn run<B: Fn(usize)>(address: NonNull<()>, piece: usize) {
        // SAFETY: by this function's contract.
        let body = unsafe { address.cast::<B>().as_ref() };
        body(piece);
    }
}

impl Runtime {
    /// Calls `body` with every number below `pieces`, each as a task on worker `worker_of(number)`,
    /// and waits for all. A piece without a task runs on this thread: if there is no memory for the
    /// task, if a shutdown has cancelled it, or if this is a worker, which must not wait.
    ///
    /// # Panics
    ///
    /// Panics if `body` does, when no piece runs any more. Some pieces may not have run then.
    pub(crate) fn run_pieces<B: Fn(usize) + Sync>(
        &self,
        pieces: usize,
        worker_of: impl Fn(usize) -> u16,
        body: &B,
    ) {
        if !self.may_block() {
            return (0..pieces).for_each(body);
        }
        let borrowed = BorrowedBody::of(body);
        let spawn = |piece| {
            let handle = self.task(()).core(worker_of(piece)).submit(move |(), _| {
                // Captures the whole body, which is `Send`, and not its fields.
                let borrowed = borrowed;
                // SAFETY: the `FrameGuard` of this task is dropped, and so the task is over,
                // before the frame of `body` ends.
                unsafe { (borrowed.run)(borrowed.address, piece) }
            });
            FrameGuard::new(self.shared(), handle, true)
        };
        let mut running: Vec<_> = (0..pieces).map(spawn).collect();
        for (piece, call) in running.iter_mut().enumerate() {
            match call.wait() {
                Ok(()) => {}
                // Unwinding drops `running`: pieces that have not begun are cancelled.
                Err(JoinError::Panicked(payload)) => throw(payload.into_inner()),
                Err(_) if planted!("piece-left-out") => {}
                Err(_) => body(piece),
            }
        }
    }
}
