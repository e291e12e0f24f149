//! One lock, and locks of nodes, in virtual time.

use super::super::super::body::Body;
use super::super::super::contender::{Contender, Settings};
use super::super::super::layout::{NODES, Path, ROOT};
use super::super::super::operation::{Action, Answer, Operation, Way};
use super::lock::{Guard, Lock, Mode};
use super::threads::{Scheme, Tree, start};
use xtasking_harness::failure::Failure;
use xtasking_virtual_time::Clocks;

/// Starts a tree behind one lock.
pub(in super::super) fn one(settings: &Settings, seed: u64) -> Result<Box<dyn Contender>, Failure> {
    start(settings, seed, |clocks| One(Lock::new(clocks)))
}

/// Starts a tree with a lock for each node, taken by coupling.
pub(in super::super) fn coupled(settings: &Settings, seed: u64) -> Result<Box<dyn Contender>, Failure> {
    start(settings, seed, |clocks| Coupled(NodeLocks::new(clocks)))
}

/// Starts a tree with a lock for each node, whose path stays locked.
pub(in super::super) fn nested(settings: &Settings, seed: u64) -> Result<Box<dyn Contender>, Failure> {
    start(settings, seed, |clocks| Nested(NodeLocks::new(clocks)))
}

struct One(Lock);

/// A lock for each node.
struct NodeLocks(Vec<Lock>);

struct Coupled(NodeLocks);

struct Nested(NodeLocks);

impl Scheme for One {
    fn perform(&self, tree: &Tree, operation: &Operation, body: &Body) -> Answer {
        let _guard = self.0.lock(if operation.only_reads() { Mode::Read } else { Mode::Write });
        tree.perform(operation, body)
    }
}

impl NodeLocks {
    fn new(clocks: &Clocks) -> Self {
        Self((0..NODES).map(|_| Lock::new(clocks)).collect())
    }

    fn lock(&self, node: u32, mode: Mode) -> Guard<'_> {
        self.0[node as usize].lock(mode)
    }

    /// Locks the directories above the target for readers. Unless `keeps_all`, only the last one
    /// stays locked. Returns `None` if the path leads nowhere.
    fn lock_above(&self, tree: &Tree, operation: &Operation, keeps_all: bool) -> Option<Vec<Guard<'_>>> {
        let (mut node, mut guards) = (ROOT, vec![self.lock(ROOT, Mode::Read)]);
        let (last, above) = operation.target.names().split_last()?;
        for &name in above {
            node = tree.lock().entry(node, name)?;
            guards.push(self.lock(node, Mode::Read));
            if !keeps_all {
                guards.remove(0);
            }
        }
        tree.lock().entry(node, *last)?;
        Some(guards)
    }

    /// Locks a whole sub-tree, each directory before its entries.
    fn lock_subtree<'l>(&'l self, tree: &Tree, node: u32, mode: Mode, guards: &mut Vec<Guard<'l>>) {
        guards.push(self.lock(node, mode));
        let entries = tree.lock().entries(node);
        entries.into_iter().for_each(|entry| self.lock_subtree(tree, entry, mode, guards));
    }

    /// Locks what a move changes.
    fn rename(&self, tree: &Tree, operation: &Operation, body: &Body) -> Answer {
        let (from, to) = (operation.from(), operation.to);
        let (first, second) = (from.min(to), from.max(to));
        let mut above = Vec::new();
        if operation.way == Way::Path {
            above.push(self.lock(ROOT, Mode::Read));
        }
        let mut tops = vec![Path::new(&[first.top]).number(), Path::new(&[second.top]).number()];
        tops.dedup();
        if operation.way == Way::Path {
            above.extend(tops.into_iter().map(|top| self.lock(top, Mode::Read)));
        }
        let _both = [first, second].map(|place| self.lock(place.path().number(), Mode::Write));
        drop(above);
        tree.perform(operation, body)
    }
}

impl Scheme for Coupled {
    fn perform(&self, tree: &Tree, operation: &Operation, body: &Body) -> Answer {
        if operation.action == Action::Move {
            return self.0.rename(tree, operation, body);
        }
        let above = match operation.way {
            Way::Handle => Vec::new(),
            Way::Path => match self.0.lock_above(tree, operation, false) {
                Some(above) => above,
                None => return Answer::Missed,
            },
        };
        let (node, mut guards) = (operation.target.number(), Vec::new());
        let mode = if operation.only_reads() { Mode::Read } else { Mode::Write };
        match operation.action {
            Action::Sum | Action::Add => self.0.lock_subtree(tree, node, mode, &mut guards),
            _ => guards.push(self.0.lock(node, mode)),
        }
        drop(above);
        tree.perform(operation, body)
    }
}

impl Scheme for Nested {
    fn perform(&self, tree: &Tree, operation: &Operation, body: &Body) -> Answer {
        if operation.action == Action::Move {
            return self.0.rename(tree, operation, body);
        }
        let Some(_above) = self.0.lock_above(tree, operation, true) else { return Answer::Missed };
        // A sub-tree is locked alone, even to sum it up.
        let mode = if operation.action == Action::Read { Mode::Read } else { Mode::Write };
        let _guard = self.0.lock(operation.target.number(), mode);
        tree.perform(operation, body)
    }
}
