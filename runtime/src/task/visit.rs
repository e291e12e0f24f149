//! Optimistic reads: run, check the version, and only then go on.

use super::access::{Target, value_of};
use super::builder::Order;
use super::{BATON, JoinError, Meta, Sink, Spawner, Task, VTable, catch, class_of, is_too_large};
use crate::annotation::{Part, Place};
use crate::monitor::{Counter, Counters};
use crate::object::{Fetch, Link, Reference, Version, Versioned};
use crate::scheduler::Context;
use crate::sync::AtomicPtr;
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// One optimistic visit to a node of a data structure.
///
/// `locate` and `read` look at the node while a writer may change it: they see old and new words mixed, must end
/// whatever they see, and may run more than once, so they take `&self` and have no context. A panic in them counts
/// only if what they saw belonged together.
pub trait Visit: Send + Sized + 'static {
    /// The kind of node.
    type Target: Version;
    /// What `read` found.
    type Output;

    /// Whether `locate` is worth a call.
    const LOCATES: bool = false;

    /// Which part `read` will touch beyond the part that the task's annotation names, which has arrived. A hint: its
    /// answer is not checked, and never relied on.
    #[inline(always)]
    fn locate(&self, at: Link<Self::Target>, target: &Self::Target) -> Part {
        let _ = (at, target);
        Part::NONE
    }

    /// Reads the node.
    fn read(&self, at: Link<Self::Target>, target: &Self::Target) -> Self::Output;

    /// Goes on, once, with what a whole reading found. Nothing is held.
    fn then(self, output: Self::Output, cx: &mut Context);
}

/// What the machinery of this file runs: a visit, or two closures.
pub(crate) trait Reading: Send + 'static {
    type Target: Version;
    type Output;
    type Result: 'static;
    const LOCATES: bool;
    fn locate(&self, at: Reference, target: &Self::Target) -> Part;
    fn read(&self, at: Reference, target: &Self::Target) -> Self::Output;
    fn then(self, output: Self::Output, cx: &mut Context) -> Self::Result;
}

pub(crate) struct Visiting<V>(pub V);

impl<V: Visit> Reading for Visiting<V> {
    type Target = V::Target;
    type Output = V::Output;
    type Result = ();
    const LOCATES: bool = V::LOCATES;
    #[inline(always)]
    fn locate(&self, at: Reference, target: &V::Target) -> Part {
        self.0.locate(Link::from_reference(at), target)
    }
    #[inline(always)]
    fn read(&self, at: Reference, target: &V::Target) -> V::Output {
        self.0.read(Link::from_reference(at), target)
    }
    #[inline(always)]
    fn then(self, output: V::Output, cx: &mut Context) {
        self.0.then(output, cx);
    }
}

pub(crate) struct ReadThen<T, F, G> {
    read: F,
    then: G,
    target: PhantomData<fn(&T)>,
}

impl<T, F, G> ReadThen<T, F, G> {
    pub fn new(read: F, then: G) -> Self {
        Self { read, then, target: PhantomData }
    }
}

impl<T, F, G, O, R> Reading for ReadThen<T, F, G>
where
    T: Version,
    F: Fn(&T) -> O + Send + 'static,
    G: FnOnce(O, &mut Context) -> R + Send + 'static,
    O: 'static,
    R: 'static,
{
    type Target = T;
    type Output = O;
    type Result = R;
    const LOCATES: bool = false;
    fn locate(&self, _: Reference, _: &T) -> Part {
        Part::NONE
    }
    #[inline(always)]
    fn read(&self, _: Reference, target: &T) -> O {
        (self.read)(target)
    }
    #[inline(always)]
    fn then(self, output: O, cx: &mut Context) -> R {
        (self.then)(output, cx)
    }
}

/// A reading that is too large for a descriptor.
impl<V: Reading> Reading for Box<V> {
    type Target = V::Target;
    type Output = V::Output;
    type Result = V::Result;
    const LOCATES: bool = V::LOCATES;
    fn locate(&self, at: Reference, target: &V::Target) -> Part {
        (**self).locate(at, target)
    }
    fn read(&self, at: Reference, target: &V::Target) -> V::Output {
        (**self).read(at, target)
    }
    fn then(self, output: V::Output, cx: &mut Context) -> V::Result {
        (*self).then(output, cx)
    }
}

