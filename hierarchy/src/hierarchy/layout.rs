//! Which node comes into which granule, and where sub-trees lie then.

use super::reach::{Intervals, Reach, joined};
use crate::{Node, Shape};
use std::ops::Range;

/// A granule for each node, by number, and where its sub-tree lies.
pub(super) struct Layout {
    pub granules: Vec<u32>,
    pub reaches: Vec<Reach>,
}

/// Of a number that no node has.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Layout {
    /// Nodes in depth-first order, as many in each granule: a sub-tree of a tree lies in one interval, which no other one
    /// meets but at its ends.
    pub fn in_order(shape: &Shape, granules: u32, most: usize) -> Self {
        Self::of_roots(shape, shape.roots(), shape.len(), granules, most)
    }

    /// The same of those below these roots, which are so many nodes. (They are all there are.)
    pub fn of_roots(
        shape: &Shape,
        roots: impl Iterator<Item = Node>,
        nodes: usize,
        granules: u32,
        most: usize,
    ) -> Self {
        let mut of = vec![NOWHERE; shape.bound()];
        let (nodes, mut number) = (nodes as u64, 0u64);
        let mut next = |of: &mut Vec<u32>, node: Node| {
            of[node.index()] = (number * u64::from(granules) / nodes) as u32;
            number += 1;
        };
        let mut above: Vec<_> = roots.collect();
        above.reverse();
        let mut children = Vec::new();
        while let Some(node) = above.pop() {
            if of[node.index()] == NOWHERE {
                next(&mut of, node);
                children.extend(shape.children(node).filter(|child| of[child.index()] == NOWHERE));
                above.extend(children.drain(..).rev());
            }
        }
        Self::reaching(shape, of, most)
    }

    /// With granules as they are given.
    pub fn reaching(shape: &Shape, granules: Vec<u32>, most: usize) -> Self {
        let mut reaches = vec![Reach::OWN; shape.bound()];
        let mut parts: Vec<Range<u32>> = Vec::new();
        let nodes = shape.topological().into_iter().rev();
        for node in nodes.filter(|node| granules[node.index()] != NOWHERE) {
            let own = granules[node.index()];
            parts.clear();
            parts.push(own..own + 1);
            for child in shape.children(node) {
                let below: Intervals = reaches[child.index()].intervals(granules[child.index()]);
                // Most are where the one before them is.
                parts.extend(
                    below.into_iter().filter(|part| parts.last() != Some(part)).collect::<Intervals>(),
                );
            }
            joined(&mut parts, most);
            reaches[node.index()] = Reach::new(own, &parts);
        }
        Self { granules, reaches }
    }
}
