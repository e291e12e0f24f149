//! Running optimistic reads: read, validate the version, then continue.

use super::access::{ObjectAccess, value_of};
use super::body::{
    BodyWithSink, TaskBody, complete_panicked, must_be_boxed, panic_of, spawn_at_object, take,
};
use super::entry::{ReadEntry, enter_to_read};
use super::options::SpawnRequest;
use super::spawner::{sealed::Origin, sealed::Spawn};
use super::visit::{OptimisticBody, Step};
use super::{JoinError, Meta, Payload, Sink, Task, catch, discard, drop_quietly, guarded};
use crate::annotation::{Part, Place};
use crate::monitor::Description;
use crate::object::{Fetch, FreeWord, Primitive, Reference, Versioned};
use crate::scheduler::{Context, Worker};
use crate::sync::Stamp;
use alloc::boxed::Box;
use core::any::type_name;
use core::ptr::NonNull;

/// An optimistic read, and the node that it has reached.
struct Walk<V> {
    target: Reference,
    visit: V,
}

/// The largest number of frequently used nodes that a walk passes before other tasks run.
const NODES_PER_TURN: usize = 16;

/// Spawns an optimistic read. A walk holds nothing and has no effect before it ends, so it begins
/// at once at nodes that are expected to be in the cache.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn launch<P, V, K>(mut request: SpawnRequest<P>, mut target: ObjectAccess, visit: V, sink: K)
where
    P: Spawn,
    V: OptimisticBody,
    K: Sink<V::Result>,
{
    let shared = request.spawner.origin_mut().shared();
    target.check(shared);
    let free_word = shared.free_word;
    // Only from a task, whose epoch keeps the nodes alive. After a panic here the new task reads
    // the node again, and reports it.
    if is_read_at_once(target.reference)
        && request.options.place == Place::Here
        && P::IN_TASK
        && let Ok(further) = catch(|| walk_ahead(target, &visit, free_word)).map_err(discard)
    {
        target = further;
    }
    let home = fixed_home(target.reference);
    let reference = target.reference;
    if const { must_be_boxed::<Walk<V>, K>() } {
        spawn_at_object(request, target, home, Walk { target: reference, visit: Box::new(visit) }, sink);
    } else {
        spawn_at_object(request, target, home, Walk { target: reference, visit }, sink);
    }
}

/// Walks as far as nodes are frequently used. Returns the first other node, or where the walk ends
/// or a writer interferes.
#[cfg_attr(not(debug_assertions), inline(always))]
fn walk_ahead<V: OptimisticBody>(mut target: ObjectAccess, visit: &V, free_word: FreeWord) -> ObjectAccess {
    for _ in 0..NODES_PER_TURN {
        // SAFETY: the spawner's handle or epoch keeps the first object alive, and the epoch of the
        // running task every node that a link leads to.
        let (header, value) =
            unsafe { (target.reference.header(), value_of::<Versioned<V::Target>>(target.reference)) };
        let Some(stamp) = header.begin_read(free_word) else { break };
        let step = visit.read(target.reference, &value.0);
        let is_valid = header.latch.validate(stamp) || planted!("visit-ahead-unchecked");
        let (true, Step::Go(next, part)) = (is_valid, step) else { break };
        target = ObjectAccess { reference: next.reference(), part, write: false, runtime: 0 };
        if !is_read_at_once(target.reference) {
            break;
        }
    }
    target
}

/// Returns true if a walk that comes to a node reads it before other tasks run: it is expected to
/// be in the cache, and no latch or home is needed.
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_read_at_once(node: Reference) -> bool {
    node.is_frequent() && (node.primitive().is_optimistic() || planted!("latched-node-read-ahead"))
}

/// Returns the worker that runs all tasks of the object, if one does.
#[cfg_attr(not(debug_assertions), inline(always))]
fn fixed_home(target: Reference) -> Option<usize> {
    (target.primitive() == Primitive::Sequencing).then(|| target.home())
}

impl<V: OptimisticBody> TaskBody for Walk<V> {
    type Output = V::Result;
    const LOCATES: bool = V::LOCATES;

