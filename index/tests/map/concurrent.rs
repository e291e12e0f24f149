//! Many concurrent operations while the map grows, each checked by its caller's own model.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use xtasking::{Context, Promise, Runtime};
use xtasking_index::{HashMap, MapClient, WriteMode, WriteOutcome};
use xtasking_testing::*;

/// One of many concurrent chains of operations. Each has its own keys, so that it knows what every
/// operation must find.
struct Chain {
    map: HashMap<u64, u64>,
    random: Random,
    /// The chain has the keys that leave this remainder.
    number: u64,
    chains: u64,
    keys: u64,
    left: u32,
    entries: BTreeMap<u64, u64>,
    promise: Promise<BTreeMap<u64, u64>>,
}

impl Chain {
    /// Starts the next operation, whose continuation returns here.
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            let Self { promise, entries, .. } = *self;
            return promise.fulfil(entries);
        }
        self.left -= 1;
        let key = self.random.below(self.keys) * self.chains + self.number;
        let value = self.random.word();
        let map = self.map.clone();
        // Phases of mostly insertions alternate with phases of mostly removals.
        let grows = (self.left / 200).is_multiple_of(2);
        match self.random.below(10) {
            0 | 1 => map.get(cx, key, move |found, cx| {
                assert_eq!(found, self.entries.get(&key).copied(), "get {key}");
                self.advance(cx);
            }),
            2 => {
                let change = move |there| there ^ value;
                map.modify(cx, key, change, move |old, cx| {
                    let there =
                        self.entries.get_mut(&key).map(|there| std::mem::replace(there, *there ^ value));
                    assert_eq!(old, there, "modify {key}");
                    self.advance(cx);
                });
            }
            3 => map.write(cx, key, value, WriteMode::Update, move |wrote, cx| {
                let expected = match self.entries.get_mut(&key) {
                    Some(there) => WriteOutcome::Replaced(std::mem::replace(there, value)),
                    None => WriteOutcome::Missing,
                };
                assert_eq!(wrote, expected, "update {key}");
                self.advance(cx);
            }),
            4..8 if grows => map.upsert(cx, key, value, move |old, cx| {
                assert_eq!(old, self.entries.insert(key, value), "upsert {key}");
                self.advance(cx);
            }),
            4..8 => map.remove(cx, key, move |old, cx| {
                assert_eq!(old, self.entries.remove(&key), "remove {key}");
                self.advance(cx);
            }),
            _ => map.insert(cx, key, value, move |new, cx| {
                assert_eq!(new, !self.entries.contains_key(&key), "insert {key}");
                self.entries.entry(key).or_insert(value);
                self.advance(cx);
            }),
        }
    }
}

/// Runs chains of tasks, and compares what they leave.
fn chains(rt: &Runtime, chains: u64, left: u32, seed: u64) {
    let map = HashMap::<u64, u64>::new(rt);
    let start = |number| {
        let (promise, handle) = rt.promise();
        let (map, random) = (map.clone(), Random(seed * chains + number));
        let entries = BTreeMap::new();
        let chain = Chain { map, random, number, chains, keys: 300, left, entries, promise };
        rt.task(()).spawn(move |(), cx| Box::new(chain).advance(cx));
        handle
    };
    let handles: Vec<_> = (0..chains).map(start).collect();
    let mut expected = BTreeMap::new();
    for handle in handles {
        expected.extend(handle.join().unwrap());
    }
    let mut entries = map.client(rt).iter().collect::<Result<Vec<_>, _>>().unwrap();
    entries.sort_unstable();
    assert!(entries.into_iter().eq(expected));
}

#[test]
fn chains_of_tasks_find_what_they_have_left() {
    on_each(Setting::simulations(&[1, 2, 3]), |setting| {
        chains(&setting.build(), 16, 600 / PATIENCE, setting.seed());
    });
    on_each(Setting::threads(), |setting| {
        chains(&setting.build(), 40, 2000 / PATIENCE, setting.seed());
    });
}

