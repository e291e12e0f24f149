//! What a command sees of the keyspace.

use super::counting::Changing;
use super::lookups::Lookups;
use super::{
    AccessClock, ChangedKeys, Entry, Garbage, Held, HeldShards, Layout, Mark, Table, VersionWord, Versions,
};
use crate::value::{Value, ValueRef};
use std::cell::RefCell;

/// The keys of one database that a command may access: those of the shards that its task holds.
///
/// An expired key is as good as missing. A task that may write removes it when it meets it.
///
/// # Panics
///
/// All methods with a key panic if the task does not hold the key's shard, and those that change
/// something if it only reads. So a command has to name all its keys in its entry in the table of
/// commands, and to be marked there as one that writes.
#[derive(Debug)]
pub struct Keys<'v> {
    held: HeldShards<'v>,
    layout: &'v Layout,
    versions: &'v Versions,
    /// Read once the task holds its shards.
    pub(super) version: VersionWord,
    database: usize,
    now: u64,
    /// When keys have expired: now, or never.
    expiry_now: u64,
    /// Keys that were changed and that sessions wait for.
    ready: Vec<(usize, Box<[u8]>)>,
    /// Keys that were inserted, each with its database, if that is noted.
    pub(super) inserted: Option<Vec<(usize, Box<[u8]>)>>,
    /// What was changed, for sessions that track keys.
    pub(super) touched: Option<Box<ChangedKeys>>,
    /// Keys that were removed because they had expired.
    pub(super) expired: Vec<Expired>,
    /// Expired keys that were met in shards that may be written. They are removed in the end: what
    /// is replayed must not find them.
    met: RefCell<Vec<Expired>>,
    /// The last unit that the task has logged; its stamp is 0 before the first.
    pub(super) logged: Mark,
    /// The last stamp that the task has reserved.
    pub(super) reserved: u64,
    pub(super) lookups: Lookups,
    /// Set while nothing may be written: expired keys are missing, but not removed.
    keeps_expired: bool,
    /// The bytes by which counted shards have grown.
    pub(super) growth: i64,
    /// What is being changed in a counted shard.
    pub(super) changing: Option<Changing>,
    /// Large entries, values and tables that were removed.
    pub(super) garbage: Vec<Garbage>,
    /// The number and the bytes of removed tables that a snapshot still has to have.
    pub(super) retired: Option<(i64, i64)>,
    /// A key that was hashed before.
    hashed: Hashed,
}

/// Where a key lies, and its hash.
#[derive(Clone, Copy, Debug, Default)]
struct Hashed {
    address: usize,
    len: usize,
    hash: u64,
}

/// A key that was removed because it had expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    pub(crate) database: usize,
    pub(crate) key: Box<[u8]>,
}

impl<'v> Keys<'v> {
    /// Makes a view of shards in ascending order of their numbers.
    #[inline]
    pub(crate) fn new(layout: &'v Layout, versions: &'v Versions, held: HeldShards<'v>) -> Self {
        Self {
            held,
            layout,
            versions,
            version: versions.read(),
            database: 0,
            now: 0,
            expiry_now: 0,
            ready: Vec::new(),
            inserted: None,
            touched: None,
            expired: Vec::new(),
            met: RefCell::default(),
            logged: Mark::default(),
            reserved: 0,
            lookups: Lookups::default(),
            keeps_expired: false,
            growth: 0,
            changing: None,
            garbage: Vec::new(),
            retired: None,
            hashed: Hashed::default(),
        }
    }

    /// Begins a command: in this database, at this time.
    pub(crate) fn begin(&mut self, database: usize, now: u64) {
        self.database = database;
        (self.now, self.expiry_now) = (now, now);
        self.hashed = Hashed::default();
    }

    /// Lets nothing expire during the command that has begun.
    pub(crate) fn expire_nothing(&mut self) {
        self.expiry_now = 0;
    }

    /// Notes the hash of one of the arguments of the command that has begun. They stay where they
    /// are while it runs.
    pub(crate) fn note_hash(&mut self, key: &[u8], hash: u64) {
        self.hashed = Hashed { address: key.as_ptr().addr(), len: key.len(), hash };
    }

    /// Sets whether expired keys stay where they are, as nothing may be written. Commands that
    /// change keys do not run then.
    pub(crate) fn keep_expired(&mut self, are_kept: bool) {
        self.keeps_expired = are_kept;
    }

