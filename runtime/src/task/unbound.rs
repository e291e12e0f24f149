//! Tasks without objects.

use super::body::{BodyWithSink, TaskBody, complete_panicked, must_be_boxed, spawn_body, take};
use super::options::{Options, SpawnRequest};
use super::spawner::{Route, sealed::Origin, sealed::Spawn};
use super::{Meta, Sink, Task, drop_quietly, guarded};
use crate::monitor::Description;
use crate::object::Fetch;
use crate::scheduler::{Context, Worker};
use alloc::boxed::Box;
use core::any::type_name;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A task without objects, named after `N`: the closure's type as the application wrote it.
struct UnboundBody<N, F> {
    run: F,
    name: PhantomData<fn() -> N>,
}

impl<N, F> UnboundBody<N, F> {
    fn new(run: F) -> Self {
        Self { run, name: PhantomData }
    }
}

/// Spawns a task without objects.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn launch<P: Spawn, F, K: Sink<R>, R: 'static>(request: SpawnRequest<P>, body: F, sink: K)
where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
{
    if const { must_be_boxed::<UnboundBody<F, F>, K>() } {
        let boxed = Box::new(body);
        push(request, UnboundBody::<F, _>::new(move |(), cx: &mut Context| boxed((), cx)), sink);
    } else {
        push(request, UnboundBody::<F, _>::new(body), sink);
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn push<P: Spawn, N: 'static, F, K: Sink<R>, R: 'static>(
    mut request: SpawnRequest<P>,
    body: UnboundBody<N, F>,
    sink: K,
) where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
{
    if !P::IN_TASK {
        spawn_body(request, Fetch::NONE, body, sink, Route::Unbound);
    } else if !request.spawner.origin_mut().has_unbound_queue(&request.options) {
        spawn_body(request, Fetch::NONE, body, sink, Route::Bound(None));
    } else if request.options.is_plain() {
        push_plain(request.spawner, body, sink);
    } else {
        push_from_task(request, body, sink);
    }
}

/// Spawns an unbound task from a task. Not inlined, to keep it off the path of bound spawns.
#[inline(never)]
fn push_from_task<P: Spawn, N: 'static, F, K: Sink<R>, R: 'static>(
    request: SpawnRequest<P>,
    body: UnboundBody<N, F>,
    sink: K,
) where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
{
    spawn_body(request, Fetch::NONE, body, sink, Route::Unbound);
}

/// Spawns an unannotated unbound task from a task, or runs it inline if every queue is full.
#[inline(never)]
fn push_plain<P: Spawn, N: 'static, F, K: Sink<R>, R: 'static>(
    mut spawner: P,
    body: UnboundBody<N, F>,
    sink: K,
) where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
{
    match spawner.origin_mut().inline_context(&Options::PLAIN) {
        Some(cx) => run_inline::<N, _, _, _>(cx, body.run, sink),
        None => {
            let request = SpawnRequest { spawner, options: Options::PLAIN };
            spawn_body(request, Fetch::NONE, body, sink, Route::Unbound);
        }
    }
}

/// Runs a task inline in the task that spawns it, without a descriptor.
fn run_inline<N, F, K: Sink<R>, R>(cx: &mut Context, body: F, sink: K)
where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
{
    let mut origin = cx;
    sink.enter(&mut origin);
    let meta = origin.admit(&Options::PLAIN);
    origin.worker.within(move |cx| {
        cx.current = meta;
        run_body::<N, _, _, _>(body, sink, meta, cx);
    });
}

impl<N, F, R> TaskBody for UnboundBody<N, F>
where
    N: 'static,
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    R: 'static,
{
    type Output = R;

    fn describe(&self) -> Description {
        Description::new(type_name::<N>(), core::iter::empty())
    }

    unsafe fn run<K: Sink<R>>(task: NonNull<Task>, cx: &mut Worker) {
        // SAFETY: phase running: the descriptor belongs to this worker, and has this body.
        unsafe {
            let sink = &raw const (*Task::body::<BodyWithSink<Self, K>>(task)).sink;
            if K::is_ready(sink, task, cx) {
                let (Self { run, .. }, sink, meta) = take::<Self, K>(task, cx);
                run_body::<N, _, _, _>(run, sink, meta, cx);
            }
        }
    }

    unsafe fn abandon(self, _: Meta, _: &mut Worker) {
        drop_quietly(self.run);
    }
}

/// Runs a body, named after `N`, that was moved out of its descriptor.
#[cfg_attr(not(debug_assertions), inline(always))]
fn run_body<N, F, K: Sink<R>, R>(run: F, sink: K, meta: Meta, cx: &mut Worker)
where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
{
    if let Err(failure) = sink.start(cx) {
        drop_quietly(run);
        sink.complete(Err(failure), cx);
        return cx.finished(meta.epoch());
    }
    let panicked = |after, payload, cx: &mut Worker| {
        complete_panicked::<K, R>(after, type_name::<N>(), payload, cx);
    };
    let (result, (sink, meta)) = guarded(cx, (sink, meta), panicked, |_, cx| run((), Context::of(cx)));
    sink.complete(Ok(result), cx);
    cx.finished(meta.epoch());
}
