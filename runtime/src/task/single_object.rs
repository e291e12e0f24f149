//! Tasks with one object, whose body runs exactly once.

use super::access::{ObjectAccess, value_of};
use super::body::{
    BodyWithSink, TaskBody, complete_panicked, end_unrun, must_be_boxed, panic_of, spawn_at_object, take,
};
use super::entry::{ReadEntry, enter, enter_to_read, leave, mend, poison};
use super::grant::Grant;
use super::options::SpawnRequest;
use super::spawner::{sealed::Origin, sealed::Spawn};
use super::{JoinError, Meta, Payload, Sink, Task, drop_quietly, guarded};
use crate::annotation::Part;
use crate::monitor::Description;
use crate::object::{Class, Fetch, FreeWord, Primitive, Reference, Turn};
use crate::scheduler::{Context, Worker};
use alloc::boxed::Box;
use core::any::type_name;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// The body of a task with one object: a closure, or a [`Modify`](crate::arena::Modify).
pub(crate) trait ObjectBody: Send + 'static {
    type Grant: Grant;
    type Result: 'static;
    const LOCATES: bool;
    fn locate(&self, value: &<Self::Grant as Grant>::Class) -> Part;
    fn run(self, view: <Self::Grant as Grant>::View<'_>, cx: &mut Context) -> Self::Result;
    /// Returns the name of the closure or type as the application wrote it.
    fn name() -> &'static str;
}

pub(crate) struct ClosureBody<G, F> {
    pub run: F,
    pub grant: PhantomData<G>,
}

// SAFETY: the marker holds no value, so only the closure is sent, and it is `Send`.
unsafe impl<G, F: Send> Send for ClosureBody<G, F> {}

impl<G, F, R> ObjectBody for ClosureBody<G, F>
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

/// A body that is too large for a descriptor is boxed.
impl<B: ObjectBody> ObjectBody for Box<B> {
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

/// A task with one object.
struct SingleObject<B> {
    target: Reference,
    body: B,
}

/// Spawns a task with one object.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn launch<P, B, K>(mut request: SpawnRequest<P>, target: ObjectAccess, body: B, sink: K)
where
    P: Spawn,
    B: ObjectBody,
    K: Sink<B::Result>,
{
    target.check(request.spawner.origin_mut().shared());
    let home = runs_at_home::<B::Grant>(target.reference).then(|| target.reference.home());
    let reference = target.reference;
    if const { must_be_boxed::<SingleObject<B>, K>() } {
        let boxed = SingleObject { target: reference, body: Box::new(body) };
        spawn_at_object(request, target, home, boxed, sink);
    } else {
        spawn_at_object(request, target, home, SingleObject { target: reference, body }, sink);
    }
}

/// Returns true if this access is granted by running on the object's home.
#[cfg_attr(not(debug_assertions), inline(always))]
fn runs_at_home<G: Grant>(target: Reference) -> bool {
    match target.primitive() {
        Primitive::Sequencing => true,
        Primitive::OptimisticSequenced => !G::COPIES,
        _ => false,
    }
}

impl<B: ObjectBody> TaskBody for SingleObject<B> {
    type Output = B::Result;
    const LOCATES: bool = B::LOCATES;

    unsafe fn locate(&self, free_word: FreeWord) -> Fetch {
        // SAFETY: phase queued: the task's epoch keeps the object alive, if it is live now. The
        // access that was spawned fixes its class.
        unsafe {
            if !self.target.header().is_of(free_word) {
                return Fetch::NONE;
            }
            self.target.fetch(self.body.locate(value_of(self.target)))
        }
    }

    fn describe(&self) -> Description {
        let data = type_name::<<<B::Grant as Grant>::Class as Class>::Target>();
        Description::new(B::name(), [self.target.touched(data, B::Grant::WRITE)].into_iter())
    }

    unsafe fn run<K: Sink<B::Result>>(task: NonNull<Task>, cx: &mut Worker) {
        // SAFETY: this function's contract is that of both.
        unsafe {
            if B::Grant::COPIES { run_on_copy::<B, K>(task, cx) } else { run_in_place::<B, K>(task, cx) }
        }
    }

