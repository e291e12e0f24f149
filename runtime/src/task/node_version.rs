//! Versions of nodes that a reader has read.

use crate::object::Header;
use crate::sync::Stamp;
use core::fmt;

/// The version at which a reader has read a node; made by
/// [`Reader::walk_versioned`](crate::arena::Reader::walk_versioned).
///
/// Several nodes are read at one moment if all of them were read before, and
/// [`is_current`](Self::is_current) is true for each afterwards. The moment is the one between:
/// each node had its version from its read to its check, and all these spans include that moment.
pub struct NodeVersion<'r> {
    /// Alive as long as the reader, whose epoch keeps the node.
    header: &'r Header,
    stamp: Stamp,
}

impl<'r> NodeVersion<'r> {
    #[inline(always)]
    pub(super) fn new(header: &'r Header, stamp: Stamp) -> Self {
        Self { header, stamp }
    }

    /// Returns true if no task has written the node, or begun to write it, since it was read. It is
    /// also false at a moment at which a task holds the node without writing it.
    #[inline]
    pub fn is_current(&self) -> bool {
        // The Acquire fence of `validate` also orders this check after the reads of other nodes.
        self.header.latch.validate(self.stamp)
    }
}

impl fmt::Debug for NodeVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeVersion").field("is_current", &self.is_current()).finish_non_exhaustive()
    }
}
