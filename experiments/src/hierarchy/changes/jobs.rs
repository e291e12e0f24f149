//! Generates the jobs of tasks: a stream from a seed.

use super::super::load::{Targets, Task};
use xtasking_harness::random::Random;
use xtasking_hierarchy::{Node, Shape};

/// Percentage of tasks that change the hierarchy, and that panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chances {
    pub structural: u32,
    pub panics: u32,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Counts in sub-trees, or sums up counts.
    Visit(Task),
    /// Inserts some nodes below `under`, or below others that were inserted there.
    Insert { under: Node, chance: u64 },
    /// Removes the last inserted child of `under` with everything below it.
    Remove { under: Node },
    /// Links a node under one more parent.
    Link { parent: Node, child: Node },
    /// Unlinks a node from one of its parents, unless it is the only one.
    Unlink { child: Node, chance: u64 },
}

/// The job of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub operation: Operation,
    /// Where the task panics, as a random number of which the operation derives the step; `None` if
    /// it does not.
    pub panic_at: Option<u64>,
}

/// Separates these random numbers from other uses of the seed.
const PATH: u64 = 0xc4a9;
/// Size of the window, in positions, from which the new parent of a node is drawn: as a rule near
/// to where it was.
const LINK_WINDOW: u64 = 32;

/// Turns some of `tasks` into changes of the hierarchy, and lets some panic.
pub(crate) fn draw(
    tasks: impl Iterator<Item = Task>,
    shape: &Shape,
    targets: &Targets,
    chances: Chances,
    seed: u64,
) -> Vec<Job> {
    let Chances { structural, panics } = chances;
    let mut random = Random::new(seed, &[PATH]);
    let is_tree = !shape.nodes().any(|node| shape.is_shared(node));
    let mut positions = vec![0; if is_tree { 0 } else { shape.bound() }];
    if !is_tree {
        targets.nodes().iter().zip(0..).for_each(|(node, position)| positions[node.index()] = position);
    }
    // Nodes with an insertion below them that has no removal yet.
    let mut inserted: Vec<Node> = Vec::new();
    let mut operation = |task: Task, random: &mut Random| {
        let node = task.nodes[0];
        let chance = random.below(u64::MAX);
        let kinds = if is_tree || shape.is_root(node) { 2 } else { 4 };
        match random.below(kinds) {
            0 => {
                inserted.push(node);
                Operation::Insert { under: node, chance }
            }
            1 => {
                let at = chance as usize % inserted.len().max(1);
                Operation::Remove { under: if inserted.is_empty() { node } else { inserted.swap_remove(at) } }
            }
            2 => {
                let (position, count): (u64, _) = (positions[node.index()], targets.len() as u64);
                let low = position.saturating_sub(LINK_WINDOW / 2).min(count.saturating_sub(LINK_WINDOW));
                let other = low + chance % LINK_WINDOW.min(count);
                Operation::Link { parent: targets.nodes()[other as usize], child: node }
            }
            _ => Operation::Unlink { child: node, chance },
        }
    };
    let job = |task: Task| {
        let changes = random.below(100) < structural.into();
        let operation = if changes { operation(task, &mut random) } else { Operation::Visit(task) };
        let panic_at = (random.below(100) < panics.into()).then(|| random.below(u64::MAX));
        Job { operation, panic_at }
    };
    tasks.map(job).collect()
}
