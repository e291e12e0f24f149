//! What the tasks do: a stream from a seed.

use super::super::load::{Targets, Task};
use crate::ycsb::distribution::Random;
use xtasking_hierarchy::{Node, Shape};

/// How many of a hundred tasks change the hierarchy, and how many panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chances {
    pub structural: u32,
    pub panics: u32,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It counts in sub-trees, or adds up what was counted.
    Visit(Task),
    /// It inserts some nodes below this one, or below others that were inserted there.
    Insert { under: Node, chance: u64 },
    /// It removes, with all below it, the last child of this node of those that were inserted.
    Remove { under: Node },
    /// It links a node under one more parent.
    Link { parent: Node, child: Node },
    /// It takes a node from under one of its parents, unless there is only one.
    Unlink { child: Node, chance: u64 },
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub deed: Deed,
    /// It panics, at a step that this says.
    pub strike: Option<u64>,
}

/// Sets these random numbers apart from those for other uses of a seed.
const PATH: u64 = 0xc4a9;
/// How far a node is linked, in positions: so near to where it was before, as a rule.
const NEAR: u64 = 32;

/// Makes some of these tasks change the hierarchy instead, and some panic.
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
    // Where something was inserted that is not to be removed yet.
    let mut grown: Vec<Node> = Vec::new();
    let mut deed = |task: Task, random: &mut Random| {
        let node = task.nodes[0];
        let chance = random.below(u64::MAX);
        let kinds = if is_tree || shape.is_root(node) { 2 } else { 4 };
        match random.below(kinds) {
            0 => {
                grown.push(node);
                Deed::Insert { under: node, chance }
            }
            1 => {
                let at = chance as usize % grown.len().max(1);
                Deed::Remove { under: if grown.is_empty() { node } else { grown.swap_remove(at) } }
            }
            2 => {
                let (position, count): (u64, _) = (positions[node.index()], targets.len() as u64);
                let low = position.saturating_sub(NEAR / 2).min(count.saturating_sub(NEAR));
                let other = low + chance % NEAR.min(count);
                Deed::Link { parent: targets.nodes()[other as usize], child: node }
            }
            _ => Deed::Unlink { child: node, chance },
        }
    };
    let job = |task: Task| {
        let changes = random.below(100) < structural.into();
        let deed = if changes { deed(task, &mut random) } else { Deed::Visit(task) };
        let strike = (random.below(100) < panics.into()).then(|| random.below(u64::MAX));
        Job { deed, strike }
    };
    tasks.map(job).collect()
}
