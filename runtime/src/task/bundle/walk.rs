//! Walks: what one lane of a bundle does, and where it goes.

use crate::annotation::Part;
use crate::object::{Link, Version};
use crate::scheduler::Context;
use crate::task::access::{ReadLink, WriteLink};
use crate::task::grant::Written;

/// One of the many walks that a [`Bundle`](super::Bundle) carries.
///
/// A walk goes from node to node, as a [`Visit`](crate::arena::Visit) does, and ends with a result.
/// It has no continuation of its own: the bundle receives the walk and its result, and fills the
/// lane with the next walk. So a walk should be small: a key, and a place for the result.
///
/// `locate` and `read` run while a writer may change the node. They may see old and new words
/// mixed, must terminate whatever they see, and may run more than once. A panic in them counts only
/// if the version check succeeds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a walk of a bundle",
    label = "does not implement `Walk`",
    note = "implement `Walk`: it says at each node where to go next"
)]
pub trait Walk: Send {
    /// The type of the nodes.
    type Target: Version;
    /// The result of the walk.
    type Output: Send;

    /// True if `locate` is worth a call.
    const LOCATES: bool = false;

    /// True if most walks end at their first node. The bundle then spends less on each walk. Nodes
    /// that are [expected in the cache](crate::Frequency) are prefetched like all others, and
    /// `locate` is called right before `read`.
    const ENDS_AT_ONCE: bool = false;

    /// Returns the part that `read` will touch beyond the part named for this node, which has
    /// arrived. If the walk [locates](Self::LOCATES), this is called before each `read`, and both
    /// see the same version: what this notes in the walk, `read` may use. Before a `write` it is a
    /// hint only.
    #[inline(always)]
    fn locate(&mut self, at: Link<Self::Target>, target: &Self::Target) -> Part {
        let _ = (at, target);
        Part::NONE
    }

    /// Reads one node. The default goes on to write it, for walks that only write.
    #[inline(always)]
    fn read(&self, at: Link<Self::Target>, target: &Self::Target) -> Hop<Self::Target, Self::Output> {
        let _ = target;
        Hop::Write(at, Part::NONE)
    }

    /// Writes one node, which the walk holds alone. Runs once for each [`Hop::Write`], and for each
    /// walk that [starts](Start) so. A panic poisons the node. Must be overridden by walks that
    /// write; the default ends the walk as [`Hop::Again`] does.
    #[inline(always)]
    fn write(
        &mut self,
        at: Link<Self::Target>,
        target: Written<'_, Self::Target>,
        cx: &mut Context,
    ) -> Hop<Self::Target, Self::Output> {
        let _ = (at, target, cx);
        Hop::Again
    }
}

/// The next step of a [`Walk`].
pub enum Hop<T, O> {
    /// Go to another node, of which `read` will touch this part.
    Go(Link<T>, Part),
    /// Go to a node, perhaps the same one, of which `write` will touch this part.
    Write(Link<T>, Part),
    /// End with this result.
    End(O),
    /// Read the node again: it is inconsistent, so a writer must be active. Where no writer can be
    /// active the walk fails with [`JoinError::Abandoned`](crate::JoinError::Abandoned).
    Again,
}

impl<T, O> Hop<T, O> {
    /// Converts the result.
    #[inline(always)]
    pub fn map<P>(self, convert: impl FnOnce(O) -> P) -> Hop<T, P> {
        match self {
            Self::Go(next, part) => Hop::Go(next, part),
            Self::Write(next, part) => Hop::Write(next, part),
            Self::End(output) => Hop::End(convert(output)),
            Self::Again => Hop::Again,
        }
    }
}

/// The node at which a walk begins, and whether it reads or writes this node; made from
/// [`Link::read`] and [`Link::write`].
#[derive(Clone, Copy)]
pub struct Start<T> {
    pub(super) link: Link<T>,
    pub(super) part: Part,
    pub(super) writes: bool,
}

/// The next walk of a bundle and where it begins; `None` if there are no more.
pub type Next<W> = Option<(Start<<W as Walk>::Target>, W)>;

impl<T> From<ReadLink<T>> for Start<T> {
    #[inline(always)]
    fn from(ReadLink(link, part): ReadLink<T>) -> Self {
        Self { link, part, writes: false }
    }
}

impl<T> From<WriteLink<T>> for Start<T> {
    #[inline(always)]
    fn from(WriteLink(link, part): WriteLink<T>) -> Self {
        Self { link, part, writes: true }
    }
}
