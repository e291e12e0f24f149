//! A plain tree in an array, which only one thread changes at a time.

use super::super::body::Body;
use super::super::contents::Contents;
use super::super::layout::{Locations, NODES, Name, Path, ROOT, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum, Way};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A tree. A handle is an index of the array.
pub(super) struct PlainTree {
    nodes: Vec<PlainNode>,
    locations: Arc<Locations>,
}

#[derive(Clone, Default)]
struct PlainNode {
    entries: BTreeMap<Name, u32>,
    value: u64,
}

impl PlainTree {
    /// Creates the initial tree.
    pub fn new(locations: &Arc<Locations>) -> Self {
        let mut nodes = vec![PlainNode::default(); NODES as usize];
        for (parent, name, node) in entries() {
            nodes[parent as usize].entries.insert(name, node);
        }
        Self { nodes, locations: locations.clone() }
    }

    fn find(&self, way: Way, path: &Path) -> Option<u32> {
        match way {
            Way::Handle => Some(path.number()),
            Way::Path => path.names().iter().try_fold(ROOT, |node, name| self.entry(node, *name)),
        }
    }

    /// Returns an entry of a directory.
    pub fn entry(&self, node: u32, name: Name) -> Option<u32> {
        self.nodes[node as usize].entries.get(&name).copied()
    }

    /// Returns the entries of a directory, by name.
    pub fn entries(&self, node: u32) -> Vec<u32> {
        self.nodes[node as usize].entries.values().copied().collect()
    }

    /// Takes an entry out of a directory. `None` if it is not there.
    pub fn take(&mut self, directory: u32, name: Name) -> Option<u32> {
        self.nodes[directory as usize].entries.remove(&name)
    }

    /// Puts the directory that a move has taken out into its new place.
    pub fn put(&mut self, operation: &Operation, node: u32) {
        let (directory, name) = (operation.to.path().number(), operation.name());
        self.nodes[directory as usize].entries.insert(name, node);
        self.locations.set(name, operation.to);
    }

    /// Carries out an operation that only reads.
    pub fn read(&self, operation: &Operation, body: &Body) -> Answer {
        let Some(node) = self.find(operation.way, &operation.target) else { return Answer::Missed };
        if operation.action == Action::Read {
            body.compute(1);
            return Answer::Read(self.nodes[node as usize].value);
        }
        let mut sum = Sum::default();
        self.sum(node, &mut sum);
        body.compute(sum.nodes);
        Answer::Sum(sum)
    }

    fn sum(&self, node: u32, sum: &mut Sum) {
        let PlainNode { entries, value } = &self.nodes[node as usize];
        sum.visit(*value);
        entries.values().for_each(|&entry| self.sum(entry, sum));
    }

    /// Carries out an operation that writes.
    pub fn write(&mut self, operation: &Operation, body: &Body) -> Answer {
        if operation.action == Action::Move {
            return self.rename(operation, body).map_or(Answer::Missed, |()| Answer::Moved);
        }
        let Some(node) = self.find(operation.way, &operation.target) else { return Answer::Missed };
        if operation.action == Action::Write {
            body.compute(1);
            self.nodes[node as usize].value += 1;
            return Answer::Written;
        }
        let nodes = self.add(node);
        body.compute(nodes);
        Answer::Added(nodes)
    }

    /// Adds a round to a sub-tree, and returns its number of nodes.
    fn add(&mut self, node: u32) -> u32 {
        let PlainNode { entries, value } = &mut self.nodes[node as usize];
        *value += ROUND;
        // Taken out, so that the tree can be changed meanwhile.
        let entries = std::mem::take(entries);
        let nodes = 1 + entries.values().map(|&entry| self.add(entry)).sum::<u32>();
        self.nodes[node as usize].entries = entries;
        nodes
    }

    /// Returns `None` if the directory is not there.
    fn rename(&mut self, operation: &Operation, body: &Body) -> Option<()> {
        let from = self.find(operation.way, &operation.from().path())?;
        self.find(operation.way, &operation.to.path())?;
        let node = self.take(from, operation.name())?;
        body.compute(1);
        self.put(operation, node);
        Some(())
    }

    /// Walks through the whole tree.
    pub fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        self.walk(ROOT, Path::new(&[]), &mut contents);
        contents
    }

    fn walk(&self, node: u32, path: Path, contents: &mut Contents) {
        let PlainNode { entries, value } = &self.nodes[node as usize];
        contents.add(&path, *value);
        entries.iter().for_each(|(&name, &entry)| self.walk(entry, path.child(name), contents));
    }
}
