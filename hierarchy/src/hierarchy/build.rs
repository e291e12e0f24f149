//! The builder of a hierarchy, which lays its nodes out.

use super::layout::{Layout, NOWHERE};
use super::slab::{Limits, Location, Record, Slab};
use super::{Hierarchy, reach::Reach};
use crate::{Node, Shape};
use std::mem::take;
use xtasking::{Control, Runtime};

/// A hierarchy in the making; made by [`Hierarchy::builder`].
#[must_use = "a hierarchy is made by `build`"]
pub struct HierarchyBuilder {
    shape: Shape,
    granules: Option<u32>,
    intervals: usize,
    by: Option<Box<dyn FnMut(Node) -> u32>>,
    control: Control,
}

/// A granule is to have so many nodes, unless there would be too many granules.
const NODES: usize = 64;
/// So many granules at most, unless more are asked for: a task on everything claims each of them.
const MOST_GRANULES: usize = 1024;
/// A granule may grow to so many times the mean, and so many more, until all nodes are laid out anew: so each node that comes
/// pays for a hundred or so that move, at most.
const GROWTH: usize = 16;
const ROOM: usize = 256;

impl HierarchyBuilder {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, granules: None, intervals: 8, by: None, control: Control::Lines }
    }

    /// How many granules there are. The more, the fewer tasks meet that need not; but a task on a large sub-tree claims each of
    /// those that it covers. Without this there is one for every 64 nodes, and 1,024 at most.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub fn granules(mut self, granules: u32) -> Self {
        assert!(granules > 0, "each node is in a granule");
        self.granules = Some(granules);
        self
    }

    /// In how many intervals of granules a node's sub-tree may lie (8 without this). In a tree there is one; where nodes have
    /// several parents, fewer intervals cover more that is not below the node.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub fn intervals(mut self, most: usize) -> Self {
        assert!(most > 0, "no interval covers nothing");
        self.intervals = most;
        self
    }

    /// In which granule each node is, where the caller knows better. Without this they are dealt out in depth-first order.
    /// ([Renumbered](Hierarchy::renumber), they are dealt out so.)
    pub fn granule_by(mut self, by: impl FnMut(Node) -> u32 + 'static) -> Self {
        self.by = Some(Box::new(by));
        self
    }

    /// How tasks are kept apart that must not meet, and where they go: by lines of granules, unless for comparison.
    pub fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// Makes the hierarchy, with a value for each node.
    ///
    /// # Panics
    ///
    /// If [`granule_by`](Self::granule_by) names one that there is not, or if there are 2³¹ nodes or more.
    pub fn build<T: Send + Sync + 'static>(
        self,
        rt: &Runtime,
        mut value: impl FnMut(Node) -> T,
    ) -> Hierarchy<T> {
        let Self { shape, granules, intervals, by, control } = self;
        let count = granules.unwrap_or((shape.len() / NODES).clamp(1, MOST_GRANULES) as u32);
        let layout = match by {
            None => Layout::in_order(&shape, count, intervals),
            Some(mut by) => {
                let mut of = vec![NOWHERE; shape.bound()];
                shape.nodes().for_each(|node| of[node.index()] = by(node));
                Layout::reaching(&shape, of, intervals)
            }
        };
        let limits = limits(shape.len(), count, intervals);
        let mut slabs: Vec<Slab<T>> = (0..count).map(|granule| Slab::new(granule, limits)).collect();
        let directory = xtasking::Directory::default();
        Location::extend(&directory, shape.bound() as u32).expect("there are fewer nodes");
        let Layout { granules, mut reaches } = layout;
        // In depth-first order, so that neighbours lie side by side.
        let mut put = |node: Node, reach: Reach| {
            let record = Record {
                node,
                value: value(node),
                parents: shape.parents(node).collect(),
                children: shape.children(node).collect(),
                reach,
            };
            let granule = granules[node.index()] as usize;
            assert!(granule < slabs.len(), "there is no granule {granule}");
            slabs[granule].put(&directory, record);
        };
        shape.nodes().for_each(|node| put(node, take(&mut reaches[node.index()])));
        Hierarchy { granules: rt.granules_with(control, directory, slabs) }
    }
}

pub(super) fn limits(nodes: usize, granules: u32, intervals: usize) -> Limits {
    Limits { intervals, nodes: GROWTH * nodes / granules as usize + ROOM }
}
