//! A new layout, when granules have grown too full.

use super::build::limits;
use super::layout::Layout;
use super::slab::{Record, Slab};
use super::{Hierarchy, View};
use crate::Shape;
use xtasking::{Context, Handle, Held, Runtime};

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Lays all nodes out anew, in depth-first order: granules are equally full then, and no node reaches farther than need be.
    /// Nodes keep their numbers. It is a task that writes everything, and takes about a microsecond for a node.
    ///
    /// A hierarchy that grows does so by itself, when a granule has grown to many times the mean.
    pub fn renumber(&self, rt: &Runtime) -> Handle<()> {
        rt.task(()).claim(self.write_all()).submit_with(|(), held, _| renumber(held))
    }
}

/// Spawns a task that lays all nodes out anew, unless another one has done so when it runs.
pub(super) fn ask<T: Send + Sync + 'static>(held: &Held<'_, Slab<T>>, cx: &mut Context) {
    let all = held.write(0..held.count());
    cx.task(()).claim(all).spawn_with(|(), held, _| {
        if held.granules().any(|(granule, _)| held.get(granule).is_too_full()) {
            renumber(held);
        }
    });
}

fn renumber<T: Send + Sync + 'static>(held: Held<'_, Slab<T>>) {
    let mut view = View::new(held);
    let granules = view.held.count();
    let (mut bound, mut count) = (0, 0);
    let mut edges = Vec::new();
    let mut roots = Vec::new();
    for (node, _) in view.all() {
        (bound, count) = (bound.max(node.0 + 1), count + 1);
        edges.extend(view.children(node).iter().map(|child| (node.0, child.0)));
        if view.parents(node).is_empty() {
            roots.push(node);
        }
    }
    // Numbers that no node has are roots of this shape without anything below, which are left out again.
    let shape = Shape::from_edges(bound as usize, &edges).expect("links make no cycles");
    let intervals = view.held.get(0).limits.intervals;
    let layout = Layout::of_roots(&shape, roots.into_iter(), count, granules, intervals);
    let mut records: Vec<Option<Record<T>>> = (0..bound).map(|_| None).collect();
    let limits = limits(count, granules, intervals);
    for granule in 0..granules {
        let slab = view.held.get_mut(granule);
        slab.limits = limits;
        slab.take_all().into_iter().for_each(|record| {
            let at = record.node.index();
            records[at] = Some(record);
        });
    }
    let directory = view.held.directory();
    let Layout { granules, reaches } = layout;
    for ((record, granule), reach) in records.into_iter().zip(granules).zip(reaches) {
        if let Some(record) = record {
            view.held.get_mut(granule).put(directory, Record { reach, ..record });
        }
    }
}
