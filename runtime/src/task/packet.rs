//! What a handle and its promise share: the packet.
//!
//! ```text
//! bit 0  DONE       the result is there; the promise sets it, last
//! bit 1  WAKER      the waker is there, and belongs to the promise; the handle sets it
//! bit 2  CANCELLED  the handle asks that the task does not start
//! bit 3  STARTED    the task has started, or can start no more
//! ```
//!
//! `result` belongs to the promise until DONE, then to the handle. `waker` belongs to the handle
//! while WAKER is not set, and to the promise after it has set DONE and found WAKER. `body` is
//! explained in `packet_body.rs`.

use super::failure::JoinError;
use super::packet_body::BodySlot;
use super::quietly;
use crate::sync::{AcqRel, Acquire, AtomicU32, Relaxed, UnsafeCell};
use alloc::sync::Arc;
use core::ptr::NonNull;
use core::task::Waker;

pub(super) const DONE: u32 = 1;
pub(super) const WAKER: u32 = 2;
pub(super) const CANCELLED: u32 = 4;
pub(super) const STARTED: u32 = 8;

pub(super) type TaskResult<R> = Result<R, JoinError>;

/// A packet, with a slot for the body of its task.
#[repr(C)]
pub(super) struct Packet<R, B> {
    /// Comes first: a [`PacketRef`] is a pointer to it.
    pub cell: ResultCell<R>,
    pub body: B,
}

impl<R, B> Packet<R, B> {
    pub fn new(body: B) -> Self {
        Self { cell: ResultCell::new(), body }
    }
}

/// An owner of a packet that does not know the type of the body. (An `Arc` of a trait object would
/// compute the address of the cell at each access, and free the packet in several calls.)
pub(super) struct PacketRef<R> {
    cell: NonNull<ResultCell<R>>,
    functions: &'static BodyFunctions,
}

/// What depends on the type of the body.
struct BodyFunctions {
    drop_body: unsafe fn(NonNull<()>),
    release: unsafe fn(NonNull<()>),
}

// SAFETY: `new` takes packets with a `BodySlot` only, which is `Send` and `Sync`, as is the cell.
unsafe impl<R: Send> Send for PacketRef<R> {}
// SAFETY: as for `Send`.
unsafe impl<R: Send> Sync for PacketRef<R> {}

impl<R> PacketRef<R> {
    pub fn new<B: BodySlot>(packet: Arc<Packet<R, B>>) -> Self {
        let functions = const { &BodyFunctions { drop_body: drop_body::<R, B>, release: release::<R, B> } };
        // SAFETY: the pointer comes from an `Arc`, and is not null.
        let cell = unsafe { NonNull::new_unchecked(Arc::into_raw(packet).cast_mut().cast()) };
        Self { cell, functions }
    }

    pub fn cell(&self) -> &ResultCell<R> {
        // SAFETY: this owns a part of the packet, which begins with the cell.
        unsafe { self.cell.as_ref() }
    }

    /// Drops the body.
    ///
    /// # Safety
    ///
    /// The caller owns the body, and this is called once.
    pub unsafe fn drop_body(&self) {
        // SAFETY: this owns a part of the packet, whose type the functions know; it begins with the
        // cell. Forwarded.
        unsafe { (self.functions.drop_body)(self.cell.cast()) };
    }

    /// Delivers the outcome, and gives up this part of the packet. Without a handle the result is
    /// dropped here; that and the waker are user code, which may panic. It is compiled once for
    /// each type of result, whatever the body.
    ///
    /// # Safety
    ///
    /// The caller is the promise, and makes this call once.
    pub unsafe fn deliver(self, outcome: TaskResult<R>) {
        // SAFETY: forwarded.
        let deliver = move || unsafe { self.cell().deliver(outcome) };
        if planted!("waker-called-unguarded") {
            return deliver();
        }
        quietly(deliver);
    }
}

impl<R> Drop for PacketRef<R> {
    fn drop(&mut self) {
        // SAFETY: this owns a part of the packet, to which the functions belong, and is used no
        // more.
        unsafe { (self.functions.release)(self.cell.cast()) };
    }
}

/// # Safety
///
/// The packet is of this type, and alive. The caller owns the body, and calls this once.
unsafe fn drop_body<R, B: BodySlot>(packet: NonNull<()>) {
    // SAFETY: of this type by this function's contract.
    unsafe { packet.cast::<Packet<R, B>>().as_ref().body.drop_body() };
}

/// # Safety
///
/// The packet is of this type. The caller gives up its part, which came from `Arc::into_raw`.
unsafe fn release<R, B>(packet: NonNull<()>) {
    // SAFETY: made by `Arc::into_raw` of this type, by this function's contract.
    drop(unsafe { Arc::from_raw(packet.cast::<Packet<R, B>>().as_ptr()) });
}

