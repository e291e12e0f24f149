//! Tasks with one object, whose body runs exactly once.

use super::access::{Grant, Target, Writes, Written, value_of};
use super::builder::Order;
use super::visit::{Entering, enter_to_read, fail};
use super::{
    JoinError, Meta, Payload, Sink, Spawner, Task, VTable, catch, class_of, guarded, is_too_large, quietly,
    refuse,
};
use crate::annotation::Part;
use crate::monitor::Description;
use crate::object::{Class, Fetch, Header, Link, Primitive, Reference, Turn, Version, Versioned};
use crate::scheduler::Context;
use crate::sync::{AtomicPtr, Backoff};
use alloc::boxed::Box;
use core::any::type_name;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// One write to a node of a data structure, which can name what it will touch once the node's first line is there.
pub trait Modify: Send + Sized + 'static {
    /// The kind of node.
    type Target: Version;
    /// What `write` leaves for `then`.
    type Output: 'static;

    /// Whether `locate` is worth a call.
    const LOCATES: bool = false;

    /// Which part `write` will touch beyond the part that the task's annotation names. A hint, read beside other
    /// writers; see [`Visit::locate`](super::Visit::locate).
    #[inline(always)]
    fn locate(&self, at: Link<Self::Target>, target: &Self::Target) -> Part {
        let _ = (at, target);
        Part::NONE
    }

    /// Writes the node, which is held meanwhile; runs once.
    fn write(
        &mut self,
        at: Link<Self::Target>,
        target: Written<'_, Self::Target>,
        cx: &mut Context,
    ) -> Self::Output;

    /// Goes on when the node has been left.
    fn then(self, output: Self::Output, cx: &mut Context);
}

/// Where the outcome of a [`Modify`] goes: to its own second half, and what becomes of that to another one.
pub(crate) struct GoOn<D>(pub D);

impl<M: Modify, D: Sink<()>> Sink<(M, M::Output)> for GoOn<D> {
    #[inline(always)]
    fn enter(&self, spawner: &mut impl Spawner) {
        self.0.enter(spawner);
    }

    #[inline(always)]
    fn start(&self, cx: &mut Context) -> Result<(), JoinError> {
        self.0.start(cx)
    }

    #[inline(always)]
    fn complete(self, outcome: Result<(M, M::Output), JoinError>, cx: &mut Context) {
        // Caught here: what the caller has left to do must not be skipped.
        let then =
            |(modify, output): (M, M::Output)| catch(|| modify.then(output, cx)).map_err(JoinError::panicked);
        let outcome = outcome.and_then(then);
        self.0.complete(outcome, cx);
    }

    fn refuse(self, spawner: &impl Spawner) {
        self.0.refuse(spawner);
    }
}

/// What the machinery of this file runs: a closure, or a [`Modify`].
pub(crate) trait Body: Send + 'static {
    type Grant: Grant;
    type Result: 'static;
    const LOCATES: bool;
    fn locate(&self, value: &<Self::Grant as Grant>::Class) -> Part;
    fn run(self, view: <Self::Grant as Grant>::View<'_>, cx: &mut Context) -> Self::Result;
    /// What the application calls it.
    fn name() -> &'static str;
}

pub(crate) struct Closure<G, F> {
    pub run: F,
    pub grant: PhantomData<G>,
}

// SAFETY: a closure and a marker: what is sent is the closure.
unsafe impl<G, F: Send> Send for Closure<G, F> {}

impl<G, F, R> Body for Closure<G, F>
where
    G: Grant,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    R: 'static,
{
    type Grant = G;
    type Result = R;
    const LOCATES: bool = false;
    fn locate(&self, _: &G::Class) -> Part {
        Part::NONE
    }
    #[inline(always)]
    fn run(self, view: G::View<'_>, cx: &mut Context) -> R {
        (self.run)(view, cx)
    }
    fn name() -> &'static str {
        type_name::<F>()
    }
}

