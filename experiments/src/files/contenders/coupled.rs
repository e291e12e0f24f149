//! A lock for each node, taken by coupling: a thread locks the next node of its path before it
//! unlocks the last one.
//!
//! An operation on a sub-tree holds the locks of all its nodes until its end, so that it sees one
//! moment. All threads lock a directory before its entries, and entries in the order of their
//! names, so they do not deadlock.

use super::super::body::Body;
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::layout::{Locations, NODES, Name, Path, ROOT, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum, Way};
use super::simulated;
use super::threads::{OnThreads, SharedTree};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "coupling",
    about: "a parking_lot::RwLock for each node, taken by lock coupling, on plain threads",
    is_parallel: true,
    start: |settings| match settings.virtual_seed {
        None => OnThreads::boxed(CoupledTree::new(&settings.locations)),
        Some(seed) => simulated::locks::coupled(&settings, seed),
    },
    more: Profile { has_handles: true, is_atomic: true, clients: 1, is_virtual: true },
};

/// A tree. A handle is an index of the array.
struct CoupledTree {
    nodes: Box<[RwLock<LockedNode>]>,
    locations: Arc<Locations>,
}

#[derive(Default)]
struct LockedNode {
    entries: BTreeMap<Name, u32>,
    value: u64,
}

type Reading<'t> = RwLockReadGuard<'t, LockedNode>;
type Writing<'t> = RwLockWriteGuard<'t, LockedNode>;

impl CoupledTree {
    fn new(locations: &Arc<Locations>) -> Self {
        let nodes: Box<[_]> = (0..NODES).map(|_| RwLock::<LockedNode>::default()).collect();
        for (parent, name, node) in entries() {
            nodes[parent as usize].write().entries.insert(name, node);
        }
        Self { nodes, locations: locations.clone() }
    }

    fn read(&self, node: u32) -> Reading<'_> {
        self.nodes[node as usize].read()
    }

    fn write(&self, node: u32) -> Writing<'_> {
        self.nodes[node as usize].write()
    }

    /// Finds a node. Returns it with the lock of its directory, which is to be held until that of
    /// the node is taken. A handle needs no directory.
    fn find(&self, way: Way, path: &Path) -> Option<(Option<Reading<'_>>, u32)> {
        let (last, above) = path.names().split_last()?;
        if way == Way::Handle {
            return Some((None, path.number()));
        }
        let mut directory = self.read(ROOT);
        for name in above {
            // Assigning unlocks the last directory, once the next one is locked.
            directory = self.read(*directory.entries.get(name)?);
        }
        let node = *directory.entries.get(last)?;
        Some((Some(directory), node))
    }

    fn operate(&self, operation: &Operation, body: &Body) -> Option<Answer> {
        if operation.action == Action::Move {
            return self.rename(operation, body).map(|()| Answer::Moved);
        }
        let (directory, number) = self.find(operation.way, &operation.target)?;
        Some(match operation.action {
            Action::Read => {
                let node = self.read(number);
                drop(directory);
                body.compute(1);
                Answer::Read(node.value)
            }
            Action::Write => {
                let mut node = self.write(number);
                drop(directory);
                body.compute(1);
                node.value += 1;
                Answer::Written
            }
            Action::Sum => {
                let (mut sum, mut held) = (Sum::default(), Vec::new());
                self.sum(number, &mut sum, &mut held);
                drop(directory);
                body.compute(sum.nodes);
                Answer::Sum(sum)
            }
            _ => {
                let mut held = Vec::new();
                self.add(number, &mut held);
                drop(directory);
                body.compute(held.len() as u32);
                Answer::Added(held.len() as u32)
            }
        })
    }

    fn sum<'t>(&'t self, number: u32, sum: &mut Sum, held: &mut Vec<Reading<'t>>) {
        let node = self.read(number);
        sum.visit(node.value);
        let entries: Vec<u32> = node.entries.values().copied().collect();
        held.push(node);
        entries.into_iter().for_each(|entry| self.sum(entry, sum, held));
    }

    fn add<'t>(&'t self, number: u32, held: &mut Vec<Writing<'t>>) {
        let mut node = self.write(number);
        node.value += ROUND;
        let entries: Vec<u32> = node.entries.values().copied().collect();
        held.push(node);
        entries.into_iter().for_each(|entry| self.add(entry, held));
    }

    /// Returns `None` if the directory is not there.
    fn rename(&self, operation: &Operation, body: &Body) -> Option<()> {
        let (from, to, name) = (operation.from(), operation.to, operation.name());
        let (first, second) = (from.min(to), from.max(to));
        let (mut one, mut other) = match operation.way {
            Way::Handle => (self.write(first.path().number()), self.write(second.path().number())),
            Way::Path => {
                // The directories above stay locked until both are locked: a thread that locks the
                // whole top directory would wait for one of them, and hold the other.
                let root = self.read(ROOT);
                let first_top = self.read(*root.entries.get(&first.top)?);
                let one = self.write(*first_top.entries.get(&first.middle)?);
                if first.top == second.top {
                    (one, self.write(*first_top.entries.get(&second.middle)?))
                } else {
                    let second_top = self.read(*root.entries.get(&second.top)?);
                    (one, self.write(*second_top.entries.get(&second.middle)?))
                }
            }
        };
        let (source, target) = if from < to { (&mut one, &mut other) } else { (&mut other, &mut one) };
        let node = source.entries.remove(&name)?;
        body.compute(1);
        target.entries.insert(name, node);
        self.locations.set(name, to);
        Some(())
    }

    fn walk(&self, number: u32, path: Path, contents: &mut Contents) {
        let node = self.read(number);
        contents.add(&path, node.value);
        node.entries.iter().for_each(|(&name, &entry)| self.walk(entry, path.child(name), contents));
    }
}

impl SharedTree for CoupledTree {
    fn perform(&self, operation: &Operation, body: &Body) -> Answer {
        self.operate(operation, body).unwrap_or(Answer::Missed)
    }

    fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        self.walk(ROOT, Path::new(&[]), &mut contents);
        contents
    }
}
