//! Runs one turn of tasks that count visits on a fresh hierarchy, and checks the counts.

use super::load::{Access, Task};
use super::testbed::{Recorder, RunStatistics, Testbed, TurnSettings};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use xtasking::{Context, Held};
use xtasking_harness::failure::Failure;
use xtasking_hierarchy::{Hierarchy, Node, NodeClaim, Shape, Slab, View};

/// The input of a turn, and its expected result.
pub(super) struct Work<'w> {
    pub shape: &'w Shape,
    pub granules: u32,
    pub tasks: &'w [Task],
    /// How often each node is written.
    pub expected: &'w [u32],
}

/// Seed and costs of virtual time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub seed: u64,
    pub node: u64,
    pub task: u32,
}

/// The result of a turn.
pub(super) struct Turn {
    /// Thousands of tasks a second.
    pub rate: f64,
    /// Present if the turn was recorded.
    pub statistics: Option<RunStatistics>,
    /// A remark for the report.
    pub note: Option<String>,
    /// The first difference from the expected result.
    pub wrong: Option<String>,
}

/// Returns how often each node is written.
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
    pub fn turn(&self, settings: &TurnSettings) -> Result<Turn, Failure> {
        let mut testbed = Testbed::new(settings, self.tasks.len(), |_| ())?;
        let builder = Hierarchy::builder(self.shape.clone()).granules(self.granules);
        let tree = builder.control(settings.control).build(&testbed.rt, |_| 0u32);
        testbed.begin();
        let (rt, recorder) = (&testbed.rt, testbed.recorder());
        let group = rt.group();
        let mut open = VecDeque::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let writes = task.access == Access::Write;
            let Some(claim) = claim(&tree, &task.nodes, writes) else { continue };
            let (nodes, spawned) = (task.nodes.clone(), Recorder::spawned(&recorder));
            let visit = Visit { nodes, writes, number, spawned, recorder: recorder.clone() };
            let Some(limit) = settings.in_flight else {
                rt.task(()).of(&group).claim(claim).spawn_with(move |(), held, cx| visit.run(held, cx));
                continue;
            };
            open.push_back(rt.task(()).claim(claim).submit_with(move |(), held, cx| visit.run(held, cx)));
            if open.len() >= limit
                && let Some(first) = open.pop_front()
            {
                first.join().expect("counting tasks do not fail");
            }
        }
        open.into_iter().for_each(|task| task.join().expect("counting tasks do not fail"));
        group.wait().expect("counting tasks do not fail");
        let (time, statistics) = testbed.end();
        let note = tree.granules().toggle_counts().map(|counts| counts.to_string());
        let bound = self.shape.bound();
        let counts = testbed.rt.task(()).claim(tree.read_all()).submit_with(move |(), held, _| {
            let mut counts = vec![0; bound];
            View::new(held).all().for_each(|(node, count)| counts[node.index()] = *count);
            counts
        });
        let counts = counts.join().expect("counting tasks do not fail");
        let wrong = counts.iter().zip(self.expected).filter(|(found, expected)| found != expected).count();
        let wrong = (wrong > 0).then(|| format!("{wrong} nodes have a wrong number of writes"));
        Ok(Turn { rate: self.tasks.len() as f64 / time / 1e3, statistics, note, wrong })
    }
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

/// A task that counts, or sums up counts.
struct Visit {
    nodes: Vec<Node>,
    writes: bool,
    number: usize,
    spawned: u64,
    recorder: Option<Arc<Recorder>>,
}

impl Visit {
    fn run(self, held: Held<'_, Slab<u32>>, cx: &mut Context) {
        let recorder = self.recorder.as_ref();
        let _running = recorder.map(|recorder| recorder.begin(self.number, self.spawned, cx.worker()));
        let mut view = View::new(held);
        let mut visited = 0;
        for &node in &self.nodes {
            if self.writes {
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
        if let Some(recorder) = &self.recorder {
            recorder.spend(visited);
        }
    }
}
