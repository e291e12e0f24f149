//! Optimistic reads: run, check the version, and only then go on.

use super::access::{Target, value_of};
use super::builder::Order;
use super::once::{enter, leave};
use super::{
    JoinError, Meta, Payload, Sink, Spawner, Task, VTable, catch, class_of, guarded, is_too_large, quietly,
    refuse,
};
use crate::annotation::{Part, Place};
use crate::monitor::{Counter, Counters, Description};
use crate::object::{Fetch, Link, Primitive, Reference, Turn, Version, Versioned};
use crate::scheduler::Context;
use crate::sync::{AtomicPtr, Stamp};
use alloc::boxed::Box;
use core::any::type_name;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// An optimistic walk over the nodes of a data structure, from one to the next.
///
/// `locate` and `read` look at a node while a writer may change it: they see old and new words mixed, must end
/// whatever they see, and may run more than once, so they take `&self` and have no context. A panic in them counts
/// only if what they saw belonged together.
pub trait Visit: Send + Sized + 'static {
    /// The kind of node.
    type Target: Version;
    /// What the walk finds in the end.
    type Output;

    /// Whether `locate` is worth a call.
    const LOCATES: bool = false;

    /// Which part `read` will touch beyond the part that was named for this node, which has arrived. A hint: its answer
    /// is not checked, and never relied on.
    #[inline(always)]
    fn locate(&self, at: Link<Self::Target>, target: &Self::Target) -> Part {
        let _ = (at, target);
        Part::NONE
    }

    /// Reads one node.
    fn read(&self, at: Link<Self::Target>, target: &Self::Target) -> Step<Self::Target, Self::Output>;

    /// Goes on, once, with what the walk has found. Nothing is held.
    fn then(self, output: Self::Output, cx: &mut Context);
}

/// Where a walk goes from a node.
pub enum Step<T, O> {
    /// To another node, of which this part will be touched.
    Go(Link<T>, Part),
    /// Nowhere: this is what it was to find.
    End(O),
    /// The node makes no sense: a writer must be at work.
    Again,
}

/// What the machinery of this file runs: a visit, or two closures.
pub(crate) trait Reading: Send + 'static {
    type Target: Version;
    type Output;
    type Result: 'static;
    const LOCATES: bool;
    fn locate(&self, at: Reference, target: &Self::Target) -> Part;
    fn read(&self, at: Reference, target: &Self::Target) -> Step<Self::Target, Self::Output>;
    fn then(self, output: Self::Output, cx: &mut Context) -> Self::Result;
    /// What the application calls it.
    fn name() -> &'static str;
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
    fn read(&self, at: Reference, target: &V::Target) -> Step<V::Target, V::Output> {
        self.0.read(Link::from_reference(at), target)
    }
    #[inline(always)]
    fn then(self, output: V::Output, cx: &mut Context) {
        self.0.then(output, cx);
    }
    fn name() -> &'static str {
        type_name::<V>()
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
    fn read(&self, _: Reference, target: &T) -> Step<T, O> {
        Step::End((self.read)(target))
    }
    #[inline(always)]
    fn then(self, output: O, cx: &mut Context) -> R {
        (self.then)(output, cx)
    }
    fn name() -> &'static str {
        type_name::<F>()
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
    fn read(&self, at: Reference, target: &V::Target) -> Step<V::Target, V::Output> {
        (**self).read(at, target)
    }
    fn then(self, output: V::Output, cx: &mut Context) -> V::Result {
        (*self).then(output, cx)
    }
    fn name() -> &'static str {
        V::name()
    }
}

struct Body<V, K> {
    target: Reference,
    visit: V,
    sink: K,
}

/// Frequently used nodes that a walk passes in one go, at most.
const STRIDE: usize = 16;

