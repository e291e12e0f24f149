//! Tasks on sub-trees, kept apart by granules of a numbering: writers have exclusive access,
//! readers share it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use xtasking::{Claim, Granules, Runtime};
use xtasking_hierarchy::{Node, Numbering, Shape, generate};
use xtasking_testing::{Setting, on_each};

/// For each node the number of its readers, or −1 while it has a writer.
struct Watched {
    shape: Shape,
    nodes: Vec<AtomicI32>,
}

impl Watched {
    fn visit(&self, root: Node, write: bool) {
        let at = |node: Node| &self.nodes[node.0 as usize];
        for node in self.shape.subtree(root) {
            if write {
                assert_eq!(at(node).fetch_sub(1, Relaxed), 0, "a writer has exclusive access");
            } else {
                assert!(at(node).fetch_add(1, Relaxed) >= 0, "no writer is active");
            }
        }
        for node in self.shape.subtree(root) {
            at(node).fetch_add(if write { 1 } else { -1 }, Relaxed);
        }
    }
}

fn claim<'g>(granules: &'g Granules, numbering: &Numbering, nodes: &[Node], write: bool) -> Claim<'g> {
    let ranges = numbering.granule_intervals(nodes, 3).into_iter().map(|of| of.low..of.high + 1);
    ranges.fold(
        granules.read(0..0),
        |claim, range| if write { claim.and_write(range) } else { claim.and_read(range) },
    )
}

#[test]
fn conflicting_sub_trees_never_run_in_parallel() {
    let settings = Setting::threads().chain(Setting::simulations(&[1, 2]));
    on_each(settings, |setting| {
        let rt: Runtime = setting.build();
        for shape in
            [generate::random_tree(300, setting.seed()), generate::random_dag(300, 3, setting.seed())]
        {
            let numbering = Numbering::new(shape.clone(), 16);
            let granules = rt.granules(numbering.granule_count());
            let nodes = (0..300).map(|_| AtomicI32::new(0)).collect();
            let watched = Arc::new(Watched { shape, nodes });
            let group = rt.group();
            for number in 0..400u32 {
                let pair = [number * 7919 % 300, number * 104_729 % 300].map(Node);
                let write = number.is_multiple_of(3);
                let watched = watched.clone();
                let claim = claim(&granules, &numbering, &pair, write);
                rt.task(()).of(&group).claim(claim).spawn(move |(), _| {
                    pair.into_iter().for_each(|node| watched.visit(node, write));
                });
            }
            group.wait().expect("conflicting tasks never overlap");
        }
    });
}
