//! Handles and promises: how the result of a task reaches its waiter.
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

use super::failure::{Failure, JoinError};
use super::packet_body::{BodySlot, BodyToken, NoBody, StoredBody};
use super::{Task, spawner::sealed::Origin};
use crate::scheduler::{RuntimeState, Worker};
use crate::sync::{AcqRel, Acquire, AtomicU32, Relaxed, UnsafeCell};
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Poll, Waker};

const DONE: u32 = 1;
const WAKER: u32 = 2;
const CANCELLED: u32 = 4;
const STARTED: u32 = 8;

type TaskResult<R> = Result<R, JoinError>;

pub(super) struct Packet<R, B: ?Sized = dyn BodySlot> {
    state: AtomicU32,
    result: UnsafeCell<Option<TaskResult<R>>>,
    waker: UnsafeCell<Option<Waker>>,
    pub(super) body: B,
}

// SAFETY: the body is `Send`, and is accessed by its owner only (`packet_body.rs`). The result moves from the promise's thread to the handle's, the waker the other way, each
// with a Release and an Acquire of `state`. By the module's rules no field is accessed by both at a
// time.
unsafe impl<R: Send, B: Send + ?Sized> Send for Packet<R, B> {}
// SAFETY: as for `Send`: a shared packet is accessed by the same rules.
unsafe impl<R: Send, B: Send + ?Sized> Sync for Packet<R, B> {}

impl<R, B> Packet<R, B> {
    fn new(body: B) -> Self {
        Self { state: AtomicU32::new(0), result: UnsafeCell::new(None), waker: UnsafeCell::new(None), body }
    }
}

impl<R, B: ?Sized> Packet<R, B> {
    /// Makes the task one that can start no more, or has started. Returns true if the body belongs
    /// to the caller, which has the token.
    pub(super) fn claim_body(&self) -> bool {
        // Relaxed: the modification order of this word decides between start and cancel.
        self.state.fetch_or(STARTED, Relaxed) & CANCELLED == 0
    }

    /// Sets CANCELLED, unless it is set or the task has started. Returns the state before.
    fn set_cancelled(&self) -> u32 {
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
}

/// Waits for one task: [`join`](Self::join) it from a plain thread, or await it in any async
/// executor. A dropped handle detaches its task.
#[must_use = "a dropped handle detaches its task; use `spawn` where no result is needed"]
pub struct Handle<R> {
    packet: Arc<Packet<R>>,
    shared: Arc<RuntimeState>,
}

/// Delivers a result to a [`Handle`], once. If the promise is dropped first, the handle returns
/// [`JoinError::Abandoned`].
///
/// Every submitted task has one. [`Runtime::promise`](crate::Runtime::promise) makes one to be
/// passed along a chain of tasks, the last of which fulfils it.
pub struct Promise<R> {
    packet: Option<Arc<Packet<R>>>,
}

/// Returns a handle and its promise.
pub(crate) fn pair<R: Send>(shared: Arc<RuntimeState>) -> (Handle<R>, Promise<R>) {
    let packet: Arc<Packet<R>> = Arc::new(Packet::new(NoBody));
    (Handle { packet: packet.clone(), shared }, Promise { packet: Some(packet) })
}

/// Returns a handle and its promise, with a body that is dropped when the handle cancels its task.
///
/// # Safety
///
/// The token is used up or dropped before the promise is.
pub(super) unsafe fn pair_with_body<R: Send + 'static, F: Send + 'static>(
    shared: Arc<RuntimeState>,
    body: F,
) -> (Handle<R>, Promise<R>, BodyToken<R, F>) {
    let packet = Arc::new(Packet::new(StoredBody::new(body)));
    // SAFETY: the packet is new, and its promise outlives the token by this function's contract.
    let token = unsafe { BodyToken::new(&packet) };
    (Handle { packet: packet.clone(), shared }, Promise { packet: Some(packet) }, token)
}

impl<R> Handle<R> {
    /// Returns true if the result is there.
    pub fn is_finished(&self) -> bool {
        self.packet.state.load(Relaxed) & DONE != 0
    }

