//! Names of tasks.
//!
//! Without a name of its own a task has that of its body: the path of the function, type or
//! closure, which the function table of its descriptor knows. A name of its own lies beside the
//! sink.

use super::TaskBuilder;
use super::annotated::{Annotated, TaskAnnotation};
use super::group::{Membership, SealedMembership};
use core::any::type_name;
use core::marker::PhantomData;

/// A name of a task, from [`TaskBuilder::name`].
pub struct TaskName(&'static str);

impl SealedMembership for TaskName {}

impl TaskAnnotation for TaskName {
    fn name(&self) -> Option<&'static str> {
        Some(self.0)
    }
}

/// The path of a body that is inside another one of the runtime's.
pub struct BodyName<F>(PhantomData<fn(F)>);

impl<F> Default for BodyName<F> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<F> SealedMembership for BodyName<F> {}

impl<F: 'static> TaskAnnotation for BodyName<F> {
    fn default_name(&self) -> Option<&'static str> {
        Some(type_name::<F>())
    }
}

impl<P, A, M: Membership> TaskBuilder<P, A, M> {
    /// Names the task, for the timeline, spans, the watchdog and the error of a [shutdown with a
    /// limit](crate::Runtime::shutdown_within). Without this it has the path of its function, or
    /// `….::{{closure}}` of the function around its closure.
    ///
    /// A name takes 16 bytes of the descriptor. Say it after [`of`](Self::of), and before
    /// [`claim`](Self::claim).
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(1).timeline(10).build()?;
    /// rt.task(()).name("nightly audit").submit(|(), _cx| ()).join()?;
    /// assert!(rt.timeline().expect("it is on").to_string().contains("nightly audit"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(self, name: &'static str) -> TaskBuilder<P, A, Annotated<M, TaskName>> {
        self.annotate(TaskName(name))
    }
}
