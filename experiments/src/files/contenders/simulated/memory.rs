//! Transactional memory in virtual time: an operation whose reads have changed begins anew.

use super::super::super::body::Body;
use super::super::super::contender::{Contender, Settings};
use super::super::super::layout::{NODES, ROOT};
use super::super::super::operation::{Action, Answer, Operation, Way};
use super::threads::{Scheme, Tree, start};
use std::sync::{Mutex, MutexGuard, PoisonError};
use xtasking_harness::failure::Failure;

/// Starts a transactional tree.
pub(in super::super) fn transactional(settings: &Settings, seed: u64) -> Result<Box<dyn Contender>, Failure> {
    start(settings, seed, |_| Transactional(Mutex::new(vec![Versions::default(); NODES as usize])))
}

/// How often the variables of a node were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Versions {
    value: u64,
    entries: u64,
}

/// The versions of all nodes.
struct Transactional(Mutex<Vec<Versions>>);

/// The variables that an operation reads, and of these the ones that it writes.
#[derive(Default)]
struct Footprint {
    values: Vec<u32>,
    entries: Vec<u32>,
    is_written: Written,
}

#[derive(Default, PartialEq, Eq)]
enum Written {
    #[default]
    Nothing,
    Values,
    /// The entries of these directories.
    Entries([u32; 2]),
}

impl Footprint {
    fn of(operation: &Operation, tree: &Tree) -> Self {
        let mut footprint = Self::default();
        let target = operation.target;
        let mut walk = |names: &[u16]| {
            let mut node = ROOT;
            for &name in names.iter().filter(|_| operation.way == Way::Path) {
                footprint.entries.push(node);
                let Some(entry) = tree.lock().entry(node, name) else { return };
                node = entry;
            }
        };
        match operation.action {
            Action::Read | Action::Write => {
                walk(target.names());
                footprint.values.push(target.number());
            }
            Action::Sum | Action::Add => {
                walk(target.names());
                let mut open = vec![target.number()];
                while let Some(node) = open.pop() {
                    footprint.values.push(node);
                    footprint.entries.push(node);
                    open.extend(tree.lock().entries(node));
                }
            }
            Action::Move => {
                let both = [operation.from().path(), operation.to.path()];
                both.iter().for_each(|path| walk(path.names()));
                let both = both.map(|path| path.number());
                footprint.entries.extend(both);
                footprint.is_written = Written::Entries(both);
            }
        }
        if matches!(operation.action, Action::Write | Action::Add) {
            footprint.is_written = Written::Values;
        }
        footprint
    }

    fn versions(&self, all: &[Versions]) -> Vec<u64> {
        let values = self.values.iter().map(|&node| all[node as usize].value);
        values.chain(self.entries.iter().map(|&node| all[node as usize].entries)).collect()
    }
}

impl Transactional {
    fn versions(&self) -> MutexGuard<'_, Vec<Versions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheme for Transactional {
    fn perform(&self, tree: &Tree, operation: &Operation, body: &Body) -> Answer {
        loop {
            let footprint = Footprint::of(operation, tree);
            let seen = footprint.versions(&self.versions());
            match tree.look(operation) {
                Answer::Missed => return Answer::Missed,
                Answer::Sum(sum) if operation.action != Action::Move => body.compute(sum.nodes),
                _ => body.compute(1),
            }
            let mut versions = self.versions();
            if footprint.versions(&versions) != seen {
                continue;
            }
            match footprint.is_written {
                Written::Nothing => {}
                Written::Values => {
                    footprint.values.iter().for_each(|&node| versions[node as usize].value += 1);
                }
                Written::Entries(both) => both.iter().for_each(|&node| versions[node as usize].entries += 1),
            }
            drop(versions);
            return tree.perform(operation, &Body::Rounds(0));
        }
    }
}