/// Spawns an optimistic read. As long as its nodes are expected to be in the cache, the walk is begun at once: it holds
/// nothing and has no effects before it ends.
#[inline(always)]
pub(crate) fn launch<P, V, K>(order: Order<P>, mut target: Target, visit: V, sink: K)
where
    P: Spawner,
    V: Reading,
    K: Sink<V::Result>,
{
    target.check(order.spawner.shared());
    // Only from a task, whose epoch keeps the nodes alive. A panic in here is met again by the new task itself.
    let at_once = target.reference.is_frequent() && target.reference.primitive().is_optimistic();
    if at_once
        && order.options.place == Place::Here
        && P::IN_TASK
        && let Ok(further) = catch(|| walk_ahead(target, &visit))
    {
        target = further;
    }
    if const { is_too_large::<Body<V, K>>() } {
        push(order, target, Box::new(visit), sink);
    } else {
        push(order, target, visit, sink);
    }
}

/// The first node of the walk that is not frequently used, or where it ends or is disturbed.
#[inline(always)]
fn walk_ahead<V: Reading>(mut target: Target, visit: &V) -> Target {
    for _ in 0..STRIDE {
        // SAFETY: the spawner's operation, or the handle that it holds, keeps the object alive.
        let (header, value) =
            unsafe { (target.reference.header(), value_of::<Versioned<V::Target>>(target.reference)) };
        let Some(stamp) = header.latch.begin_read() else { break };
        let step = visit.read(target.reference, &value.0);
        let (true, Step::Go(next, part)) = (header.latch.validate(stamp), step) else { break };
        target = Target { reference: next.reference(), part, write: false, runtime: 0 };
        if !target.reference.is_frequent() {
            break;
        }
    }
    target
}

#[inline(always)]
fn push<P, V, K>(mut order: Order<P>, target: Target, visit: V, sink: K)
where
    P: Spawner,
    V: Reading,
    K: Sink<V::Result>,
{
    let class = const { class_of::<Body<V, K>>() };
    let Some(task) = order.spawner.allocate(class) else { return refuse(order.spawner, visit, sink) };
    sink.enter(&mut order.spawner);
    let meta = order.spawner.admit(&order.options);
    let fetch = fetch_for::<V>(target.reference, target.part);
    // SAFETY: a fresh block of a class that holds this body.
    unsafe {
        task.as_ptr().write(Task {
            vtable: const {
                &VTable {
                    run: run::<V, K>,
                    locate: locate::<V, K>,
                    cancel: cancel::<V, K>,
                    describe: describe::<V, K>,
                }
            },
            next: AtomicPtr::new(core::ptr::null_mut()),
            fetch,
            meta,
        });
        Task::body::<Body<V, K>>(task).write(Body { target: target.reference, visit, sink });
    }
    // SAFETY: the task was just made for this spawner, and is complete.
    unsafe { order.spawner.send(task, &order.options, home_of(target.reference), meta, fetch) };
}

/// Where all tasks of the object run, if they do.
#[inline(always)]
fn home_of(target: Reference) -> Option<usize> {
    (target.primitive() == Primitive::Sequencing).then(|| target.home())
}

#[inline(always)]
fn fetch_for<V: Reading>(target: Reference, part: Part) -> Fetch {
    let fetch = target.fetch(part);
    if V::LOCATES { fetch.then_locate() } else { fetch }
}

unsafe fn locate<V: Reading, K: Sink<V::Result>>(task: NonNull<Task>) -> Fetch {
    // SAFETY: the task is of this kind and waits in a pool of this worker; its operation keeps the object alive.
    unsafe {
        let body = &*Task::body::<Body<V, K>>(task);
        let value = value_of::<Versioned<V::Target>>(body.target);
        body.target.fetch(body.visit.locate(body.target, &value.0))
    }
}

unsafe fn describe<V: Reading, K>(task: NonNull<Task>) -> Description {
    // SAFETY: the task is of this kind and belongs to this worker.
    let target = unsafe { (*Task::body::<Body<V, K>>(task)).target };
    Description::new(V::name(), [target.touched(type_name::<V::Target>(), false)].into_iter())
}

