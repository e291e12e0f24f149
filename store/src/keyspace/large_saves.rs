//! Large values that are saved for a snapshot in parts: between two of them other tasks may have
//! the shard.
//!
//! A task that is about to change or to remove the value saves the rest first. So the record has
//! what the value was at the moment of the snapshot, as the rest of the file. A task that removes
//! all keys of a database saves nothing: the values, and what is saved of them, move to the table
//! that it retires. So does a reload.
//!
//! The parts of a record are kept until it is complete. Each table has at most one that is begun:
//! it is completed before the next one.

use super::shard::Database;
use super::{Entry, Keys, Layout, Table};
use crate::rdb::{PartialRecord, takes_parts};
use std::collections::BTreeMap;
use std::mem;

/// About how many bytes a part has.
const BYTES_OF_PART: usize = 32 * 1024;

/// Values that are being saved, or are to be.
#[derive(Debug, Default)]
pub(super) struct LargeSaves {
    /// The next one, of which parts may be saved.
    first: Option<LargeSave>,
    /// The others, by their databases and hashes.
    others: BTreeMap<(usize, u64), Vec<LargeSave>>,
}

/// A value that is being saved.
#[derive(Debug)]
struct LargeSave {
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
    saves: &mut LargeSaves,
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

impl LargeSaves {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn push(&mut self, save: LargeSave) {
        self.others.entry((save.database, save.hash)).or_default().push(save);
    }

    /// Returns the one that is begun, or the next one.
    fn first_mut(&mut self) -> Option<&mut LargeSave> {
        if planted!("saves-begun-side-by-side")
            && let Some(first) = self.first.take_if(|_| !self.others.is_empty())
            && let Some(mut last) = self.others.pop_last()
        {
            self.first = last.1.pop();
            last.1.into_iter().chain([first]).for_each(|save| self.push(save));
        }
        if self.first.is_none() {
            let mut next = self.others.first_entry()?;
            self.first = next.get_mut().pop();
            if next.get().is_empty() {
                next.remove();
            }
        }
        self.first.as_mut()
    }

    /// Passes parts of large values to `visit`, until it returns false. Returns true if these were
    /// all. Those of other versions were left by a snapshot that has failed.
    pub(super) fn go_on<'t>(
        &mut self,
        version: u32,
        table: impl Fn(usize) -> &'t Table,
        visit: &mut impl FnMut(usize, SavedPart<'_, '_>) -> bool,
    ) -> bool {
        while let Some(save) = self.first_mut() {
            let found = table(save.database).find(save.hash, &save.key);
            let Some(entry) = found.filter(|_| save.version == version) else {
                self.first = None;
                continue;
            };
            let (bytes, is_last) = save.record.go_on(entry.value(), BYTES_OF_PART);
            let origin = save.origin;
            let part = match self.first.take_if(|_| is_last) {
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
    pub(super) fn take_of(&mut self, database: usize) -> Self {
        if planted!("large-save-forgotten") {
            return Self::default();
        }
        let first = self.first.take_if(|save| save.database == database);
        let mut others = self.others.split_off(&(database, 0));
        self.others.append(&mut others.split_off(&(database + 1, 0)));
        Self { first, others }
    }

    /// Takes those of a database whose keys have this hash.
    fn take_with_hash(&mut self, database: usize, hash: u64) -> impl Iterator<Item = LargeSave> + use<> {
        let first = self.first.take_if(|save| (save.database, save.hash) == (database, hash));
        first.into_iter().chain(self.others.remove(&(database, hash)).unwrap_or_default())
    }

    /// Notes that two databases have swapped their tables.
    pub(super) fn note_swap(&mut self, [one, two]: [usize; 2]) {
        let Self { first, others } = mem::take(self);
        let note = |mut save: LargeSave| {
            save.database = match save.database {
                database if database == one => two,
                database if database == two => one,
                other => other,
            };
            save
        };
        self.first = first.map(note);
        others.into_values().flatten().map(note).for_each(|save| self.push(save));
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
        let shard = &mut *self.held_mut()[at];
        for save in shard.saves.take_with_hash(database, hash) {
            let LargeSave { version, origin, key, mut record, .. } = save;
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
