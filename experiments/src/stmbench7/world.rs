//! What a world has to offer: the operations are written once, for whatever does.

use super::outcome::{Found, Stop};
use super::parts::{Kind, Part};
use xtasking_hierarchy::Node;

/// What somebody means to do with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// To read its value, its children and its parents.
    Read,
    /// To change these.
    Write,
}

/// What a plan is made with: it looks at nodes and claims nodes.
///
/// A plan may be made more than once, from the start, with more to be seen each time. The last time, it sees all that it looks
/// at. What is done after it may then touch what it claimed then, in that mode, and nothing else. A node that is claimed twice
/// is claimed in the stronger mode.
pub trait Planner {
    /// What a look at a node tells, given its value, its children in order and its parents in any order; `None` if the node
    /// cannot be seen yet. Who goes on without it ends the plan early.
    fn see<R>(&mut self, node: Node, look: impl FnOnce(&Part, &[Node], &[Node]) -> R) -> Option<R>;

    /// Claims this node, and nothing below it.
    fn only(&mut self, node: Node, mode: Mode);

    /// Claims this node and all below it.
    fn tree(&mut self, node: Node, mode: Mode);

    /// Claims a node, and looks at it if it can be seen. Who plans may be shown nodes as they were at different moments, so
    /// that one can be of another kind than it has to be: then it is as if it could not be seen.
    #[inline]
    fn claim<K: Kind, R>(
        &mut self,
        node: Node,
        mode: Mode,
        look: impl FnOnce(&K, &[Node], &[Node]) -> R,
    ) -> Found<R> {
        self.only(node, mode);
        self.look(node, look)
    }

    /// As [`claim`](Self::claim), but what is looked at has been claimed before.
    #[inline]
    fn look<K: Kind, R>(&mut self, node: Node, look: impl FnOnce(&K, &[Node], &[Node]) -> R) -> Found<R> {
        let seen = self.see(node, |part, children, parents| Some(look(K::of(part)?, children, parents)));
        seen.flatten().ok_or(Stop::Unseen)
    }
}

/// A world that can be read. Each of these panics if there is no such node.
pub trait View {
    /// The value of a node.
    fn get(&self, node: Node) -> &Part;

    /// The children of a node, in the order in which they came.
    fn children(&self, node: Node) -> &[Node];

    /// The parents of a node, in any order.
    fn parents(&self, node: Node) -> &[Node];

    /// The value of a node that is known to be of a kind.
    ///
    /// # Panics
    /// If it is not.
    #[inline]
    fn the<K: Kind>(&self, node: Node) -> &K {
        let part = self.get(node);
        K::of(part).unwrap_or_else(|| mistaken(node, part))
    }
}

/// Values that can be changed.
pub trait Values {
    /// The value of a node, to be changed.
    fn get_mut(&mut self, node: Node) -> &mut Part;

    /// The value of a node that is known to be of a kind, to be changed.
    ///
    /// # Panics
    /// If it is not.
    #[inline]
    fn the_mut<K: Kind>(&mut self, node: Node) -> &mut K {
        let part = self.get_mut(node);
        // Asked twice, as the borrow checker has it.
        match K::of(part) {
            Some(_) => K::of_mut(part).expect("it is of that kind"),
            None => mistaken(node, part),
        }
    }
}

/// A world that can be changed.
pub trait World: View + Values {
    /// A new node, as the last child of a parent.
    fn insert(&mut self, parent: Node, value: Part) -> Node;

    /// Removes a node that has no children and one parent.
    fn remove(&mut self, node: Node);

    /// Puts a node under one more parent, as its last child.
    fn link(&mut self, parent: Node, child: Node);

    /// Takes a node away from one of its parents, which is not its only one.
    fn unlink(&mut self, parent: Node, child: Node);
}

#[cold]
fn mistaken(node: Node, part: &Part) -> ! {
    panic!("node {node} is something else: {}", part.name())
}

/// A world in which all that has to be there has been claimed: to find things in by the same means as when it was planned.
pub struct Held<'w, W> {
    /// What it is in.
    pub world: &'w W,
    /// So many nodes were named, but for trees.
    pub named: u64,
}

impl<W: View> Planner for Held<'_, W> {
    #[inline]
    fn see<R>(&mut self, node: Node, look: impl FnOnce(&Part, &[Node], &[Node]) -> R) -> Option<R> {
        Some(look(self.world.get(node), self.world.children(node), self.world.parents(node)))
    }

    fn only(&mut self, _: Node, _: Mode) {
        self.named += 1;
    }

    fn tree(&mut self, _: Node, _: Mode) {}
}
