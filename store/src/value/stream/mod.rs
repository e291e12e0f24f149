//! Streams: entries in the order of their IDs, and groups that read them.
//!
//! | file | contents |
//! |---|---|
//! | `id` | [`StreamId`] |
//! | `block` | entries in one buffer |
//! | `log` | [`EntryLog`]: the blocks of a stream, in order |
//! | `group` | [`ConsumerGroup`]: what was delivered to its consumers |
//!
//! An entry is appended to the last block, whose names of fields it shares if it has the same. A
//! block is full at `stream-node-max-bytes` or `stream-node-max-entries`. Deleted entries are only
//! marked, until all of a block are.

mod block;
mod group;
mod id;
mod log;

pub use block::StreamEntry;
pub use group::{Consumer, ConsumerGroup, PendingEntry};
pub use id::StreamId;
pub use log::{AppendError, EntryLog, Trim, TrimBound};

use super::memory::ROUNDING;
use std::collections::BTreeMap;

/// The greatest count of entries or deliveries. Counts stay there, as no command takes a greater
/// number, and so neither does the log.
pub(crate) const MAX_STREAM_COUNT: u64 = i64::MAX as u64;

/// Returns a count after one more entry or delivery.
pub(crate) fn one_more(count: u64) -> u64 {
    count.saturating_add(1).min(MAX_STREAM_COUNT)
}

/// What is known of the entries that there are and were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamState {
    /// The ID of the last entry that was added. That of the next one is greater.
    pub last_id: StreamId,
    /// The ID of the first entry; the least one if there is none.
    pub first_id: StreamId,
    /// The greatest ID of an entry that XDEL has deleted.
    pub max_deleted_id: StreamId,
    /// How many entries were ever added.
    pub entries_added: u64,
}

/// Entries in the order of their IDs, and groups that read them.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    log: EntryLog,
    groups: BTreeMap<Box<[u8]>, ConsumerGroup>,
    /// What the groups point to, with their names.
    group_bytes: usize,
}

impl Stream {
    /// Makes a stream of these entries, without groups.
    pub fn new(log: EntryLog) -> Self {
        Self { log, ..Self::default() }
    }

    /// Returns the number of blocks and pending entries, which are freed one by one.
    pub(crate) fn pieces(&self) -> usize {
        self.log.blocks().len() + self.groups.values().map(ConsumerGroup::pending_len).sum::<usize>()
    }

    /// Frees the stream, a block or a pending entry at a time.
    pub(crate) fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        self.log.into_pieces().chain(self.groups.into_values().flat_map(ConsumerGroup::into_pieces))
    }

    /// Returns the entries.
    pub fn log(&self) -> &EntryLog {
        &self.log
    }

    /// Returns the entries, to be changed.
    pub fn log_mut(&mut self) -> &mut EntryLog {
        &mut self.log
    }

    /// Returns a group.
    pub fn group(&self, name: &[u8]) -> Option<&ConsumerGroup> {
        self.groups.get(name)
    }

    /// Iterates over the groups, in the order of their names.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = (&[u8], &ConsumerGroup)> {
        self.groups.iter().map(|(name, group)| (&**name, group))
    }

    /// Adds a group. Returns false if there is one of this name.
    pub fn add_group(&mut self, name: &[u8], group: ConsumerGroup) -> bool {
        if self.groups.contains_key(name) {
            return false;
        }
        self.group_bytes += group_memory(name, &group);
        self.groups.insert(name.into(), group);
        true
    }

    /// Removes a group. Returns false if there is none of this name.
    pub fn remove_group(&mut self, name: &[u8]) -> bool {
        let removed = self.groups.remove(name);
        self.group_bytes -= removed.as_ref().map_or(0, |group| group_memory(name, group));
        removed.is_some()
    }

    /// Changes a group by a function, which may read the entries.
    pub fn change_group<R>(
        &mut self,
        name: &[u8],
        change: impl FnOnce(&EntryLog, &mut ConsumerGroup) -> R,
    ) -> Option<R> {
        let group = self.groups.get_mut(name)?;
        self.group_bytes -= group_memory(name, group);
        let result = change(&self.log, group);
        self.group_bytes += group_memory(name, group);
        Some(result)
    }

    /// Returns the encoding as `OBJECT ENCODING` names it.
    pub const fn encoding(&self) -> &'static str {
        "stream"
    }

    /// Returns how many bytes it points to.
    pub(super) fn bytes(&self) -> usize {
        self.log.memory() + self.group_bytes
    }

    /// Checks the count of bytes against what is there.
    #[cfg(test)]
    pub(super) fn check_bytes(&self) {
        self.log.check();
        let groups = self.groups.iter().map(|(name, group)| group_memory(name, group));
        assert_eq!(self.group_bytes, groups.sum::<usize>());
        assert!(self.groups.values().all(ConsumerGroup::is_consistent));
    }
}

/// Returns about how many bytes a group takes.
fn group_memory(name: &[u8], group: &ConsumerGroup) -> usize {
    size_of::<(Box<[u8]>, ConsumerGroup)>() + ROUNDING + name.len() + group.memory()
}