struct Body<V, K> {
    target: Reference,
    visit: V,
    sink: K,
}

/// Spawns an optimistic read, or carries it on at once if its object is expected to be in the cache.
#[inline(always)]
pub(crate) fn launch<P, V, K>(order: Order<P>, target: Target, visit: V, sink: K)
where
    P: Spawner,
    V: Reading,
    K: Sink<V::Result>,
{
    if const { is_too_large::<Body<V, K>>() } {
        push(order, target, Box::new(visit), sink);
    } else {
        go_or_push(order, target, visit, sink);
    }
}

#[inline(always)]
fn go_or_push<P, V, K>(mut order: Order<P>, target: Target, visit: V, sink: K)
where
    P: Spawner,
    V: Reading,
    K: Sink<V::Result>,
{
    if target.reference.is_frequent() && order.options.place == Place::Here {
        if let Some(cx) = order.spawner.context() {
            if cx.may_run_inline(&order.options) {
                let unfinished =
                    run_inline(Body { target: target.reference, visit, sink }, cx, &order.options);
                if let Some(Body { visit, sink, .. }) = unfinished {
                    push(order, target, visit, sink);
                }
                return;
            }
        }
    }
    push(order, target, visit, sink);
}

#[inline(always)]
fn push<P, V, K>(mut order: Order<P>, target: Target, visit: V, sink: K)
where
    P: Spawner,
    V: Reading,
    K: Sink<V::Result>,
{
    let class = const { class_of::<Body<V, K>>() };
    let task = order.spawner.allocate(class);
    let meta = order.spawner.admit(&order.options, class);
    let mut fetch = target.fetch();
    if V::LOCATES {
        fetch = fetch.then_locate();
    }
    // SAFETY: a fresh block of a class that holds this body.
    unsafe {
        task.as_ptr().write(Task {
            vtable: const { &VTable { run: run::<V, K>, locate: locate::<V, K>, cancel: cancel::<V, K> } },
            next: AtomicPtr::new(core::ptr::null_mut()),
            fetch,
            meta,
        });
        Task::body::<Body<V, K>>(task).write(Body { target: target.reference, visit, sink });
    }
    order.spawner.send(task, &order.options, None);
}

/// Runs the read within its parent; gives it back if the object is busy.
#[inline(always)]
fn run_inline<V: Reading, K: Sink<V::Result>>(
    body: Body<V, K>,
    cx: &mut Context,
    options: &super::builder::Options,
) -> Option<Body<V, K>> {
    // SAFETY: the spawner's operation keeps the object alive.
    let (header, value) = unsafe { (body.target.header(), value_of::<Versioned<V::Target>>(body.target)) };
    let Some(stamp) = header.latch.begin_read() else { return Some(body) };
    let Ok(output) = catch(|| body.visit.read(body.target, &value.0)) else { return Some(body) };
    if !header.latch.validate(stamp) {
        return Some(body);
    }
    cx.run_within(options, |cx| go_on(body, output, cx));
    None
}

/// The part of the read that runs once.
#[inline(always)]
fn go_on<V: Reading, K: Sink<V::Result>>(body: Body<V, K>, output: V::Output, cx: &mut Context) {
    let Body { visit, sink, .. } = body;
    if !sink.start() {
        return sink.complete(Err(JoinError::Cancelled), cx);
    }
    let outcome = catch(|| visit.then(output, cx)).map_err(JoinError::Panicked);
    sink.complete(outcome, cx);
}

unsafe fn locate<V: Reading, K: Sink<V::Result>>(task: NonNull<Task>) -> Fetch {
    // SAFETY: the task is of this kind and waits in a pool of this worker; its operation keeps the object alive.
    unsafe {
        let body = &*Task::body::<Body<V, K>>(task);
        let value = value_of::<Versioned<V::Target>>(body.target);
        // What a disturbed look finds does not matter, not even a panic: the real look will meet it.
        let part = catch(|| body.visit.locate(body.target, &value.0)).unwrap_or(Part::NONE);
        body.target.fetch(part)
    }
}

unsafe fn run<V: Reading, K: Sink<V::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind and belongs to this worker; its operation keeps the object alive.
    unsafe {
        let body = Task::body::<Body<V, K>>(task);
        let target = (*body).target;
        let latch = &target.header().latch;
        let value = value_of::<Versioned<V::Target>>(target);
        if let Some(stamp) = latch.begin_read() {
            let output = catch(|| (*body).visit.read(target, &value.0));
            if latch.validate(stamp) {
                return finish(task, body, output.map_err(JoinError::Panicked), cx);
            }
        }
        run_disturbed::<V, K>(task, cx);
    }
}

