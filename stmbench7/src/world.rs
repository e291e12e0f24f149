//! Defines the interface of a world: the operations are written once, for all worlds.

use super::node::{Node, NodeList};
use super::outcome::{SearchResult, SearchStop};
use super::parts::{Kind, Part};

/// The mode of a claim on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Reads its value, its children and its parents.
    Read,
    /// Changes these.
    Write,
}

/// Plans an operation: looks at nodes and claims nodes.
///
/// A plan may be made repeatedly from the start, with more nodes visible each time; the last time,
/// it sees all nodes that it looks at. The operation may then touch what this last plan claimed, in
/// that mode, and nothing else. A node that is claimed twice is claimed in the stronger mode.
pub trait Planner {
    /// Calls `look` with the node's value and its children in order. Returns `None` if the node
    /// cannot be seen yet; the plan then ends early.
    fn peek<R>(&mut self, node: Node, look: impl FnOnce(&Part, &NodeList<'_>) -> R) -> Option<R>;

    /// Calls `look` with the node's parents in any order, like [`peek`](Self::peek).
    fn peek_parents<R>(&mut self, node: Node, look: impl FnOnce(&NodeList<'_>) -> R) -> Option<R>;

    /// Claims this node, without the nodes below it.
    fn claim_node(&mut self, node: Node, mode: Mode);

    /// Claims this node and all nodes below it.
    fn claim_tree(&mut self, node: Node, mode: Mode);

    /// Claims what it takes to remove a node, besides the node and its parent.
    fn claim_to_remove(&mut self, _node: Node) {}

    /// Claims what links take that begin at this node, or at new nodes below it, besides their
    /// ends.
    fn claim_to_link(&mut self, _node: Node) {}

    /// Claims a node, and looks at it if it can be seen. A plan may see nodes at different moments,
    /// so a node can be of another kind than expected: then it counts as invisible.
    #[inline]
    fn claim<K: Kind, R>(
        &mut self,
        node: Node,
        mode: Mode,
        look: impl FnOnce(&K, &NodeList<'_>) -> R,
    ) -> SearchResult<R> {
        self.claim_node(node, mode);
        self.look(node, look)
    }

    /// Looks at a node as [`claim`](Self::claim) does, if the node is claimed already.
    #[inline]
    fn look<K: Kind, R>(&mut self, node: Node, look: impl FnOnce(&K, &NodeList<'_>) -> R) -> SearchResult<R> {
        let seen = self.peek(node, |part, children| Some(look(K::of(part)?, children)));
        seen.flatten().ok_or(SearchStop::Unseen)
    }
}

/// A world that can be read. All methods panic if the node does not exist.
pub trait View {
    /// Returns the value of a node.
    fn get(&self, node: Node) -> &Part;

    /// Returns the children of a node, in the order of their links.
    fn children(&self, node: Node) -> NodeList<'_>;

    /// Returns the parents of a node, in any order.
    fn parents(&self, node: Node) -> NodeList<'_>;

    /// Returns the value of a node of a known kind.
    ///
    /// # Panics
    /// If the node is of another kind.
    #[inline]
    fn get_as<K: Kind>(&self, node: Node) -> &K {
        let part = self.get(node);
        K::of(part).unwrap_or_else(|| wrong_kind(node, part))
    }
}

/// Values that can be changed.
pub trait Values {
    /// Returns the value of a node, to be changed.
    fn get_mut(&mut self, node: Node) -> &mut Part;

    /// Returns the value of a node of a known kind, to be changed.
    ///
    /// # Panics
    /// If the node is of another kind.
    #[inline]
    fn get_mut_as<K: Kind>(&mut self, node: Node) -> &mut K {
        let part = self.get_mut(node);
        // Two lookups, as the borrow checker rejects one.
        match K::of(part) {
            Some(_) => K::of_mut(part).expect("the kind was checked above"),
            None => wrong_kind(node, part),
        }
    }
}

/// A world that can be changed.
pub trait World: View + Values {
    /// Adds a new node as the last child of `parent`.
    fn insert(&mut self, parent: Node, value: Part) -> Node;

    /// Removes a node that has no children and one parent.
    fn remove(&mut self, node: Node);

    /// Adds a node as the last child of one more parent.
    fn link(&mut self, parent: Node, child: Node);

    /// Removes a node from one of its parents, which must not be its only one.
    fn unlink(&mut self, parent: Node, child: Node);
}

#[cold]
fn wrong_kind(node: Node, part: &Part) -> ! {
    panic!("node {node} is of another kind: {}", part.name())
}

/// A world in which all needed nodes are claimed, so that an operation finds its objects by the
/// same code as its plan.
pub struct ClaimedWorld<'w, W> {
    /// The world.
    pub world: &'w W,
    /// Number of nodes named, without sub-trees.
    pub named: u64,
}

impl<W: View> Planner for ClaimedWorld<'_, W> {
    #[inline]
    fn peek<R>(&mut self, node: Node, look: impl FnOnce(&Part, &NodeList<'_>) -> R) -> Option<R> {
        Some(look(self.world.get(node), &self.world.children(node)))
    }

    fn peek_parents<R>(&mut self, node: Node, look: impl FnOnce(&NodeList<'_>) -> R) -> Option<R> {
        Some(look(&self.world.parents(node)))
    }

    fn claim_node(&mut self, _: Node, _: Mode) {
        self.named += 1;
    }

    fn claim_tree(&mut self, _: Node, _: Mode) {}
}