unsafe fn run<V: Reading, K: Sink<V::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind and belongs to this worker; its operation keeps the object alive.
    unsafe {
        let body = Task::body::<Body<V, K>>(task);
        let baton = task.as_ref().meta.has_baton();
        if baton || !(*body).target.primitive().is_optimistic() {
            return run_entering::<V, K>(task, cx);
        }
        let mut passed = 0;
        loop {
            let target = (*body).target;
            let latch = &target.header().latch;
            let value = value_of::<Versioned<V::Target>>(target);
            let Some(stamp) = latch.begin_read() else { break };
            let read = |_: &_, _: &mut Context| (*body).visit.read(target, &value.0);
            let (step, _) = guarded(cx, (task, stamp), panicked::<V, K>, read);
            if !latch.validate(stamp) {
                quietly(|| drop(step));
                break;
            }
            match step {
                Step::Go(next, part) => {
                    (*body).target = next.reference();
                    passed += 1;
                    let at_once =
                        next.reference().is_frequent() && next.reference().primitive().is_optimistic();
                    if !at_once || passed == STRIDE {
                        return go_on::<V>(task, next.reference(), part, cx);
                    }
                }
                Step::End(output) => return finish(task, body, Ok(output), cx),
                Step::Again => break,
            }
        }
        run_entering::<V, K>(task, cx);
    }
}

/// Puts the walk back, to be carried on at another node.
///
/// # Safety
///
/// The task is of this kind and belongs to this worker.
#[inline(always)]
unsafe fn go_on<V: Reading>(mut task: NonNull<Task>, next: Reference, part: Part, cx: &mut Context) {
    // SAFETY: by the caller's promise.
    let Task { fetch, meta, .. } = unsafe { task.as_mut() };
    *fetch = fetch_for::<V>(next, part);
    meta.forget_attempts();
    let (fetch, meta) = (*fetch, *meta);
    match home_of(next) {
        Some(_) if cx.home_of(next) != cx.worker() => cx.send_to(task, cx.home_of(next)),
        _ => cx.push_here(task, meta, fetch),
    }
}

/// A panic while reading: real only if what was seen belonged together.
fn panicked<V: Reading, K: Sink<V::Result>>(
    (task, stamp): (NonNull<Task>, Stamp),
    payload: Payload,
    cx: &mut Context,
) {
    // SAFETY: `run` has left the task as it was when its reading unwound.
    unsafe {
        let body = Task::body::<Body<V, K>>(task);
        if (*body).target.header().latch.validate(stamp) {
            finish(task, body, Err(JoinError::panicked(payload)), cx);
        } else {
            run_entering::<V, K>(task, cx);
        }
    }
}

/// Frees the descriptor and goes on with what the walk has found.
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
    let (Body { visit, sink, .. }, meta) = unsafe {
        let moved = (body.read(), task.as_ref().meta);
        cx.free::<Body<V, K>>(task);
        moved
    };
    let output = output.and_then(|output| sink.start(cx).map(|()| output));
    let error = match output {
        Ok(_) if planted!("follow-up-lost-on-retry") && meta.attempts() > 0 => JoinError::Abandoned,
        Ok(output) => {
            let then = |_: &_, cx: &mut Context| visit.then(output, cx);
            let (result, (sink, meta)) = guarded(cx, (sink, meta), fail::<K, V::Result>, then);
            sink.complete(Ok(result), cx);
            return cx.finished(meta.epoch());
        }
        Err(error) => error,
    };
    quietly(|| drop(visit));
    sink.complete(Err(error), cx);
    cx.finished(meta.epoch());
}

/// A panic while nothing is held: tells who waits.
pub(crate) fn fail<K: Sink<R>, R>((sink, meta): (K, Meta), payload: Payload, cx: &mut Context) {
    sink.complete(Err(JoinError::panicked(payload)), cx);
    cx.finished(meta.epoch());
}

