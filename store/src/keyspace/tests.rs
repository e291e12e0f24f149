//! Snapshots of a shard, beside changes of all kinds.

use super::{HeldShards, Keys, Layout, Shard, Versions};
use crate::rdb::{RdbReader, RdbWriter, Record};
use crate::snapshot::{Message, SnapshotOutput};
use crate::value::{CompactLimits, StringValue, Value, ValueRef};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use xtasking_testing::Random;

const DATABASES: usize = 3;

/// A database and a key, with the value and when it expires.
type Contents = BTreeMap<(usize, Vec<u8>), (i64, Option<u64>)>;

/// A keyspace of one shard, and what it should have.
struct Store {
    layout: Layout,
    versions: Versions,
    shard: Shard,
    contents: Contents,
    random: Random,
    next_key: u64,
}

impl Store {
    fn new(seed: u64) -> Self {
        Self {
            layout: Layout::new(1, seed),
            versions: Versions::default(),
            shard: Shard::new(DATABASES),
            contents: Contents::new(),
            random: Random(seed),
            next_key: 0,
        }
    }

    fn keys(&mut self, database: usize) -> Keys<'_> {
        let held = HeldShards::written(0, &mut self.shard);
        let mut keys = Keys::new(&self.layout, &self.versions, held);
        keys.begin(database, 1000);
        keys
    }

    /// Returns a key that is there, or was.
    fn old_key(&mut self) -> Vec<u8> {
        format!("key:{}", self.random.below(self.next_key + 1)).into_bytes()
    }

    fn new_key(&mut self) -> Vec<u8> {
        self.next_key += 1;
        format!("key:{}", self.next_key).into_bytes()
    }

    fn insert(&mut self) {
        let (key, database) = (self.new_key(), self.random.below(DATABASES as u64) as usize);
        self.put(database, key);
    }

    fn put(&mut self, database: usize, key: Vec<u8>) {
        let value = self.random.word() as i64;
        let expires_at = (value % 3 == 0).then_some(5000 + (value % 100).unsigned_abs());
        self.keys(database).put_until(&key, Value::String(StringValue::Integer(value)), expires_at);
        self.contents.insert((database, key), (value, expires_at));
    }

    /// Does one change.
    fn change(&mut self) {
        let database = self.random.below(DATABASES as u64) as usize;
        let key = self.old_key();
        match self.random.below(1000) {
            0..300 => self.insert(),
            300..500 => self.put(database, key),
            500..650 => {
                self.keys(database).remove(&key);
                self.contents.remove(&(database, key));
            }
            650..800 => {
                let new = StringValue::Integer(7);
                if let Some(value) = self.keys(database).get_mut(&key) {
                    *value = Value::String(new);
                }
                self.contents.entry((database, key)).and_modify(|known| known.0 = 7);
            }
            800..900 => {
                self.keys(database).set_expiry(&key, Some(9000));
                self.contents.entry((database, key)).and_modify(|known| known.1 = Some(9000));
            }
            900..990 => {
                let value = || Value::String(StringValue::Integer(8));
                self.keys(database).get_or_insert_with(&key, value);
                self.contents.entry((database, key)).or_insert((8, None));
            }
            990..996 => {
                self.keys(database).clear();
                self.contents.retain(|(other, _), _| *other != database);
            }
            _ => self.swap(database, (database + 1) % DATABASES),
        }
    }

    fn swap(&mut self, one: usize, two: usize) {
        self.keys(one).swap_with(two);
        let swapped = std::mem::take(&mut self.contents).into_iter().map(|((database, key), value)| {
            let database = match database {
                _ if database == one => two,
                _ if database == two => one,
                other => other,
            };
            ((database, key), value)
        });
        self.contents = swapped.collect();
    }

    fn begin(&self) -> (u32, Arc<SnapshotOutput>, Receiver<Message>) {
        let (output, receiver) = SnapshotOutput::new();
        let output = Arc::new(output);
        (self.versions.begin(output.clone()), output, receiver)
    }

    /// Visits a segment. Returns true if there are no more.
    fn visit(&mut self, version: u32, output: &SnapshotOutput) -> bool {
        self.shard.visit_unsaved(version, &mut Vec::new(), |database, entries| {
            let mut bytes = Vec::new();
            entries.for_each(|entry| {
                crate::rdb::put_record(&mut bytes, entry.key(), entry.value(), entry.expires_at());
            });
            output.send(database, bytes);
            false
        })
    }
}

/// Returns what was sent. Each key is there once.
fn received(receiver: &Receiver<Message>) -> Contents {
    let mut writer = RdbWriter::new(Vec::new());
    for message in receiver.try_iter() {
        if let Message::Records { database, bytes } = message {
            writer.append(database, &bytes).unwrap();
        }
    }
    let file = writer.finish().unwrap();
    let (mut contents, mut record) = (Contents::new(), Record::default());
    let mut reader = RdbReader::new(&file[..]).unwrap();
    while reader.next(&mut record).unwrap() {
        let value = record.value(&CompactLimits::default()).unwrap().unwrap();
        let value = ValueRef::from(&value).as_string().unwrap().integer().unwrap();
        let key = (record.database as usize, record.key.clone());
        let before = contents.insert(key, (value, record.expires_at));
        assert!(before.is_none(), "the key {} is there twice", record.key.escape_ascii());
    }
    contents
}

#[test]
fn a_snapshot_has_what_was_there_when_it_began() {
    for seed in 0..40 {
        let mut store = Store::new(seed);
        (0..1500).for_each(|_| store.insert());
        // Several, one after the other: each has a version of its own.
        for round in 0..3 {
            (0..300).for_each(|_| store.change());
            let expected = store.contents.clone();
            let (version, output, receiver) = store.begin();
            // A visit after these changes.
            let pace = 1 + store.random.below(60);
            let mut is_done = false;
            while !is_done {
                (0..pace).for_each(|_| store.change());
                is_done = store.visit(version, &output);
            }
            (0..300).for_each(|_| store.change());
            assert!(store.visit(version, &output));
            output.flush();
            assert!(received(&receiver) == expected, "seed {seed}, round {round}");
            store.versions.end(false);
        }
    }
}

#[test]
fn a_snapshot_that_failed_leaves_nothing_for_the_next_one() {
    let mut store = Store::new(5);
    (0..500).for_each(|_| store.insert());
    let (version, output, _receiver) = store.begin();
    store.visit(version, &output);
    (0..DATABASES).for_each(|database| _ = store.keys(database).clear());
    store.contents.clear();
    store.versions.end(true);
    (0..300).for_each(|_| store.change());
    let expected = store.contents.clone();
    let (version, output, receiver) = store.begin();
    while !store.visit(version, &output) {}
    output.flush();
    assert!(received(&receiver) == expected);
    assert!(store.shard.retired.is_empty());
}