pub(crate) struct Modifying<M: Modify> {
    pub modify: M,
    pub link: Link<M::Target>,
}

impl<M: Modify> Body for Modifying<M> {
    type Grant = Writes<Versioned<M::Target>>;
    type Result = (M, M::Output);
    const LOCATES: bool = M::LOCATES;
    #[inline(always)]
    fn locate(&self, value: &Versioned<M::Target>) -> Part {
        self.modify.locate(self.link, &value.0)
    }
    #[inline(always)]
    fn run(mut self, view: Written<'_, M::Target>, cx: &mut Context) -> (M, M::Output) {
        let output = self.modify.write(self.link, view, cx);
        (self.modify, output)
    }
    fn name() -> &'static str {
        type_name::<M>()
    }
}

/// A body that is too large for a descriptor.
impl<B: Body> Body for Box<B> {
    type Grant = B::Grant;
    type Result = B::Result;
    const LOCATES: bool = B::LOCATES;
    fn locate(&self, value: &<B::Grant as Grant>::Class) -> Part {
        (**self).locate(value)
    }
    fn run(self, view: <B::Grant as Grant>::View<'_>, cx: &mut Context) -> B::Result {
        (*self).run(view, cx)
    }
    fn name() -> &'static str {
        B::name()
    }
}

struct Once<B, K> {
    target: Reference,
    body: B,
    sink: K,
}

/// Spawns a task with one object.
#[inline(always)]
pub(crate) fn launch<P, B, K>(order: Order<P>, target: Target, body: B, sink: K)
where
    P: Spawner,
    B: Body,
    K: Sink<B::Result>,
{
    target.check(order.spawner.shared());
    if const { is_too_large::<Once<B, K>>() } {
        push(order, target, Box::new(body), sink);
    } else {
        push(order, target, body, sink);
    }
}

#[inline(always)]
fn push<P, B, K>(mut order: Order<P>, target: Target, body: B, sink: K)
where
    P: Spawner,
    B: Body,
    K: Sink<B::Result>,
{
    let class = const { class_of::<Once<B, K>>() };
    let Some(task) = order.spawner.allocate(class) else { return refuse(order.spawner, body, sink) };
    sink.enter(&mut order.spawner);
    let meta = order.spawner.admit(&order.options);
    let mut fetch = target.fetch();
    if B::LOCATES {
        fetch = fetch.then_locate();
    }
    // SAFETY: a fresh block of a class that holds this body.
    unsafe {
        task.as_ptr().write(Task {
            vtable: const {
                &VTable {
                    run: run::<B, K>,
                    locate: locate::<B, K>,
                    cancel: cancel::<B, K>,
                    describe: describe::<B, K>,
                }
            },
            next: AtomicPtr::new(core::ptr::null_mut()),
            fetch,
            meta,
        });
        Task::body::<Once<B, K>>(task).write(Once { target: target.reference, body, sink });
    }
    let home = runs_at_home::<B::Grant>(target.reference).then(|| target.reference.home());
    // SAFETY: the task was just made for this spawner, and is complete.
    unsafe { order.spawner.send(task, &order.options, home, meta, fetch) };
}

/// Whether this access is granted by running in the object's home pool.
#[inline(always)]
fn runs_at_home<G: Grant>(target: Reference) -> bool {
    match target.primitive() {
        Primitive::Sequencing => true,
        Primitive::OptimisticSequenced => !G::COPIES,
        _ => false,
    }
}

unsafe fn locate<B: Body, K: Sink<B::Result>>(task: NonNull<Task>) -> Fetch {
    // SAFETY: the task is of this kind and waits in a pool of this worker; its operation keeps the object alive.
    unsafe {
        let once = &*Task::body::<Once<B, K>>(task);
        once.target.fetch(once.body.locate(value_of(once.target)))
    }
}

