//! What was removed and takes long to free: that is done when the shards are left.

use super::{Entry, Keys, Table};
use crate::value::{Pieces, Removed, Value, ValueRef};

/// A key takes at least about this many bytes, with its slot.
const LEAST_BYTES: i64 = 26;

/// Something that was removed, and is large.
#[derive(Debug)]
pub(crate) enum Garbage {
    /// A key with its value, or a block that it has had before another one.
    Entry(Entry),
    /// The value of a key.
    Value(Value),
    /// Parts of a value.
    Parts(Removed),
    /// The keys of a database in a shard, and their bytes; 0 if those were not counted.
    Table(Table, i64),
}

impl Garbage {
    /// Returns how many bytes it takes.
    pub(crate) fn bytes(&self) -> i64 {
        match self {
            Self::Entry(entry) => entry.bytes() as i64,
            Self::Value(value) => ValueRef::from(value).bytes() as i64,
            Self::Parts(parts) => parts.bytes() as i64,
            Self::Table(table, bytes) => Self::bytes_of_table(table, *bytes),
        }
    }

    /// Returns how many bytes a table takes, of which these were counted.
    pub(super) fn bytes_of_table(table: &Table, counted: i64) -> i64 {
        counted.max(table.len() as i64 * LEAST_BYTES)
    }

    /// Frees it.
    pub(crate) fn into_pieces(self) -> Pieces {
        match self {
            Self::Entry(entry) => Box::new(entry.into_pieces()),
            Self::Value(value) => value.into_pieces(),
            Self::Parts(parts) => parts.into_pieces(),
            Self::Table(table, _) => Box::new(table.into_pieces()),
        }
    }

    /// Returns a table that was removed, unless it is empty and has never had a key: one whose keys
    /// were removed has its segments still.
    pub(super) fn of_table(table: Table, bytes: i64) -> Option<Self> {
        (!table.segments.is_empty()).then(|| Self::Table(table, bytes))
    }
}

impl Table {
    /// Frees the table, an entry, a segment or a key of the order at a time.
    fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        let keys = self.order.into_iter().flat_map(|order| order.into_keys()).map(drop);
        let segments = self.segments.into_iter().flat_map(|segment| {
            let entries = segment.entries.into_entries();
            entries.flat_map(Entry::into_pieces).chain(std::iter::once(()))
        });
        keys.chain(segments)
    }
}

impl Keys<'_> {
    /// Frees an entry that was removed, or leaves it to [`take_garbage`](Self::take_garbage).
    pub(super) fn discard(&mut self, entry: Entry) {
        let large = Some(entry).filter(Entry::is_large);
        self.garbage.extend(large.map(Garbage::Entry).filter(|_| !planted!("value-freed-in-hold")));
    }

    /// Leaves what a command has removed from a value to be freed when the shards are left.
    pub(crate) fn leave_removed(&mut self, parts: Option<Removed>) {
        self.garbage.extend(parts.map(Garbage::Parts));
    }

    /// Returns true if something is to be freed when the shards are left.
    #[inline]
    pub(crate) fn has_garbage(&self) -> bool {
        !self.garbage.is_empty()
    }

    /// Takes the number and the bytes of the tables that were removed, and that a snapshot still
    /// has to have.
    #[inline]
    pub(crate) fn take_retired(&mut self) -> Option<(i64, i64)> {
        self.retired.take()
    }

    /// Takes what is to be freed when the shards are left. What is not taken is freed at once.
    pub(crate) fn take_garbage(&mut self) -> Vec<Garbage> {
        std::mem::take(&mut self.garbage)
    }
}
