//! The records of a granule, and the directory of all nodes.

use super::reach::Reach;
use crate::Node;
use smallvec::SmallVec;
use std::ops::Range;
use xtasking::claims::Directory;

/// All that belongs to a node.
pub(super) struct Record<T> {
    pub node: Node,
    pub value: T,
    pub parents: SmallVec<[Node; 1]>,
    pub children: Vec<Node>,
    pub reach: Reach,
}

/// The nodes of one granule, which tasks claim together. It is the data type of the granules; only
/// this crate uses its contents.
pub struct Slab<T> {
    pub(super) granule: u32,
    records: slab::Slab<Record<T>>,
    /// Node numbers to be given to new nodes.
    free: Vec<u32>,
    pub(super) limits: Limits,
}

/// Limits that apply to all granules of a hierarchy.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Intervals of a node's reach.
    pub max_intervals: usize,
    /// Nodes of a granule before it requests a new layout.
    pub max_nodes: usize,
}

/// Where a node lies. The directory has two words per node. The first is the location; 0 means that
/// the node does not exist. The second is the node's reach if that is one interval; 0 means that
/// only the record says. Both are written only by a task that writes the node's granule. Hence a
/// task that has claimed the granule reads the current values, and any other task reads recent
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub granule: u32,
    pub slot: u32,
}

/// Insertions into a granule that is too full between two requests for a new layout.
const RENUMBER_REQUEST_INTERVAL: usize = 1024;
/// Node numbers that a granule takes from the directory at once.
const NUMBERS_PER_BATCH: u32 = 16;

impl Location {
    pub fn find(directory: &Directory, node: Node) -> Option<Self> {
        // No node has a number without a word.
        let word = directory.get(node.0.checked_mul(2)?).checked_sub(1)?;
        Some(Self { granule: (word >> 32) as u32, slot: word as u32 })
    }

    /// Returns the granules that a node's sub-tree reaches, if they are one interval.
    pub fn reach(directory: &Directory, node: Node) -> Option<Range<u32>> {
        let word = directory.get(node.0.checked_mul(2)? + 1);
        (word != 0).then_some((word >> 32) as u32..word as u32)
    }

    fn publish(self, directory: &Directory, node: Node, reach: &Reach) {
        directory.set(Self::word(node), (u64::from(self.granule) << 32 | u64::from(self.slot)) + 1);
        self.publish_reach(directory, node, reach);
    }

    fn publish_reach(self, directory: &Directory, node: Node, reach: &Reach) {
        let word = match &reach.intervals(self.granule)[..] {
            [only] => u64::from(only.start) << 32 | u64::from(only.end),
            _ => 0,
        };
        directory.set(Self::word(node) + 1, word);
    }

    fn clear(directory: &Directory, node: Node) {
        directory.set(Self::word(node), 0);
    }

    fn word(node: Node) -> u32 {
        2 * node.0
    }

    /// Adds room for `nodes` more nodes and returns the number of the first. Returns `None` if
    /// there would be 2³¹ or more.
    pub fn extend(directory: &Directory, nodes: u32) -> Option<u32> {
        Some(directory.extend(nodes.checked_mul(2)?)? / 2)
    }
}

impl<T> Slab<T> {
    pub(super) fn new(granule: u32, limits: Limits) -> Self {
        Self { granule, records: slab::Slab::new(), free: Vec::new(), limits }
    }

    /// Returns true if the granule has more nodes than it should.
    pub(super) fn is_too_full(&self) -> bool {
        self.len() > self.limits.max_nodes
    }

    /// Returns true if the caller should request a new layout: once in
    /// [`RENUMBER_REQUEST_INTERVAL`] insertions.
    pub(super) fn should_request_renumber(&self) -> bool {
        self.len() > self.limits.max_nodes
            && (self.len() - self.limits.max_nodes) % RENUMBER_REQUEST_INTERVAL == 1
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns the record of a node, if it lies here.
    pub(super) fn get(&self, node: Node, slot: u32) -> Option<&Record<T>> {
        self.records.get(slot as usize).filter(|record| record.node == node)
    }

    /// Returns the record of a node, to change it.
    pub(super) fn get_mut(&mut self, node: Node, slot: u32) -> Option<&mut Record<T>> {
        self.records.get_mut(slot as usize).filter(|record| record.node == node)
    }

    /// Adds a record and publishes its location.
    pub(super) fn put(&mut self, directory: &Directory, record: Record<T>) {
        let node = record.node;
        let slot = self.records.vacant_key() as u32;
        Location { granule: self.granule, slot }.publish(directory, node, &record.reach);
        self.records.insert(record);
    }

    /// Widens the reach of a node that lies here.
    pub(super) fn widen(&mut self, directory: &Directory, node: Node, slot: u32, intervals: &[Range<u32>]) {
        let reach = Reach::new(self.granule, intervals);
        if !planted!("reach-widened-unpublished") {
            Location { granule: self.granule, slot }.publish_reach(directory, node, &reach);
        }
        if let Some(record) = self.get_mut(node, slot) {
            record.reach = reach;
        }
    }

    /// Removes a record, if it lies here; its number becomes free.
    pub(super) fn take(&mut self, directory: &Directory, node: Node, slot: u32) -> Option<Record<T>> {
        self.get(node, slot)?;
        Location::clear(directory, node);
        self.free.push(node.0);
        Some(self.records.remove(slot as usize))
    }

    /// Removes all records. Their numbers stay in use.
    pub(super) fn take_all(&mut self) -> Vec<Record<T>> {
        self.records.drain().collect()
    }

    /// Allocates a number for a new node; `None` if there is none left.
    pub(super) fn allocate_number(&mut self, directory: &Directory) -> Option<Node> {
        if self.free.is_empty() {
            let first = Location::extend(directory, NUMBERS_PER_BATCH)?;
            self.free.extend((first..first + NUMBERS_PER_BATCH).rev());
        }
        self.free.pop().map(Node)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Record<T>> {
        self.records.iter().map(|(_, record)| record)
    }
}