    unsafe fn abandon(self, meta: Meta, cx: &mut Worker) {
        drop_quietly(self.body);
        if meta.has_grant_token() {
            // SAFETY: alive by this function's contract. A task with the grant token runs at the
            // object's home and holds the object.
            unsafe { cx.hand_on(self.target.header()) };
        }
    }
}

/// Runs a task that enters its object and works in place.
///
/// # Safety
///
/// As for [`TaskBody::run`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn run_in_place<B: ObjectBody, K: Sink<B::Result>>(task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase running: the descriptor belongs to this worker and has this body; its epoch
    // keeps the object alive.
    unsafe {
        let target = (*Task::body::<BodyWithSink<SingleObject<B>, K>>(task)).body.target;
        let header = target.header();
        let primitive = target.primitive();
        if primitive.is_sequenced() && !task.as_ref().meta.has_grant_token() {
            match header.turn(cx.free_word) {
                Turn::Now => cx.enter_sequenced(target),
                Turn::Later => return cx.defer(header, task),
                Turn::Never => return end_unrun::<SingleObject<B>, K>(task, header.refusal(), cx),
            }
        }
        let (SingleObject { body, .. }, sink, meta) = take::<SingleObject<B>, K>(task, cx);
        let after = SingleEpilogue { target, sink, meta };
        if let Err(failure) = after.sink.start(cx) {
            drop_quietly(body);
            return after.finish(Err(failure), cx);
        }
        if let Err(error) = enter(header, target, B::Grant::WRITE, cx) {
            drop_quietly(body);
            return after.finish(Err(error), cx);
        }
        let value = value_of::<<B::Grant as Grant>::Class>(target);
        let mut local = B::Grant::copy(value);
        let view = B::Grant::view(value, &mut local);
        let (result, after) =
            guarded(cx, after, SingleEpilogue::panicked::<B>, |_, cx| body.run(view, Context::of(cx)));
        if planted!("snapshot-published-after-leaving") {
            leave(header, primitive, B::Grant::WRITE);
        }
        if B::Grant::WRITE {
            B::Grant::publish(value, local);
            mend(target);
        }
        if !planted!("snapshot-published-after-leaving") {
            leave(header, primitive, B::Grant::WRITE);
        }
        after.finish(Ok(result), cx);
    }
}

/// What is left to do after the body, also if it panicked.
struct SingleEpilogue<K> {
    target: Reference,
    sink: K,
    meta: Meta,
}

impl<K> SingleEpilogue<K> {
    /// Hands the object on, and completes the sink. The object has been left, or was never entered.
    ///
    /// # Safety
    ///
    /// The object is alive, and the task ran on this worker.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn finish<R>(self, outcome: Result<R, JoinError>, cx: &mut Worker)
    where
        K: Sink<R>,
    {
        if self.meta.has_grant_token() {
            // SAFETY: alive by this function's contract. A task with the grant token runs at the
            // object's home and holds the object.
            unsafe { cx.hand_on(self.target.header()) };
        }
        self.sink.complete(outcome, cx);
        cx.finished(self.meta.epoch());
    }

    /// Poisons and leaves the object after the body panicked in it.
    fn panicked<B: ObjectBody>(self, payload: Payload, cx: &mut Worker)
    where
        K: Sink<B::Result>,
    {
        // SAFETY: the task's epoch keeps the object alive until `finish`. The body ran inside the
        // object.
        unsafe {
            let header = self.target.header();
            if B::Grant::IN_PLACE {
                poison(self.target);
            }
            if B::Grant::WRITE || !planted!("reader-latch-kept-on-panic") {
                leave(header, self.target.primitive(), B::Grant::WRITE);
            }
            let error = panic_of(&self.sink, B::name(), payload);
            self.finish(Err(error), cx);
        }
    }
}

/// Runs a task that reads a copy: copies without entering, or inside the object after more than
/// [`OPTIMISTIC_ATTEMPTS`](Worker::OPTIMISTIC_ATTEMPTS) that failed.
///
/// # Safety
///
/// As for [`TaskBody::run`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn run_on_copy<B: ObjectBody, K: Sink<B::Result>>(task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase running: the descriptor belongs to this worker and has this body; its epoch
    // keeps the object alive.
    unsafe {
        let target = (*Task::body::<BodyWithSink<SingleObject<B>, K>>(task)).body.target;
        let header = target.header();
        let value = value_of::<<B::Grant as Grant>::Class>(target);
        let mut copy = None;
        let grant_token = task.as_ref().meta.has_grant_token();
        if let Some(stamp) = header.begin_read(cx.free_word).filter(|_| !grant_token) {
            let local = B::Grant::copy(value);
            if header.latch.validate(stamp) || planted!("snapshot-version-unchecked") {
                copy = Some(local);
            }
        }
        let mut refused = None;
        if copy.is_none() {
            refused = header.failure(cx.free_word).filter(|_| !grant_token);
        }
        if copy.is_none() && refused.is_none() {
            match enter_to_read(task, target, cx, |counters| &counters.snapshot_retries) {
                ReadEntry::Entered(entered) => {
                    copy = Some(B::Grant::copy(value));
                    entered.leave(target, task.as_ref().meta, cx);
                }
                ReadEntry::Gone => return,
                ReadEntry::Refused(error) => refused = Some(error),
            }
        }
        let (SingleObject { body, .. }, sink, meta) = take::<SingleObject<B>, K>(task, cx);
        let failure = match (sink.start(cx), copy) {
            (Err(failure), _) => failure,
            (Ok(()), None) => refused.unwrap_or(JoinError::Poisoned),
            (Ok(()), Some(mut local)) => {
                let view = B::Grant::view(value, &mut local);
                let panicked = |after, payload, cx: &mut Worker| {
                    complete_panicked::<K, B::Result>(after, B::name(), payload, cx);
                };
                let (result, (sink, meta)) =
                    guarded(cx, (sink, meta), panicked, |_, cx| body.run(view, Context::of(cx)));
                sink.complete(Ok(result), cx);
                return cx.finished(meta.epoch());
            }
        };
        drop_quietly(body);
        sink.complete(Err(failure), cx);
        cx.finished(meta.epoch());
    }
}
