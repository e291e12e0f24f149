//! Narrowing hulls after removals.

use super::{Hull, Numbering};
use crate::Node;

impl Numbering {
    /// Makes the hull of a node as narrow as its children's hulls allow, then those of the
    /// ancestors that end where it did. Returns how many became narrower. Call it for the parent
    /// after a removal or an unlinking; if the parent has become a leaf, it begins with the
    /// parent's parents.
    ///
    /// It takes time for the children of all these nodes.
    #[track_caller]
    pub fn tighten(&mut self, node: Node) -> usize {
        let mut open = vec![node];
        if self.shape.is_leaf(node) {
            open.extend(self.shape.parents(node));
        }
        let mut narrowed = 0;
        while let Some(node) = open.pop() {
            let old = self.hulls[node.index()];
            let Some(new) = self.narrower(node) else { continue };
            let shares = |parent: &Node| {
                let hull = self.hulls[parent.index()];
                (hull.first == old.first && new.first != old.first)
                    || (hull.last == old.last && new.last != old.last)
            };
            open.extend(self.shape.parents(node).filter(shares));
            self.set_hull(node, new);
            narrowed += 1;
        }
        narrowed
    }

    /// Makes all hulls as narrow as the shape and the order of leaves allow. Returns how many
    /// became narrower. It takes time for all nodes.
    pub fn tighten_all(&mut self) -> usize {
        let mut narrowed = 0;
        for node in self.shape.topological().into_iter().rev() {
            if let Some(hull) = self.narrower(node) {
                self.set_hull(node, hull);
                narrowed += 1;
            }
        }
        narrowed
    }

    /// The hull of the children's hulls, if it is narrower than the node's hull.
    fn narrower(&self, node: Node) -> Option<Hull> {
        let old = self.hulls[node.index()];
        let mut hulls = self.shape.children(node).map(|child| self.hulls[child.index()]);
        // Usually the hull ends with those of the first and the last child.
        let last = self.shape.last_child(node)?;
        let mut new = self.join(hulls.next()?, self.hulls[last.index()]);
        while new != old {
            match hulls.next() {
                Some(below) => new = self.join(new, below),
                None => return Some(new),
            }
        }
        None
    }
}
