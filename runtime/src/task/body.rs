//! What a descriptor carries, and the steps that all kinds of task share.
//!
//! A kind of task implements [`TaskBody`]. There are four: without objects (`unbound`), with one
//! object (`single_object`), with several (`multi_object`), and optimistic reads
//! (`optimistic_read`). Only the functions of this file write a descriptor or move a body out of
//! it.
//!
//! The phases that SAFETY notes name are those of the table in `descriptor.rs`.

use super::access::ObjectAccess;
use super::descriptor::{Meta, Task, VTable, class_of, is_too_large};
use super::options::SpawnRequest;
use super::spawner::{CompleteTask, Route, sealed::Origin, sealed::Spawn};
use super::{JoinError, Payload, Sink, drop_quietly};
use crate::monitor::Description;
use crate::object::{Fetch, FreeWord};
use crate::scheduler::Worker;
use crate::sync::AtomicPtr;
use core::ptr::{NonNull, null_mut};

/// What a worker does with one kind of task, at each moment of the task's life.
pub(crate) trait TaskBody: Sized {
    /// What the sink of the task receives.
    type Output;

    /// True if [`locate`](Self::locate) is worth a call.
    const LOCATES: bool = false;

    /// Names further lines to prefetch, when the ones that the descriptor names have arrived.
    ///
    /// # Safety
    ///
    /// The task is queued at this worker, and its epoch keeps its objects alive.
    unsafe fn locate(&self, _: FreeWord) -> Fetch {
        Fetch::NONE
    }

    /// Names the task and the objects it was spawned with.
    fn describe(&self) -> Description;

    /// Runs the task, or puts it back to be run again.
    ///
    /// # Safety
    ///
    /// `task` is running on this worker and has a body of type [`BodyWithSink<Self, K>`]. Its epoch
    /// keeps its objects alive.
    unsafe fn run<K: Sink<Self::Output>>(task: NonNull<Task>, cx: &mut Worker);

    /// Ends the task instead of running it, because the runtime cancels its tasks.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run).
    unsafe fn cancel<K: Sink<Self::Output>>(task: NonNull<Task>, cx: &mut Worker) {
        // SAFETY: this function's contract is that of `end_unrun`.
        unsafe { end_unrun::<Self, K>(task, JoinError::Cancelled, cx) };
    }

    /// Drops the body, and hands on what the task was granted.
    ///
    /// # Safety
    ///
    /// The task was running or cancelled on this worker; its epoch keeps its objects alive.
    unsafe fn abandon(self, meta: Meta, cx: &mut Worker);
}

/// The contents of a descriptor behind its header. The body comes first, whatever the type of the
/// sink.
#[repr(C)]
pub(crate) struct BodyWithSink<B, K> {
    pub body: B,
    pub sink: K,
}

/// Returns true if a body has to be boxed to fit into a descriptor.
pub(crate) const fn must_be_boxed<B, K>() -> bool {
    is_too_large::<BodyWithSink<B, K>>()
}

/// Spawns a task: allocates its descriptor, admits the task and delivers it. Without memory, or in
/// a runtime that ends, the spawn is refused.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn spawn_body<P, B, K>(request: SpawnRequest<P>, fetch: Fetch, body: B, sink: K, route: Route<'_>)
where
    P: Spawn,
    B: TaskBody,
    K: Sink<B::Output>,
{
    let SpawnRequest { mut spawner, options } = request;
    let open = match spawner.origin_mut().keep_open() {
        Ok(guard) => guard,
        Err(why) => return refuse(spawner, body, sink, why),
    };
    let Some(task) = spawner.allocate_descriptor(const { class_of::<BodyWithSink<B, K>>() }) else {
        // What is refused may end the runtime, which waits for the guard.
        drop(open);
        return refuse(spawner, body, sink, JoinError::OutOfMemory);
    };
    sink.enter(spawner.origin_mut());
    let meta = spawner.admit_task(&options);
    // SAFETY: phase built. The block is fresh, its class holds this body, and it is delivered once,
    // complete.
    unsafe {
        write(task, fetch, meta, body, sink);
        spawner.deliver(CompleteTask { task, meta, fetch }, &options, route);
    }
    spawner.finish();
    drop(open);
}

/// Spawns a task with one object, at this home if given.
#[inline(always)]
pub(super) fn spawn_at_object<P: Spawn, B: TaskBody, K: Sink<B::Output>>(
    request: SpawnRequest<P>,
    target: ObjectAccess,
    home: Option<usize>,
    body: B,
    sink: K,
) {
    let fetch = target.fetch().then_locate(B::LOCATES);
    spawn_body(request, fetch, body, sink, Route::Bound(home));
}

