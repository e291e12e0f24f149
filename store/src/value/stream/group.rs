//! Groups of consumers: which entries were delivered to which, and not acknowledged.

use super::StreamId;
use crate::value::memory::ROUNDING;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A group of consumers.
#[derive(Clone, Debug, Default)]
pub struct ConsumerGroup {
    /// The last entry that was delivered.
    pub last_id: StreamId,
    /// The number of entries up to that one that were ever added; `None` if it is not known.
    pub entries_read: Option<u64>,
    pending: BTreeMap<StreamId, PendingEntry>,
    consumers: BTreeMap<Arc<[u8]>, Consumer>,
    /// The bytes of the consumers' names.
    name_bytes: usize,
}

/// A consumer of a group.
#[derive(Clone, Debug, Default)]
pub struct Consumer {
    /// When it was last active, in ms since 1970.
    pub seen_at: u64,
    pending: BTreeSet<StreamId>,
}

/// An entry that was delivered and not acknowledged.
#[derive(Clone, Debug)]
pub struct PendingEntry {
    consumer: Arc<[u8]>,
    /// When it was last delivered, in ms since 1970.
    pub delivered_at: u64,
    /// How often it was delivered.
    pub deliveries: u64,
}

impl PendingEntry {
    /// Returns the consumer to which it was last delivered.
    pub fn consumer(&self) -> &[u8] {
        &self.consumer
    }

    /// Returns the ms since it was delivered.
    pub fn idle(&self, now: u64) -> u64 {
        now.saturating_sub(self.delivered_at)
    }
}

impl Consumer {
    /// Iterates over the IDs of the entries that it has not acknowledged, from this one on.
    pub fn pending_from(&self, from: StreamId) -> impl Iterator<Item = StreamId> {
        self.pending.range(from..).copied()
    }

    /// Returns the number of entries that it has not acknowledged.
    pub fn pending_len(&self) -> usize {
        self.pending.len()
    }
}

impl ConsumerGroup {
    /// Makes a group without consumers.
    pub fn new(last_id: StreamId, entries_read: Option<u64>) -> Self {
        Self { last_id, entries_read, ..Self::default() }
    }

    /// Returns about how many bytes it points to.
    pub(super) fn memory(&self) -> usize {
        let pending = size_of::<(StreamId, PendingEntry)>() + size_of::<StreamId>();
        // The counts of an `Arc` are before its bytes.
        let consumer = size_of::<(Arc<[u8]>, Consumer)>() + 2 * size_of::<usize>() + ROUNDING;
        self.pending.len() * pending + self.consumers.len() * consumer + self.name_bytes
    }

    /// Returns a consumer.
    pub fn consumer(&self, name: &[u8]) -> Option<&Consumer> {
        self.consumers.get(name)
    }

    /// Iterates over the consumers, in the order of their names.
    pub fn consumers(&self) -> impl ExactSizeIterator<Item = (&[u8], &Consumer)> {
        self.consumers.iter().map(|(name, consumer)| (&**name, consumer))
    }

    /// Makes a consumer. Returns false if it is there.
    pub fn create_consumer(&mut self, name: &[u8], now: u64) -> bool {
        if self.consumers.contains_key(name) {
            return false;
        }
        self.name_bytes += name.len();
        self.consumers.insert(name.into(), Consumer { seen_at: now, pending: BTreeSet::new() });
        true
    }

    /// Notes that a consumer is active; makes it if it is not there. Returns true if it was made.
    pub fn see_consumer(&mut self, name: &[u8], now: u64) -> bool {
        match self.consumers.get_mut(name) {
            Some(consumer) => {
                consumer.seen_at = now;
                false
            }
            None => self.create_consumer(name, now),
        }
    }

    /// Removes a consumer with its pending entries. Returns their number.
    pub fn remove_consumer(&mut self, name: &[u8]) -> Option<usize> {
        let consumer = self.consumers.remove(name)?;
        self.name_bytes -= name.len();
        consumer.pending.iter().for_each(|id| drop(self.pending.remove(id)));
        Some(consumer.pending.len())
    }

    /// Returns the number of pending entries.
    pub fn pending_len(&self) -> usize {
        self.pending.len()
    }

    /// Frees the group, a pending entry at a time.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        let own = self.consumers.into_values().flat_map(|consumer| consumer.pending).map(drop);
        self.pending.into_iter().map(drop).chain(own)
    }

    /// Returns a pending entry.
    pub fn pending(&self, id: StreamId) -> Option<&PendingEntry> {
        self.pending.get(&id)
    }

    /// Iterates over the pending entries from an ID on, from either end.
    pub fn pending_from(&self, from: StreamId) -> impl DoubleEndedIterator<Item = (StreamId, &PendingEntry)> {
        self.pending.range(from..).map(|(id, pending)| (*id, pending))
    }

    /// Notes that an entry was delivered to a consumer, perhaps after it was to another one.
    /// Returns false, and does nothing, if there is no such consumer.
    pub fn deliver(&mut self, id: StreamId, consumer: &[u8], delivered_at: u64, deliveries: u64) -> bool {
        let Some((name, _)) = self.consumers.get_key_value(consumer) else { return false };
        let pending = PendingEntry { consumer: name.clone(), delivered_at, deliveries };
        let before = self.pending.insert(id, pending).map(|before| before.consumer);
        let is_moved = before.as_ref().is_none_or(|before| **before != *consumer);
        if let Some(before) = before.filter(|_| is_moved)
            && let Some(before) = self.consumers.get_mut(&before)
        {
            before.pending.remove(&id);
        }
        if is_moved && let Some(consumer) = self.consumers.get_mut(consumer) {
            consumer.pending.insert(id);
        }
        true
    }

    /// Removes a pending entry. Returns false if there is none with this ID.
    pub fn acknowledge(&mut self, id: StreamId) -> bool {
        let Some(pending) = self.pending.remove(&id) else { return false };
        if let Some(consumer) = self.consumers.get_mut(&pending.consumer) {
            consumer.pending.remove(&id);
        }
        true
    }

    /// Returns true if each pending entry is that of its consumer, and of no other.
    #[cfg(test)]
    pub(crate) fn is_consistent(&self) -> bool {
        let of_consumers: usize = self.consumers.values().map(|consumer| consumer.pending.len()).sum();
        let is_owned = |(id, pending): (&StreamId, &PendingEntry)| {
            self.consumers.get(&pending.consumer).is_some_and(|consumer| consumer.pending.contains(id))
        };
        of_consumers == self.pending.len() && self.pending.iter().all(is_owned)
    }
}