unsafe fn describe<B: Body, K>(task: NonNull<Task>) -> Description {
    // SAFETY: the task is of this kind and belongs to this worker.
    let target = unsafe { (*Task::body::<Once<B, K>>(task)).target };
    let data = type_name::<<<B::Grant as Grant>::Class as Class>::Target>();
    Description::new(B::name(), [target.touched(data, B::Grant::WRITE)].into_iter())
}

/// Enters an object for a task that runs now, on the right worker.
pub(crate) fn enter(header: &Header, primitive: Primitive, write: bool, cx: &Context) {
    let latch = &header.latch;
    // Whoever is inside may be in the midst of a task that others have to let go on.
    let wait = |backoff: &mut Backoff| {
        if !cx.shared().platform.interleave(true) {
            backoff.wait();
        }
    };
    let waited = match primitive {
        Primitive::Sequencing => false,
        Primitive::SpinLatch => latch.lock(wait),
        Primitive::ReaderWriterLatch if write => latch.lock_exclusive(wait),
        Primitive::ReaderWriterLatch => latch.lock_shared(wait),
        Primitive::OptimisticSequenced => {
            if write {
                latch.begin_write();
            }
            false
        }
        Primitive::OptimisticLatched => {
            let waited = latch.lock(wait);
            if write {
                latch.begin_write();
            }
            waited
        }
    };
    cx.count_wait(waited);
}

/// The opposite of [`enter`].
pub(crate) fn leave(header: &Header, primitive: Primitive, write: bool) {
    let latch = &header.latch;
    match primitive {
        Primitive::Sequencing => {}
        Primitive::SpinLatch => latch.unlock(),
        Primitive::ReaderWriterLatch if write => latch.unlock_exclusive(),
        Primitive::ReaderWriterLatch => latch.unlock_shared(),
        Primitive::OptimisticSequenced | Primitive::OptimisticLatched if write => latch.end_write(),
        Primitive::OptimisticSequenced => {}
        Primitive::OptimisticLatched => latch.unlock(),
    }
}

unsafe fn run<B: Body, K: Sink<B::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind and belongs to this worker; its operation keeps the object alive.
    unsafe {
        let once = Task::body::<Once<B, K>>(task);
        let target = (*once).target;
        if B::Grant::COPIES {
            return run_on_copy::<B, K>(task, cx);
        }
        let header = target.header();
        let primitive = target.primitive();
        let meta = task.as_ref().meta;
        if primitive.is_sequenced() && !meta.has_baton() {
            match header.turn(cx.at_rest) {
                Turn::Now => {}
                Turn::Later => return header.defer(task),
                Turn::Never => return end_unrun::<B, K>(task, JoinError::Foreign, cx),
            }
        }
        let Once { body, sink, .. } = once.read();
        cx.free::<Once<B, K>>(task);
        let after = After { target, sink, meta };
        if let Err(failure) = after.sink.start(cx) {
            quietly(|| drop(body));
            return after.finish(Err(failure), cx);
        }
        enter(header, primitive, B::Grant::WRITE, cx);
        if header.latch.is_poisoned() {
            leave(header, primitive, B::Grant::WRITE);
            quietly(|| drop(body));
            return after.finish(Err(JoinError::Poisoned), cx);
        }
        let value = value_of::<<B::Grant as Grant>::Class>(target);
        let mut local = B::Grant::copy(value);
        let view = B::Grant::view(value, &mut local);
        let (result, after) = guarded(cx, after, After::panicked::<B>, |_, cx| body.run(view, cx));
        if planted!("snapshot-published-after-leaving") {
            leave(header, primitive, B::Grant::WRITE);
        }
        if B::Grant::WRITE {
            B::Grant::publish(value, local);
        }
        if !planted!("snapshot-published-after-leaving") {
            leave(header, primitive, B::Grant::WRITE);
        }
        after.finish(Ok(result), cx);
    }
}

/// What is left to do after the body.
struct After<K> {
    target: Reference,
    sink: K,
    meta: Meta,
}