/// Writes a complete descriptor.
///
/// # Safety
///
/// `block` is fresh and of the class for `BodyWithSink<B, K>`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) unsafe fn write<B: TaskBody, K: Sink<B::Output>>(
    block: NonNull<Task>,
    fetch: Fetch,
    meta: Meta,
    body: B,
    sink: K,
) {
    let vtable = const {
        &VTable {
            run: B::run::<K>,
            locate: if B::LOCATES { locate::<B, K> } else { locate_nothing },
            cancel: B::cancel::<K>,
            describe: describe::<B, K>,
        }
    };
    // SAFETY: this function's contract: the block is large enough, and this is its only owner.
    unsafe {
        block.as_ptr().write(Task { vtable, next: AtomicPtr::new(null_mut()), fetch, meta });
        Task::body::<BodyWithSink<B, K>>(block).write(BodyWithSink { body, sink });
    }
}

/// Fails a spawn before any other thread knows of the task. The spawner comes
/// by value: a reference would force it into memory on the path of successful spawns, too.
#[cold]
#[inline(never)]
pub(super) fn refuse<R, K: Sink<R>>(mut spawner: impl Spawn, body: impl Sized, sink: K, why: JoinError) {
    drop_quietly(body);
    sink.refuse(spawner.origin_mut(), why);
    spawner.finish();
}

/// Moves a task out of its descriptor, and frees the descriptor.
///
/// # Safety
///
/// The task has a body of type `BodyWithSink<B, K>`, and is running or cancelled on this worker.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) unsafe fn take<B, K>(task: NonNull<Task>, cx: &mut Worker) -> (B, K, Meta) {
    // SAFETY: this function's contract; the contents are moved out before the block is freed.
    unsafe {
        let BodyWithSink { body, sink } = Task::body::<BodyWithSink<B, K>>(task).read();
        let meta = task.as_ref().meta;
        cx.free::<BodyWithSink<B, K>>(task);
        (body, sink, meta)
    }
}

/// Ends a task whose body does not run.
///
/// # Safety
///
/// As for [`TaskBody::run`].
#[cold]
pub(super) unsafe fn end_unrun<B: TaskBody, K: Sink<B::Output>>(
    task: NonNull<Task>,
    why: JoinError,
    cx: &mut Worker,
) {
    // SAFETY: this function's contract is that of `take` and `abandon`.
    unsafe {
        let (body, sink, meta) = take::<B, K>(task, cx);
        body.abandon(meta, cx);
        sink.complete(Err(why), cx);
        cx.finished(meta.epoch());
    }
}

unsafe fn locate<B: TaskBody, K>(task: NonNull<Task>, free_word: FreeWord) -> Fetch {
    // SAFETY: phase queued. Only `write` installs this function, for a body of this type.
    unsafe { (*Task::body::<BodyWithSink<B, K>>(task)).body.locate(free_word) }
}

unsafe fn describe<B: TaskBody, K: Sink<B::Output>>(task: NonNull<Task>) -> Description {
    // SAFETY: the caller owns the task. Only `write` installs this function, for a body of this
    // type.
    let BodyWithSink { body, sink } = unsafe { &*Task::body::<BodyWithSink<B, K>>(task) };
    let description = body.describe();
    Description { task: sink.name().unwrap_or(description.task), ..description }
}

pub(crate) unsafe fn locate_nothing(_: NonNull<Task>, _: FreeWord) -> Fetch {
    Fetch::NONE
}

/// Describes a message of the runtime.
pub(crate) unsafe fn describe_nothing(_: NonNull<Task>) -> Description {
    Description::new("a message of the runtime", core::iter::empty())
}

/// Returns the error of a task that panicked. Without a name of its own it has that of its body.
pub(crate) fn panic_of<R>(sink: &impl Sink<R>, body: &'static str, payload: Payload) -> JoinError {
    JoinError::panicked_in(sink.name().unwrap_or(body), payload)
}

/// Completes a task whose body, of this name, panicked while it held no object.
pub(crate) fn complete_panicked<K: Sink<R>, R>(
    (sink, meta): (K, Meta),
    body: &'static str,
    payload: Payload,
    cx: &mut Worker,
) {
    let error = panic_of(&sink, body, payload);
    sink.complete(Err(error), cx);
    cx.finished(meta.epoch());
}
