//! A shape, built from its edges.

use super::{Edge, Ends, Links, Shape};
use crate::node::NONE;
use crate::{Node, Refused};

impl Shape {
    /// The nodes 0 up to `nodes`, that one not included, and the edges, each from a parent to a child. The children of a
    /// node are in the order in which their edges are given; the roots are in the order of their numbers.
    ///
    /// # Errors
    /// A node of an edge is not there, an edge is given twice, there is a cycle (also that of a node that is its own child),
    /// or there are more nodes or edges than [`MOST`](Self::MOST).
    ///
    /// ```
    /// use xtasking_hierarchy::{Node, Refused, Shape};
    ///
    /// let shape = Shape::from_edges(4, &[(0, 2), (0, 1), (2, 3)])?;
    /// assert!(shape.children(Node(0)).eq([Node(2), Node(1)]));
    /// assert!(shape.subtree(Node(0)).eq([0, 2, 3, 1].map(Node)));
    ///
    /// let refused = Shape::from_edges(3, &[(0, 1), (1, 2), (2, 1)]).unwrap_err();
    /// assert_eq!(refused, Refused::Cycle(vec![Node(1), Node(2)]));
    /// assert_eq!(refused.to_string(), "a cycle: 1 → 2 → 1");
    /// # Ok::<(), Refused>(())
    /// ```
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Result<Self, Refused> {
        // Each root has an edge as well: there are less than `NONE` together.
        let most = nodes.max(edges.len());
        if most > Self::MOST {
            return Err(Refused::TooMany(most));
        }
        let mut ends = vec![0; nodes + 1];
        for &(parent, child) in edges {
            if let Some(&missing) = [parent, child].iter().find(|&&node| node as usize >= nodes) {
                return Err(Refused::NoNode(Node(missing)));
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
                // Its edges come by parent, so that the last one is from the same parent if any is.
                if others.is_some_and(|edge| edge.parent == parent) {
                    return Err(Refused::Twice { parent: Node(parent), child: Node(child) });
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
        if order.len() == nodes { Ok(shape) } else { Err(Refused::Cycle(shape.cycle(&order))) }
    }

    /// A new edge, the last of its parent.
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

    /// A cycle among the nodes that are not in `order`.
    fn cycle(&self, order: &[Node]) -> Vec<Node> {
        let mut left = vec![true; self.bound()];
        order.iter().for_each(|node| left[node.index()] = false);
        let is_left = |node: &Node| left[node.index()];
        // Each of these has a parent among them: who goes up comes to a node for the second time.
        let mut at = (0..self.bound() as u32).map(Node).find(is_left).expect("a node is not in the order");
        let mut when = vec![NONE; self.bound()];
        let mut way = Vec::new();
        while when[at.index()] == NONE {
            when[at.index()] = way.len() as u32;
            way.push(at);
            at = self.parents(at).find(is_left).expect("what has no parent but in the order is in it");
        }
        let mut cycle = way.split_off(when[at.index()] as usize);
        cycle.reverse();
        let least = (0..cycle.len()).min_by_key(|&index| cycle[index]).expect("a cycle has a node");
        cycle.rotate_left(least);
        cycle
    }
}

/// The children, one parent after another. What was before the first of each parent is then behind its last.
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
    fn what_is_no_hierarchy_is_refused() {
        let refused = |nodes, edges: &[(u32, u32)]| Shape::from_edges(nodes, edges).unwrap_err();
        assert_eq!(refused(2, &[(0, 2)]), Refused::NoNode(Node(2)));
        assert_eq!(refused(2, &[(7, 1)]), Refused::NoNode(Node(7)));
        let twice = Refused::Twice { parent: Node(0), child: Node(1) };
        assert_eq!(refused(3, &[(0, 1), (2, 1), (0, 2), (0, 1)]), twice);
        assert_eq!(refused(2, &[(0, 1), (1, 1)]), Refused::Cycle(vec![Node(1)]));
        // Nodes 4 and 5 hang below the cycle, and node 0 is above it.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (4, 5)];
        assert_eq!(refused(6, &edges), Refused::Cycle([1, 2, 3].map(Node).to_vec()));
        assert_eq!(refused(Shape::MOST + 1, &[]), Refused::TooMany(Shape::MOST + 1));
    }

    #[test]
    fn nothing_is_a_hierarchy() {
        let shape = Shape::from_edges(0, &[]).unwrap();
        assert!(shape.is_empty() && shape.roots().next().is_none() && shape.nodes().next().is_none());
    }

    #[test]
    #[should_panic(expected = "there is no node 3")]
    fn asking_for_a_node_that_is_not_there_panics() {
        _ = Shape::from_edges(3, &[(0, 1)]).unwrap().is_leaf(Node(3));
    }
}