    /// Returns true if a key has expired and is kept.
    pub(super) fn is_kept(&self, key: &[u8]) -> bool {
        if !self.keeps_expired {
            return false;
        }
        let (hash, at) = self.locate(key);
        let entry = self.held[at].databases[self.database].table.find(hash, key);
        entry.is_some_and(|entry| entry.is_expired(self.expiry_now))
    }

    /// Selects the database that the following calls are about. The command ends in its own.
    pub fn select(&mut self, database: usize) {
        self.database = database;
    }

    /// Returns the database.
    pub fn database(&self) -> usize {
        self.database
    }

    /// Returns the time in ms since 1970, the same for the whole command.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the time until which keys have expired.
    pub(super) fn expiry_now(&self) -> u64 {
        self.expiry_now
    }

    pub(super) fn position(&self, hash: u64) -> Option<usize> {
        let number = self.layout.shard_of(hash);
        match &*self.held {
            [only] => (only.number == number).then_some(0),
            all => all.binary_search_by_key(&number, |held| held.number).ok(),
        }
    }

    /// Returns what the task has read of the version.
    #[inline]
    pub(crate) fn version_word(&self) -> VersionWord {
        self.version
    }

    /// Returns true if the task may write any of its shards.
    pub(crate) fn may_write_any(&self) -> bool {
        self.held.iter().any(Held::is_written)
    }

    /// Returns the table of a held shard, to change an entry with this hash. What a snapshot still
    /// has to have of its segment is saved first.
    #[inline]
    pub(super) fn table_mut(&mut self, hash: u64, at: usize) -> &mut Table {
        self.table_and_garbage(hash, at).0
    }

    /// Returns the same table, and where to leave what takes long to free.
    #[inline]
    pub(super) fn table_and_garbage(&mut self, hash: u64, at: usize) -> (&mut Table, &mut Vec<Garbage>) {
        let database = self.database;
        if !self.held[at].databases[database].table.is_of(hash, self.version.version()) {
            self.save_segment(hash, at);
        }
        if !self.held[at].saves.is_empty() {
            self.finish_save(hash, at);
        }
        (&mut self.held[at].databases[database].table, &mut self.garbage)
    }

    /// Returns true if the task holds the key's shard and may write it.
    pub(crate) fn may_write(&self, key: &[u8]) -> bool {
        self.position(self.layout.hash(key)).is_some_and(|at| self.held[at].is_written())
    }

    /// Returns the key's hash, and the position of its shard.
    #[inline]
    pub(super) fn locate(&self, key: &[u8]) -> (u64, usize) {
        let is_known = self.hashed.address == key.as_ptr().addr() && self.hashed.len == key.len();
        let hash = if is_known { self.hashed.hash } else { self.layout.hash(key) };
        let at = self.position(hash);
        (hash, at.expect("the command's key positions name each key that it accesses"))
    }

