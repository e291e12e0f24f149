//! A lock for each node, whose path stays locked for readers while a node is used.
//!
//! A directory owns its entries. So a thread that locks a directory alone owns its whole sub-tree,
//! and needs no further lock. Handles are impossible: only the path leads to a node.

use super::super::body::Body;
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::layout::{Locations, Name, Path, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum};
use super::simulated;
use super::threads::{OnThreads, SharedTree};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "path-locks",
    about: "a parking_lot::RwLock for each node; readers keep the path locked, sub-trees are locked alone",
    is_parallel: true,
    start: |settings| match settings.virtual_seed {
        None => OnThreads::boxed(NestedTree::new(&settings.locations)),
        Some(seed) => simulated::locks::nested(&settings, seed),
    },
    more: Profile { has_handles: false, is_atomic: true, clients: 1, is_virtual: true },
};

struct NestedTree {
    root: RwLock<Nested>,
    locations: Arc<Locations>,
}

#[derive(Default)]
struct Nested {
    entries: BTreeMap<Name, RwLock<Nested>>,
    value: u64,
}

/// Calls `each` with the node of a path below `node`, while all directories above are locked for
/// readers. Returns `None` if there is no such node.
fn with_path<R>(node: &RwLock<Nested>, names: &[Name], each: impl FnOnce(&RwLock<Nested>) -> R) -> Option<R> {
    let Some((first, rest)) = names.split_first() else { return Some(each(node)) };
    let directory = node.read();
    with_path(directory.entries.get(first)?, rest, each)
}

impl Nested {
    fn sum(&mut self, sum: &mut Sum) {
        sum.visit(self.value);
        self.entries.values_mut().for_each(|entry| entry.get_mut().sum(sum));
    }

    /// Adds a round to a sub-tree, and returns its number of nodes.
    fn add(&mut self) -> u32 {
        self.value += ROUND;
        1 + self.entries.values_mut().map(|entry| entry.get_mut().add()).sum::<u32>()
    }

    fn walk(&self, path: Path, contents: &mut Contents) {
        contents.add(&path, self.value);
        self.entries.iter().for_each(|(&name, entry)| entry.read().walk(path.child(name), contents));
    }
}

impl NestedTree {
    fn new(locations: &Arc<Locations>) -> Self {
        let (mut root, mut paths) = (Nested::default(), vec![Path::new(&[])]);
        for (parent, name, _) in entries() {
            let above = paths[parent as usize];
            let directory = above.names().iter().fold(&mut root, |directory, name| {
                directory.entries.get_mut(name).expect("a directory comes before its entries").get_mut()
            });
            directory.entries.insert(name, RwLock::default());
            paths.push(above.child(name));
        }
        Self { root: RwLock::new(root), locations: locations.clone() }
    }

    /// Returns `None` if the directory is not there.
    fn rename(&self, operation: &Operation, body: &Body) -> Option<()> {
        let (from, to, name) = (operation.from(), operation.to, operation.name());
        // Locked in the order of their paths, so that threads do not deadlock.
        let (first, second) = (from.min(to), from.max(to));
        let root = self.root.read();
        let first_top = root.entries.get(&first.top)?.read();
        let other_top =
            if first.top == second.top { None } else { Some(root.entries.get(&second.top)?.read()) };
        let second_top = other_top.as_ref().unwrap_or(&first_top);
        let mut one = first_top.entries.get(&first.middle)?.write();
        let mut other = second_top.entries.get(&second.middle)?.write();
        let (source, target) = if from < to { (&mut one, &mut other) } else { (&mut other, &mut one) };
        let directory = source.entries.remove(&name)?;
        body.compute(1);
        target.entries.insert(name, directory);
        self.locations.set(name, to);
        Some(())
    }
}

impl SharedTree for NestedTree {
    fn perform(&self, operation: &Operation, body: &Body) -> Answer {
        if operation.action == Action::Move {
            return self.rename(operation, body).map_or(Answer::Missed, |()| Answer::Moved);
        }
        let answer = with_path(&self.root, operation.target.names(), |node| match operation.action {
            Action::Read => {
                let node = node.read();
                body.compute(1);
                Answer::Read(node.value)
            }
            Action::Write => {
                let mut node = node.write();
                body.compute(1);
                node.value += 1;
                Answer::Written
            }
            Action::Sum => {
                let (mut node, mut sum) = (node.write(), Sum::default());
                node.sum(&mut sum);
                body.compute(sum.nodes);
                Answer::Sum(sum)
            }
            _ => {
                let mut node = node.write();
                let nodes = node.add();
                body.compute(nodes);
                Answer::Added(nodes)
            }
        });
        answer.unwrap_or(Answer::Missed)
    }

    fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        self.root.read().walk(Path::new(&[]), &mut contents);
        contents
    }
}
