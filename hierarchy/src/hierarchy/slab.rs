//! The records of a granule.

use super::reach::Reach;
use crate::Node;
use smallvec::SmallVec;
use std::ops::Range;
use xtasking::Directory;

/// All that belongs to a node.
pub(super) struct Record<T> {
    pub node: Node,
    pub value: T,
    pub parents: SmallVec<[Node; 1]>,
    pub children: Vec<Node>,
    pub reach: Reach,
}

/// A part of a hierarchy: the nodes that tasks claim together. (It is the data of a granule, and has nothing to be used by others
/// than this crate.)
pub struct Slab<T> {
    pub(super) granule: u32,
    records: slab::Slab<Record<T>>,
    /// Numbers of nodes to come.
    free: Vec<u32>,
    pub(super) limits: Limits,
}

/// What all granules of a hierarchy have to know.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Of intervals of a node's reach.
    pub intervals: usize,
    /// A granule with more nodes asks for a new layout.
    pub nodes: usize,
}

/// Where a node lies. The directory has two words for a node: this one, 0 for nowhere, and how far its sub-tree reaches, 0 for
/// several intervals, which only the record tells. Whoever has the node's granule to write it writes them; so who has it finds
/// the truth there, and anybody else what was true a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub granule: u32,
    pub slot: u32,
}

/// So many nodes come to a granule that is too full until it asks again.
const AGAIN: usize = 1024;
/// So many numbers are taken at once.
const NUMBERS: u32 = 16;

impl Location {
    pub fn find(directory: &Directory, node: Node) -> Option<Self> {
        let word = directory.get(Self::word(node)).checked_sub(1)?;
        Some(Self { granule: (word >> 32) as u32, slot: word as u32 })
    }

    /// The granules that the sub-tree of a node reaches, if that is one interval.
    pub fn reach(directory: &Directory, node: Node) -> Option<Range<u32>> {
        let word = directory.get(Self::word(node) + 1);
        (word != 0).then_some((word >> 32) as u32..word as u32)
    }

    fn note(self, directory: &Directory, node: Node, reach: &Reach) {
        directory.set(Self::word(node), (u64::from(self.granule) << 32 | u64::from(self.slot)) + 1);
        self.note_reach(directory, node, reach);
    }

    fn note_reach(self, directory: &Directory, node: Node, reach: &Reach) {
        let word = match &reach.intervals(self.granule)[..] {
            [only] => u64::from(only.start) << 32 | u64::from(only.end),
            _ => 0,
        };
        directory.set(Self::word(node) + 1, word);
    }

    fn forget(directory: &Directory, node: Node) {
        directory.set(Self::word(node), 0);
    }

    fn word(node: Node) -> u32 {
        2 * node.0
    }

    /// Room for so many nodes more; the number of the first. `None` if there would be 2³¹ or more.
    pub fn extend(directory: &Directory, nodes: u32) -> Option<u32> {
        Some(directory.extend(nodes.checked_mul(2)?)? / 2)
    }
}

impl<T> Slab<T> {
    pub(super) fn new(granule: u32, limits: Limits) -> Self {
        Self { granule, records: slab::Slab::new(), free: Vec::new(), limits }
    }

    /// Whether it has more nodes than it should.
    pub(super) fn is_too_full(&self) -> bool {
        self.len() > self.limits.nodes
    }

    /// Whether somebody should lay all nodes out anew: told once in a while.
    pub(super) fn asks_for_room(&self) -> bool {
        self.len() > self.limits.nodes && (self.len() - self.limits.nodes) % AGAIN == 1
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The record of a node, if it is there.
    pub(super) fn get(&self, node: Node, slot: u32) -> Option<&Record<T>> {
        self.records.get(slot as usize).filter(|record| record.node == node)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, node: Node, slot: u32) -> Option<&mut Record<T>> {
        self.records.get_mut(slot as usize).filter(|record| record.node == node)
    }

    /// Puts a record here, and notes where.
    pub(super) fn put(&mut self, directory: &Directory, record: Record<T>) {
        let node = record.node;
        let slot = self.records.vacant_key() as u32;
        Location { granule: self.granule, slot }.note(directory, node, &record.reach);
        self.records.insert(record);
    }

    /// Has the sub-tree of a node that is here reach farther.
    pub(super) fn widen(&mut self, directory: &Directory, node: Node, slot: u32, intervals: &[Range<u32>]) {
        let reach = Reach::new(self.granule, intervals);
        Location { granule: self.granule, slot }.note_reach(directory, node, &reach);
        if let Some(record) = self.get_mut(node, slot) {
            record.reach = reach;
        }
    }

    /// Takes a record out, if it is there; its number can be given out again.
    pub(super) fn take(&mut self, directory: &Directory, node: Node, slot: u32) -> Option<Record<T>> {
        self.get(node, slot)?;
        Location::forget(directory, node);
        self.free.push(node.0);
        Some(self.records.remove(slot as usize))
    }

    /// Takes all records out; their numbers stay theirs.
    pub(super) fn take_all(&mut self) -> Vec<Record<T>> {
        self.records.drain().collect()
    }

    /// A number for a new node; `None` if there is none left.
    pub(super) fn number(&mut self, directory: &Directory) -> Option<Node> {
        if self.free.is_empty() {
            let first = Location::extend(directory, NUMBERS)?;
            self.free.extend((first..first + NUMBERS).rev());
        }
        self.free.pop().map(Node)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Record<T>> {
        self.records.iter().map(|(_, record)| record)
    }
}
