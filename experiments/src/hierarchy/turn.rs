//! One turn: all tasks on a fresh hierarchy, and what they have left there.

use super::load::{Access, Task};
use crate::failure::Failure;
use crate::lineup::cannot_start;
use crate::virtual_time::{Clocks, Costs, Spread, VirtualTime};
use std::hint::black_box;
use std::time::Instant;
use xtasking::{Control, Pool, Runtime};
use xtasking_hierarchy::{Hierarchy, Shape, View};

/// What the tasks work on, and what must come of it.
pub(super) struct Work {
    pub shape: Shape,
    pub granules: u32,
    /// For each case.
    pub tasks: Vec<Vec<Task>>,
    pub expected: Vec<Vec<u32>>,
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
    /// In virtual time.
    pub spread: Option<Spread>,
    /// Nodes that do not have the value that they must have.
    pub wrong: usize,
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

impl Work {
    /// Runs the tasks of a case.
    pub fn turn(
        &self,
        case: usize,
        control: Control,
        workers: usize,
        times: Option<Times>,
    ) -> Result<Turn, Failure> {
        let builder = Runtime::builder().pool(Pool::WorkStealing);
        let (builder, clocks) = match times {
            None => (builder.workers(workers), None),
            Some(Times { seed, task, .. }) => {
                let costs = Costs { task: task.into(), unit: 0, ..Costs::default() };
                let (platform, clocks) = VirtualTime::new(workers, seed, costs);
                (builder.platform(platform), Some(clocks))
            }
        };
        let rt = builder.build().map_err(|error| cannot_start("xtasking", workers, &error))?;
        let tree = Hierarchy::builder(self.shape.clone())
            .granules(self.granules)
            .control(control)
            .build(&rt, |_| 0u32);
        let (began, virtually) = (Instant::now(), clocks.as_ref().map_or(0, Clocks::makespan));
        let group = rt.group();
        for task in &self.tasks[case] {
            spawn(&rt, &group, &tree, task, clocks.clone(), times.map_or(0, |times| times.node));
        }
        group.wait().expect("tasks that count do not fail");
        let time = match &clocks {
            None => began.elapsed().as_secs_f64(),
            Some(clocks) => (clocks.makespan() - virtually) as f64 / 1e9,
        };
        let spread = clocks.as_ref().map(Spread::of);
        let bound = self.shape.bound();
        let counts = rt.task(()).claim(tree.read_all()).submit_with(move |(), held, _| {
            let mut counts = vec![0; bound];
            View::new(held).all().for_each(|(node, count)| counts[node.index()] = *count);
            counts
        });
        let counts = counts.join().expect("tasks that count do not fail");
        let wrong = counts.iter().zip(&self.expected[case]).filter(|(found, expected)| found != expected);
        Ok(Turn { rate: self.tasks[case].len() as f64 / time / 1e3, spread, wrong: wrong.count() })
    }
}

fn spawn(
    rt: &Runtime,
    group: &xtasking::Group,
    tree: &Hierarchy<u32>,
    task: &Task,
    clocks: Option<Clocks>,
    node_time: u64,
) {
    let writes = task.access == Access::Write;
    let of = |node| if writes { tree.node(node).write() } else { tree.node(node).read() };
    let Some(claim) = task.nodes.iter().copied().map(of).reduce(|all, next| all.and(next)) else { return };
    let nodes = task.nodes.clone();
    rt.task(()).of(group).claim(claim).spawn_with(move |(), held, _| {
        let mut view = View::new(held);
        let mut visited = 0;
        for node in nodes {
            if writes {
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
        if let Some(clocks) = clocks {
            clocks.spend(visited * node_time);
        }
    });
}
