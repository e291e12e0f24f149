//! Snapshots of a shard, beside changes of all kinds.

use super::{Entry, HeldShards, Keys, Layout, SavedPart, Shard, Versions};
use crate::rdb::{self, RdbReader, RdbWriter, Record};
use crate::snapshot::{Message, SnapshotOutput};
use crate::value::{CompactLimits, End, Hash, List, Set, SortedSet, Stream, StreamId, StringValue, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use xtasking_testing::Random;

const DATABASES: usize = 3;

/// A database and a key, with the number of the value and when it expires.
type Contents = BTreeMap<(usize, Vec<u8>), (i64, Option<u64>)>;
/// The same with the bytes that stand in a file.
type Saved = BTreeMap<(usize, Vec<u8>), (Vec<u8>, Option<u64>)>;

/// Returns the value that stands for a number: mostly the number itself. A few are large, of each
/// type, and have the number as their first element.
fn value_of(number: i64) -> Value {
    let limits =
        CompactLimits { list_max_listpack_size: 4, stream_node_max_entries: 4, ..CompactLimits::default() };
    let elements = || (0..400).map(|index| format!("{number}:{index:0400}").into_bytes());
    match number.rem_euclid(2000) {
        0 => {
            let mut list = List::new();
            elements().for_each(|element| list.push(End::Right, &element, &limits));
            Value::List(Box::new(list))
        }
        1 => {
            let mut hash = Hash::new();
            elements().for_each(|field| _ = hash.set(&field, b"value", &limits));
            Value::Hash(Box::new(hash))
        }
        2 => {
            let mut set = Set::new(b"member", 400, &limits);
            elements().for_each(|member| _ = set.insert(&member, &limits));
            Value::Set(Box::new(set))
        }
        3 => {
            let mut set = SortedSet::new();
            elements().enumerate().for_each(|(at, member)| _ = set.insert(&member, at as f64, &limits));
            Value::SortedSet(Box::new(set))
        }
        4 => {
            let mut stream = Stream::default();
            for (at, value) in elements().enumerate() {
                let (id, fields) = (StreamId { ms: at as u64 + 1, seq: 0 }, [(&b"field"[..], &value[..])]);
                stream.log_mut().append(id, fields.into_iter(), &limits).unwrap();
            }
            Value::Stream(Box::new(stream))
        }
        5 => Value::String(StringValue::fixed(elements().flatten().collect::<Vec<u8>>())),
        6 => Value::String(StringValue::Growing(elements().flatten().collect())),
        _ => Value::String(StringValue::Integer(number)),
    }
}

/// Returns the bytes of a value in a file, its type before.
fn encoded(number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    rdb::put_record(&mut bytes, b"", (&value_of(number)).into(), None);
    // The length of the key.
    bytes.remove(1);
    bytes
}

fn expected(contents: &Contents) -> Saved {
    let contents = contents.iter();
    contents.map(|(key, &(number, expires_at))| (key.clone(), (encoded(number), expires_at))).collect()
}

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
        self.keys(database).put_until(&key, value_of(value), expires_at);
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
                let number = self.random.word() as i64;
                if let Some(value) = self.keys(database).get_mut(&key) {
                    *value = value_of(number);
                }
                self.contents.entry((database, key)).and_modify(|known| known.0 = number);
            }
            800..900 => {
                self.keys(database).set_expiry(&key, Some(9000));
                self.contents.entry((database, key)).and_modify(|known| known.1 = Some(9000));
            }
            900..990 => {
                self.keys(database).get_or_insert_with(&key, || value_of(8));
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

    /// Visits a segment, or a part of a large value. Returns true if there are no more.
    fn visit(&mut self, version: u32, output: &SnapshotOutput) -> bool {
        self.shard.visit_unsaved(version, &self.layout, &mut Vec::new(), |database, part| {
            match part {
                SavedPart::Entries(entries) => {
                    let mut bytes = Vec::new();
                    let put = |entry: &Entry| {
                        rdb::put_record(&mut bytes, entry.key(), entry.value(), entry.expires_at());
                    };
                    entries.for_each(put);
                    output.send(database, bytes);
                }
                SavedPart::Begun(bytes) => {
                    assert!((32 << 10..40 << 10).contains(&bytes), "{bytes}");
                    output.note_begun(bytes);
                }
                SavedPart::Record { chunks, begun, .. } => output.send_all(database, chunks, begun),
            }
            false
        })
    }
}

/// Returns what was sent. Each key is there once.
fn received(receiver: &Receiver<Message>) -> Saved {
    let mut writer = RdbWriter::new(Vec::new());
    for message in receiver.try_iter() {
        if let Message::Records { database, bytes } = message {
            writer.append(database, &bytes).unwrap();
        }
    }
    let file = writer.finish().unwrap();
    let (mut saved, mut record) = (Saved::new(), Record::default());
    let mut reader = RdbReader::new(&file[..]).unwrap();
    while reader.next(&mut record).unwrap() {
        let value = [&[record.code], &*record.bytes].concat();
        let key = (record.database as usize, record.key.clone());
        let before = saved.insert(key, (value, record.expires_at));
        assert!(before.is_none(), "the key {} is there twice", record.key.escape_ascii());
    }
    saved
}

#[test]
fn a_snapshot_has_what_was_there_when_it_began() {
    for seed in 0..40 {
        let mut store = Store::new(seed);
        (0..1500).for_each(|_| store.insert());
        // Several, one after the other: each has a version of its own.
        for round in 0..3 {
            (0..300).for_each(|_| store.change());
            let expected = expected(&store.contents);
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
            assert_eq!(output.unwritten(), output.pending());
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
    let expected = expected(&store.contents);
    let (version, output, receiver) = store.begin();
    while !store.visit(version, &output) {}
    output.flush();
    assert!(received(&receiver) == expected);
    assert!(store.shard.retired.is_empty() && store.shard.saves.is_empty());
}

/// Inserts keys into the first database, some with large values.
fn fill(store: &mut Store, keys: i64) {
    for number in 0..keys {
        let value = value_of(if number % 10 == 0 { 5 } else { 8 });
        store.keys(0).put_until(format!("key:{number}").as_bytes(), value, None);
    }
}

#[test]
fn a_snapshot_that_has_failed_gets_nothing_more() {
    let mut store = Store::new(6);
    fill(&mut store, 600);
    let (_, output, _receiver) = store.begin();
    output.note_failure();
    store.keys(0).set_expiry(b"key:1", Some(9000));
    assert!(store.shard.saves.is_empty());
    assert_eq!(store.keys(0).clear(), 600);
    assert!(store.shard.retired.is_empty());
    assert_eq!(output.pending(), 0);
}

#[test]
fn a_record_that_is_begun_is_completed_before_the_next_one() {
    let mut store = Store::new(8);
    fill(&mut store, 600);
    let (version, output, _receiver) = store.begin();
    while !store.visit(version, &output) {
        let begun = output.unwritten() - output.pending();
        assert!(begun <= 400 * 410, "{begun} bytes of records are kept");
        // What a change sets aside comes later.
        let key = format!("key:{}", store.random.below(600));
        store.keys(0).set_expiry(key.as_bytes(), Some(9000));
    }
    assert!(output.pending() >= 60 * 160_000);
}
