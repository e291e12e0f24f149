//! Tasks without objects.

use super::builder::{Options, Order, sealed::Spawn};
use super::visit::fail;
use super::{JoinError, Meta, Sink, Spawner, Task, VTable, class_of, guarded, is_too_large, quietly, refuse};
use crate::monitor::Description;
use crate::object::Fetch;
use crate::scheduler::Context;
use crate::sync::AtomicPtr;
use alloc::boxed::Box;
use core::any::type_name;
use core::ptr::NonNull;

struct Bare<F, K> {
    run: F,
    sink: K,
}

/// Spawns a task without objects.
#[inline(always)]
pub(crate) fn launch<P, F, K, R>(order: Order<P>, body: F, sink: K)
where
    P: Spawner,
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    if const { is_too_large::<Bare<F, K>>() } {
        let boxed = Box::new(body);
        push::<_, F, _, _, _>(order, move |(), cx: &mut Context| boxed((), cx), sink);
    } else {
        push::<_, F, _, _, _>(order, body, sink);
    }
}

/// `N` is the type that the task is named after.
#[inline(always)]
fn push<P, N, F, K, R>(order: Order<P>, body: F, sink: K)
where
    P: Spawner,
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    if !P::IN_TASK {
        make::<true, _, N, _, _, _>(order, body, sink);
    } else if !order.spawner.may_choose(&order.options) {
        make::<false, _, N, _, _, _>(order, body, sink);
    } else if order.options.are_plain() {
        push_plain::<_, N, _, _, _>(order.spawner, body, sink);
    } else {
        push_from_task::<_, N, _, _, _>(order, body, sink);
    }
}

/// The same where the spawner chooses where the task goes. (Out of the way of those who do not.)
#[inline(never)]
fn push_from_task<P, N, F, K, R>(order: Order<P>, body: F, sink: K)
where
    P: Spawner,
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    make::<true, _, N, _, _, _>(order, body, sink);
}

/// The same of a task of which nothing more is said.
#[inline(never)]
fn push_plain<P, N, F, K, R>(mut spawner: P, body: F, sink: K)
where
    P: Spawner,
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    match spawner.at_once() {
        Some(cx) => run_at_once(cx, body, sink),
        None => make::<true, _, N, _, _, _>(Order { spawner, options: Options::default() }, body, sink),
    }
}

/// Makes a task, and puts it where the spawner chooses, or where others would go.
#[inline(always)]
fn make<const ANYWHERE: bool, P, N, F, K, R>(mut order: Order<P>, body: F, sink: K)
where
    P: Spawner,
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    let class = const { class_of::<Bare<F, K>>() };
    let Some(task) = order.spawner.allocate(class) else { return refuse(order.spawner, body, sink) };
    sink.enter(&mut order.spawner);
    let meta = order.spawner.admit(&order.options);
    // SAFETY: a fresh block of a class that holds this body.
    unsafe {
        task.as_ptr().write(Task {
            vtable: const {
                &VTable {
                    run: run::<F, K, R>,
                    locate: locate_nothing,
                    cancel: cancel::<F, K, R>,
                    describe: describe::<N>,
                }
            },
            next: AtomicPtr::new(core::ptr::null_mut()),
            fetch: Fetch::NONE,
            meta,
        });
        Task::body::<Bare<F, K>>(task).write(Bare { run: body, sink });
    }
    // SAFETY: the task was just made for this spawner, and is complete.
    unsafe {
        if ANYWHERE {
            order.spawner.send_bare(task, &order.options, meta);
        } else {
            order.spawner.send(task, &order.options, None, meta, Fetch::NONE);
        }
    }
}

pub(crate) unsafe fn locate_nothing(_: NonNull<Task>) -> Fetch {
    Fetch::NONE
}

/// For messages of the runtime's own.
pub(crate) unsafe fn describe_nothing(_: NonNull<Task>) -> Description {
    Description::new("a message of the runtime", core::iter::empty())
}

unsafe fn describe<N>(_: NonNull<Task>) -> Description {
    Description::new(type_name::<N>(), core::iter::empty())
}

/// Runs a task within the one that spawns it, without ever making it one that could wait.
fn run_at_once<F, K, R>(mut cx: &mut Context, body: F, sink: K)
where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
{
    sink.enter(&mut cx);
    let meta = cx.admit(&Options::default());
    cx.within(move |cx| {
        cx.current = meta;
        run_body(body, sink, meta, cx);
    });
}

/// What is in a task, which is gone then.
///
/// # Safety
///
/// The task is of this kind and belongs to this worker.
#[inline(always)]
unsafe fn take<F, K>(task: NonNull<Task>, cx: &mut Context) -> (Bare<F, K>, Meta) {
    // SAFETY: by the caller's promise.
    unsafe {
        let moved = (Task::body::<Bare<F, K>>(task).read(), task.as_ref().meta);
        cx.free::<Bare<F, K>>(task);
        moved
    }
}

unsafe fn run<F, K, R>(task: NonNull<Task>, cx: &mut Context)
where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
{
    // SAFETY: the task is of this kind and belongs to this worker.
    unsafe {
        let sink = &raw const (*Task::body::<Bare<F, K>>(task)).sink;
        if K::is_ready(sink, task, cx) {
            let (Bare { run, sink }, meta) = take::<F, K>(task, cx);
            run_body(run, sink, meta, cx);
        }
    }
}

/// Runs a body that is in nobody else's hands any more.
#[inline(always)]
fn run_body<F, K, R>(run: F, sink: K, meta: Meta, cx: &mut Context)
where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
{
    if let Err(failure) = sink.start(cx) {
        quietly(|| drop(run));
        sink.complete(Err(failure), cx);
        return cx.finished(meta.epoch());
    }
    let (result, (sink, meta)) = guarded(cx, (sink, meta), fail::<K, R>, |_, cx| run((), cx));
    sink.complete(Ok(result), cx);
    cx.finished(meta.epoch());
}

unsafe fn cancel<F, K, R>(task: NonNull<Task>, cx: &mut Context)
where
    F: FnOnce((), &mut Context) -> R + Send + 'static,
    K: Sink<R>,
{
    // SAFETY: the task is of this kind and belongs to this worker.
    let (Bare { run, sink }, meta) = unsafe { take::<F, K>(task, cx) };
    quietly(|| drop(run));
    sink.complete(Err(JoinError::Cancelled), cx);
    cx.finished(meta.epoch());
}
