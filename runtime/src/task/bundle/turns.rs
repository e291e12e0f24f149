//! A bundle as a task: its turns, its epoch and its end.

use super::Bundle;
use super::lane::Mode;
use super::lanes::Lanes;
use crate::monitor::Description;
use crate::scheduler::{Context, Worker};
use crate::task::body::{BodyWithSink, TaskBody, complete_panicked, end_unrun, take};
use crate::task::entry::poison;
use crate::task::{JoinError, Meta, Payload, Sink, Task, discard, drop_quietly, guarded};
use alloc::boxed::Box;
use core::any::type_name;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// The body of a bundle's task.
pub(super) struct BundleBody<B: Bundle, G> {
    pub lanes: OwnedLanes<B>,
    pub then: G,
    /// Each walk is an operation of its own, so that the bundle may move to a newer epoch.
    pub moves_on: bool,
}

/// The lanes of a bundle, at an address that does not change: errands carry it.
pub(super) struct OwnedLanes<B: Bundle>(NonNull<Lanes<B>>);

impl<B: Bundle> OwnedLanes<B> {
    pub fn new(bundle: B, simulated: bool) -> Self {
        let mut lanes = NonNull::from(Box::leak(Box::new(Lanes::new(bundle, simulated))));
        // SAFETY: nothing else knows the lanes yet.
        unsafe { lanes.as_mut().address = lanes };
        Self(lanes)
    }

    /// Returns the bundle. All walks have ended.
    fn into_bundle(self) -> B {
        let lanes = ManuallyDrop::new(self);
        // SAFETY: made by `Box::leak` in `new`, and freed once, as `self` is not dropped.
        let lanes = unsafe { Box::from_raw(lanes.0.as_ptr()) };
        debug_assert!(lanes.is_idle());
        lanes.bundle
    }
}

