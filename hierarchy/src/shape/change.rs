//! Adding and removing nodes and edges. The callers check beforehand that the change is allowed.

use super::{Edge, Links, Shape};
use crate::node::NONE;
use crate::{Node, ShapeError};

impl Shape {
    /// Returns an error if there is no room for one more node with an edge, or for one more edge.
    pub(crate) fn room(&self) -> Result<(), ShapeError> {
        // This includes the edges of the roots.
        let used = self.len().max(self.edges.len() - self.free_edges.len());
        if used < Self::MAX_SIZE { Ok(()) } else { Err(ShapeError::TooMany(used + 1)) }
    }

    /// Finds the edge from a parent to its child, or the edge of a root.
    pub(crate) fn between(&self, parent: Option<Node>, child: Node) -> Result<u32, ShapeError> {
        self.check(child)?;
        let mut edge = self.links(child).parents;
        while let Some(at) = self.edge(edge) {
            if at.parent() == parent {
                return Ok(edge);
            }
            edge = at.other;
        }
        Err(ShapeError::NotAChild { parent, child })
    }

    /// The sibling before the child of `edge`.
    pub(crate) fn previous(&self, edge: u32) -> Option<Node> {
        self.edge(self.edges[edge as usize].previous).map(Edge::child)
    }

    /// The last child, or the last root.
    pub(crate) fn last(&self, parent: Option<Node>) -> Option<Node> {
        self.edge(self.ends(parent).last).map(Edge::child)
    }

    /// Returns true if the node has exactly one child.
    pub(crate) fn is_only(&self, parent: Node) -> bool {
        let ends = self.ends(Some(parent));
        ends.first == ends.last && ends.first != NONE
    }

    /// Adds a node, which the caller must [link](Self::connect) before anything else.
    pub(crate) fn add(&mut self) -> Node {
        self.free_nodes.pop().unwrap_or_else(|| {
            self.nodes.push(Links { children: super::Ends::default(), parents: NONE });
            Node(self.nodes.len() as u32 - 1)
        })
    }

    /// Links a child before the child of the edge `before`, or as the last one.
    pub(crate) fn connect(&mut self, parent: Option<Node>, child: Node, before: Option<u32>) {
        let next = before.unwrap_or(NONE);
        let previous = match self.edge(next) {
            Some(next) => next.previous,
            None => self.ends(parent).last,
        };
        let other = self.nodes[child.index()].parents;
        let parent_number = parent.map_or(NONE, |parent| parent.0);
        let new = Edge { parent: parent_number, child: child.0, next, previous, other };
        let edge = match self.free_edges.pop() {
            Some(free) => {
                self.edges[free as usize] = new;
                free
            }
            None => {
                self.edges.push(new);
                self.edges.len() as u32 - 1
            }
        };
        self.nodes[child.index()].parents = edge;
        self.set_next(parent, previous, edge);
        self.set_previous(parent, next, edge);
    }

    /// Removes an edge. The caller must link its child again, or [remove](Self::forget) it.
    pub(crate) fn disconnect(&mut self, edge: u32) {
        let Edge { child, next, previous, other, .. } = self.edges[edge as usize];
        let parent = self.edges[edge as usize].parent();
        self.set_next(parent, previous, next);
        self.set_previous(parent, next, previous);
        let first = &mut self.nodes[child as usize].parents;
        if *first == edge {
            *first = other;
        } else {
            let mut at = *first;
            while self.edges[at as usize].other != edge {
                at = self.edges[at as usize].other;
            }
            self.edges[at as usize].other = other;
        }
        self.free_edges.push(edge);
    }

    /// Removes the nodes of a sub-tree to which no edge leads from outside.
    pub(crate) fn forget(&mut self, nodes: &[Node]) {
        for &node in nodes {
            let links = &mut self.nodes[node.index()];
            let mut edge = links.children.first;
            *links = Links { children: super::Ends::default(), parents: NONE };
            while let Some(at) = self.edge(edge) {
                let next = at.next;
                self.free_edges.push(edge);
                edge = next;
            }
            self.free_nodes.push(node);
        }
    }

    fn set_next(&mut self, parent: Option<Node>, previous: u32, next: u32) {
        match self.edges.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => self.ends_mut(parent).first = next,
        }
    }

    fn set_previous(&mut self, parent: Option<Node>, next: u32, previous: u32) {
        match self.edges.get_mut(next as usize) {
            Some(next) => next.previous = previous,
            None => self.ends_mut(parent).last = previous,
        }
    }

    fn ends_mut(&mut self, parent: Option<Node>) -> &mut super::Ends {
        match parent {
            Some(parent) => &mut self.nodes[parent.index()].children,
            None => &mut self.roots,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Node, Numbering, generate};

    /// Inserted nodes reuse the memory of removed ones.
    #[test]
    fn memory_of_removed_nodes_is_reused() {
        let mut numbering = Numbering::new(generate::complete(3, 4).unwrap(), 4);
        let mut before = None;
        for _ in 0..100 {
            let removed = numbering.shape().last_child(Node(0)).unwrap();
            assert_eq!(numbering.remove(removed).unwrap().0.len(), 13);
            let mut added = vec![numbering.insert(Some(Node(0)), None).unwrap().0];
            for parent in 0..4 {
                let parent = Some(added[parent]);
                added.extend((0..3).map(|_| numbering.insert(parent, None).unwrap().0));
            }
            numbering.link(added[4], added[12], None).unwrap();
            numbering.unlink(added[4], added[12]).unwrap();
            let shape = numbering.shape();
            let used = (shape.len(), shape.nodes.len(), shape.edges.len(), shape.free_edges.len());
            assert_eq!(*before.get_or_insert(used), used);
        }
        // One edge more than nodes, for the link.
        assert_eq!(before, Some((40, 40, 41, 1)));
    }
}
