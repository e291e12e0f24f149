//! The crate `xtasking-hierarchy`: each insert is a task that writes the parent.

use super::super::contender::{Contender, Entry};
use super::super::encounter::Encounter;
use super::super::growth::{Growth, Inserter};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::{Context, JoinError, QueuePolicy, Runtime};
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::page;
use xtasking_hierarchy::{Hierarchy, Node, Shape, View};

pub(super) const ENTRY: Entry = Entry {
    name: "xtasking",
    about: "xtasking-hierarchy, a task for each insert, which claims to write the parent",
    is_parallel: true,
    start: |workers| Ok(Box::new(Growing::new(workers)?)),
    more: (),
};

/// Inserts in flight for each worker.
const CLIENTS: usize = 4;

/// The tree is dropped before its runtime. A node's data is its number.
struct Growing {
    nodes: Hierarchy<u32>,
    rt: Runtime,
}

fn failed(error: JoinError) -> Wrong {
    Wrong::new(format!("a task failed: {error}"))
}

/// Inserts the next node of a client, and continues.
fn insert(nodes: Arc<(Hierarchy<u32>, Arc<Growth>)>, mut inserter: Inserter, cx: &mut Context) {
    let Some((number, parent)) = nodes.1.next(&mut inserter) else { return };
    let above = Node(nodes.1.handle(parent) as u32);
    let (theirs, claim) = (nodes.clone(), nodes.0.node(above).alone().write().unordered());
    cx.task(()).as_sibling().claim(claim).spawn_with(move |(), held, cx| {
        let inserted = View::new(held).insert(above, number, cx);
        let node = inserted.expect("there are numbers for all nodes");
        theirs.1.inserted((number, parent), node.0.into());
        insert(theirs, inserter, cx);
    });
}

impl Growing {
    fn new(workers: usize) -> Result<Self, Failure> {
        let builder = Runtime::builder().workers(workers).pool(QueuePolicy::WorkStealing);
        let rt = page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))?;
        Ok(Self { nodes: root(&rt), rt })
    }

    /// Returns true if tasks on two sub-trees exclude each other.
    fn exclude(&self, one: Node, other: Node) -> Result<bool, Wrong> {
        let encounter = Arc::new(Encounter::default());
        let (holding, passing) = (encounter.clone(), encounter.clone());
        let write = |node| self.nodes.node(node).write().unordered();
        let task = self.rt.task(()).core(0).claim(write(one));
        let first = task.submit_with(move |(), _, _| holding.hold());
        encounter.wait_until_held();
        let task = self.rt.task(()).core(1).claim(write(other));
        let second = task.submit_with(move |(), _, _| passing.pass());
        // This worker has come to the second task before.
        let had_chance = self.rt.task(()).core(1).submit(|(), _| ()).join();
        let is_excluded = encounter.release();
        had_chance.and(first.join()).and(second.join()).map_err(failed)?;
        Ok(is_excluded)
    }
}

/// Builds a tree that consists of its root.
fn root(rt: &Runtime) -> Hierarchy<u32> {
    let shape = Shape::from_edges(1, &[]).expect("one node has no cycle");
    Hierarchy::builder(shape).build(rt, |_| 0)
}

impl Contender for Growing {
    fn grow(&mut self, growth: &Arc<Growth>) -> Result<Duration, Wrong> {
        self.nodes = root(&self.rt);
        growth.begin(0);
        let (group, began) = (self.rt.group(), Instant::now());
        let nodes = Arc::new((self.nodes.clone(), growth.clone()));
        for inserter in growth.inserters((CLIENTS * self.rt.workers()) as u32) {
            let nodes = nodes.clone();
            self.rt.task(()).of(&group).spawn(move |(), cx| insert(nodes, inserter, cx));
        }
        group.wait().map_err(failed)?;
        Ok(began.elapsed())
    }

    fn links(&mut self) -> Result<Vec<(u32, u32)>, Wrong> {
        let task = self.rt.task(()).claim(self.nodes.read_all()).submit_with(|(), held, _| {
            let view = View::new(held);
            let of = |node| {
                let children = view.children(node).iter();
                children.map(|&child| (view[node], view[child])).collect::<Vec<_>>()
            };
            view.subtree(Node(0)).flat_map(of).collect()
        });
        task.join().map_err(failed)
    }

    fn count_exclusive(&mut self, growth: &Growth, pairs: &[(u32, u32)]) -> Result<Option<usize>, Wrong> {
        if self.rt.workers() < 2 {
            return Ok(None);
        }
        let node = |number| Node(growth.handle(number) as u32);
        let mut count = 0;
        for &(one, other) in pairs {
            count += usize::from(self.exclude(node(one), node(other))?);
        }
        Ok(Some(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks exclude each other if, and only if, they claim a common granule.
    #[test]
    fn what_runs_agrees_with_the_granules() {
        let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
        let shape = xtasking_hierarchy::generate::complete(4, 5).unwrap();
        let nodes = Hierarchy::builder(shape).granules(20).build(&rt, |node| node.0);
        let growing = Growing { nodes, rt };
        let granules = |node| {
            let claim = growing.nodes.node(Node(node)).write();
            let task =
                growing.rt.task(()).claim(claim).submit_with(|(), held, _| {
                    held.granules().map(|(granule, _)| granule).collect::<Vec<_>>()
                });
            task.join().unwrap()
        };
        let granules: Vec<_> = (0..85).map(granules).collect();
        let mut counts = [0; 2];
        for one in (1..85).step_by(7) {
            for other in (2..85).step_by(5) {
                let [a, b] = [one, other].map(|node: usize| &granules[node]);
                let meet = a.iter().any(|granule| b.contains(granule));
                let excluded = growing.exclude(Node(one as u32), Node(other as u32)).unwrap();
                assert_eq!(excluded, meet, "{one} {other}");
                counts[usize::from(meet)] += 1;
            }
        }
        assert!(counts[0] > 10 && counts[1] > 10, "{counts:?}");
    }
}
