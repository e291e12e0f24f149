//! Running a task with several objects.

use super::object_set::{ObjectGrants, ObjectList, ObjectSet, mend_all, poison_all};
use crate::monitor::Description;
use crate::scheduler::{Context, Worker};
use crate::task::access::ObjectAccess;
use crate::task::body::{TaskBody, panic_of, take};
use crate::task::{JoinError, Meta, Payload, Sink, Task, drop_quietly, guarded};
use core::any::type_name;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A task with several objects, named after `T`: the closure's type as the application wrote it.
#[repr(C)]
pub(super) struct MultiObject<G: ObjectGrants, T, F> {
    pub(super) objects: ObjectSet<G::List>,
    pub(super) run: F,
    pub(super) grants: PhantomData<fn() -> (G, T)>,
}

impl<G, T, F, R> TaskBody for MultiObject<G, T, F>
where
    G: ObjectGrants,
    T: 'static,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    R: 'static,
{
    type Output = R;

    fn describe(&self) -> Description {
        let touched = |(number, target): (usize, &ObjectAccess)| {
            target.reference.touched(G::data(number), target.write)
        };
        let targets = self.objects.list.targets();
        Description::new(type_name::<T>(), targets.iter().enumerate().map(touched))
    }

    unsafe fn run<K: Sink<R>>(task: NonNull<Task>, cx: &mut Worker) {
        // SAFETY: phase running: the descriptor belongs to this worker and has this body.
        let (Self { objects, run, .. }, sink, meta) = unsafe { take::<Self, K>(task, cx) };
        let after = MultiEpilogue::<G, K> { objects, sink, meta };
        // SAFETY: the task's epoch keeps the objects alive; its placeholders have been granted the
        // sequenced ones. The view is used between `enter` and `leave`. `enter` has checked that
        // written objects are different.
        unsafe {
            if let Err(failure) = after.sink.start(cx) {
                drop_quietly(run);
                return after.finish(Err(failure), cx);
            }
            if let Err(error) = after.objects.enter(cx) {
                drop_quietly(run);
                return after.finish(Err(error), cx);
            }
            let mut locals = G::copy(after.objects.list.targets());
            let view = G::view(after.objects.list.targets(), &mut locals);
            let (result, after) = guarded(cx, after, MultiEpilogue::<G, _>::panicked::<T, R>, |_, cx| {
                run(view, Context::of(cx))
            });
            G::publish(after.objects.list.targets(), locals);
            mend_all(&after.objects.list);
            after.objects.leave();
            after.finish(Ok(result), cx);
        }
    }

    unsafe fn abandon(self, _: Meta, cx: &mut Worker) {
        drop_quietly(self.run);
        // SAFETY: the task's epoch keeps the objects alive. A task runs, or is cancelled, only
        // after all its placeholders were granted.
        unsafe { self.objects.hand_on(cx) };
    }
}

/// What is left to do after the body, also if it panicked.
struct MultiEpilogue<G: ObjectGrants, K> {
    objects: ObjectSet<G::List>,
    sink: K,
    meta: Meta,
}

impl<G: ObjectGrants, K> MultiEpilogue<G, K> {
    /// Hands the objects on, and completes the sink. The objects have been left, or were never
    /// entered.
    ///
    /// # Safety
    ///
    /// The objects are alive and were granted to this task.
    unsafe fn finish<R>(self, outcome: Result<R, JoinError>, cx: &mut Worker)
    where
        K: Sink<R>,
    {
        // SAFETY: this function's contract is that of `hand_on`.
        unsafe { self.objects.hand_on(cx) };
        self.sink.complete(outcome, cx);
        cx.finished(self.meta.epoch());
    }

    /// Poisons and leaves the objects after the body, named after `T`, panicked in them.
    fn panicked<T, R>(self, payload: Payload, cx: &mut Worker)
    where
        K: Sink<R>,
    {
        // SAFETY: the task's epoch keeps the objects alive until `finish`. The body ran inside all
        // of them.
        unsafe {
            poison_all::<G>(self.objects.list.targets());
            if !planted!("latch-kept-on-panic") {
                self.objects.leave();
            }
            let error = panic_of(&self.sink, type_name::<T>(), payload);
            self.finish(Err(error), cx);
        }
    }
}
