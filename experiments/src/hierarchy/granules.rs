//! Counters on a hierarchy of granules.

use super::turn::{Counters, Visit};
use std::hint::black_box;
use xtasking::{Group, Handle, Held, Runtime};
use xtasking_hierarchy::{Hierarchy, Node, NodeClaim, Slab, View};

impl Counters for Hierarchy<u32> {
    fn spawn(&self, rt: &Runtime, group: &Group, visit: Visit) {
        let task = rt.task(()).of(group).claim(claim_of(self, &visit));
        task.spawn_with(move |(), held, cx| visit.run(cx, |visit| walk(visit, held)));
    }

    fn submit(&self, rt: &Runtime, visit: Visit) -> Handle<()> {
        let task = rt.task(()).claim(claim_of(self, &visit));
        task.submit_with(move |(), held, cx| visit.run(cx, |visit| walk(visit, held)))
    }

    fn counts(&self, rt: &Runtime, bound: usize) -> Vec<u32> {
        let counts = rt.task(()).claim(self.read_all()).submit_with(move |(), held, _| {
            let mut counts = vec![0; bound];
            View::new(held).all().for_each(|(node, count)| counts[node.index()] = *count);
            counts
        });
        counts.join().expect("counting tasks do not fail")
    }

    fn note(&self) -> Option<String> {
        self.granules().toggle_counts().map(|counts| counts.to_string())
    }
}

fn claim_of<'g>(hierarchy: &'g Hierarchy<u32>, visit: &Visit) -> NodeClaim<'g, u32> {
    claim(hierarchy, &visit.nodes, visit.writes).expect("a task names at least one node")
}

/// Returns a claim on the sub-trees of `nodes`; `None` if `nodes` is empty.
pub(super) fn claim<'g, T: Send + Sync>(
    tree: &'g Hierarchy<T>,
    nodes: &[Node],
    writes: bool,
) -> Option<NodeClaim<'g, T>> {
    let of = |&node| if writes { tree.node(node).write() } else { tree.node(node).read() };
    // Unordered, as the compared implementations keep no order either.
    nodes.iter().map(of).reduce(|all, next| all.and(next)).map(NodeClaim::unordered)
}

/// Counts in the sub-trees of a task, or sums up counts. Returns the number of visited nodes.
fn walk(visit: &Visit, held: Held<'_, Slab<u32>>) -> u64 {
    let (mut view, mut visited) = (View::new(held), 0);
    for &node in &visit.nodes {
        if visit.writes {
            view.for_each_in_subtree(node, |count| {
                *count += 1;
                visited += 1;
            });
        } else {
            let mut sum = 0u64;
            for below in view.subtree(node) {
                sum += u64::from(view[below]);
                visited += 1;
            }
            black_box(sum);
        }
    }
    visited
}