/// Reads while writers are kept out: after a few disturbed attempts, or where the object's primitive asks for it.
#[cold]
#[inline(never)]
unsafe fn run_entering<V: Reading, K: Sink<V::Result>>(mut task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: as in `run`.
    unsafe {
        let body = Task::body::<Body<V, K>>(task);
        let target = (*body).target;
        let header = target.header();
        if header.latch.is_poisoned() && !task.as_ref().meta.has_baton() {
            return finish(task, body, Err(JoinError::Poisoned), cx);
        }
        let entered = match enter_to_read(task, target, cx, |counters| &counters.versioned_retries) {
            Entering::Entered(entered) => entered,
            Entering::Gone => return,
            Entering::Foreign => return finish(task, body, Err(JoinError::Foreign), cx),
        };
        let value = value_of::<Versioned<V::Target>>(target);
        let step = if header.latch.is_poisoned() {
            Err(JoinError::Poisoned)
        } else {
            catch(|| (*body).visit.read(target, &value.0)).map_err(JoinError::panicked)
        };
        let meta = &mut task.as_mut().meta;
        entered.leave(target, *meta, cx);
        meta.drop_baton();
        match step {
            Ok(Step::Go(next, part)) => {
                (*body).target = next.reference();
                go_on::<V>(task, next.reference(), part, cx);
            }
            Ok(Step::End(output)) => finish(task, body, Ok(output), cx),
            // Nobody was at work: the walk has lost its way for good.
            Ok(Step::Again) => finish(task, body, Err(JoinError::Abandoned), cx),
            Err(error) => finish(task, body, Err(error), cx),
        }
    }
}

/// A reader has entered its object; writers are kept out.
pub(crate) struct Entered;

/// What became of a reader that wants to enter its object.
pub(crate) enum Entering {
    Entered(Entered),
    /// The task is not here any more: it waits, or was sent or put somewhere.
    Gone,
    /// The object belongs to another runtime.
    Foreign,
}

impl Entered {
    /// Lets writers in again; the object is as it was, so its version stays.
    ///
    /// # Safety
    ///
    /// The object is alive, and this is its reader's worker.
    pub unsafe fn leave(self, target: Reference, meta: Meta, cx: &mut Context) {
        // SAFETY: by the caller's promise.
        let header = unsafe { target.header() };
        leave(header, target.primitive(), false);
        if meta.has_baton() {
            // SAFETY: at home, and the object was handed to this task.
            unsafe { cx.hand_on(header) };
        }
    }
}

/// Enters an object to read it: where it is optimistic, only after a few attempts without; before the last one the task
/// is put back to be tried again. An object of a home is entered by running there.
///
/// # Safety
///
/// The task belongs to this worker, and the object is alive.
pub(crate) unsafe fn enter_to_read(
    mut task: NonNull<Task>,
    target: Reference,
    cx: &mut Context,
    retries: fn(&Counters) -> &Counter,
) -> Entering {
    // SAFETY: by the caller's promise.
    unsafe {
        let meta = &mut task.as_mut().meta;
        let primitive = target.primitive();
        if primitive.is_optimistic() && meta.attempts() < Context::OPTIMISTIC_ATTEMPTS {
            meta.count_attempt();
            retries(cx.counters()).add(1);
            cx.requeue(task);
            return Entering::Gone;
        }
        if primitive.is_sequenced() {
            if cx.home_of(target) != cx.worker() {
                cx.send_to(task, cx.home_of(target));
                return Entering::Gone;
            }
            let header = target.header();
            if !meta.has_baton() {
                match header.turn(cx.at_rest) {
                    Turn::Now => {}
                    Turn::Later => {
                        header.defer(task);
                        return Entering::Gone;
                    }
                    Turn::Never => return Entering::Foreign,
                }
            }
        }
        enter(target.header(), primitive, false, cx);
        Entering::Entered(Entered)
    }
}

unsafe fn cancel<V: Reading, K: Sink<V::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind and belongs to this worker.
    unsafe {
        let body = Task::body::<Body<V, K>>(task);
        let meta = task.as_ref().meta;
        let target = (*body).target;
        if meta.has_baton() {
            cx.hand_on(target.header());
        }
        finish(task, body, Err(JoinError::Cancelled), cx);
    }
}
