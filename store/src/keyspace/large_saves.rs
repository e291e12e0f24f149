//! Large values that are saved for a snapshot in parts: between two of them other tasks may have
//! the shard.
//!
//! A task that is about to change or to remove the value saves the rest first. So the record has
//! what the value was at the moment of the snapshot, as the rest of the file.

use super::shard::Database;
use super::{Entry, Keys, Layout, Table};
use crate::rdb::{PartialRecord, takes_parts};

/// About how many bytes a part has.
const BYTES_OF_PART: usize = 32 * 1024;

/// A value that is being saved.
#[derive(Debug)]
pub(super) struct LargeSave {
    version: u32,
    /// The database to which it belonged when the version began.
    origin: usize,
    /// That to which its table belongs now, unless it was removed.
    database: usize,
    hash: u64,
    key: Box<[u8]>,
    record: PartialRecord,
}

/// Something that a task saves while it visits a shard.
pub(crate) enum SavedPart<'s, 'e> {
    /// Entries of a segment.
    Entries(&'s mut dyn Iterator<Item = &'e Entry>),
    /// This many bytes of a large value, whose record is not complete.
    Begun(usize),
    /// The record of a large value.
    Record {
        /// Its bytes.
        chunks: Vec<Vec<u8>>,
        /// The bytes of its last part.
        last: usize,
        /// Those of the other parts, which have [begun](Self::Begun).
        begun: usize,
    },
}

/// What entries of a segment belong to.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentPlace<'s> {
    pub(super) layout: &'s Layout,
    pub(super) version: u32,
    pub(super) origin: usize,
    pub(super) database: usize,
}

/// Passes on the entries of a segment whose values are not large. The others are to be saved in
/// parts.
pub(super) fn set_aside<'e>(
    entries: impl Iterator<Item = &'e Entry>,
    place: SegmentPlace<'_>,
    saves: &mut Vec<LargeSave>,
) -> impl Iterator<Item = &'e Entry> {
    entries.filter(move |entry| {
        let is_large = takes_parts(entry.value());
        if is_large {
            let SegmentPlace { layout, version, origin, database } = place;
            let (key, hash) = (entry.key(), layout.hash(entry.key()));
            let record = PartialRecord::new(key, entry.value(), entry.expires_at());
            saves.push(LargeSave { version, origin, database, hash, key: key.into(), record });
        }
        !is_large
    })
}

/// Passes parts of large values to `visit`, until it returns false. Returns true if these were all.
/// Those of other versions were left by a snapshot that has failed.
pub(super) fn go_on<'t>(
    saves: &mut Vec<LargeSave>,
    version: u32,
    table: impl Fn(usize) -> &'t Table,
    visit: &mut impl FnMut(usize, SavedPart<'_, '_>) -> bool,
) -> bool {
    while let Some(save) = saves.last_mut() {
        let found = table(save.database).find(save.hash, &save.key);
        let Some(entry) = found.filter(|_| save.version == version) else {
            saves.pop();
            continue;
        };
        let (bytes, is_last) = save.record.go_on(entry.value(), BYTES_OF_PART);
        let origin = save.origin;
        let part = match saves.pop_if(|_| is_last) {
            Some(save) => {
                let begun = save.record.bytes() - bytes;
                SavedPart::Record { chunks: save.record.into_chunks(), last: bytes, begun }
            }
            None => SavedPart::Begun(bytes),
        };
        if !visit(origin, part) {
            return false;
        }
    }
    true
}

/// Takes those whose table is that of a database, as it is removed.
pub(super) fn take_of(saves: &mut Vec<LargeSave>, database: usize) -> Vec<LargeSave> {
    if planted!("large-save-forgotten") {
        return Vec::new();
    }
    saves.extract_if(.., |save| save.database == database).collect()
}

/// Notes that two databases have swapped their tables.
pub(super) fn note_swap(saves: &mut [LargeSave], [one, two]: [usize; 2]) {
    for save in saves {
        save.database = match save.database {
            database if database == one => two,
            database if database == two => one,
            other => other,
        };
    }
}

/// Finds the table of a database.
pub(super) fn table_of<'t>(databases: &'t [Database]) -> impl Fn(usize) -> &'t Table {
    move |database| &databases[database].table
}

impl Keys<'_> {
    /// Saves what a snapshot still has to have of a large value with this hash, as the task is
    /// about to change it.
    #[cold]
    pub(super) fn finish_save(&mut self, hash: u64, at: usize) {
        if planted!("large-value-changed-between-parts") {
            return;
        }
        let (database, word, versions) = (self.database(), self.version_word(), self.versions());
        let is_due = |save: &LargeSave| save.hash == hash && save.database == database;
        let shard = &mut *self.held_mut()[at];
        while let Some(found) = shard.saves.iter().position(is_due) {
            let LargeSave { version, origin, key, mut record, .. } = shard.saves.swap_remove(found);
            let is_wanted = word.is_saving() && version == word.version();
            let Some(entry) = shard.databases[database].table.find(hash, &key).filter(|_| is_wanted) else {
                continue;
            };
            let begun = record.bytes();
            while !record.go_on(entry.value(), BYTES_OF_PART).1 {}
            versions.save_record(origin, record.into_chunks(), begun);
        }
    }
}