    /// Asks that the task does not start. Returns true if the task had not started; its result is
    /// then [`JoinError::Cancelled`].
    ///
    /// Then the body of a [submitted](crate::TaskBuilder::submit) task, with all that it has
    /// captured, is dropped here and now, on the calling thread; a panic of its destructor is
    /// discarded. Of an optimistic read that is the continuation, of a bundle nothing: the rest is
    /// dropped when a worker gets to the task.
    pub fn cancel(&self) -> bool {
        let state = self.packet.set_cancelled();
        if state & (STARTED | DONE | CANCELLED) == 0 && !planted!("cancelled-body-kept") {
            // SAFETY: this call has set CANCELLED before STARTED was, so the body belongs to it.
            super::quietly(|| unsafe { self.packet.body.drop_body() });
        }
        state & (STARTED | DONE) == 0
    }

    /// Blocks this thread until the task is done, and returns its result. In a simulation it drives
    /// the virtual cores until then.
    ///
    /// # Errors
    ///
    /// A [`JoinError`] if the task panicked, was cancelled or met a poisoned object.
    /// [`JoinError::WouldBlock`] on a worker of the same runtime.
    pub fn join(mut self) -> TaskResult<R> {
        self.wait()
    }

    /// Blocks this thread until the task is done, and takes its result; see [`join`](Self::join).
    pub(super) fn wait(&mut self) -> TaskResult<R> {
        let mut outcome = None;
        let shared = self.shared.clone();
        let waited = shared.platform.block(&mut |waker| {
            outcome = self.poll_outcome(waker);
            outcome.is_some()
        });
        match waited {
            Ok(()) => outcome.unwrap_or(Err(JoinError::Abandoned)),
            Err(_) => Err(JoinError::WouldBlock),
        }
    }

    /// Returns a second handle, for a caller that drops the first before it uses the second.
    pub(super) fn duplicate(&self) -> Self {
        Self { packet: self.packet.clone(), shared: self.shared.clone() }
    }

    pub(super) fn shared(&self) -> &Arc<RuntimeState> {
        &self.shared
    }

    pub(crate) fn poll_outcome(&mut self, waker: &Waker) -> Option<TaskResult<R>> {
        let packet = &*self.packet;
        // Acquire, here and below, pairs with the Release of `deliver`: the result is there after
        // DONE.
        let mut state = packet.state.load(Acquire);
        if state & DONE == 0 && state & WAKER != 0 && !planted!("handle-keeps-waker") {
            // Takes the waker back, unless DONE is set first.
            state = packet.state.fetch_and(!WAKER, Acquire) & !WAKER;
        }
        if state & DONE == 0 {
            // SAFETY: WAKER is not set, so the slot belongs to the handle, of which there is one
            // (`&mut self`).
            packet.waker.with_mut(|slot| match unsafe { &mut *slot } {
                Some(known) if known.will_wake(waker) => {}
                slot => *slot = Some(waker.clone()),
            });
            // Release (of AcqRel) pairs with the Acquire of `deliver`, which then sees the waker.
            state = packet.state.fetch_or(WAKER, AcqRel);
        }
        if state & DONE == 0 {
            return None;
        }
        // SAFETY: after DONE the result belongs to the handle.
        let outcome = packet.result.with_mut(|result| unsafe { (*result).take() });
        Some(outcome.unwrap_or(Err(JoinError::Abandoned)))
    }
}

impl<R> Future for Handle<R> {
    type Output = TaskResult<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut core::task::Context<'_>) -> Poll<TaskResult<R>> {
        self.poll_outcome(context.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

impl<R> Unpin for Handle<R> {}

impl<R> core::fmt::Debug for Handle<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Handle").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

impl<R> Promise<R> {
    /// Delivers the result.
    pub fn fulfil(self, result: R) {
        self.settle(Ok(result));
    }

    /// Delivers a result or an error.
    pub(crate) fn settle(mut self, outcome: TaskResult<R>) {
        if let Some(packet) = self.packet.take() {
            Self::deliver(&packet, outcome);
        }
    }

    fn deliver(packet: &Packet<R>, outcome: TaskResult<R>) {
        // `cancel` has returned true, so the result must be `Cancelled`.
        let cancelled = packet.state.fetch_or(STARTED, Relaxed) & (STARTED | CANCELLED) == CANCELLED;
        let outcome = if cancelled { Err(JoinError::Cancelled) } else { outcome };
        // SAFETY: before DONE the result belongs to the promise, of which there is one.
        packet.result.with_mut(|result| unsafe { *result = Some(outcome) });
        // Release (of AcqRel) pairs with the Acquires of `poll_outcome`; Acquire with its Release
        // of the waker.
        let early = if planted!("handle-wakes-lost") { packet.state.load(Acquire) } else { WAKER };
        let order = if planted!("handle-delivered-early") { Acquire } else { AcqRel };
        let state = packet.state.fetch_or(DONE, order) & early;
        if state & WAKER != 0 {
            // SAFETY: WAKER was set before DONE, so the slot belongs to the promise. The handle may
            // still clear WAKER, but then sees DONE and does not touch the slot.
            if let Some(waker) = packet.waker.with_mut(|waker| unsafe { (*waker).take() }) {
                waker.wake();
            }
        }
    }
}

impl<R> Drop for Promise<R> {
    fn drop(&mut self) {
        if let Some(packet) = self.packet.take() {
            Self::deliver(&packet, Err(JoinError::Abandoned));
        }
    }
}

/// Receives the outcome of a task: for a handle, for a group, or for the hook only ([`Detached`]).
pub trait Sink<R>: Send + 'static {
    /// Called once before the task is delivered; not called if the spawn is refused.
    #[inline(always)]
    fn enter(&self, origin: &mut impl Origin) {
        let _ = origin;
    }
    /// Returns true if the task may run now, and false if it was stored or sent elsewhere: then it
    /// does not belong to the worker any more, and comes again. Called each time a worker gets to a
    /// task without objects, before anything else.
    ///
    /// # Safety
    ///
    /// The task is running on this worker, and `this` is its sink.
    #[inline(always)]
    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        let _ = (this, task, cx);
        true
    }
    /// Called once before the body runs. An error says why the body must not run, for example
    /// because the task was cancelled.
    fn start(&self, cx: &mut Worker) -> Result<(), JoinError>;
    /// Called at the end of each turn but the last of a task that runs in several turns.
    #[inline(always)]
    fn pause(&self, cx: &mut Worker) {
        let _ = cx;
    }
    /// Called at the begin of each turn but the first of a task that runs in several turns.
    #[inline(always)]
    fn resume(&self, cx: &mut Worker) {
        let _ = cx;
    }
    /// Returns the name of the task, if it is not that of its body.
    fn name(&self) -> Option<&'static str> {
        None
    }
    /// Delivers the outcome.
    fn complete(self, outcome: TaskResult<R>, cx: &mut Worker);
    /// Reports that the task could not be spawned.
    fn refuse(self, origin: &impl Origin);
}

