//! Annotations that a task carries beside its sink: only tasks that have them pay for them.

use super::group::{Membership, SealedMembership};
use super::spawner::sealed::Origin;
use super::{JoinError, Sink, Task, TaskBuilder};
use crate::scheduler::Worker;
use core::ptr::NonNull;

/// What a task carries besides its body and its sink.
pub trait TaskAnnotation: SealedMembership + Send + 'static {
    /// Called when the task starts. An error says why its body must not run.
    #[doc(hidden)]
    #[inline(always)]
    fn admit(&self, cx: &mut Worker) -> Result<(), JoinError> {
        let _ = cx;
        Ok(())
    }

    /// Returns the name of the task, if the annotation says it.
    #[doc(hidden)]
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Returns the name of the task unless another annotation says it.
    #[doc(hidden)]
    fn default_name(&self) -> Option<&'static str> {
        None
    }
}

/// A membership with an annotation of the task, and the sink of that task.
pub struct Annotated<M, X> {
    inner: M,
    annotation: X,
}

impl<M, X> Annotated<M, X> {
    pub(super) fn new(inner: M, annotation: X) -> Self {
        Self { inner, annotation }
    }
}

impl<M: Membership, X: TaskAnnotation> SealedMembership for Annotated<M, X> {}

impl<M: Membership, X: TaskAnnotation> Membership for Annotated<M, X> {
    type Sink = Annotated<M::Sink, X>;

    #[inline(always)]
    fn sink(self) -> Self::Sink {
        Annotated { inner: self.inner.sink(), annotation: self.annotation }
    }
}

impl<P, A, M> TaskBuilder<P, A, M> {
    pub(crate) fn annotate<X>(self, annotation: X) -> TaskBuilder<P, A, Annotated<M, X>> {
        let (request, access, inner) = self.into_parts();
        TaskBuilder::from_parts(request, access, Annotated { inner, annotation })
    }
}

impl<R, K: Sink<R>, X: TaskAnnotation> Sink<R> for Annotated<K, X> {
    #[inline(always)]
    fn enter(&self, origin: &mut impl Origin) {
        self.inner.enter(origin);
    }

    #[inline(always)]
    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: this function's contract, for the sink inside.
        unsafe { K::is_ready(&raw const (*this).inner, task, cx) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        // Both are called in any case.
        let inner = self.inner.start(cx);
        inner.and(self.annotation.admit(cx))
    }

    #[inline(always)]
    fn pause(&self, cx: &mut Worker) {
        self.inner.pause(cx);
    }

    #[inline(always)]
    fn resume(&self, cx: &mut Worker) {
        self.inner.resume(cx);
    }

    #[inline(always)]
    fn make_room(&mut self) {
        self.inner.make_room();
    }

    fn name(&self) -> Option<&'static str> {
        self.annotation.name().or(self.inner.name()).or(self.annotation.default_name())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn complete(self, outcome: Result<R, JoinError>, cx: &mut Worker) {
        self.inner.complete(outcome, cx);
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        self.inner.refuse(origin, why);
    }
}
