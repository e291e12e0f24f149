//! Handles and promises: how the result of a task reaches its waiter.
//!
//! `packet.rs` has what the two ends share, and its states.

use super::failure::{Failure, JoinError};
use super::packet::{CANCELLED, DONE, Packet, PacketRef, STARTED, TaskResult};
use super::packet_body::{BodySlot, BodyToken, NoBody, StoredBody};
use super::{Task, quietly, spawner::sealed::Origin};
use crate::scheduler::{RuntimeState, Worker};
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Poll, Waker};

/// Waits for one task: [`join`](Self::join) it from a plain thread, or await it in any async
/// executor. A dropped handle detaches its task.
#[must_use = "a dropped handle detaches its task; use `spawn` where no result is needed"]
pub struct Handle<R> {
    packet: PacketRef<R>,
    shared: Arc<RuntimeState>,
}

/// Delivers a result to a [`Handle`], once. If the promise is dropped first, the handle returns
/// [`JoinError::Abandoned`].
///
/// Every submitted task has one. [`Runtime::promise`](crate::Runtime::promise) makes one to be
/// passed along a chain of tasks, the last of which fulfils it.
#[must_use = "a promise that is dropped abandons its handle"]
pub struct Promise<R>(Completion<R, NoBody>);

/// A promise for a packet with this slot for the body.
pub(super) struct Completion<R, B: BodySlot> {
    packet: Option<Arc<Packet<R, B>>>,
}

/// Returns a handle and its promise.
pub(crate) fn pair<R: Send>(shared: Arc<RuntimeState>) -> (Handle<R>, Promise<R>) {
    let packet = Arc::new(Packet::new(NoBody));
    (Handle { packet: PacketRef::new(packet.clone()), shared }, Promise(Completion { packet: Some(packet) }))
}

/// What refers to the packet of a submitted task.
type PacketParts<R, F> = (Handle<R>, Completion<R, StoredBody<F>>, BodyToken<R, F>);

/// Returns a handle and its promise, with a body that is dropped when the handle cancels its task.
///
/// # Safety
///
/// Until the token is used up or dropped, the handle or the promise is there.
pub(super) unsafe fn pair_with_body<R: Send + 'static, F: Send + 'static>(
    shared: Arc<RuntimeState>,
    body: F,
) -> PacketParts<R, F> {
    let packet = Arc::new(Packet::new(StoredBody::new(body)));
    // SAFETY: the packet is new, and has an owner as long as the token is there, by this function's
    // contract.
    let token = unsafe { BodyToken::new(&packet) };
    (Handle { packet: PacketRef::new(packet.clone()), shared }, Completion { packet: Some(packet) }, token)
}

impl<R> Handle<R> {
    /// Returns true if the result is there.
    pub fn is_finished(&self) -> bool {
        self.packet.cell().is_done()
    }

    /// Asks that the task does not start. Returns true if the task had not started, and its result
    /// is not there yet; it is then [`JoinError::Cancelled`].
    ///
    /// Then the body of a [submitted](crate::TaskBuilder::submit) task, with all that it has
    /// captured, is dropped here and now, on the calling thread; a panic of its destructor is
    /// discarded. The result may be there before all of that is dropped. Of an optimistic read that
    /// is the continuation, of a bundle nothing: the rest is dropped when a worker gets to the
    /// task.
    pub fn cancel(&self) -> bool {
        let state = self.packet.cell().set_cancelled();
        if state & (STARTED | DONE | CANCELLED) == 0 && !planted!("cancelled-body-kept") {
            // SAFETY: this call has set CANCELLED before STARTED was, so the body belongs to it.
            quietly(|| unsafe { self.packet.drop_body() });
        }
        state & DONE == 0 && (state & CANCELLED != 0 || state & STARTED == 0)
    }

    /// Blocks this thread until the task is done, and returns its result. In a simulation it drives
    /// the virtual cores until then.
    ///
    /// A worker of *another* runtime blocks as any thread does, and runs no tasks of its own
    /// meanwhile. It may run tasks of this one, on a platform that drives a worker while a thread
    /// waits ([`run_until`](crate::platform::Driver::run_until)). If a task there waits for this
    /// runtime in turn, both may wait for ever: that is not prevented. A
    /// [watchdog](crate::Builder::watchdog) of either runtime
    /// [says so](crate::metrics::Overrun::waits). Awaiting the handle, or spawning a follow-up that
    /// fulfils a [promise](Promise), blocks no worker.
    ///
    /// # Errors
    ///
    /// A [`JoinError`] if the task panicked, was cancelled or met a poisoned object.
    /// [`JoinError::WouldBlock`] on a worker of the same runtime. [`JoinError::Forked`] in a
    /// process that was forked from the runtime's.
    pub fn join(mut self) -> TaskResult<R> {
        self.wait()
    }