/// Frees the descriptor and goes on with what a whole reading found.
///
/// # Safety
///
/// The task is of this kind and belongs to this worker.
#[inline(always)]
unsafe fn finish<V: Reading, K: Sink<V::Result>>(
    task: NonNull<Task>,
    body: *mut Body<V, K>,
    output: Result<V::Output, JoinError>,
    cx: &mut Context,
) {
    // SAFETY: by the caller's promise; the body is moved out before its block is given back.
    let (body, meta) = unsafe {
        let moved = (body.read(), task.as_ref().meta);
        cx.free(task, moved.1.class);
        moved
    };
    match output {
        Ok(output) => go_on(body, output, cx),
        Err(error) => body.sink.complete(Err(error), cx),
    }
    cx.finished(meta.epoch);
}

/// A reader that met a writer: tries again later, and after a few times excludes writers as another writer would.
#[cold]
#[inline(never)]
unsafe fn run_disturbed<V: Reading, K: Sink<V::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: as in `run`.
    unsafe {
        let body = Task::body::<Body<V, K>>(task);
        let target = (*body).target;
        let header = target.header();
        if header.latch.is_poisoned() {
            return finish(task, body, Err(JoinError::Poisoned), cx);
        }
        let Some(entered) = enter_as_writer(task, target, cx, |counters| &counters.versioned_retries) else {
            return;
        };
        let value = value_of::<Versioned<V::Target>>(target);
        let output = if header.latch.is_poisoned() {
            Err(JoinError::Poisoned)
        } else {
            catch(|| (*body).visit.read(target, &value.0)).map_err(JoinError::Panicked)
        };
        let meta = task.as_ref().meta;
        entered.leave(target, meta, cx);
        finish(task, body, output, cx);
    }
}

/// How a reader keeps writers out.
pub(crate) struct ExcludedWriters;

impl ExcludedWriters {
    /// Lets writers in again; the object is as it was, so its version stays.
    ///
    /// # Safety
    ///
    /// The object is alive, and this is its reader's worker.
    pub unsafe fn leave(self, target: Reference, meta: Meta, cx: &mut Context) {
        // SAFETY: by the caller's promise.
        let header = unsafe { target.header() };
        if !target.primitive().is_sequenced() {
            header.latch.unlock();
        } else if meta.flags & BATON != 0 {
            // SAFETY: at home, and the object was handed to this task.
            unsafe { cx.hand_on(header) };
        }
    }
}

/// After a failed attempt: puts the task back to be tried again, or (after the last attempt) keeps writers out: by
/// their latch, or by running where they run. `None`: the task is not here any more.
///
/// # Safety
///
/// The task belongs to this worker, and the object is alive.
pub(crate) unsafe fn enter_as_writer(
    mut task: NonNull<Task>,
    target: Reference,
    cx: &mut Context,
    retries: fn(&Counters) -> &Counter,
) -> Option<ExcludedWriters> {
    // SAFETY: by the caller's promise.
    unsafe {
        let meta = &mut task.as_mut().meta;
        if meta.attempts < Context::OPTIMISTIC_ATTEMPTS {
            meta.attempts += 1;
            retries(cx.counters()).add(1);
            cx.requeue(task);
            return None;
        }
        if !target.primitive().is_sequenced() {
            cx.count_wait(target.header().latch.lock());
            return Some(ExcludedWriters);
        }
        if cx.home_of(target) != cx.worker() {
            cx.send_to(task, cx.home_of(target));
            return None;
        }
        let header = target.header();
        if header.is_held() && meta.flags & BATON == 0 {
            header.defer(task);
            return None;
        }
        Some(ExcludedWriters)
    }
}

unsafe fn cancel<V: Reading, K: Sink<V::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind and belongs to this worker.
    unsafe {
        let body = Task::body::<Body<V, K>>(task);
        let meta = task.as_ref().meta;
        let target = (*body).target;
        if meta.flags & BATON != 0 {
            cx.hand_on(target.header());
        }
        finish(task, body, Err(JoinError::Cancelled), cx);
    }
}
