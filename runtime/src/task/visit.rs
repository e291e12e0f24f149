//! Optimistic reads as a program writes them: a [`Visit`], or two closures.

use crate::annotation::Part;
use crate::object::{Link, Reference, Version};
use crate::scheduler::Context;
use alloc::boxed::Box;
use core::any::type_name;
use core::marker::PhantomData;

/// An optimistic walk over the nodes of a linked structure.
///
/// `locate` and `read` run while a writer may change the node. They may see old and new words
/// mixed, must terminate whatever they see, and may run more than once. So they take `&self` and no
/// context. A panic in them counts only if the version check succeeds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a walk over linked nodes",
    label = "does not implement `Visit`",
    note = "implement `Visit`, or pass closures to `read_then` or `submit_read`"
)]
pub trait Visit: Send + Sized + 'static {
    /// The type of the nodes.
    type Target: Version;
    /// The result of the walk.
    type Output;

    /// True if `locate` is worth a call.
    const LOCATES: bool = false;

    /// Returns the part that `read` will touch beyond the part named for this node, which has
    /// arrived. A hint: the answer is not checked, and nothing relies on it.
    #[inline(always)]
    fn locate(&self, at: Link<Self::Target>, target: &Self::Target) -> Part {
        let _ = (at, target);
        Part::NONE
    }

    /// Reads one node.
    fn read(&self, at: Link<Self::Target>, target: &Self::Target) -> Step<Self::Target, Self::Output>;

    /// Continues with the result, once, holding nothing.
    fn then(self, output: Self::Output, cx: &mut Context);
}

/// The next step of a walk.
pub enum Step<T, O> {
    /// Go to another node, of which `read` will touch this part.
    Go(Link<T>, Part),
    /// End with this result.
    End(O),
    /// Read the node again: it is inconsistent, so a writer must be active.
    Again,
}

/// The body of an optimistic read: a visit, or two closures.
pub(crate) trait OptimisticBody: Send + 'static {
    type Target: Version;
    type Output;
    type Result: 'static;
    const LOCATES: bool = false;
    #[inline(always)]
    fn locate(&self, at: Reference, target: &Self::Target) -> Part {
        let _ = (at, target);
        Part::NONE
    }
    fn read(&self, at: Reference, target: &Self::Target) -> Step<Self::Target, Self::Output>;
    fn then(self, output: Self::Output, cx: &mut Context) -> Self::Result;
    /// Returns the name of the type or closure as the application wrote it.
    fn name() -> &'static str;
}

pub(crate) struct VisitBody<V>(pub V);

impl<V: Visit> OptimisticBody for VisitBody<V> {
    type Target = V::Target;
    type Output = V::Output;
    type Result = ();
    const LOCATES: bool = V::LOCATES;
    #[inline(always)]
    fn locate(&self, at: Reference, target: &V::Target) -> Part {
        self.0.locate(Link::from_reference(at), target)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, at: Reference, target: &V::Target) -> Step<V::Target, V::Output> {
        self.0.read(Link::from_reference(at), target)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
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

impl<T, F, G, O, R> OptimisticBody for ReadThen<T, F, G>
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
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(&self, _: Reference, target: &T) -> Step<T, O> {
        Step::End((self.read)(target))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn then(self, output: O, cx: &mut Context) -> R {
        (self.then)(output, cx)
    }
    fn name() -> &'static str {
        type_name::<F>()
    }
}

/// A body that is too large for a descriptor is boxed.
impl<V: OptimisticBody> OptimisticBody for Box<V> {
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