    unsafe fn locate(&self, free_word: FreeWord) -> Fetch {
        // SAFETY: phase queued: the task's epoch keeps the node alive, if it is live now. The link
        // that led to it fixes its type.
        unsafe {
            if !self.target.header().is_of(free_word) {
                return Fetch::NONE;
            }
            let value = value_of::<Versioned<V::Target>>(self.target);
            self.target.fetch(self.visit.locate(self.target, &value.0))
        }
    }

    fn describe(&self) -> Description {
        let touched = self.target.touched(type_name::<V::Target>(), false);
        Description::new(V::name(), [touched].into_iter())
    }

    unsafe fn run<K: Sink<V::Result>>(task: NonNull<Task>, cx: &mut Worker) {
        // SAFETY: phase running: the descriptor belongs to this worker and has this body; its epoch
        // keeps the nodes alive.
        unsafe {
            let walk = &raw mut (*Task::body::<BodyWithSink<Self, K>>(task)).body;
            let grant_token = task.as_ref().meta.has_grant_token();
            if grant_token || !(*walk).target.primitive().is_optimistic() {
                return run_entering::<V, K>(task, cx);
            }
            let mut passed = 0;
            loop {
                let target = (*walk).target;
                let header = target.header();
                let value = value_of::<Versioned<V::Target>>(target);
                let Some(stamp) = header.begin_read(cx.free_word) else { break };
                let read = |_: &_, _: &mut Worker| (*walk).visit.read(target, &value.0);
                let (step, _) = guarded(cx, (task, stamp), panicked::<V, K>, read);
                if !header.latch.validate(stamp) && !planted!("visit-version-unchecked") {
                    drop_quietly(step);
                    break;
                }
                match step {
                    Step::Go(next, part) => {
                        (*walk).target = next.reference();
                        passed += 1;
                        if !is_read_at_once(next.reference()) || passed == NODES_PER_TURN {
                            return continue_at::<V>(task, next.reference(), part, cx);
                        }
                    }
                    Step::End(output) => return finish::<V, K>(task, Ok(output), cx),
                    Step::Again => break,
                }
            }
            run_entering::<V, K>(task, cx);
        }
    }

    unsafe fn abandon(self, meta: Meta, cx: &mut Worker) {
        drop_quietly(self.visit);
        if meta.has_grant_token() {
            // SAFETY: alive by this function's contract. A task with the grant token runs at the
            // object's home and holds the object.
            unsafe { cx.hand_on(self.target.header()) };
        }
    }
}

/// Requeues the walk at its next node.
///
/// # Safety
///
/// The task is running on this worker and has this body.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn continue_at<V: OptimisticBody>(
    mut task: NonNull<Task>,
    next: Reference,
    part: Part,
    cx: &mut Worker,
) {
    // SAFETY: phase running: the descriptor belongs to this worker until it is pushed below.
    let Task { fetch, meta, .. } = unsafe { task.as_mut() };
    *fetch = next.fetch(part).then_locate(V::LOCATES);
    meta.forget_attempts();
    let (fetch, meta) = (*fetch, *meta);
    match fixed_home(next) {
        Some(_) if cx.home_of(next) != cx.index() => cx.send_to(task, cx.home_of(next)),
        _ => cx.push_here(task, meta, fetch),
    }
}

/// Handles a panic in `read`: it counts only if the version check succeeds.
fn panicked<V: OptimisticBody, K: Sink<V::Result>>(
    (task, stamp): (NonNull<Task>, Stamp),
    payload: Payload,
    cx: &mut Worker,
) {
    // SAFETY: phase running: `read` borrows the walk, so the descriptor is intact when it unwinds.
    unsafe {
        let target = (*Task::body::<BodyWithSink<Walk<V>, K>>(task)).body.target;
        if target.header().latch.validate(stamp) || planted!("visit-panic-unchecked") {
            finish::<V, K>(task, Err(panic_in_read::<V, K>(task, payload)), cx);
        } else {
            // Here, and not when this is left: that may be by another panic.
            if !planted!("uncounted-payload-kept") {
                discard(payload);
            }
            run_entering::<V, K>(task, cx);
        }
    }
}

