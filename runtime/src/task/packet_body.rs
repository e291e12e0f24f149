//! The body of a submitted task, in the packet of its handle.
//!
//! The descriptor in the run queue has a [`BodyToken`] in its place. So the handle can drop the
//! body at once when the task is cancelled, and the descriptor stays in its queue as an empty
//! shell.
//!
//! # The owner of the body
//!
//! The packet's state word decides, by the order of its modifications:
//!
//! ```text
//! CANCELLED is set, and STARTED was not set before   the caller of `cancel` that has set it
//! otherwise                                          the token
//! ```
//!
//! `cancel` sets CANCELLED by an exchange that fails once STARTED is set, and only then drops the
//! body. The token sets STARTED, when the task starts or the token is dropped, and then leaves the
//! body alone if it finds CANCELLED. So exactly one of them runs or drops the body. This rules out:
//!
//! ```text
//! worker: finds the task not cancelled
//! handle: sets CANCELLED, drops the body
//! worker: runs the body                   -> it is used after it was dropped
//! ```
//!
//! The orderings are Relaxed, as the word carries no data: the body was written before the token
//! and the handle existed, and whatever passed these to their threads has published it. The packet
//! is freed by its last owner. The promise is one, and outlives the token: the sink of a task,
//! which has the promise, is completed after the body was run or dropped. If a spawn panics, the
//! handle is still in the frame of `submit`.
//!
//! Model: `model/handle.rs`.

use super::packet::Packet;
use crate::sync::UnsafeCell;
use alloc::sync::Arc;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// The body in a packet, without its type.
pub(super) trait BodySlot: Send + Sync {
    /// Drops the body.
    ///
    /// # Safety
    ///
    /// The caller owns the body, and this is called once.
    unsafe fn drop_body(&self);
}

/// The slot of a promise without a task, or of a task whose body is in its descriptor.
pub(super) struct NoBody;

impl BodySlot for NoBody {
    unsafe fn drop_body(&self) {}
}

/// The slot of a submitted task. It drops nothing by itself.
pub(super) struct StoredBody<F>(UnsafeCell<ManuallyDrop<F>>);

// SAFETY: only the owner of the body accesses it, and the state word says which thread that is.
unsafe impl<F: Send> Sync for StoredBody<F> {}

impl<F> StoredBody<F> {
    pub fn new(body: F) -> Self {
        Self(UnsafeCell::new(ManuallyDrop::new(body)))
    }
}

impl<F: Send> BodySlot for StoredBody<F> {
    unsafe fn drop_body(&self) {
        // SAFETY: the caller owns the body, so that no other thread accesses it.
        self.0.with_mut(|body| unsafe { ManuallyDrop::drop(&mut *body) });
    }
}

/// Stands for the body of a submitted task, in its descriptor. Runs or drops the body, unless the
/// task was cancelled before.
pub(super) struct BodyToken<R, F: Send>(NonNull<Packet<R, StoredBody<F>>>);

// SAFETY: only the body is accessed through the token, and it is `Send`; and the state word.
unsafe impl<R, F: Send> Send for BodyToken<R, F> {}

impl<R, F: Send> BodyToken<R, F> {
    /// Returns the token of a packet.
    ///
    /// # Safety
    ///
    /// Called once for each packet. An owner of the packet outlives the token.
    pub unsafe fn new(packet: &Arc<Packet<R, StoredBody<F>>>) -> Self {
        Self(NonNull::from(&**packet))
    }

    /// Moves the body out, to run it.
    ///
    /// # Safety
    ///
    /// The task has started: the promise's [`start`](super::Sink::start) has returned `Ok`.
    #[inline(always)]
    pub unsafe fn take(self) -> F {
        let token = ManuallyDrop::new(self);
        // SAFETY: an owner of the packet outlives the token. The task has started, so the body
        // belongs to the token, which is forgotten.
        unsafe { token.0.as_ref().body.0.with_mut(|body| ManuallyDrop::take(&mut *body)) }
    }
}

impl<R, F: Send> Drop for BodyToken<R, F> {
    /// Drops the body of a task that does not run.
    fn drop(&mut self) {
        // SAFETY: an owner of the packet outlives the token. The body is dropped only if it belongs
        // to the token, which is used no more.
        unsafe {
            let packet = self.0.as_ref();
            if packet.cell.claim_body() {
                packet.body.drop_body();
            }
        }
    }
}