/// A result on its way from a promise to a handle.
pub(super) struct ResultCell<R> {
    state: AtomicU32,
    result: UnsafeCell<Option<TaskResult<R>>>,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the result moves from the promise's thread to the handle's, the waker the other way, each
// with a Release and an Acquire of `state`. By the module's rules no field is accessed by both at a
// time.
unsafe impl<R: Send> Send for ResultCell<R> {}
// SAFETY: as for `Send`: a shared cell is accessed by the same rules.
unsafe impl<R: Send> Sync for ResultCell<R> {}

impl<R> ResultCell<R> {
    fn new() -> Self {
        Self { state: AtomicU32::new(0), result: UnsafeCell::new(None), waker: UnsafeCell::new(None) }
    }

    pub fn is_done(&self) -> bool {
        self.state.load(Relaxed) & DONE != 0
    }

    /// Makes the task one that can start no more, or has started. Returns true if the body belongs
    /// to the caller, which has the token.
    pub fn claim_body(&self) -> bool {
        // Relaxed: the modification order of this word decides between start and cancel.
        self.state.fetch_or(STARTED, Relaxed) & CANCELLED == 0
    }

    /// Sets CANCELLED, unless it is set or the task has started. Returns the state before.
    pub fn set_cancelled(&self) -> u32 {
        let mut state = self.state.load(Relaxed);
        if planted!("cancelled-beside-start") {
            return self.state.fetch_or(CANCELLED, Relaxed) & (DONE | CANCELLED);
        }
        while state & (STARTED | DONE | CANCELLED) == 0 {
            // Relaxed: the modification order of this word decides between start and cancel. The
            // result is read after DONE only.
            match self.state.compare_exchange_weak(state, state | CANCELLED, Relaxed, Relaxed) {
                Ok(_) => return state,
                Err(now) => state = now,
            }
        }
        state
    }

    /// Takes the outcome if it is there; otherwise stores the waker for its arrival.
    ///
    /// # Safety
    ///
    /// The caller is the handle, and makes one call at a time.
    pub unsafe fn poll(&self, waker: &Waker) -> Option<TaskResult<R>> {
        // Acquire, here and below, pairs with the Release of `deliver`: the result is there after
        // DONE.
        let mut state = self.state.load(Acquire);
        if state & DONE == 0 && state & WAKER != 0 && !planted!("handle-keeps-waker") {
            // Takes the waker back, unless DONE is set first.
            state = self.state.fetch_and(!WAKER, Acquire) & !WAKER;
        }
        if state & DONE == 0 {
            // SAFETY: WAKER is not set, so the slot belongs to the handle, which is the caller.
            self.waker.with_mut(|slot| match unsafe { &mut *slot } {
                Some(known) if known.will_wake(waker) => {}
                slot => *slot = Some(waker.clone()),
            });
            // Release (of AcqRel) pairs with the Acquire of `deliver`, which then sees the waker.
            state = self.state.fetch_or(WAKER, AcqRel);
        }
        if state & DONE == 0 {
            return None;
        }
        // SAFETY: after DONE the result belongs to the handle.
        let outcome = self.result.with_mut(|result| unsafe { (*result).take() });
        Some(outcome.unwrap_or(Err(JoinError::Abandoned)))
    }

    /// Delivers the outcome.
    ///
    /// # Safety
    ///
    /// The caller is the promise, and makes this call once.
    pub unsafe fn deliver(&self, outcome: TaskResult<R>) {
        // CANCELLED comes before STARTED: `cancel` has returned true, whatever the task met since.
        let cancelled = self.state.fetch_or(STARTED, Relaxed) & CANCELLED != 0;
        let outcome = if cancelled { Err(JoinError::Cancelled) } else { outcome };
        // SAFETY: before DONE the result belongs to the promise, which is the caller.
        self.result.with_mut(|result| unsafe { *result = Some(outcome) });
        // Release (of AcqRel) pairs with the Acquires of `poll_outcome`; Acquire with its Release
        // of the waker.
        let early = if planted!("handle-wakes-lost") { self.state.load(Acquire) } else { WAKER };
        let order = if planted!("handle-delivered-early") { Acquire } else { AcqRel };
        let state = self.state.fetch_or(DONE, order) & early;
        if state & WAKER != 0 {
            // SAFETY: WAKER was set before DONE, so the slot belongs to the promise. The handle may
            // still clear WAKER, but then sees DONE and does not touch the slot.
            if let Some(waker) = self.waker.with_mut(|waker| unsafe { (*waker).take() }) {
                waker.wake();
            }
        }
    }
}
