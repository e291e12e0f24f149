//! What commands do with all keys of the shards that they hold.

use super::saving::RetiredTable;
use super::{Entry, Garbage, Held, Keys, Layout, Shard};
use std::ops::Range;

/// A part of the keyspace that a scan has still to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The shard.
    shard: u32,
    /// The order in its table: see [`Table`](super::Table).
    order: u32,
}

/// Keys that were removed. Their memory is freed with this, or by
/// [`Keys::leave_cleared`] later.
#[derive(Debug)]
pub(crate) struct ClearedKeys {
    tables: Vec<Garbage>,
    count: usize,
}

impl ClearedKeys {
    /// Returns the number of keys.
    pub(crate) fn len(&self) -> usize {
        self.count
    }
}

impl Cursor {
    /// Returns the cursor that a client has sent.
    pub fn from_number(number: u64) -> Self {
        Self { shard: (number >> 32) as u32, order: number as u32 }
    }

    /// Returns the number that a client gets. Zero is both the start and the end.
    pub fn to_number(self) -> u64 {
        u64::from(self.shard) << 32 | u64::from(self.order)
    }

    /// Returns the number of the shard.
    pub fn shard(self) -> usize {
        self.shard as usize
    }
}

impl Keys<'_> {
    /// Returns the number of keys, expired ones that were not removed included, and the number of
    /// those that have an expiry.
    pub fn counts(&self) -> (usize, usize) {
        let counts = self.held().iter().map(|held| held.counts(self.database()));
        counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    }

    /// Iterates over the entries that have not expired.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let now = self.expiry_now();
        self.all_entries().filter(move |entry| !entry.is_expired(now))
    }

    /// Iterates over all entries, those that have expired and were not removed included.
    pub(super) fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        let database = self.database();
        self.held().iter().flat_map(move |held| held.databases[database].table.iter())
    }

    /// Notes an access of all entries in all databases of the held shards.
    pub(crate) fn touch_all(&self, now: u64) {
        let databases = self.held().iter().flat_map(|held| &held.databases);
        let accessed = self.clock().first(now);
        databases.flat_map(|database| database.table.iter()).for_each(|entry| entry.set_accessed(accessed));
    }

    /// Passes entries that have not expired to `visit`, from a cursor on, until about `count` were
    /// visited or a shard is not held. Returns where to go on; `None` after the last shard.
    ///
    /// An entry that is there from the first call of a scan to the last is visited at least once.
    pub fn scan<'s>(
        &'s self,
        from: Cursor,
        count: usize,
        mut visit: impl FnMut(&'s Entry),
    ) -> Option<Cursor> {
        let (database, now) = (self.database(), self.expiry_now());
        let (mut visited, mut order, mut number) = (0, from.order, from.shard());
        let held = self.held().iter().skip_while(|held| held.number < from.shard());
        for held in held {
            // In a transaction other commands may hold shards far behind.
            if held.number != number && !planted!("scan-skips-shards") {
                break;
            }
            let table = &held.databases[database].table;
            let next = table.scan(order, count.saturating_sub(visited), |entry| {
                visited += 1;
                if !entry.is_expired(now) {
                    visit(entry);
                }
            });
            if let Some(order) = next {
                return Some(Cursor { shard: held.number as u32, order });
            }
            order = 0;
            number += 1;
            if visited >= count {
                break;
            }
        }
        self.start_of_shard(number)
    }

    fn start_of_shard(&self, number: usize) -> Option<Cursor> {
        (number < self.layout().shards()).then_some(Cursor { shard: number as u32, order: 0 })
    }

    /// Returns an entry at random, each about as likely as the others; `None` if there are none.
    pub fn random_entry(&self, mut random: impl FnMut() -> u64) -> Option<&Entry> {
        let (database, now) = (self.database(), self.expiry_now());
        let total = self.counts().0 as u64;
        // Expired entries may be met. After some of them any other entry is good.
        for _ in 0..if total == 0 { 0 } else { 100 } {
            let mut number = random() % total;
            let table = self.held().iter().map(|held| &held.databases[database].table).find(|table| {
                let is_here = number < table.len() as u64;
                number = number.saturating_sub(if is_here { 0 } else { table.len() as u64 });
                is_here
            })?;
            let entry = table.random(random()).filter(|entry| !entry.is_expired(now));
            if entry.is_some() {
                return entry;
            }
        }
        self.entries().next()
    }

    /// Removes all keys of the database. Returns their number.
    pub fn clear(&mut self) -> usize {
        let database = self.database();
        let cleared = self.clear_databases(database..database + 1);
        let count = cleared.len();
        self.leave_cleared(cleared);
        count
    }

    /// Leaves the memory of keys that were removed to be freed when the shards are left.
    pub(crate) fn leave_cleared(&mut self, mut cleared: ClearedKeys) {
        self.garbage.append(&mut cleared.tables);
    }

    /// Removes all keys of databases, and returns them to be freed. If it panics, all are there.
    pub(crate) fn clear_databases(&mut self, databases: Range<usize>) -> ClearedKeys {
        let (database, word, now) = (self.database(), self.version_word(), self.now());
        // One that has failed needs no tables any more, and perhaps no task takes them.
        let is_useful = || self.versions().has_use_for_records() || planted!("tables-kept-after-failure");
        let is_wanted = word.is_saving() && is_useful() && !planted!("removed-table-unsaved");
        let retires = is_wanted.then_some(word.version());
        let shards = self.held().len();
        let mut cleared = ClearedKeys { tables: Vec::with_capacity(shards * databases.len()), count: 0 };
        if planted!("flush-halfway") {
            self.select(databases.start);
            (0..shards).for_each(|at| self.take_table(at, retires, &mut cleared));
        }
        self.end_change();
        let (mut growth, mut waited_for) = (0, Vec::new());
        for number in databases.clone() {
            growth -= self.bytes_of_database(number);
            for held in self.held_mut() {
                held.retired.reserve(databases.len());
                let part = &mut held.databases[number];
                if part.guests.is_some() {
                    let entries = part.table.iter().map(|entry| (entry.key().into(), entry.is_expired(now)));
                    let entries: Vec<(Box<[u8]>, bool)> = entries.collect();
                    let waited = entries.into_iter().filter(|(key, has_expired)| match has_expired {
                        true => part.note_expired(key),
                        false => part.note_change(key),
                    });
                    waited_for.extend(waited.map(|(key, _)| (number, key)));
                }
            }
        }
        // From here on nothing panics.
        self.touch_any();
        self.growth += growth;
        for number in databases {
            self.select(number);
            (0..shards).for_each(|at| self.take_table(at, retires, &mut cleared));
        }
        for (number, key) in waited_for {
            self.select(number);
            self.note_ready(&key);
        }
        self.select(database);
        cleared
    }

    /// Takes the table of the database in one of the shards. There is room for it already. A
    /// snapshot of this version may have to have it.
    fn take_table(&mut self, at: usize, version: Option<u32>, cleared: &mut ClearedKeys) {
        let database = self.database();
        let Shard { databases, retired, saves, .. } = &mut *self.held_mut()[at];
        let (part, saves) = (&mut databases[database], saves.take_of(database));
        let (table, bytes) = (part.table.take(), std::mem::take(&mut part.bytes));
        cleared.count += table.len();
        if let Some(version) = version
            && (!saves.is_empty() || table.has_unsaved(version))
        {
            let origin = table.origin(version, database);
            let table = RetiredTable::new(version, origin, table, bytes, saves);
            let bytes_of_table = table.bytes();
            retired.push(table);
            let (count, bytes) = self.retired.unwrap_or_default();
            self.retired = Some((count + 1, bytes + bytes_of_table));
        } else {
            cleared.tables.extend(Garbage::of_table(table, bytes));
        }
    }

    /// Swaps the contents of this database with those of another one, orders of keys included.
    /// Returns true if one had an order and the other had not.
    pub(crate) fn swap_with(&mut self, other: usize) -> bool {
        let (database, layout, now) = (self.database(), self.layout(), self.now());
        let version = self.version_word().version();
        self.end_change();
        self.touch_any();
        let mut differ = false;
        for at in 0..self.held().len() {
            let shard: &mut Held<'_> = &mut self.held_mut()[at];
            note_swap(shard, layout, [database, other], now);
            let [one, two] = shard.databases.get_disjoint_mut([database, other]).expect("two databases");
            if !planted!("swap-forgets-origin") {
                one.table.note_origin(version, database);
                two.table.note_origin(version, other);
            }
            differ |= one.table.order().is_some() != two.table.order().is_some();
            std::mem::swap(&mut one.table, &mut two.table);
            std::mem::swap(&mut one.bytes, &mut two.bytes);
            std::mem::swap(&mut one.expiry_cursor, &mut two.expiry_cursor);
            shard.saves.note_swap([database, other]);
        }
        for each in [database, other] {
            self.select(each);
            self.note_all_ready();
        }
        self.select(database);
        differ
    }

    /// Notes the keys of the database that sessions wait for, those that are gone too.
    fn note_all_ready(&mut self) {
        let database = self.database();
        let waited_for = self.held().iter().filter_map(|held| held.databases[database].guests.as_ref());
        let mut keys: Vec<Box<[u8]>> = waited_for.flat_map(|guests| guests.waiting.keys().cloned()).collect();
        keys.sort_unstable();
        keys.iter().for_each(|key| self.note_ready(key));
    }

    /// Removes expired keys of all databases, from where the last call ended, until about `most`
    /// entries of each database and shard were looked at. Returns the number that were removed.
    pub(crate) fn remove_some_expired(&mut self, most: usize) -> usize {
        let now = self.expiry_now();
        let mut removed = 0;
        for at in 0..self.held().len() {
            for database in 0..self.held()[at].databases.len() {
                let part = &self.held()[at].databases[database];
                if part.table.expiring() == 0 {
                    continue;
                }
                let mut expired = Vec::new();
                let next = part.table.scan(part.expiry_cursor, most, |entry| {
                    if entry.is_expired(now) {
                        expired.push(Box::<[u8]>::from(entry.key()));
                    }
                });
                self.held_mut()[at].databases[database].expiry_cursor = next.unwrap_or(0);
                removed += expired.len();
                self.select(database);
                for key in expired {
                    self.remove_if_expired(&key);
                }
            }
        }
        removed
    }
}

/// Notes a change for the sessions that watch a key in one of two databases that are swapped.
fn note_swap(shard: &mut Held<'_>, layout: &Layout, [one, two]: [usize; 2], now: u64) {
    for (own, others) in [(one, two), (two, one)] {
        let Some(guests) = &shard.databases[own].guests else { continue };
        let keys: Vec<Box<[u8]>> = guests.watched.keys().cloned().collect();
        for key in keys {
            let hash = layout.hash(&key);
            let find = |database: usize| shard.databases[database].table.find(hash, &key);
            let has_expired = |entry: &Entry| entry.is_expired(now);
            let (leaving, coming) = (find(own).map(has_expired), find(others).map(has_expired));
            let own = &mut shard.databases[own];
            // What is missing before and after, or has expired, has not changed.
            if leaving == Some(true) {
                own.note_expired(&key);
            }
            if leaving == Some(false) || coming == Some(false) {
                own.note_change(&key);
            }
            if let Some(watched) = own.guests_mut().watched.get_mut(&key) {
                watched.has_expired = coming == Some(true);
            }
        }
    }
}
