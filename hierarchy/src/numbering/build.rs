//! The first numbering of a shape.

use super::{Hull, Numbering};
use crate::line::Line;
use crate::node::NONE;
use crate::{Node, Shape};

/// A hull while places are numbered in their order.
#[derive(Clone, Copy)]
struct Reach {
    first: u32,
    last: u32,
}

impl Numbering {
    /// Gives labels to the leaves in depth-first order, evenly spread, and divides them into that many granules, each with
    /// as many leaves as any other, or one more or less.
    ///
    /// # Panics
    /// If there are to be no granules.
    pub fn new(shape: Shape, granules: u32) -> Self {
        assert!(granules > 0, "a leaf is of some granule");
        let mut reaches = vec![Reach { first: NONE, last: 0 }; shape.bound()];
        let mut leaves = Vec::new();
        // The edges on the way to where the walk is, and the next one.
        let mut above = Vec::new();
        let mut next = shape.first_edge(None);
        loop {
            // The next edge whose child is done, with all below it.
            let edge = match shape.edge(next) {
                None => match above.pop() {
                    Some(edge) => edge,
                    None => break,
                },
                Some(edge) => {
                    let node = edge.child();
                    let first = shape.first_edge(Some(node));
                    let reach = &mut reaches[node.index()];
                    if first == NONE && reach.first == NONE {
                        let place = leaves.len() as u32;
                        *reach = Reach { first: place, last: place };
                        leaves.push(node);
                    }
                    // A node that has a hull is not on the way here, as there is no cycle: so it is done.
                    if reach.first == NONE {
                        above.push(*edge);
                        next = first;
                        continue;
                    }
                    *edge
                }
            };
            if let Some(parent) = edge.parent() {
                let below = reaches[edge.child().index()];
                let reach = &mut reaches[parent.index()];
                *reach = Reach { first: reach.first.min(below.first), last: reach.last.max(below.last) };
            }
            next = edge.next();
        }
        let mut numbering = Self {
            line: Line::new(&leaves, granules),
            hulls: Vec::with_capacity(reaches.len()),
            granules,
            shape,
        };
        for (node, reach) in (0..).map(Node).zip(reaches) {
            let hull = Hull { first: Line::nth(reach.first), last: Line::nth(reach.last) };
            numbering.hulls.push(hull);
            if numbering.shape.contains(node) {
                numbering.line.hold(hull.first);
                numbering.line.hold(hull.last);
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
    fn nothing_and_a_deep_path_can_be_numbered() {
        assert_eq!(Numbering::new(Shape::default(), 8).leaf_count(), 0);
        let numbering = Numbering::new(generate::path(1_000_000), 8);
        assert!(numbering.leaves().eq([Node(999_999)]));
        assert_eq!(numbering.hull(Node(0)), numbering.hull(Node(999_999)));
    }
}