/// Looks up keys that stay, keys that come, and keys that never exist.
fn read(client: &MapClient<'_, u64, u64>, seed: u64, inserted: &AtomicU64, over: &AtomicBool) -> u64 {
    let (mut random, mut reads) = (Random(seed), 0);
    while !over.load(SeqCst) {
        let sure = inserted.load(SeqCst);
        for _ in 0..50 {
            let key = random.below(2 * sure.max(1));
            match client.get(key).unwrap() {
                Some(value) => assert_eq!(value, key ^ 5, "a lookup found another key's value"),
                None => assert!(key >= sure, "a lookup missed {key}, one of {sure}"),
            }
            assert_eq!(client.get(u64::MAX - key).unwrap(), None);
        }
        reads += 1;
    }
    reads
}

/// Threads that read by themselves never miss a key while its bucket is split.
#[test]
fn threads_read_beside_the_growth() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let (inserted, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let buckets = map.memory().buckets;
        let (readers, inserted_there, over_there) = (&client, &inserted, &over);
        let mut bodies: Vec<Box<dyn FnOnce() -> u64 + Send + '_>> = (0..2)
            .map(|seed| -> Box<dyn FnOnce() -> u64 + Send> {
                Box::new(move || read(readers, seed, inserted_there, over_there))
            })
            .collect();
        bodies.push(Box::new(|| {
            let keys = 60_000 / u64::from(PATIENCE);
            for first in (0..keys).step_by(1000) {
                let entries: Vec<_> = (first..first + 1000).map(|key| (key, key ^ 5)).collect();
                assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
                inserted.store(first + 1000, SeqCst);
            }
            over.store(true, SeqCst);
            keys
        }));
        side_by_side(bodies);
        eventually("the map grows", || map.memory().buckets > 8 * buckets);
    });
}

/// Batches from several threads meet in the same buckets.
#[test]
fn batches_of_several_threads_agree() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let bodies = (0..3u64).map(|number| {
            let client = &client;
            move || {
                let mut random = Random(number);
                let mut keys: Vec<u64> = (0..4000).map(|index| index * 3 + number).collect();
                for round in 0..4 {
                    random.shuffle(&mut keys);
                    let entries: Vec<_> = keys.iter().map(|&key| (key, key + round)).collect();
                    assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
                    let found = client.get_many(&keys).unwrap();
                    assert!(keys.iter().zip(found).all(|(key, found)| found == Some(key + round)));
                    let gone = client.remove_many(&keys).unwrap();
                    assert!(keys.iter().zip(gone).all(|(key, gone)| gone == Some(key + round)));
                }
            }
        });
        side_by_side(bodies);
        assert_eq!(client.count().unwrap(), 0);
    });
}

/// Counters of one map, which every worker adds to.
#[test]
fn no_change_of_a_value_is_lost() {
    on_each(Setting::simulations(&[7]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        map.client(&rt).insert_many(&[(1, 0), (2, 0), (3, 0)]).unwrap();
        let group = rt.group();
        for number in 0..3000 {
            let map = map.clone();
            rt.task(()).of(&group).spawn(move |(), cx| {
                map.modify(cx, 1 + number % 3, |value| value + 1, |old, _| assert!(old.is_some()));
            });
        }
        group.wait().unwrap();
        let client = map.client(&rt);
        eventually("all changes are made", || {
            let sum: u64 = (1..4).map(|key| client.get(key).unwrap().unwrap()).sum();
            sum == 3000
        });
    });
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("provoked");
    }
}

/// A closure that is not called is dropped when no bucket is held.
#[test]
fn a_closure_without_an_entry_poisons_nothing() {
    silence_tasks();
    on_each(Setting::threads().chain(Setting::simulations(&[1])), |setting| {
        let rt = setting.builder().on_failure(|_| ()).build().unwrap();
        let map = HashMap::<u64, u64>::new(&rt);
        let (client, bomb) = (map.client(&rt), Bomb);
        let change = move |value| {
            let _moved = &bomb;
            value
        };
        _ = client.modify(1, change);
        assert!(client.insert(1, 1).unwrap());
    });
}
