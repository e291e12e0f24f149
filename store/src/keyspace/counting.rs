//! How much memory keys take: counted for the limit `maxmemory`, once there is one.
//!
//! A shard is counted or not. If it is, each change of an entry is added to a sum of the task,
//! which passes it on. A value that a command changes in place is measured before, and again when
//! the command goes on to another key or ends.

use super::{Entry, Keys, Shard};
use smallvec::SmallVec;

/// An entry that is being changed in place.
#[derive(Debug)]
pub(super) struct Changing {
    /// The position of its shard.
    at: usize,
    database: usize,
    hash: u64,
    key: SmallVec<[u8; 32]>,
    /// Its bytes before.
    bytes: usize,
}

impl Shard {
    /// Begins to count, unless the shard is counted. Returns the bytes that its keys take.
    pub(crate) fn begin_to_count(&mut self) -> i64 {
        if std::mem::replace(&mut self.is_counted, true) {
            return 0;
        }
        for database in self.databases.iter_mut() {
            database.bytes = database.table.bytes() as i64;
        }
        self.databases.iter().map(|database| database.bytes).sum()
    }
}

impl Keys<'_> {
    /// Takes by how many bytes the keys of the counted shards have grown.
    #[cold]
    pub(crate) fn take_growth(&mut self) -> i64 {
        self.end_change();
        std::mem::take(&mut self.growth)
    }

    /// Returns true if a shard is counted.
    #[inline]
    fn is_counted(&self, at: usize) -> bool {
        self.version_word().is_counted() && self.held()[at].is_counted
    }

    /// Inserts an entry whose key is not there, into a table that may be changed: the caller has it
    /// from [`table_mut`](Self::table_mut).
    pub(super) fn insert(&mut self, hash: u64, at: usize, entry: Entry) -> &mut Entry {
        if self.is_counted(at) {
            self.end_change();
            let bytes = entry.bytes() + self.bytes_of_place(at);
            self.grow(at, self.database(), bytes as i64);
        }
        self.note_insertion(entry.key());
        let (database, layout, version) = (self.database(), self.layout(), self.version_word().version());
        let table = &mut self.held_mut()[at].databases[database].table;
        table.insert(hash, entry, version, |key| layout.hash(key))
    }

    /// Removes the entry of a key.
    pub(super) fn remove_entry(&mut self, hash: u64, at: usize, key: &[u8]) -> Option<Entry> {
        let is_counted = self.is_counted(at);
        if is_counted {
            self.end_change();
        }
        let entry = self.table_mut(hash, at).remove(hash, key)?;
        if is_counted {
            let bytes = entry.bytes() + self.bytes_of_place(at);
            self.grow(at, self.database(), -(bytes as i64));
        }
        Some(entry)
    }

    /// Notes by how many bytes a table of a counted shard has grown.
    fn grow(&mut self, at: usize, database: usize, bytes: i64) {
        self.growth += bytes;
        self.held_mut()[at].databases[database].bytes += bytes;
    }

    /// Returns how many bytes each key of a table takes besides those of its entry.
    fn bytes_of_place(&self, at: usize) -> usize {
        self.held()[at].databases[self.database()].table.bytes_of_place()
    }

    /// Measures an entry that is about to be changed, if its shard is counted.
    #[inline]
    pub(super) fn begin_change(&mut self, hash: u64, at: usize, key: &[u8]) {
        if self.is_counted(at) && !planted!("change-in-place-uncounted") {
            self.measure(hash, at, key);
        }
    }

    #[cold]
    fn measure(&mut self, hash: u64, at: usize, key: &[u8]) {
        self.end_change();
        let database = self.database();
        if let Some(entry) = self.held()[at].databases[database].table.find(hash, key) {
            self.changing = Some(Changing { at, database, hash, key: key.into(), bytes: entry.bytes() });
        }
    }

    /// Measures the entry that was changed again.
    #[cold]
    pub(super) fn end_change(&mut self) {
        let Some(Changing { at, database, hash, key, bytes }) = self.changing.take() else { return };
        let entry = self.held()[at].databases[database].table.find(hash, &key);
        let growth = entry.map_or(0, Entry::bytes) as i64 - bytes as i64;
        self.grow(at, database, growth);
    }

    /// Returns the bytes of all keys of a database in the held shards that are counted.
    pub(super) fn bytes_of_database(&self, database: usize) -> i64 {
        let counted = self.held().iter().filter(|held| held.is_counted);
        counted.map(|held| held.databases[database].bytes).sum()
    }
}
