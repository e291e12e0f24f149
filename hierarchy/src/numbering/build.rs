//! The first numbering of a shape.

use super::{Hull, Numbering};
use crate::leaf_list::LeafList;
use crate::node::NONE;
use crate::{Node, Shape};

/// A hull while leaves are counted: the numbers of its first and last leaf.
#[derive(Clone, Copy)]
struct LeafSpan {
    first: u32,
    last: u32,
}

impl Numbering {
    /// Numbers a shape. Leaves get evenly spaced labels in depth-first order, and are divided into
    /// granules whose sizes differ by at most one leaf.
    ///
    /// # Panics
    /// Panics if `granules` is 0.
    pub fn new(shape: Shape, granules: u32) -> Self {
        assert!(granules > 0, "`granules` must be at least 1");
        let mut spans = vec![LeafSpan { first: NONE, last: 0 }; shape.bound()];
        let mut leaves = Vec::new();
        // The edges on the path to the current node, and the next edge.
        let mut path = Vec::new();
        let mut next = shape.first_edge(None);
        loop {
            // The next edge whose child is done, with all its descendants.
            let edge = match shape.edge(next) {
                None => match path.pop() {
                    Some(edge) => edge,
                    None => break,
                },
                Some(edge) => {
                    let node = edge.child();
                    let first = shape.first_edge(Some(node));
                    let span = &mut spans[node.index()];
                    if first == NONE && span.first == NONE {
                        let number = leaves.len() as u32;
                        *span = LeafSpan { first: number, last: number };
                        leaves.push(node);
                    }
                    // A node that has a hull is done: it is not on the current path, as there are
                    // no cycles.
                    if span.first == NONE {
                        path.push(*edge);
                        next = first;
                        continue;
                    }
                    *edge
                }
            };
            if let Some(parent) = edge.parent() {
                let below = spans[edge.child().index()];
                let span = &mut spans[parent.index()];
                *span = LeafSpan { first: span.first.min(below.first), last: span.last.max(below.last) };
            }
            next = edge.next();
        }
        let mut numbering = Self {
            leaves: LeafList::new(&leaves, granules),
            hulls: Vec::with_capacity(spans.len()),
            granules,
            shape,
        };
        for (node, span) in (0..).map(Node).zip(spans) {
            let hull = Hull { first: LeafList::nth(span.first), last: LeafList::nth(span.last) };
            numbering.hulls.push(hull);
            if numbering.shape.contains(node) {
                numbering.leaves.hold(hull.first);
                numbering.leaves.hold(hull.last);
            }
        }
        numbering
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn leaves_are_numbered_in_depth_first_order() {
        let shape = Shape::from_edges(8, &[(5, 1), (5, 0), (1, 7), (1, 2), (0, 3), (4, 6)]).unwrap();
        let numbering = Numbering::new(shape, 5);
        assert!(numbering.leaves().eq([6, 7, 2, 3].map(Node)));
        assert_eq!(numbering.leaf_count(), 4);
        let label = |leaf| numbering.hull(Node(leaf)).low;
        assert_eq!(numbering.hull(Node(5)), crate::Interval { low: label(7), high: label(3) });
        assert_eq!(numbering.hull(Node(1)), crate::Interval { low: label(7), high: label(2) });
    }

    #[test]
    fn a_shared_node_widens_all_its_parents() {
        // Leaf 5 is under 1 and 3, and leaf 4 under 2.
        let shape = Shape::from_edges(6, &[(0, 1), (0, 2), (0, 3), (1, 5), (2, 4), (3, 5)]).unwrap();
        let numbering = Numbering::new(shape, 1);
        let hull = |node| numbering.hull(Node(node));
        assert!(hull(1).overlaps(hull(3)) && !hull(1).overlaps(hull(2)));
        assert!([1, 2, 3].iter().all(|&node| hull(0).covers(hull(node))));
    }

    #[test]
    fn an_empty_shape_and_a_deep_path_can_be_numbered() {
        assert_eq!(Numbering::new(Shape::default(), 8).leaf_count(), 0);
        let numbering = Numbering::new(generate::path(1_000_000), 8);
        assert!(numbering.leaves().eq([Node(999_999)]));
        assert_eq!(numbering.hull(Node(0)), numbering.hull(Node(999_999)));
    }
}
