//! The result of a task, for one who waits.
//!
//! ```text
//! bit 0  DONE       the result is there; written by the completer, last
//! bit 1  WAKER      the waker is there and belongs to the completer; written by the handle
//! bit 2  CANCELLED  the handle asks that the task does not start
//! bit 3  STARTED    the task has started, or was cancelled for good
//! ```
//! Who may touch what: `result` belongs to the completer until DONE, then to the handle. `waker` belongs to the
//! handle while WAKER is not set, and to the completer once it has set DONE and found WAKER.

use super::failure::{Failure, JoinError};
use super::{Spawner, Task};
use crate::scheduler::{Context, Shared};
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

type Outcome<R> = Result<R, JoinError>;

struct Packet<R> {
    state: AtomicU32,
    result: UnsafeCell<Option<Outcome<R>>>,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the result moves from the completer's thread to the handle's, the waker the other way (see the module's
// rules), each under the state's Release and Acquire; neither is shared.
unsafe impl<R: Send> Send for Packet<R> {}
// SAFETY: as above; a shared packet is only changed by these rules.
unsafe impl<R: Send> Sync for Packet<R> {}

/// Waits for one task: [`join`](Self::join) it from a plain thread, or await it in any async executor. Dropping the
/// handle detaches the task.
#[must_use = "a dropped handle detaches its task; use `spawn` where no result is needed"]
pub struct Handle<R> {
    packet: Arc<Packet<R>>,
    shared: Arc<Shared>,
}

/// The other end of a handle: delivers a result once. If it is dropped, the handle says
/// [`JoinError::Abandoned`].
///
/// The runtime makes one for each submitted task; [`Runtime::promise`](crate::Runtime::promise) makes one to be carried
/// along a chain of tasks, for the last of them to fulfil.
pub struct Promise<R> {
    packet: Option<Arc<Packet<R>>>,
}

/// A handle and its completer.
pub(crate) fn pair<R: Send>(shared: Arc<Shared>) -> (Handle<R>, Promise<R>) {
    let packet = Arc::new(Packet {
        state: AtomicU32::new(0),
        result: UnsafeCell::new(None),
        waker: UnsafeCell::new(None),
    });
    (Handle { packet: packet.clone(), shared }, Promise { packet: Some(packet) })
}

impl<R> Handle<R> {
    /// Whether the result is there.
    pub fn is_finished(&self) -> bool {
        self.packet.state.load(Relaxed) & DONE != 0
    }

    /// Asks that the task does not start. Returns whether that came in time; then its result is
    /// [`JoinError::Cancelled`].
    pub fn cancel(&self) -> bool {
        // Ordered by the modifications of this one word alone; the result is read after DONE.
        self.packet.state.fetch_or(CANCELLED, Relaxed) & (STARTED | DONE) == 0
    }

    /// Blocks this thread until the task is done and returns its result. In a simulation it drives the virtual
    /// cores meanwhile.
    ///
    /// # Errors
    ///
    /// A [`JoinError`] if the task panicked, was cancelled or met a poisoned object; [`JoinError::WouldBlock`] on a
    /// worker of the same runtime.
    pub fn join(mut self) -> Outcome<R> {
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

    pub(crate) fn poll_outcome(&mut self, waker: &Waker) -> Option<Outcome<R>> {
        let packet = &*self.packet;
        // Acquire pairs with the Release of `deliver`, here and below: the result is there after DONE.
        let mut state = packet.state.load(Acquire);
        if state & DONE == 0 && state & WAKER != 0 && !planted!("handle-keeps-waker") {
            // Takes the waker back, unless the completer was faster.
            state = packet.state.fetch_and(!WAKER, Acquire) & !WAKER;
        }
        if state & DONE == 0 {
            // SAFETY: WAKER is not set, so the slot belongs to this handle (`&mut self`: there is only one).
            packet.waker.with_mut(|slot| match unsafe { &mut *slot } {
                Some(known) if known.will_wake(waker) => {}
                slot => *slot = Some(waker.clone()),
            });
            // Release (of AcqRel) pairs with the Acquire of `deliver`: it sees the waker.
            state = packet.state.fetch_or(WAKER, AcqRel);
        }
        if state & DONE == 0 {
            return None;
        }
        // SAFETY: after DONE the result belongs to this handle.
        let outcome = packet.result.with_mut(|result| unsafe { (*result).take() });
        Some(outcome.unwrap_or(Err(JoinError::Abandoned)))
    }
}

impl<R> Future for Handle<R> {
    type Output = Outcome<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut core::task::Context<'_>) -> Poll<Outcome<R>> {
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

    /// Delivers an outcome.
    pub(crate) fn settle(mut self, outcome: Outcome<R>) {
        if let Some(packet) = self.packet.take() {
            Self::deliver(&packet, outcome);
        }
    }

    fn deliver(packet: &Packet<R>, outcome: Outcome<R>) {
        // A cancellation that came in time has been promised.
        let cancelled = packet.state.fetch_or(STARTED, Relaxed) & (STARTED | CANCELLED) == CANCELLED;
        let outcome = if cancelled { Err(JoinError::Cancelled) } else { outcome };
        // SAFETY: before DONE the result belongs to the completer, of which there is one.
        packet.result.with_mut(|result| unsafe { *result = Some(outcome) });
        // Release (of AcqRel) pairs with the Acquires of `poll_outcome`; Acquire with its Release of the waker.
        let early = if planted!("handle-wakes-lost") { packet.state.load(Acquire) } else { WAKER };
        let order = if planted!("handle-delivered-early") { Acquire } else { AcqRel };
        let state = packet.state.fetch_or(DONE, order) & early;
        if state & WAKER != 0 {
            // SAFETY: the waker was set before DONE, so the handle will not touch it again... but by `fetch_and`
            // on WAKER alone, after which it sees DONE and leaves the slot to us.
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

/// Where a task's outcome goes: to its handle, its group, or nowhere (`Detached`).
pub trait Sink<R>: Send + 'static {
    /// Called once before the task is sent, if it is.
    #[inline(always)]
    fn enter(&self, spawner: &mut impl Spawner) {
        let _ = spawner;
    }
    /// Called whenever a worker gets to a task without objects, before anything else. `false`: the task was left somewhere, and comes
    /// again; it is not the worker's any more.
    ///
    /// # Safety
    ///
    /// The sink is that of the task, which belongs to this worker.
    #[inline(always)]
    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Context) -> bool {
        let _ = (this, task, cx);
        true
    }
    /// Called once before the body runs; an error says why it does not: the task was cancelled meanwhile, or the like.
    fn start(&self, cx: &mut Context) -> Result<(), JoinError>;
    /// Delivers the outcome.
    fn complete(self, outcome: Outcome<R>, cx: &mut Context);
    /// Says that the task could not be spawned.
    fn refuse(self, spawner: &impl Spawner);
}

/// A spawn that there is no memory for: it fails before the task has started, so that nothing else knows of it. The
/// spawner comes by value: a reference would keep it in memory on the way that others take, too.
#[cold]
#[inline(never)]
pub(crate) fn refuse<R, K: Sink<R>>(spawner: impl Spawner, body: impl Sized, sink: K) {
    super::quietly(|| drop(body));
    sink.refuse(&spawner);
}

impl<R: Send + 'static> Sink<R> for Promise<R> {
    fn start(&self, _: &mut Context) -> Result<(), JoinError> {
        // One word alone decides between start and cancel: no other data hangs on it.
        let packet = self.packet.as_ref();
        let may_start = |packet: &Arc<Packet<R>>| packet.state.fetch_or(STARTED, Relaxed) & CANCELLED == 0;
        let starts = packet.is_none_or(may_start) || planted!("cancelled-task-runs");
        if starts { Ok(()) } else { Err(JoinError::Cancelled) }
    }

    fn complete(self, outcome: Outcome<R>, cx: &mut Context) {
        cx.observe_result();
        // With the handle gone the result is dropped here; a waker is not ours either.
        super::quietly(move || self.settle(outcome));
    }

    fn refuse(self, _: &impl Spawner) {
        self.settle(Err(JoinError::OutOfMemory));
    }
}

/// Nobody waits: failures go to the runtime's hook.
pub struct Detached;

impl<R> Sink<R> for Detached {
    #[inline(always)]
    fn start(&self, _: &mut Context) -> Result<(), JoinError> {
        Ok(())
    }

    #[inline(always)]
    fn complete(self, outcome: Outcome<R>, cx: &mut Context) {
        if let Err(error) = outcome {
            cx.report(error);
        }
    }

    fn refuse(self, spawner: &impl Spawner) {
        spawner.shared().report(JoinError::OutOfMemory, spawner.on_worker());
    }
}

impl Context {
    #[cold]
    pub(crate) fn report(&self, error: JoinError) {
        self.shared().report(error, Some(self.worker()));
    }
}

impl Shared {
    #[cold]
    pub(crate) fn report(&self, error: JoinError, worker: Option<usize>) {
        // Work that is cancelled by a shutdown was asked for.
        if !matches!(error, JoinError::Cancelled) {
            // A panic of the hook itself must not take the worker down; there is nobody left to tell.
            super::quietly(|| (self.hook)(Failure { error, worker }));
        }
    }
}