    /// Blocks this thread until the task is done, and takes its result; see [`join`](Self::join).
    pub(super) fn wait(&mut self) -> TaskResult<R> {
        let mut outcome = None;
        let shared = self.shared.clone();
        let waited = shared.platform.block(&mut |waker| {
            if outcome.is_none() {
                outcome = self.poll_outcome(waker);
            }
            outcome.is_some()
        });
        match waited {
            Ok(()) => outcome.unwrap_or(Err(JoinError::Abandoned)),
            Err(_) => Err(shared.wait_failure()),
        }
    }

    pub(super) fn shared(&self) -> &Arc<RuntimeState> {
        &self.shared
    }

    pub(crate) fn poll_outcome(&mut self, waker: &Waker) -> Option<TaskResult<R>> {
        // SAFETY: there is one handle, and it is borrowed exclusively.
        unsafe { self.packet.cell().poll(waker) }
    }
}

impl<R> Future for Handle<R> {
    type Output = TaskResult<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut core::task::Context<'_>) -> Poll<TaskResult<R>> {
        match self.poll_outcome(context.waker()) {
            Some(outcome) => Poll::Ready(outcome),
            None if self.shared.platform.has_lost_workers() => Poll::Ready(Err(JoinError::Forked)),
            None => Poll::Pending,
        }
    }
}

impl<R> Unpin for Handle<R> {}

impl<R> core::fmt::Debug for Handle<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Handle").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

impl<R> Promise<R> {
    /// Delivers the result. A panic of the waker of the thread or task that waits for it, or of the
    /// result's destructor if the handle is dropped, is discarded.
    pub fn fulfil(self, result: R) {
        self.settle(Ok(result));
    }

    /// Delivers a result or an error.
    pub(crate) fn settle(self, outcome: TaskResult<R>) {
        self.0.settle(outcome);
    }
}

impl<R, B: BodySlot> Completion<R, B> {
    /// Delivers a result or an error.
    fn settle(mut self, outcome: TaskResult<R>) {
        self.deliver(outcome);
    }

    /// Delivers a result or an error, unless that was done before.
    fn deliver(&mut self, outcome: TaskResult<R>) {
        if let Some(packet) = self.packet.take() {
            // SAFETY: this is the promise, which has just lost its packet.
            unsafe { PacketRef::new(packet).deliver(outcome) };
        }
    }
}

impl<R, B: BodySlot> Drop for Completion<R, B> {
    fn drop(&mut self) {
        self.deliver(Err(JoinError::Abandoned));
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
    /// Makes room for another task, if this one has reserved room. Called when the task is over,
    /// before its outcome is delivered: a thread that gets the outcome finds the room.
    #[inline(always)]
    fn make_room(&mut self) {}

    /// Returns the name of the task, if it is not that of its body.
    fn name(&self) -> Option<&'static str> {
        None
    }
    /// Delivers the outcome.
    fn complete(self, outcome: TaskResult<R>, cx: &mut Worker);
    /// Reports that the task could not be spawned, and why.
    fn refuse(self, origin: &impl Origin, why: JoinError);
}

impl<R: Send + 'static, B: BodySlot + 'static> Sink<R> for Completion<R, B> {
    fn start(&self, _: &mut Worker) -> Result<(), JoinError> {
        let packet = self.packet.as_ref();
        let starts = packet.is_none_or(|packet| packet.cell.claim_body()) || planted!("cancelled-task-runs");
        if starts { Ok(()) } else { Err(JoinError::Cancelled) }
    }

    fn complete(self, outcome: TaskResult<R>, cx: &mut Worker) {
        cx.observe_result();
        self.settle(outcome);
    }

    fn refuse(self, _: &impl Origin, why: JoinError) {
        self.settle(Err(why));
    }
}

impl<R: Send + 'static> Sink<R> for Promise<R> {
    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        self.0.start(cx)
    }

    fn complete(self, outcome: TaskResult<R>, cx: &mut Worker) {
        self.0.complete(outcome, cx);
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        self.0.refuse(origin, why);
    }
}

/// The sink of a task without a handle: failures go to the runtime's hook.
pub struct Detached;

impl<R> Sink<R> for Detached {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start(&self, _: &mut Worker) -> Result<(), JoinError> {
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn complete(self, outcome: TaskResult<R>, cx: &mut Worker) {
        if let Err(error) = outcome {
            cx.report(error);
        }
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        origin.shared().report(why, origin.on_worker());
    }
}

impl Worker {
    #[cold]
    pub(crate) fn report(&self, error: JoinError) {
        self.shared().report(error, Some(self.index()));
    }
}

impl RuntimeState {
    /// Returns why the platform has refused to wait.
    #[cold]
    pub(crate) fn wait_failure(&self) -> JoinError {
        if self.platform.has_lost_workers() { JoinError::Forked } else { JoinError::WouldBlock }
    }

    #[cold]
    pub(crate) fn report(&self, error: JoinError, worker: Option<usize>) {
        // A cancellation is not reported: it was requested.
        if !matches!(error, JoinError::Cancelled) {
            // A panic of the hook must not end the worker, and there is nothing to report it to.
            quietly(|| (self.hook)(Failure { error, worker }));
        }
    }
}