/// Returns the error of a walk that panicked in `read`.
///
/// # Safety
///
/// The task is running on this worker and has this body.
unsafe fn panic_in_read<V: OptimisticBody, K: Sink<V::Result>>(
    task: NonNull<Task>,
    payload: Payload,
) -> JoinError {
    // SAFETY: phase running: the descriptor belongs to this worker, and has this body.
    let sink = unsafe { &(*Task::body::<BodyWithSink<Walk<V>, K>>(task)).sink };
    panic_of(sink, V::name(), payload)
}

/// Frees the descriptor and continues with the result of the walk.
///
/// # Safety
///
/// The task is running on this worker and has this body.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn finish<V: OptimisticBody, K: Sink<V::Result>>(
    task: NonNull<Task>,
    output: Result<V::Output, JoinError>,
    cx: &mut Worker,
) {
    // SAFETY: this function's contract is that of `take`.
    let (Walk { visit, .. }, sink, meta) = unsafe { take::<Walk<V>, K>(task, cx) };
    let output = output.and_then(|output| match sink.start(cx) {
        Ok(()) => Ok(output),
        Err(refused) => {
            if planted!("output-dropped-unguarded") {
                drop(output);
                return Err(refused);
            }
            // Its destructor is user code, and may panic.
            drop_quietly(output);
            Err(refused)
        }
    });
    let error = match output {
        Ok(_) if planted!("follow-up-lost-on-retry") && meta.attempts() > 0 => JoinError::Abandoned,
        Ok(output) => {
            let then = |_: &_, cx: &mut Worker| visit.then(output, Context::of(cx));
            let panicked = |after, payload, cx: &mut Worker| {
                complete_panicked::<K, V::Result>(after, V::name(), payload, cx);
            };
            let (result, (sink, meta)) = guarded(cx, (sink, meta), panicked, then);
            sink.complete(Ok(result), cx);
            return cx.finished(meta.epoch());
        }
        Err(error) => error,
    };
    drop_quietly(visit);
    sink.complete(Err(error), cx);
    cx.finished(meta.epoch());
}

/// Reads with writers excluded: after more than
/// [`OPTIMISTIC_ATTEMPTS`](Worker::OPTIMISTIC_ATTEMPTS) that failed, or where the object's
/// primitive requires it.
#[cold]
#[inline(never)]
unsafe fn run_entering<V: OptimisticBody, K: Sink<V::Result>>(mut task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase running, as in `TaskBody::run`; `enter_to_read` says when the task is not this
    // worker's any more.
    unsafe {
        let walk = &raw mut (*Task::body::<BodyWithSink<Walk<V>, K>>(task)).body;
        let target = (*walk).target;
        let header = target.header();
        let grant_token = task.as_ref().meta.has_grant_token();
        let entered = match header.failure(cx.free_word).filter(|_| !grant_token) {
            Some(error) => ReadEntry::Refused(error),
            None => enter_to_read(task, target, cx, |counters| &counters.versioned_retries),
        };
        let step = match entered {
            ReadEntry::Gone => return,
            ReadEntry::Refused(error) => Err(error),
            ReadEntry::Entered(entered) => {
                let value = value_of::<Versioned<V::Target>>(target);
                let step = catch(|| (*walk).visit.read(target, &value.0))
                    .map_err(|payload| panic_in_read::<V, K>(task, payload));
                let meta = &mut task.as_mut().meta;
                entered.leave(target, *meta, cx);
                meta.drop_grant_token();
                step
            }
        };
        // The only call of `finish`, which is copied to where it is called.
        let output = match step {
            Ok(Step::Go(next, part)) => {
                (*walk).target = next.reference();
                return continue_at::<V>(task, next.reference(), part, cx);
            }
            Ok(Step::End(output)) => Ok(output),
            // No writer was active, so the walk cannot recover.
            Ok(Step::Again) => Err(JoinError::Abandoned),
            Err(error) => Err(error),
        };
        finish::<V, K>(task, output, cx);
    }
}
