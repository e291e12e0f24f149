//! A concurrent map of paths.
//!
//! An operation on one file is atomic; nothing else is. A sum or an addition visits one node after
//! the other, so it may see some files before and others after a write (a *torn* answer). While a
//! directory moves, its files are at neither path or at both ends in part. Handles are impossible,
//! as a path is all that names a node.

use super::super::body::Body;
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::layout::{Locations, Name, Path, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum};
use super::threads::{OnThreads, SharedTree};
use dashmap::DashMap;
use foldhash::fast::FixedState;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "dashmap",
    about: "a dashmap::DashMap of paths, on plain threads; sums and moves are not atomic",
    is_parallel: true,
    start: |settings| OnThreads::boxed(PathMap::new(&settings.locations)),
    more: Profile { has_handles: false, is_atomic: false, clients: 1, is_virtual: false },
};

struct PathMap {
    nodes: DashMap<Path, MapNode, FixedState>,
    locations: Arc<Locations>,
}

#[derive(Default)]
struct MapNode {
    /// The names of the entries, in no order.
    names: Vec<Name>,
    value: u64,
}

impl PathMap {
    fn new(locations: &Arc<Locations>) -> Self {
        let (nodes, mut paths) = (DashMap::with_hasher(FixedState::default()), vec![Path::new(&[])]);
        nodes.insert(paths[0], MapNode::default());
        for (parent, name, _) in entries() {
            let above = paths[parent as usize];
            nodes.get_mut(&above).expect("a directory comes before its entries").names.push(name);
            nodes.insert(above.child(name), MapNode::default());
            paths.push(above.child(name));
        }
        Self { nodes, locations: locations.clone() }
    }

    /// Sums up what is there at the moment.
    fn sum(&self, path: Path, sum: &mut Sum) {
        let Some(node) = self.nodes.get(&path) else { return };
        sum.visit(node.value);
        let names = node.names.clone();
        // The lock of a shard must not be held at the next access.
        drop(node);
        names.into_iter().for_each(|name| self.sum(path.child(name), sum));
    }

    /// Adds a round to what is there at the moment, and returns the number of nodes.
    fn add(&self, path: Path) -> u32 {
        let Some(mut node) = self.nodes.get_mut(&path) else { return 0 };
        node.value += ROUND;
        let names = node.names.clone();
        drop(node);
        1 + names.into_iter().map(|name| self.add(path.child(name))).sum::<u32>()
    }

    /// Returns `None` if the directory is not there.
    fn rename(&self, operation: &Operation, body: &Body) -> Option<()> {
        let (from, to, name) = (operation.target, operation.to, operation.name());
        // The thread that removes the name moves the directory.
        let mut above = self.nodes.get_mut(&operation.from().path())?;
        let index = above.names.iter().position(|&other| other == name)?;
        above.names.swap_remove(index);
        drop(above);
        body.compute(1);
        let (_, directory) = self.nodes.remove(&from)?;
        let new = to.directory(name);
        for &file in &directory.names {
            if let Some((_, node)) = self.nodes.remove(&from.child(file)) {
                self.nodes.insert(new.child(file), node);
            }
        }
        self.nodes.insert(new, directory);
        // Before the directory can be moved again.
        self.locations.set(name, to);
        self.nodes.get_mut(&to.path())?.names.push(name);
        Some(())
    }

    fn operate(&self, operation: &Operation, body: &Body) -> Option<Answer> {
        Some(match operation.action {
            Action::Read => {
                let node = self.nodes.get(&operation.target)?;
                body.compute(1);
                Answer::Read(node.value)
            }
            Action::Write => {
                let mut node = self.nodes.get_mut(&operation.target)?;
                body.compute(1);
                node.value += 1;
                Answer::Written
            }
            Action::Sum => {
                let mut sum = Sum::default();
                self.sum(operation.target, &mut sum);
                body.compute(sum.nodes);
                if sum.nodes == 0 { Answer::Missed } else { Answer::Sum(sum) }
            }
            Action::Add => {
                let nodes = self.add(operation.target);
                body.compute(nodes);
                Answer::Added(nodes)
            }
            Action::Move => {
                self.rename(operation, body)?;
                Answer::Moved
            }
        })
    }
}

impl SharedTree for PathMap {
    fn perform(&self, operation: &Operation, body: &Body) -> Answer {
        self.operate(operation, body).unwrap_or(Answer::Missed)
    }

    fn contents(&self) -> Contents {
        let mut all: Vec<_> = self.nodes.iter().map(|node| (*node.key(), node.value)).collect();
        // Directories before their entries.
        all.sort_unstable_by_key(|(path, _)| path.names().len());
        let mut contents = Contents::new();
        all.iter().for_each(|(path, value)| contents.add(path, *value));
        contents
    }
}
