//! The builder of a hierarchy, which assigns nodes to granules.

use super::layout::{Layout, NO_GRANULE};
use super::slab::{Limits, Location, Record, Slab};
use super::{Hierarchy, reach::Reach};
use crate::{Node, Shape};
use std::mem::take;
use xtasking::Runtime;
#[cfg(feature = "baselines")]
use xtasking::claims::Control;

/// Builds a hierarchy; made by [`Hierarchy::builder`].
#[must_use = "call `build` to create the hierarchy"]
pub struct HierarchyBuilder {
    shape: Shape,
    granules: Option<u32>,
    max_intervals: usize,
    assign: Option<Box<dyn FnMut(Node) -> u32>>,
    #[cfg(feature = "baselines")]
    control: Control,
}

/// Nodes per granule, unless that makes too many granules.
const NODES_PER_GRANULE: usize = 64;
/// Default limit of the number of granules: a task on everything claims each of them.
const MAX_GRANULES: usize = 1024;
/// A granule may grow to `GROWTH_FACTOR` times the mean size plus `GROWTH_SLACK` nodes before all
/// nodes are laid out anew. So each inserted node pays for moving a hundred others at most.
const GROWTH_FACTOR: usize = 16;
const GROWTH_SLACK: usize = 256;

impl HierarchyBuilder {
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            shape,
            granules: None,
            max_intervals: 8,
            assign: None,
            #[cfg(feature = "baselines")]
            control: Control::Fifo,
        }
    }

    /// Sets the number of granules. With more granules fewer tasks conflict without need, but a
    /// task on a large sub-tree claims more of them. The default is one for every 64 nodes, at most
    /// 1,024.
    ///
    /// # Panics
    ///
    /// Panics if `granules` is 0.
    pub fn granules(mut self, granules: u32) -> Self {
        assert!(granules > 0, "`granules` must be at least 1");
        self.granules = Some(granules);
        self
    }

    /// Sets the maximum number of intervals of a node's reach; the default is 8. In a tree one is
    /// enough. Where nodes have several parents, fewer intervals cover more granules outside of the
    /// sub-tree.
    ///
    /// # Panics
    ///
    /// Panics if `max_intervals` is 0.
    pub fn max_intervals(mut self, max_intervals: usize) -> Self {
        assert!(max_intervals > 0, "`max_intervals` must be at least 1");
        self.max_intervals = max_intervals;
        self
    }

    /// Assigns each node to a granule. By default nodes are assigned in depth-first order;
    /// [renumbering](Hierarchy::renumber) returns to that order.
    pub fn granule_by(mut self, assign: impl FnMut(Node) -> u32 + 'static) -> Self {
        self.assign = Some(Box::new(assign));
        self
    }

    /// Sets how conflicting tasks are ordered, and where tasks run. The default is FIFO queues of
    /// granules; the others are baselines.
    #[cfg(feature = "baselines")]
    pub fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// Builds the hierarchy; `value` returns the data of each node.
    ///
    /// # Panics
    ///
    /// Panics if [`granule_by`](Self::granule_by) returns a granule that does not exist, or if
    /// there are 2³¹ nodes or more.
    pub fn build<T: Send + Sync + 'static>(
        self,
        rt: &Runtime,
        mut value: impl FnMut(Node) -> T,
    ) -> Hierarchy<T> {
        #[cfg(feature = "baselines")]
        let control = self.control;
        let Self { shape, granules, max_intervals, assign, .. } = self;
        let count = granules.unwrap_or((shape.len() / NODES_PER_GRANULE).clamp(1, MAX_GRANULES) as u32);
        let layout = match assign {
            None => Layout::in_order(&shape, count, max_intervals),
            Some(mut assign) => {
                let mut of = vec![NO_GRANULE; shape.bound()];
                shape.nodes().for_each(|node| of[node.index()] = assign(node));
                Layout::with_granules(&shape, of, max_intervals)
            }
        };
        let limits = limits(shape.len(), count, max_intervals);
        let mut slabs: Vec<Slab<T>> = (0..count).map(|granule| Slab::new(granule, limits)).collect();
        let directory = xtasking::claims::Directory::default();
        Location::extend(&directory, shape.bound() as u32).expect("the shape has fewer than 2³¹ nodes");
        let Layout { granules, mut reaches } = layout;
        // In depth-first order, so that neighbours are adjacent in memory.
        let mut add = |node: Node, reach: Reach| {
            let record = Record {
                node,
                value: value(node),
                parents: shape.parents(node).collect(),
                children: shape.children(node).collect(),
                reach,
            };
            let granule = granules[node.index()] as usize;
            assert!(granule < slabs.len(), "granule {granule} does not exist: there are {}", slabs.len());
            slabs[granule].put(&directory, record);
        };
        shape.nodes().for_each(|node| add(node, take(&mut reaches[node.index()])));
        #[cfg(feature = "baselines")]
        let granules = rt.granules_with_control(control, directory, slabs);
        #[cfg(not(feature = "baselines"))]
        let granules = rt.granules_with(directory, slabs);
        Hierarchy { granules }
    }
}

pub(super) fn limits(nodes: usize, granules: u32, max_intervals: usize) -> Limits {
    Limits { max_intervals, max_nodes: GROWTH_FACTOR * nodes / granules as usize + GROWTH_SLACK }
}
