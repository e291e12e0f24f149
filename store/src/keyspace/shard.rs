//! A shard: one object of the runtime.

use super::large_saves::LargeSaves;
use super::saving::RetiredTable;
use super::{AccessClock, Entry, Mark, Table};
use crate::value::KeyedHasher;
use std::collections::{BTreeMap, HashMap};
use xtasking::task::Lines;

/// The keys of all databases whose hashes lead here. Tasks that only read it run side by side.
#[derive(Debug)]
pub struct Shard {
    pub(super) databases: Box<[Database]>,
    /// Tables that were removed before a snapshot has taken what they had.
    pub(super) retired: Vec<RetiredTable>,
    /// Large values that a snapshot has in part.
    pub(super) saves: LargeSaves,
    /// The last unit in the log that may have changed it.
    pub(super) mark: Mark,
    /// True once it is counted how much memory its keys take.
    pub(super) is_counted: bool,
}

/// One database's part of a shard.
#[derive(Debug, Default)]
pub(super) struct Database {
    pub(super) table: Table,
    /// Sessions that watch keys or wait for them; mostly there are none.
    pub(super) guests: Option<Box<Guests>>,
    /// Where the active expiry goes on.
    pub(super) expiry_cursor: u32,
    /// The bytes of the table, once the shard is counted.
    pub(super) bytes: i64,
}

/// Sessions that watch keys, and sessions that wait for keys.
#[derive(Debug, Default)]
pub(super) struct Guests {
    pub(super) watched: HashMap<Box<[u8]>, Watched, KeyedHasher>,
    pub(super) waiting: HashMap<Box<[u8]>, WaitingSessions, KeyedHasher>,
}

/// The sessions that wait for a key.
#[derive(Debug, Default)]
pub(super) struct WaitingSessions {
    pub(super) by_ticket: BTreeMap<u64, Waiting>,
    /// How many of them heed its removal.
    pub(super) heeding: usize,
}

/// A key that sessions watch.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// The number of those sessions.
    pub(super) sessions: usize,
    /// Grows with each change of the key.
    pub(super) version: u64,
    /// True while an entry is kept that has expired, and this is noted as a change: sessions that
    /// watch the key since have found it missing, so its removal is none.
    pub(super) has_expired: bool,
}

/// A session that waits for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The order among those that wait.
    pub(crate) ticket: u64,
    /// The session.
    pub(crate) client: u64,
    /// Whether its command runs again when the key is removed.
    pub(crate) heeds_removal: bool,
}

impl Shard {
    /// Makes an empty shard for this many databases.
    pub fn new(databases: usize) -> Self {
        let databases = (0..databases).map(|_| Database::default()).collect();
        let saves = LargeSaves::default();
        Self { databases, retired: Vec::new(), saves, mark: Mark::default(), is_counted: false }
    }

    /// Finds the entry of a key to read it, and notes the access.
    #[inline]
    pub(crate) fn get(
        &self,
        database: usize,
        hash: u64,
        key: &[u8],
        clock: AccessClock,
        now: u64,
    ) -> Option<&Entry> {
        let entry = self.databases[database].table.find(hash, key)?;
        if entry.is_expired(now) {
            return None;
        }
        entry.touch(clock, now);
        Some(entry)
    }

    /// Returns the last epoch of the log in which it may have been changed.
    #[inline]
    pub(crate) fn last_epoch(&self) -> u64 {
        self.mark.epoch
    }

    /// Returns the lines in which a lookup of a hash begins.
    pub(crate) fn lines(&self, database: usize, hash: u64) -> Lines {
        self.databases[database].table.lines(hash)
    }

    /// Returns the lines of the entry that such a lookup probably finds.
    pub(crate) fn lines_of_entry(&self, database: usize, hash: u64) -> Lines {
        self.databases[database].table.lines_of_entry(hash)
    }

    /// Returns true if sessions watch keys of a database or wait for them.
    #[cfg(test)]
    pub(crate) fn has_guests(&self, database: usize) -> bool {
        self.databases[database].guests.is_some()
    }

    /// Returns the number of keys in a database, and of those that have an expiry.
    pub(crate) fn counts(&self, database: usize) -> (usize, usize) {
        let table = &self.databases[database].table;
        (table.len(), table.expiring())
    }
}

impl Watched {
    /// Notes that the key has expired, if its entry is kept and this was not noted before.
    pub(super) fn note_state(&mut self, is_kept: bool) {
        if is_kept && !self.has_expired {
            self.version += 1;
            self.has_expired = true;
        }
    }
}

impl Database {
    /// Returns the session lists of the database, made if there are none.
    pub(super) fn guests_mut(&mut self) -> &mut Guests {
        self.guests.get_or_insert_default()
    }

    /// Notes a change of a key for the sessions that watch it. Returns true if others wait for it.
    #[inline]
    pub(super) fn note_change(&mut self, key: &[u8]) -> bool {
        let Some(guests) = &mut self.guests else { return false };
        if let Some(watched) = guests.watched.get_mut(key) {
            // Tests stop commands halfway by this key.
            #[cfg(test)]
            assert!(key != b"unnotable", "a change that cannot be noted");
            if watched.has_expired && planted!("overwritten-kept-key-unseen") {
                watched.has_expired = false;
                return guests.waiting.contains_key(key);
            }
            watched.version += 1;
            watched.has_expired = false;
        }
        guests.waiting.contains_key(key)
    }

    /// Notes that an entry which has expired is removed: a change for those that have watched the
    /// key before it expired. Returns true if others wait for the key.
    pub(super) fn note_expired(&mut self, key: &[u8]) -> bool {
        let Some(guests) = &mut self.guests else { return false };
        match guests.watched.get_mut(key) {
            Some(watched) if watched.has_expired => {
                watched.has_expired = false;
                guests.waiting.contains_key(key)
            }
            _ => self.note_change(key),
        }
    }

    /// Drops the session lists if they are empty.
    pub(super) fn drop_empty_guests(&mut self) {
        if self.guests.as_ref().is_some_and(|guests| guests.watched.is_empty() && guests.waiting.is_empty()) {
            self.guests = None;
        }
    }
}