    /// Begins to fetch what the command will touch of these keys.
    pub(crate) fn fetch<'k>(&self, keys: impl Iterator<Item = &'k [u8]> + Clone) {
        let places = || keys.clone().map(|key| self.locate(key));
        let table = |at: usize| &self.held[at].databases[self.database].table;
        places().for_each(|(hash, at)| table(at).lines(hash).fetch());
        places().for_each(|(hash, at)| table(at).lines_of_entry(hash).fetch());
    }

    /// Finds the entry of a key that has not expired, without noting an access.
    pub fn peek(&self, key: &[u8]) -> Option<&Entry> {
        let (hash, at) = self.locate(key);
        let entry = self.held[at].databases[self.database].table.find(hash, key)?;
        (!self.has_expired(entry, at)).then_some(entry)
    }

    /// Finds the value of a key to read it. A command that reads counts a hit or a miss.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<ValueRef<'_>> {
        let (hash, at) = self.locate(key);
        let shard = &self.held[at];
        let entry = shard.databases[self.database].table.find(hash, key);
        let entry = entry.filter(|entry| !self.has_expired(entry, at));
        self.note_lookup(key, entry.is_some());
        let entry = entry?;
        entry.touch(self.clock(), self.now);
        Some(entry.value())
    }

    /// Returns true if an entry in a held shard has expired. It is noted if it may be removed.
    #[inline]
    fn has_expired(&self, entry: &Entry, at: usize) -> bool {
        let has_expired = entry.is_expired(self.expiry_now);
        if has_expired
            && self.held[at].is_written()
            && !self.keeps_expired
            && !planted!("expired-source-untold")
        {
            self.met.borrow_mut().push(Expired { database: self.database, key: entry.key().into() });
        }
        has_expired
    }

    /// Returns true if there is such a key.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.peek(key).is_some()
    }

    /// Removes a key. Returns its value, or `None` if there was no such key.
    pub fn remove(&mut self, key: &[u8]) -> Option<Value> {
        let (hash, at) = self.locate(key);
        self.remove_expired(hash, at, key);
        let (value, block) = self.remove_entry(hash, at, key)?.into_value();
        self.garbage.extend(block.map(Garbage::Entry));
        Some(value)
    }

    /// Removes a key with its value. Returns false if there was no such key.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let (hash, at) = self.locate(key);
        self.remove_expired(hash, at, key);
        let entry = self.remove_entry(hash, at, key);
        entry.map(|entry| self.discard(entry)).is_some()
    }

    /// Removes a key if it has expired.
    pub(super) fn remove_if_expired(&mut self, key: &[u8]) {
        let (hash, at) = self.locate(key);
        self.remove_expired(hash, at, key);
    }

    /// Returns when a key expires; `None` if it does not, or is not there.
    pub fn expires_at(&self, key: &[u8]) -> Option<u64> {
        self.peek(key)?.expires_at()
    }

    /// Sets when a key expires, or that it does not. Returns false if there is no such key.
    pub fn set_expiry(&mut self, key: &[u8], expires_at: Option<u64>) -> bool {
        let (hash, at) = self.locate(key);
        self.remove_expired(hash, at, key);
        self.begin_change(hash, at, key);
        let (table, garbage) = self.table_and_garbage(hash, at);
        table.set_expiry(hash, key, expires_at, garbage)
    }

    /// Notes a change of a key for the sessions that watch it, wait for it or track it.
    pub(crate) fn note_change(&mut self, key: &[u8]) {
        let (_, at) = self.locate(key);
        let database = self.database;
        if self.held[at].databases[database].note_change(key) {
            self.ready.push((database, key.into()));
        }
        self.touch(key, false);
    }

    /// Removes the key if it has expired, and the shard is held for writing.
    #[inline]
    pub(super) fn remove_expired(&mut self, hash: u64, at: usize, key: &[u8]) {
        let (database, now) = (self.database, self.expiry_now);
        let table = &self.held[at].databases[database].table;
        if table.expiring() == 0
            || self.keeps_expired
            || !table.find(hash, key).is_some_and(|entry| entry.is_expired(now))
        {
            return;
        }
        if let Some(entry) = self.remove_entry(hash, at, key) {
            self.discard(entry);
        }
        if self.held[at].databases[database].note_expired(key) {
            self.ready.push((database, key.into()));
        }
        if !planted!("expired-key-untracked") {
            self.touch(key, true);
        }
        self.expired.push(Expired { database, key: key.into() });
    }

    /// Returns true if keys were changed that sessions wait for.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the keys that were changed and that sessions wait for.
    pub(crate) fn take_ready(&mut self) -> Vec<(usize, Box<[u8]>)> {
        std::mem::take(&mut self.ready)
    }

    /// Forgets that an expired key was met, as it gets another value.
    #[inline]
    pub(super) fn forget_met(&mut self, key: &[u8]) {
        let (database, met) = (self.database, self.met.get_mut());
        if !met.is_empty() {
            met.retain(|met| met.database != database || *met.key != *key);
        }
    }

    /// Removes the expired keys that were met. Takes all that were removed for that reason.
    #[inline]
    pub(crate) fn take_expired(&mut self) -> Vec<Expired> {
        if self.met.get_mut().is_empty() && self.expired.is_empty() {
            return Vec::new();
        }
        self.take_those_that_expired()
    }

    fn take_those_that_expired(&mut self) -> Vec<Expired> {
        let database = self.database;
        for met in self.met.take() {
            self.database = met.database;
            let (hash, at) = self.locate(&met.key);
            self.remove_expired(hash, at, &met.key);
        }
        self.database = database;
        self.lookups.counts.get_mut().expired += self.expired.len() as u64;
        std::mem::take(&mut self.expired)
    }

    pub(super) fn held(&self) -> &[Held<'v>] {
        &self.held
    }

    pub(super) fn held_mut(&mut self) -> &mut [Held<'v>] {
        &mut self.held
    }

    /// Returns what is noted of accesses.
    #[inline]
    pub(crate) fn clock(&self) -> AccessClock {
        self.versions.clock()
    }

    pub(super) fn versions(&self) -> &'v Versions {
        self.versions
    }

    pub(super) fn layout(&self) -> &'v Layout {
        self.layout
    }

    pub(super) fn note_ready(&mut self, key: &[u8]) {
        self.ready.push((self.database, key.into()));
    }
}
