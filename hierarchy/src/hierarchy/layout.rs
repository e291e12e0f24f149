//! Assigns nodes to granules, and computes the reach of each sub-tree.

use super::reach::{Intervals, Reach, merge_intervals};
use crate::{Node, Shape};
use std::ops::Range;

/// The granule and the reach of each node, indexed by node number.
pub(super) struct Layout {
    pub granules: Vec<u32>,
    pub reaches: Vec<Reach>,
}

/// The granule of a number that no node has.
pub(super) const NO_GRANULE: u32 = u32::MAX;

impl Layout {
    /// Assigns nodes to granules in depth-first order, equally many to each. In a tree, each
    /// sub-tree then occupies one interval, and unrelated sub-trees share a granule only at their
    /// ends.
    pub fn in_order(shape: &Shape, granules: u32, max_intervals: usize) -> Self {
        Self::from_roots(shape, shape.roots(), shape.len(), granules, max_intervals)
    }

    /// Like [`in_order`](Self::in_order), for the sub-trees of `roots`. These must have `nodes`
    /// nodes together, and include all nodes that exist.
    pub fn from_roots(
        shape: &Shape,
        roots: impl Iterator<Item = Node>,
        nodes: usize,
        granules: u32,
        max_intervals: usize,
    ) -> Self {
        let mut of = vec![NO_GRANULE; shape.bound()];
        let (nodes, mut number) = (nodes as u64, 0u64);
        let mut next = |of: &mut Vec<u32>, node: Node| {
            of[node.index()] = (number * u64::from(granules) / nodes) as u32;
            number += 1;
        };
        let mut above: Vec<_> = roots.collect();
        above.reverse();
        let mut children = Vec::new();
        while let Some(node) = above.pop() {
            if of[node.index()] == NO_GRANULE {
                next(&mut of, node);
                children.extend(shape.children(node).filter(|child| of[child.index()] == NO_GRANULE));
                above.extend(children.drain(..).rev());
            }
        }
        Self::with_granules(shape, of, max_intervals)
    }

    /// Computes the reaches for granules that the caller has assigned.
    pub fn with_granules(shape: &Shape, granules: Vec<u32>, max_intervals: usize) -> Self {
        let mut reaches = vec![Reach::OWN; shape.bound()];
        let mut parts: Vec<Range<u32>> = Vec::new();
        let nodes = shape.topological().into_iter().rev();
        for node in nodes.filter(|node| granules[node.index()] != NO_GRANULE) {
            let own = granules[node.index()];
            parts.clear();
            parts.push(own..own + 1);
            for child in shape.children(node) {
                let below: Intervals = reaches[child.index()].intervals(granules[child.index()]);
                // Most children lie in the granule of the one before.
                parts.extend(
                    below.into_iter().filter(|part| parts.last() != Some(part)).collect::<Intervals>(),
                );
            }
            merge_intervals(&mut parts, max_intervals);
            reaches[node.index()] = Reach::new(own, &parts);
        }
        Self { granules, reaches }
    }
}
