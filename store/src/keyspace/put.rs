//! Keys get values, and values are changed.

use super::keys::Expired;
use super::{Entry, Garbage, Keys};
use crate::value::{LARGE_BYTES, StringValue, Value};
use std::cell::Cell;

impl Keys<'_> {
    /// Sets the value of a key, whether or not there was one. An expiry goes.
    pub fn put(&mut self, key: &[u8], value: Value) {
        self.put_until(key, value, None);
    }

    /// Sets the value of a key, and when it expires.
    pub fn put_until(&mut self, key: &[u8], value: Value, expires_at: Option<u64>) {
        if let Some(text) = large_text(&value) {
            self.put_text(key, text, expires_at);
            return self.garbage.push(Garbage::Value(value));
        }
        let (value, clock, now) = (Cell::new(Some(value)), self.clock(), self.now());
        let take = || value.take().expect("a value is put once");
        self.put_by(
            key,
            expires_at,
            |entry| entry.set_value(take()),
            || Entry::new(key, take(), expires_at, clock.first(now)),
        );
    }

    /// Sets a key to a string as SET does (the text of an integer becomes one), and when it
    /// expires.
    pub fn put_text(&mut self, key: &[u8], text: &[u8], expires_at: Option<u64>) {
        let (clock, now) = (self.clock(), self.now());
        self.put_by(
            key,
            expires_at,
            |entry| entry.set_text(text),
            || Entry::of_text(key, text, expires_at, clock.first(now)),
        );
    }

    #[inline]
    fn put_by(
        &mut self,
        key: &[u8],
        expires_at: Option<u64>,
        set: impl FnOnce(&mut Entry) -> Option<Entry>,
        make: impl FnOnce() -> Entry,
    ) {
        let (hash, at) = self.locate(key);
        let (database, now, clock) = (self.database(), self.now(), self.clock());
        let expiry_now = self.expiry_now();
        self.begin_change(hash, at, key);
        // What is put may have expired as well: it stays, as in Redis, until it is met again.
        if !planted!("expired-twice") {
            self.forget_met(key);
        }
        let (table, garbage) = self.table_and_garbage(hash, at);
        let changed = table.change(hash, key, |entry| {
            if let Some(value) = entry.take_large() {
                leave(garbage, Garbage::Value(value));
            }
            let had_expired = entry.is_expired(expiry_now) && !planted!("overwritten-expiry-untold");
            if let Some(block) = set(entry) {
                leave(garbage, Garbage::Entry(block));
            }
            entry.touch(clock, now);
            (had_expired, entry.expires_at() != expires_at)
        });
        let Some((had_expired, has_new_expiry)) = changed else {
            self.insert(hash, at, make());
            return;
        };
        if has_new_expiry {
            table.set_expiry(hash, key, expires_at, garbage);
        }
        if had_expired {
            self.note_insertion(key);
            self.expired.push(Expired { database, key: key.into() });
        }
    }

    /// Finds the value of a key to change it in place. The caller reports the change by
    /// [`Call::changed`](crate::command::Call::changed).
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut Value> {
        let (hash, at) = self.locate(key);
        let (clock, now) = (self.clock(), self.now());
        self.remove_expired(hash, at, key);
        self.begin_change(hash, at, key);
        let (table, garbage) = self.table_and_garbage(hash, at);
        let entry = table.find_changeable(hash, key, garbage)?;
        entry.touch(clock, now);
        Some(entry.value_mut())
    }

    /// Returns the value of a key to change it in place; makes it first if there is no such key.
    pub fn get_or_insert_with(&mut self, key: &[u8], make: impl FnOnce() -> Value) -> &mut Value {
        let (hash, at) = self.locate(key);
        let (clock, now) = (self.clock(), self.now());
        self.remove_expired(hash, at, key);
        // Looked up twice, as a borrow that is returned on one branch only is not accepted yet.
        if self.table_mut(hash, at).find(hash, key).is_none() {
            self.insert(hash, at, Entry::new(key, make(), None, clock.first(now)));
        }
        self.begin_change(hash, at, key);
        let (table, garbage) = self.table_and_garbage(hash, at);
        let entry = table.find_changeable(hash, key, garbage).expect("it is there or was inserted");
        entry.touch(clock, now);
        entry.value_mut()
    }

    /// Inserts a key with its value, and when it expires. Returns false if there is one already.
    pub(crate) fn insert_new(&mut self, key: &[u8], value: Value, expires_at: Option<u64>) -> bool {
        if let Some(text) = large_text(&value) {
            let is_new = self.insert_new_text(key, text, expires_at);
            self.garbage.push(Garbage::Value(value));
            return is_new;
        }
        self.insert_by(key, |accessed| Entry::new(key, value, expires_at, accessed))
    }

    /// Inserts a key with a string, as [`put_text`](Self::put_text) does. Returns false if there is
    /// one already.
    pub(crate) fn insert_new_text(&mut self, key: &[u8], text: &[u8], expires_at: Option<u64>) -> bool {
        self.insert_by(key, |accessed| Entry::of_text(key, text, expires_at, accessed))
    }

    #[inline]
    fn insert_by(&mut self, key: &[u8], make: impl FnOnce(u32) -> Entry) -> bool {
        let (hash, at) = self.locate(key);
        let is_new = self.table_mut(hash, at).find(hash, key).is_none();
        if is_new {
            let accessed = self.clock().first(self.now());
            self.insert(hash, at, make(accessed));
        }
        is_new
    }

    /// Makes room in the held shards that have no key of a database yet, for about this many in
    /// each.
    pub(crate) fn prepare(&mut self, database: usize, keys: usize) {
        let version = self.version_word().version();
        for held in self.held_mut() {
            held.databases[database].table.prepare(keys, version);
        }
    }

    /// Begins to fetch where keys with these databases and hashes are to be inserted.
    pub(crate) fn fetch_places(&self, places: impl Iterator<Item = (usize, u64)>) {
        for (database, hash) in places {
            let held = self.position(hash).map(|at| &self.held()[at]);
            let database = held.and_then(|held| held.databases.get(database));
            database.map(|database| database.table.lines(hash)).unwrap_or_default().fetch();
        }
    }

    /// Sets the value of a key; if there was one, it keeps its expiry.
    pub fn put_keeping_expiry(&mut self, key: &[u8], value: Value) {
        let expires_at = self.expires_at(key);
        self.put_until(key, value, expires_at);
    }
}

/// Returns the text of a value if its bytes are to be copied, and take long to free after that.
#[inline]
fn large_text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::String(StringValue::Fixed(text))
            if text.len() > LARGE_BYTES && !planted!("copied-text-freed-in-hold") =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// Leaves something to be freed when the shards are left.
#[cold]
fn leave(garbage: &mut Vec<Garbage>, large: Garbage) {
    garbage.push(large);
}
