//! Building a shape from its edges.

use super::{Edge, Ends, Links, Shape};
use crate::node::NONE;
use crate::{Node, ShapeError};

impl Shape {
    /// Creates a shape of the nodes 0 to `nodes` − 1 and the given edges, each from a parent to a
    /// child. Children are in the order of their edges, roots in the order of their numbers.
    ///
    /// # Errors
    /// [`ShapeError::NoSuchNode`] if an edge has another node, [`ShapeError::AlreadyChild`] if an
    /// edge is given twice, [`ShapeError::Cycle`] if there is a cycle (also of a single node),
    /// [`ShapeError::TooMany`] if there are more than [`MAX_SIZE`](Self::MAX_SIZE) nodes or edges.
    ///
    /// ```
    /// use xtasking_hierarchy::{Node, ShapeError, Shape};
    ///
    /// let shape = Shape::from_edges(4, &[(0, 2), (0, 1), (2, 3)])?;
    /// assert!(shape.children(Node(0)).eq([Node(2), Node(1)]));
    /// assert!(shape.subtree(Node(0)).eq([0, 2, 3, 1].map(Node)));
    ///
    /// let error = Shape::from_edges(3, &[(0, 1), (1, 2), (2, 1)]).unwrap_err();
    /// assert_eq!(error, ShapeError::Cycle(vec![Node(1), Node(2)]));
    /// assert_eq!(error.to_string(), "the edges form a cycle: 1 → 2 → 1");
    /// # Ok::<(), ShapeError>(())
    /// ```
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self, ShapeError> {
        // Each root has an edge as well: together they are fewer than `NONE`.
        let largest = nodes.max(edges.len());
        if largest > Self::MAX_SIZE {
            return Err(ShapeError::TooMany(largest));
        }
        let mut ends = vec![0; nodes + 1];
        for &(parent, child) in edges {
            if let Some(&missing) = [parent, child].iter().find(|&&node| node as usize >= nodes) {
                return Err(ShapeError::NoSuchNode(Node(missing)));
            }
            ends[parent as usize + 1] += 1;
        }
        for parent in 0..nodes {
            ends[parent + 1] += ends[parent];
        }
        let children = by_parent(edges, &mut ends);
        let links = Links { children: Ends::default(), parents: NONE };
        let mut shape =
            Self { nodes: vec![links; nodes], edges: Vec::with_capacity(edges.len()), ..Self::default() };
        let mut first = 0;
        for (parent, &end) in (0..).zip(&ends[..nodes]) {
            for &child in &children[first..end as usize] {
                let others = shape.edge(shape.nodes[child as usize].parents);
                // Edges are added parent by parent: an earlier edge from the same parent is the
                // last one of the child.
                if others.is_some_and(|edge| edge.parent == parent) {
                    return Err(ShapeError::AlreadyChild { parent: Node(parent), child: Node(child) });
                }
                shape.push(parent, child);
            }
            first = end as usize;
        }
        for root in (0..nodes as u32).map(Node) {
            if shape.nodes[root.index()].parents == NONE {
                shape.push(NONE, root.0);
            }
        }
        let order = shape.topological();
        if order.len() == nodes { Ok(shape) } else { Err(ShapeError::Cycle(shape.cycle(&order))) }
    }

    /// Adds an edge as the last one of its parent.
    pub(super) fn push(&mut self, parent: u32, child: u32) {
        let new = self.edges.len() as u32;
        let ends = match parent {
            NONE => &mut self.roots,
            parent => &mut self.nodes[parent as usize].children,
        };
        let previous = std::mem::replace(&mut ends.last, new);
        match self.edges.get_mut(previous as usize) {
            Some(previous) => previous.next = new,
            None => ends.first = new,
        }
        let other = std::mem::replace(&mut self.nodes[child as usize].parents, new);
        self.edges.push(Edge { parent, child, next: NONE, previous, other });
    }

