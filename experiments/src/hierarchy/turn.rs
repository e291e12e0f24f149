//! One turn of tasks that count visits: all of them on a fresh hierarchy, and what they have left there.

use super::ground::{Ground, Pace, Seen, Setting};
use super::load::{Access, Task};
use crate::failure::Failure;
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use xtasking::{Context, Held};
use xtasking_hierarchy::{Hierarchy, Node, Shape, Slab, Touch, View};

/// What the tasks work on, and what must come of it.
pub(super) struct Work<'w> {
    pub shape: &'w Shape,
    pub granules: u32,
    pub tasks: &'w [Task],
    /// How often each node is written.
    pub expected: &'w [u32],
}

/// What it takes in virtual time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub seed: u64,
    pub node: u64,
    pub task: u32,
}

/// What a turn has shown.
pub(super) struct Turn {
    /// Thousands of tasks a second.
    pub rate: f64,
    /// If it was watched.
    pub seen: Option<Seen>,
    /// What is to be told besides.
    pub note: Option<String>,
    /// What is not as it must be.
    pub wrong: Option<String>,
}

/// How often each node is written.
pub(super) fn expected(shape: &Shape, tasks: &[Task]) -> Vec<u32> {
    let mut counts = vec![0; shape.bound()];
    for task in tasks.iter().filter(|task| task.access == Access::Write) {
        for &node in &task.nodes {
            shape.subtree(node).for_each(|node| counts[node.index()] += 1);
        }
    }
    counts
}

impl Work<'_> {
    /// Runs the tasks.
    pub fn turn(&self, setting: &Setting) -> Result<Turn, Failure> {
        let mut ground = Ground::new(setting, self.tasks.len(), |_| ())?;
        let builder = Hierarchy::builder(self.shape.clone()).granules(self.granules);
        let tree = builder.control(setting.control).build(&ground.rt, |_| 0u32);
        ground.begin();
        let (rt, pace) = (&ground.rt, ground.pace());
        let group = rt.group();
        let mut open = VecDeque::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let writes = task.access == Access::Write;
            let Some(claim) = claim(&tree, &task.nodes, writes) else { continue };
            let (nodes, spawned) = (task.nodes.clone(), Pace::spawned(&pace));
            let visit = Visit { nodes, writes, number, spawned, pace: pace.clone() };
            let Some(most) = setting.in_flight else {
                rt.task(()).of(&group).claim(claim).spawn_with(move |(), held, cx| visit.run(held, cx));
                continue;
            };
            open.push_back(rt.task(()).claim(claim).submit_with(move |(), held, cx| visit.run(held, cx)));
            if open.len() >= most
                && let Some(first) = open.pop_front()
            {
                first.join().expect("tasks that count do not fail");
            }
        }
        open.into_iter().for_each(|task| task.join().expect("tasks that count do not fail"));
        group.wait().expect("tasks that count do not fail");
        let (time, seen) = ground.end();
        let bound = self.shape.bound();
        let counts = ground.rt.task(()).claim(tree.read_all()).submit_with(move |(), held, _| {
            let mut counts = vec![0; bound];
            View::new(held).all().for_each(|(node, count)| counts[node.index()] = *count);
            counts
        });
        let counts = counts.join().expect("tasks that count do not fail");
        let wrong = counts.iter().zip(self.expected).filter(|(found, expected)| found != expected).count();
        let wrong = (wrong > 0).then(|| format!("{wrong} nodes were not written as often as asked"));
        Ok(Turn { rate: self.tasks.len() as f64 / time / 1e3, seen, note: None, wrong })
    }
}

/// The claim of a task to sub-trees; `None` if it names none.
pub(super) fn claim<'g, T: Send + Sync>(
    tree: &'g Hierarchy<T>,
    nodes: &[Node],
    writes: bool,
) -> Option<Touch<'g, T>> {
    let of = |&node| if writes { tree.node(node).write() } else { tree.node(node).read() };
    // The order is nobody's matter, and those with whom it is compared keep none.
    nodes.iter().map(of).reduce(|all, next| all.and(next)).map(Touch::unordered)
}

/// A task that counts, or reads what was counted.
struct Visit {
    nodes: Vec<Node>,
    writes: bool,
    number: usize,
    spawned: u64,
    pace: Option<Arc<Pace>>,
}

impl Visit {
    fn run(self, held: Held<'_, Slab<u32>>, cx: &mut Context) {
        let pace = self.pace.as_ref();
        let _begun = pace.map(|pace| pace.begin(self.number, self.spawned, cx.worker()));
        let mut view = View::new(held);
        let mut visited = 0;
        for &node in &self.nodes {
            if self.writes {
                view.for_each_below(node, |count| {
                    *count += 1;
                    visited += 1;
                });
            } else {
                let mut sum = 0u64;
                for below in view.below(node) {
                    sum += u64::from(view[below]);
                    visited += 1;
                }
                black_box(sum);
            }
        }
        if let Some(pace) = &self.pace {
            pace.spend(visited);
        }
    }
}
