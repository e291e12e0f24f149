//! What a snapshot takes of a shard, and what a file brings besides values.

use super::{Entry, Garbage, Keys, Shard, Table};
use crate::rdb::{self, RdbError};
use crate::value::CompactLimits;

/// A table that was removed, or emptied, before a snapshot has taken what it had.
#[derive(Debug)]
pub(super) struct RetiredTable {
    version: u32,
    database: usize,
    table: Table,
    /// Its bytes; 0 if they were not counted.
    bytes: i64,
}

impl RetiredTable {
    pub(super) fn new(version: u32, database: usize, table: Table, bytes: i64) -> Self {
        Self { version, database, table, bytes }
    }

    /// Returns how many bytes it takes: as many as when it is garbage.
    pub(super) fn bytes(&self) -> i64 {
        Garbage::bytes_of_table(&self.table, self.bytes)
    }

    /// Returns what is to be freed.
    fn into_garbage(self) -> Option<Garbage> {
        Garbage::of_table(self.table, self.bytes)
    }
}

impl Shard {
    /// Passes what the snapshot of this version still has to have to `visit`, segment by segment
    /// with their databases, until it returns false. Returns true if that was all. Tables that were
    /// removed and are not needed any more are added to the garbage.
    pub(crate) fn visit_unsaved(
        &mut self,
        version: u32,
        garbage: &mut Vec<Garbage>,
        mut visit: impl FnMut(usize, &mut dyn Iterator<Item = &Entry>) -> bool,
    ) -> bool {
        for (number, database) in self.databases.iter_mut().enumerate() {
            let origin = database.table.origin(version, number);
            while let Some(mut entries) = database.table.next_unsaved(version) {
                if !visit(origin, &mut entries) {
                    return false;
                }
            }
        }
        while let Some(retired) = self.retired.last_mut() {
            // One of another version was left by a snapshot that has failed.
            let is_wanted = retired.version == version;
            while let Some(mut entries) = retired.table.next_unsaved(version).filter(|_| is_wanted) {
                if !visit(retired.database, &mut entries) {
                    return false;
                }
            }
            garbage.extend(self.retired.pop().and_then(RetiredTable::into_garbage));
        }
        true
    }

    /// Takes the removed tables, as the snapshot has failed.
    pub(crate) fn take_retired(&mut self) -> Vec<Garbage> {
        self.retired.drain(..).filter_map(RetiredTable::into_garbage).collect()
    }
}

impl Keys<'_> {
    /// Sets for how many seconds there was no access to a key.
    pub(crate) fn set_idle_seconds(&mut self, key: &[u8], idle: u64) {
        if let Some(entry) = self.peek(key) {
            entry.set_accessed(self.clock().of_idle_seconds(idle, self.now()));
        }
    }

    /// Sets the counter of accesses to a key.
    pub(crate) fn set_count(&mut self, key: &[u8], count: u8) {
        if let Some(entry) = self.peek(key) {
            entry.set_accessed(self.clock().of_count(count, self.now()));
        }
    }

    /// Returns for how many seconds there was no access to an entry.
    pub(crate) fn idle_seconds(&self, entry: &Entry) -> u32 {
        self.clock().idle_seconds(entry.accessed(), self.now())
    }

    /// Returns the counter of accesses to an entry; `None` if they are not counted.
    pub(crate) fn count_of(&self, entry: &Entry) -> Option<u32> {
        self.clock().count(entry.accessed(), self.now())
    }

    /// Makes all values anew from their dumps. Keys that have expired stay, until a log is told
    /// that they are gone.
    pub(crate) fn reload(&mut self, databases: usize, limits: &CompactLimits) -> Result<(), RdbError> {
        for database in 0..databases {
            self.select(database);
            let dumped = self.all_entries().map(|entry| {
                let value = rdb::restore(&rdb::dump(entry.value()), limits)?;
                Ok((Box::<[u8]>::from(entry.key()), value, entry.expires_at()))
            });
            let entries: Vec<_> = dumped.collect::<Result<_, RdbError>>()?;
            self.clear();
            for (key, value, expires_at) in entries {
                self.insert_new(&key, value, expires_at);
            }
        }
        Ok(())
    }

    /// Saves what a snapshot still has to have of the segment with this hash, as the task is about
    /// to change it.
    #[cold]
    pub(super) fn save_segment(&mut self, hash: u64, at: usize) {
        let (database, word, versions) = (self.database(), self.version_word(), self.versions());
        let table = &mut self.held_mut()[at].databases[database].table;
        let origin = table.origin(word.version(), database);
        let entries = table.advance(hash, word.version());
        if let Some(entries) = entries.filter(|_| word.is_saving() && !planted!("changed-before-saved")) {
            versions.save(origin, entries);
        }
    }
}