    /// Finds a cycle among the nodes that are not in `order`.
    fn cycle(&self, order: &[Node]) -> Vec<Node> {
        let mut left = vec![true; self.bound()];
        order.iter().for_each(|node| left[node.index()] = false);
        let is_left = |node: &Node| left[node.index()];
        // Each of these nodes has a parent among them, so going upwards visits one for the second
        // time.
        let mut at =
            (0..self.bound() as u32).map(Node).find(is_left).expect("a node is missing from the order");
        let mut when = vec![NONE; self.bound()];
        let mut path = Vec::new();
        while when[at.index()] == NONE {
            when[at.index()] = path.len() as u32;
            path.push(at);
            at = self.parents(at).find(is_left).expect("a node whose parents are all in the order is in it");
        }
        let mut cycle = path.split_off(when[at.index()] as usize);
        cycle.reverse();
        let least = (0..cycle.len()).min_by_key(|&index| cycle[index]).expect("a cycle has a node");
        cycle.rotate_left(least);
        cycle
    }
}

/// Returns the children, parent by parent. Before, `ends[p]` is the index of the first child of
/// `p`; afterwards it is the index behind the last.
fn by_parent(edges: &[(u32, u32)], ends: &mut [u32]) -> Vec<u32> {
    let mut children = vec![0; edges.len()];
    for &(parent, child) in edges {
        let end = &mut ends[parent as usize];
        children[*end as usize] = child;
        *end += 1;
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_roots_are_in_order() {
        let shape = Shape::from_edges(6, &[(4, 5), (1, 3), (4, 0), (1, 5), (4, 2)]).unwrap();
        assert!(shape.children(Node(4)).eq([5, 0, 2].map(Node)));
        assert!(shape.children(Node(1)).eq([3, 5].map(Node)));
        assert!(shape.roots().eq([1, 4].map(Node)));
        let mut parents: Vec<_> = shape.parents(Node(5)).collect();
        parents.sort();
        assert_eq!(parents, [1, 4].map(Node));
        assert!(shape.is_shared(Node(5)) && !shape.is_shared(Node(0)) && shape.is_root(Node(4)));
        assert!(shape.is_leaf(Node(5)) && !shape.is_leaf(Node(1)));
        assert_eq!((shape.first_child(Node(4)), shape.last_child(Node(4))), (Some(Node(5)), Some(Node(2))));
    }

    #[test]
    fn invalid_edges_are_rejected() {
        let refused = |nodes, edges: &[(u32, u32)]| Shape::from_edges(nodes, edges).unwrap_err();
        assert_eq!(refused(2, &[(0, 2)]), ShapeError::NoSuchNode(Node(2)));
        assert_eq!(refused(2, &[(7, 1)]), ShapeError::NoSuchNode(Node(7)));
        let twice = ShapeError::AlreadyChild { parent: Node(0), child: Node(1) };
        assert_eq!(refused(3, &[(0, 1), (2, 1), (0, 2), (0, 1)]), twice);
        assert_eq!(refused(2, &[(0, 1), (1, 1)]), ShapeError::Cycle(vec![Node(1)]));
        // Nodes 4 and 5 are below the cycle, node 0 is above it.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 5)];
        assert_eq!(refused(6, &edges), ShapeError::Cycle([1, 2, 3].map(Node).to_vec()));
        assert_eq!(refused(Shape::MAX_SIZE + 1, &[]), ShapeError::TooMany(Shape::MAX_SIZE + 1));
    }

    #[test]
    fn an_empty_shape_is_valid() {
        let shape = Shape::from_edges(0, &[]).unwrap();
        assert!(shape.is_empty() && shape.roots().next().is_none() && shape.nodes().next().is_none());
    }

    #[test]
    #[should_panic(expected = "node 3 does not exist")]
    fn methods_panic_for_a_missing_node() {
        _ = Shape::from_edges(3, &[(0, 1)]).unwrap().is_leaf(Node(3));
    }
}
