//! Laying all nodes out anew, when granules have grown too full.

use super::build::limits;
use super::layout::Layout;
use super::slab::{Record, Slab};
use super::{Hierarchy, View};
use crate::Shape;
use xtasking::{Context, Handle, Held, Runtime};

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Lays all nodes out anew, in depth-first order. Afterwards granules are equally full, and
    /// every reach is minimal. Nodes keep their numbers. One task writes all granules; it takes
    /// about a microsecond per node.
    ///
    /// A growing hierarchy renumbers itself when a granule has grown to many times the mean size.
    pub fn renumber(&self, rt: &Runtime) -> Handle<()> {
        rt.task(()).claim(self.write_all()).submit_with(|(), held, _| renumber(held))
    }
}

/// Spawns a task that lays all nodes out anew, unless another task has done so by then.
pub(super) fn request<T: Send + Sync + 'static>(held: &Held<'_, Slab<T>>, cx: &mut Context) {
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
    // Unused numbers become roots without descendants in this shape; `from_roots` leaves them out.
    let shape = Shape::from_edges(bound as usize, &edges).expect("a hierarchy has no cycles");
    let max_intervals = view.held.get(0).limits.max_intervals;
    let layout = Layout::from_roots(&shape, roots.into_iter(), count, granules, max_intervals);
    let mut records: Vec<Option<Record<T>>> = (0..bound).map(|_| None).collect();
    let limits = limits(count, granules, max_intervals);
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