impl<B: Bundle> Drop for OwnedLanes<B> {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak` in `new`, and freed once. No errand is out: a body is dropped
        // only before it runs or after its walks have ended.
        let mut lanes = unsafe { Box::from_raw(self.0.as_ptr()) };
        lanes.drop_walks();
    }
}

impl<B, G, R> TaskBody for BundleBody<B, G>
where
    B: Bundle,
    G: FnOnce(B, &mut Context) -> R + Send,
{
    type Output = R;

    fn describe(&self) -> Description {
        Description::new(type_name::<B>(), core::iter::empty())
    }

    unsafe fn run<K: Sink<R>>(task: NonNull<Task>, cx: &mut Worker) {
        // SAFETY: this function's contract is that of both; the task is running.
        unsafe {
            // Errands that come back change the lanes, as tasks of this worker.
            cx.current.confine();
            let BodyWithSink { body, sink } = &mut *Task::body::<BodyWithSink<Self, K>>(task);
            let lanes = body.lanes.0.as_mut();
            if lanes.task.is_some() {
                sink.resume(cx);
            } else {
                lanes.task = Some(task);
                lanes.name = sink.name();
                lanes.failure = sink.start(cx).err();
            }
            if lanes.failure.is_some() {
                return end_turn::<B, G, R, K>(task, cx);
            }
            take_turn::<B, G, R, K>(task, cx, |lanes, cx| {
                let steps = lanes.turn(cx);
                cx.counters().walk_steps.add(steps as u64);
            });
        }
    }

    unsafe fn cancel<K: Sink<R>>(task: NonNull<Task>, cx: &mut Worker) {
        // SAFETY: this function's contract is that of both.
        unsafe {
            let lanes = (*Task::body::<BodyWithSink<Self, K>>(task)).body.lanes.0.as_mut();
            if lanes.task.is_none() {
                return end_unrun::<Self, K>(task, JoinError::Cancelled, cx);
            }
            lanes.failure.get_or_insert(JoinError::Cancelled);
            end_turn::<B, G, R, K>(task, cx);
        }
    }

    unsafe fn abandon(self, _: Meta, _: &mut Worker) {
        drop_quietly(self);
    }
}

/// Runs code of the application on the lanes, and ends the turn.
///
/// # Safety
///
/// The task is running on this worker and has this body; its sink has begun or resumed.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn take_turn<B, G, R, K>(
    task: NonNull<Task>,
    cx: &mut Worker,
    work: impl FnOnce(&mut Lanes<B>, &mut Worker),
) where
    B: Bundle,
    G: FnOnce(B, &mut Context) -> R + Send,
    K: Sink<R>,
{
    // SAFETY: this function's contract.
    unsafe {
        let lanes = (*Task::body::<BodyWithSink<BundleBody<B, G>, K>>(task)).body.lanes.0;
        (*lanes.as_ptr()).refills = (*lanes.as_ptr()).takes_more();
        guarded(cx, task, panicked::<B, G, R, K>, |_, cx| work(&mut *lanes.as_ptr(), cx));
        (*lanes.as_ptr()).writes = false;
        end_turn::<B, G, R, K>(task, cx);
    }
}

/// Handles a panic in a turn: it ends a walk, or else the bundle.
fn panicked<B, G, R, K>(task: NonNull<Task>, payload: Payload, cx: &mut Worker)
where
    B: Bundle,
    G: FnOnce(B, &mut Context) -> R + Send,
    K: Sink<R>,
{
    // SAFETY: phase running: only `take_turn` passes this function on, with a task of this kind.
    // The turn has unwound, so nothing borrows the lanes. The epoch keeps the node alive.
    unsafe {
        let lanes = &mut *(*Task::body::<BodyWithSink<BundleBody<B, G>, K>>(task)).body.lanes.0.as_ptr();
        let index = lanes.current;
        if lanes.lane(index).mode() == Mode::Vacant {
            // A method of the bundle has panicked.
            let name = lanes.name.unwrap_or(type_name::<B>());
            lanes.failure = Some(JoinError::panicked_in(name, payload));
            return end_turn::<B, G, R, K>(task, cx);
        }
        let (at, stamp) = (lanes.lane(index).at, lanes.lane(index).stamp);
        let latch = &at.header().latch;
        if lanes.writes {
            if !planted!("walk-poison-forgotten") {
                poison(at);
            }
            latch.end_write();
        } else if !latch.validate(stamp) && !planted!("walk-panic-unchecked") {
            // It saw the node half-written, and reads it again.
            discard(payload);
            let again = |lanes: &mut Lanes<B>, cx: &mut Worker| _ = lanes.disturbed(index, cx);
            return take_turn::<B, G, R, K>(task, cx, again);
        }
        let error = JoinError::panicked_in(lanes.name.unwrap_or(type_name::<B::Walk>()), payload);
        take_turn::<B, G, R, K>(task, cx, |lanes, cx| _ = lanes.end(index, Err(error), cx));
    }
}

/// Ends a turn: with the bundle, or until the worker gets to it again.
///
/// # Safety
///
/// As for [`take_turn`]; the task may be cancelled instead of running.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn end_turn<B, G, R, K>(mut task: NonNull<Task>, cx: &mut Worker)
where
    B: Bundle,
    G: FnOnce(B, &mut Context) -> R + Send,
    K: Sink<R>,
{
    // SAFETY: this function's contract. The descriptor is given up by the last statement.
    unsafe {
        let BodyWithSink { body, sink } = &mut *Task::body::<BodyWithSink<BundleBody<B, G>, K>>(task);
        let lanes = body.lanes.0.as_mut();
        if lanes.failure.is_some() {
            lanes.drop_walks();
        }
        if lanes.is_over() {
            return finish::<B, G, R, K>(task, cx);
        }
        sink.pause(cx);
        if body.moves_on {
            lanes.move_on(&mut task.as_mut().meta, cx);
        }
        if lanes.waits_for_errands() {
            lanes.parked = true;
            return;
        }
        // Tasks of the inbox get their turn as well, though the ring may not run empty for long.
        cx.receive_arrivals();
        cx.requeue(task);
    }
}

impl<B: Bundle> Lanes<B> {
    /// Lets the lanes run empty when the epoch has advanced, and then moves to the new epoch.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn move_on(&mut self, meta: &mut Meta, cx: &mut Worker) {
        let newest = cx.newest_epoch();
        if meta.epoch() == newest && !self.draining {
            return;
        }
        self.draining = !self.is_idle() && !planted!("bundle-moved-early");
        if !self.draining {
            cx.started(newest);
            cx.finished(meta.epoch());
            *meta = meta.in_epoch(newest);
        }
    }
}

/// Ends the bundle: calls its continuation, or reports why it has failed.
///
/// # Safety
///
/// As for [`end_turn`]; all walks have ended.
#[cold]
#[inline(never)]
unsafe fn finish<B, G, R, K>(task: NonNull<Task>, cx: &mut Worker)
where
    B: Bundle,
    G: FnOnce(B, &mut Context) -> R + Send,
    K: Sink<R>,
{
    // SAFETY: this function's contract is that of `take`.
    let (BundleBody { mut lanes, then, .. }, sink, meta) = unsafe { take::<BundleBody<B, G>, K>(task, cx) };
    // SAFETY: nothing else accesses the lanes any more.
    let failure = unsafe { lanes.0.as_mut() }.failure.take();
    let outcome = match failure {
        Some(failure) => {
            drop_quietly((lanes, then));
            Err(failure)
        }
        None => {
            let run = |_: &_, cx: &mut Worker| then(lanes.into_bundle(), Context::of(cx));
            let panicked = |after, payload, cx: &mut Worker| {
                complete_panicked::<K, R>(after, type_name::<G>(), payload, cx);
            };
            let (result, (sink, meta)) = guarded(cx, (sink, meta), panicked, run);
            sink.complete(Ok(result), cx);
            return cx.finished(meta.epoch());
        }
    };
    sink.complete(outcome, cx);
    cx.finished(meta.epoch());
}
