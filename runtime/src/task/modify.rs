//! Writes to nodes of a linked data structure.

use super::body::panic_of;
use super::grant::{Writes, Written};
use super::single_object::ObjectBody;
use super::spawner::sealed::Origin;
use super::{JoinError, Sink, catch};
use crate::annotation::Part;
use crate::object::{Link, Version, Versioned};
use crate::scheduler::{Context, Worker};
use core::any::type_name;

/// One write to a node. Once the node's first line has arrived, it can name further lines to
/// prefetch.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a write to a node",
    label = "does not implement `Modify`",
    note = "implement `Modify`, or pass a closure to `spawn` or `submit`"
)]
pub trait Modify: Send + Sized + 'static {
    /// The type of the node.
    type Target: Version;
    /// What `write` hands to `then`.
    type Output: 'static;

    /// True if `locate` is worth a call.
    const LOCATES: bool = false;

    /// Returns the part that `write` will touch beyond the task's annotation. A hint: it reads
    /// beside other writers; see [`Visit::locate`](crate::arena::Visit::locate).
    #[inline(always)]
    fn locate(&self, at: Link<Self::Target>, target: &Self::Target) -> Part {
        let _ = (at, target);
        Part::NONE
    }

    /// Writes the node, which this task holds; runs once.
    fn write(
        &mut self,
        at: Link<Self::Target>,
        target: Written<'_, Self::Target>,
        cx: &mut Context,
    ) -> Self::Output;

    /// Continues after the node was left.
    fn then(self, output: Self::Output, cx: &mut Context);
}

/// The sink of a [`Modify`]: runs `then` with the output, and passes the outcome on to another
/// sink.
pub(crate) struct ThenSink<D>(pub D);

impl<M: Modify, D: Sink<()>> Sink<(M, M::Output)> for ThenSink<D> {
    #[inline(always)]
    fn enter(&self, origin: &mut impl Origin) {
        self.0.enter(origin);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        self.0.start(cx)
    }

    fn name(&self) -> Option<&'static str> {
        self.0.name()
    }

    #[inline(always)]
    fn make_room(&mut self) {
        self.0.make_room();
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn complete(self, outcome: Result<(M, M::Output), JoinError>, cx: &mut Worker) {
        // Caught here: the caller still has to count the task as finished.
        let then = |(modify, output): (M, M::Output)| {
            cx.leave_sequenced();
            catch(|| modify.then(output, Context::of(cx)))
                .map_err(|payload| panic_of(&self.0, type_name::<M>(), payload))
        };
        let outcome = outcome.and_then(then);
        self.0.complete(outcome, cx);
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        self.0.refuse(origin, why);
    }
}

pub(crate) struct ModifyBody<M: Modify> {
    pub modify: M,
    pub link: Link<M::Target>,
}

impl<M: Modify> ObjectBody for ModifyBody<M> {
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
