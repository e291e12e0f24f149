//! Runs one turn of tasks that count visits on a fresh hierarchy, and checks the counts.

use super::counter_tree::CounterTree;
use super::load::{Access, Task};
use super::testbed::{Recorder, RunStatistics, Testbed, TurnSettings};
use std::collections::VecDeque;
use std::sync::Arc;
use xtasking::{Context, Group, Handle, Runtime};
use xtasking_harness::controls::Isolation;
use xtasking_harness::failure::Failure;
use xtasking_hierarchy::{Hierarchy, Node, Shape};

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

/// A hierarchy of counters, whose sub-trees tasks claim.
pub(super) trait Counters {
    /// Spawns a task of a group, which claims its sub-trees and visits them.
    fn spawn(&self, rt: &Runtime, group: &Group, visit: Visit);

    /// Submits such a task.
    fn submit(&self, rt: &Runtime, visit: Visit) -> Handle<()>;

    /// Returns the counts of all nodes, by their numbers.
    fn counts(&self, rt: &Runtime, bound: usize) -> Vec<u32>;

    /// Returns a remark for the report.
    fn note(&self) -> Option<String>;
}

impl Work<'_> {
    /// Runs the tasks.
    pub fn turn(&self, settings: &TurnSettings) -> Result<Turn, Failure> {
        let testbed = Testbed::new(settings, self.tasks.len(), |_| ())?;
        match settings.isolation {
            Isolation::Trees => {
                let tree = CounterTree::new(&testbed.rt, self.shape);
                Ok(self.turn_on(&tree, testbed, settings))
            }
            Isolation::Granules(control) => {
                let builder = Hierarchy::builder(self.shape.clone()).granules(self.granules);
                let hierarchy = builder.control(control).build(&testbed.rt, |_| 0u32);
                Ok(self.turn_on(&hierarchy, testbed, settings))
            }
        }
    }

    fn turn_on(&self, counters: &impl Counters, mut testbed: Testbed, settings: &TurnSettings) -> Turn {
        testbed.begin();
        let (rt, recorder) = (&testbed.rt, testbed.recorder());
        let group = rt.group();
        let mut open = VecDeque::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let writes = task.access == Access::Write;
            let (nodes, spawned) = (task.nodes.clone(), Recorder::spawned(&recorder));
            let visit = Visit { nodes, writes, number, spawned, recorder: recorder.clone() };
            let Some(limit) = settings.in_flight else {
                counters.spawn(rt, &group, visit);
                continue;
            };
            open.push_back(counters.submit(rt, visit));
            if open.len() >= limit
                && let Some(first) = open.pop_front()
            {
                first.join().expect("counting tasks do not fail");
            }
        }
        open.into_iter().for_each(|task| task.join().expect("counting tasks do not fail"));
        group.wait().expect("counting tasks do not fail");
        let (time, statistics) = testbed.end();
        let counts = counters.counts(rt, self.shape.bound());
        let wrong = counts.iter().zip(self.expected).filter(|(found, expected)| found != expected).count();
        let wrong = (wrong > 0).then(|| format!("{wrong} nodes have a wrong number of writes"));
        Turn { rate: self.tasks.len() as f64 / time / 1e3, statistics, note: counters.note(), wrong }
    }
}

/// A task that counts, or sums up counts.
pub(super) struct Visit {
    pub nodes: Vec<Node>,
    pub writes: bool,
    number: usize,
    spawned: u64,
    recorder: Option<Arc<Recorder>>,
}

impl Visit {
    /// Runs the body of the task, which returns the number of visited nodes.
    pub fn run(self, cx: &mut Context, body: impl FnOnce(&Self) -> u64) {
        let recorder = self.recorder.as_ref();
        let _running = recorder.map(|recorder| recorder.begin(self.number, self.spawned, cx.worker()));
        let visited = body(&self);
        if let Some(recorder) = &self.recorder {
            recorder.spend(visited);
        }
    }
}
