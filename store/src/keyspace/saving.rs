//! What a snapshot takes of a shard, and what a file brings besides values.

use super::large_saves::{LargeSaves, SavedPart, SegmentPlace, set_aside, table_of};
use super::{Entry, Garbage, Keys, Layout, Shard, Table};
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
    /// Its values that are being saved in parts.
    saves: LargeSaves,
}

impl RetiredTable {
    pub(super) fn new(version: u32, database: usize, table: Table, bytes: i64, saves: LargeSaves) -> Self {
        Self { version, database, table, bytes, saves }
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
    /// with their databases, and large values in parts, until it returns false. Returns true if
    /// that was all. Tables that were removed and are not needed any more are added to the garbage.
    pub(crate) fn visit_unsaved(
        &mut self,
        version: u32,
        layout: &Layout,
        garbage: &mut Vec<Garbage>,
        mut visit: impl FnMut(usize, SavedPart<'_, '_>) -> bool,
    ) -> bool {
        let Self { databases, retired, saves, .. } = self;
        if !saves.go_on(version, table_of(databases), &mut visit) {
            return false;
        }
        for database in 0..databases.len() {
            let origin = databases[database].table.origin(version, database);
            let place = SegmentPlace { layout, version, origin, database };
            while let Some(goes_on) = visit_segment(&mut databases[database].table, place, saves, &mut visit)
            {
                if !goes_on || !saves.go_on(version, table_of(databases), &mut visit) {
                    return false;
                }
            }
        }
        while let Some(RetiredTable { version: own, database, table, saves, .. }) = retired.last_mut() {
            // One of another version was left by a snapshot that has failed.
            let is_wanted = *own == version;
            let (origin, database) = (*database, usize::MAX);
            let place = SegmentPlace { layout, version, origin, database };
            let mut goes_on = Some(true).filter(|_| is_wanted);
            while let Some(is_asked) = goes_on {
                if !is_asked || !saves.go_on(version, |_| &*table, &mut visit) {
                    return false;
                }
                goes_on = visit_segment(table, place, saves, &mut visit);
            }
            garbage.extend(retired.pop().and_then(RetiredTable::into_garbage));
        }
        true
    }

    /// Takes the removed tables, as the snapshot has failed.
    pub(crate) fn take_retired(&mut self) -> Vec<Garbage> {
        self.saves.clear();
        self.retired.drain(..).filter_map(RetiredTable::into_garbage).collect()
    }
}

/// Passes the next segment of a table to `visit`, but for its large values. Returns what that has
/// returned; `None` if there is no segment that is not saved.
fn visit_segment(
    table: &mut Table,
    place: SegmentPlace<'_>,
    saves: &mut LargeSaves,
    visit: &mut impl FnMut(usize, SavedPart<'_, '_>) -> bool,
) -> Option<bool> {
    let entries = table.next_unsaved(place.version)?;
    Some(visit(place.origin, SavedPart::Entries(&mut set_aside(entries, place, saves))))
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
        let (layout, version) = (self.layout(), word.version());
        let Shard { databases, saves, .. } = &mut *self.held_mut()[at];
        let table = &mut databases[database].table;
        let origin = table.origin(version, database);
        let entries = table.advance(hash, version);
        let is_useful = || versions.has_use_for_records() || planted!("values-kept-after-failure");
        let is_wanted = word.is_saving() && is_useful() && !planted!("changed-before-saved");
        if let Some(entries) = entries.filter(|_| is_wanted) {
            let place = SegmentPlace { layout, version, origin, database };
            versions.save(origin, set_aside(entries, place, saves));
        }
    }
}