impl<K> After<K> {
    /// The object has been left (or was never entered): hands it on, and tells who waits.
    ///
    /// # Safety
    ///
    /// The object is alive, and this is the worker that the task ran on.
    #[inline(always)]
    unsafe fn finish<R>(self, outcome: Result<R, JoinError>, cx: &mut Context)
    where
        K: Sink<R>,
    {
        if self.meta.has_baton() {
            // SAFETY: the object was handed to this task at its home, which is here.
            unsafe { cx.hand_on(self.target.header()) };
        }
        self.sink.complete(outcome, cx);
        cx.finished(self.meta.epoch());
    }

    /// The body unwound while it held the object.
    fn panicked<B: Body>(self, payload: Payload, cx: &mut Context)
    where
        K: Sink<B::Result>,
    {
        // SAFETY: the task's epoch keeps the object alive: it is not finished yet.
        unsafe {
            let header = self.target.header();
            if B::Grant::IN_PLACE && !planted!("poison-forgotten") {
                header.latch.poison();
            }
            leave(header, self.target.primitive(), B::Grant::WRITE);
            self.finish(Err(JoinError::panicked(payload)), cx);
        }
    }
}

/// A task that reads a copy: takes it without entering, or as a writer would after some failures.
#[inline(always)]
unsafe fn run_on_copy<B: Body, K: Sink<B::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: as in `run`.
    unsafe {
        let once = Task::body::<Once<B, K>>(task);
        let target = (*once).target;
        let latch = &target.header().latch;
        let value = value_of::<<B::Grant as Grant>::Class>(target);
        let mut copy = None;
        let baton = task.as_ref().meta.has_baton();
        if let Some(stamp) = latch.begin_read().filter(|_| !baton) {
            let local = B::Grant::copy(value);
            if latch.validate(stamp) {
                copy = Some(local);
            }
        }
        let meta = task.as_ref().meta;
        if copy.is_none() && (baton || !latch.is_poisoned()) {
            match enter_to_read(task, target, cx, |counters| &counters.snapshot_retries) {
                Entering::Entered(entered) => {
                    copy = Some(B::Grant::copy(value));
                    entered.leave(target, meta, cx);
                }
                Entering::Gone => return,
                Entering::Foreign => return end_unrun::<B, K>(task, JoinError::Foreign, cx),
            }
        }
        let Once { body, sink, .. } = once.read();
        cx.free::<Once<B, K>>(task);
        let failure = match (sink.start(cx), copy) {
            (Err(failure), _) => failure,
            (Ok(()), None) => JoinError::Poisoned,
            (Ok(()), Some(mut local)) => {
                let view = B::Grant::view(value, &mut local);
                let (result, (sink, meta)) =
                    guarded(cx, (sink, meta), fail::<K, B::Result>, |_, cx| body.run(view, cx));
                sink.complete(Ok(result), cx);
                return cx.finished(meta.epoch());
            }
        };
        sink.complete(Err(failure), cx);
        cx.finished(meta.epoch());
    }
}

unsafe fn cancel<B: Body, K: Sink<B::Result>>(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind and belongs to this worker.
    unsafe { end_unrun::<B, K>(task, JoinError::Cancelled, cx) };
}

/// # Safety
///
/// The task is of this kind and belongs to this worker.
#[cold]
unsafe fn end_unrun<B: Body, K: Sink<B::Result>>(task: NonNull<Task>, why: JoinError, cx: &mut Context) {
    // SAFETY: by the caller's promise.
    unsafe {
        let Once { target, body, sink } = Task::body::<Once<B, K>>(task).read();
        let meta = task.as_ref().meta;
        cx.free::<Once<B, K>>(task);
        quietly(|| drop(body));
        sink.complete(Err(why), cx);
        if meta.has_baton() {
            cx.hand_on(target.header());
        }
        cx.finished(meta.epoch());
    }
}