impl<R: Send + 'static> Sink<R> for Promise<R> {
    fn start(&self, _: &mut Worker) -> Result<(), JoinError> {
        // Relaxed: the modification order of this word decides between start and cancel; no other
        // data depends on it.
        let packet = self.packet.as_ref();
        let may_start = |packet: &Arc<Packet<R>>| packet.claim_body();
        let starts = packet.is_none_or(may_start) || planted!("cancelled-task-runs");
        if starts { Ok(()) } else { Err(JoinError::Cancelled) }
    }

    fn complete(self, outcome: TaskResult<R>, cx: &mut Worker) {
        cx.observe_result();
        // Quietly: without a handle the result is dropped here, and the waker is user code as well.
        super::quietly(move || self.settle(outcome));
    }

    fn refuse(self, _: &impl Origin) {
        self.settle(Err(JoinError::OutOfMemory));
    }
}

/// The sink of a task without a handle: failures go to the runtime's hook.
pub struct Detached;

impl<R> Sink<R> for Detached {
    #[inline(always)]
    fn start(&self, _: &mut Worker) -> Result<(), JoinError> {
        Ok(())
    }

    #[inline(always)]
    fn complete(self, outcome: TaskResult<R>, cx: &mut Worker) {
        if let Err(error) = outcome {
            cx.report(error);
        }
    }

    fn refuse(self, origin: &impl Origin) {
        origin.shared().report(JoinError::OutOfMemory, origin.on_worker());
    }
}

impl Worker {
    #[cold]
    pub(crate) fn report(&self, error: JoinError) {
        self.shared().report(error, Some(self.index()));
    }
}

impl RuntimeState {
    #[cold]
    pub(crate) fn report(&self, error: JoinError, worker: Option<usize>) {
        // A cancellation is not reported: it was requested.
        if !matches!(error, JoinError::Cancelled) {
            // A panic of the hook must not end the worker, and there is nothing to report it to.
            super::quietly(|| (self.hook)(Failure { error, worker }));
        }
    }
}
