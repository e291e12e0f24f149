//! Random operations, one after another, compared with the standard library's map.
//!
//! Results do not depend on the schedule here, but the growth of the map does: it runs concurrently
//! with later operations.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use xtasking::platform::Simulation;
use xtasking::{JoinError, Runtime, Shutdown};
use xtasking_index::{HashMap, MapClient, WordKey};
use xtasking_testing::*;

/// One operation on one key.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Get,
    Insert,
    Upsert,
    Update,
    Modify,
    Remove,
    Count,
}

use Operation::*;

/// Weights of the operations while the map grows, and while entries are removed.
const GROWING: [Operation; 11] =
    [Insert, Insert, Insert, Insert, Upsert, Upsert, Upsert, Get, Update, Modify, Remove];
const SHRINKING: [Operation; 11] =
    [Remove, Remove, Remove, Remove, Remove, Remove, Remove, Get, Insert, Update, Modify];

/// Runs an operation on both maps and compares the results.
fn both<K: WordKey + Ord + Debug>(
    client: &MapClient<'_, K, u64>,
    map: &mut BTreeMap<K, u64>,
    (operation, key, value): (Operation, K, u64),
) {
    match operation {
        Get => assert_eq!(client.get(key).unwrap(), map.get(&key).copied(), "get {key:?}"),
        Insert => {
            let new = !map.contains_key(&key);
            map.entry(key).or_insert(value);
            assert_eq!(client.insert(key, value).unwrap(), new, "insert {key:?}");
        }
        Upsert => assert_eq!(client.upsert(key, value).unwrap(), map.insert(key, value), "upsert {key:?}"),
        Update => {
            let old = map.get_mut(&key).map(|there| std::mem::replace(there, value));
            assert_eq!(client.update(key, value).unwrap(), old, "update {key:?}");
        }
        Modify => {
            let old = map.get_mut(&key).map(|there| std::mem::replace(there, *there ^ value));
            assert_eq!(client.modify(key, move |there| there ^ value).unwrap(), old, "modify {key:?}");
        }
        Remove => assert_eq!(client.remove(key).unwrap(), map.remove(&key), "remove {key:?}"),
        Count => assert_eq!(client.count().unwrap(), map.len() as u64, "count"),
    }
}

/// Compares the entries of both maps.
fn same<K: WordKey + Ord + Debug>(client: &MapClient<'_, K, u64>, map: &BTreeMap<K, u64>) {
    let mut entries = client.iter().collect::<Result<Vec<_>, _>>().unwrap();
    entries.sort_unstable();
    assert!(entries.iter().copied().eq(map.iter().map(|(&key, &value)| (key, value))));
    assert_eq!(client.count().unwrap(), entries.len() as u64);
}

/// Grows and empties a map by random operations on keys that `choose` returns, comparing all along.
fn agree<K: WordKey + Ord + Debug>(setting: Setting, rounds: u64, choose: impl Fn(&mut Random) -> K) {
    let rt = setting.build();
    let mut random = Random(setting.seed());
    let map = HashMap::<K, u64>::new(&rt);
    let client = map.client(&rt);
    let mut model = BTreeMap::new();
    for phase in 0..4 {
        let mix = if phase % 2 == 0 { GROWING } else { SHRINKING };
        for round in 0..rounds {
            let operation = mix[random.below(mix.len() as u64) as usize];
            let mut key = choose(&mut random);
            if phase % 2 == 1 && random.percent(60) {
                key = model.range(key..).next().map_or(key, |(&key, _)| key);
            }
            both(&client, &mut model, (operation, key, random.word()));
            if round % 256 == 0 {
                both(&client, &mut model, (Count, key, 0));
            }
        }
        same(&client, &model);
    }
    let mut rest: Vec<K> = model.keys().copied().collect();
    random.shuffle(&mut rest);
    for key in rest {
        both(&client, &mut model, (Remove, key, 0));
    }
    same(&client, &model);
    drop(client);
    drop(map);
    rt.shutdown(Shutdown::Drain);
}

const ROUNDS: u64 = 1500 / PATIENCE as u64;

#[test]
fn maps_of_few_and_of_many_keys_agree() {
    on_each(Setting::simulations(&[1, 2]), |setting| {
        agree::<u64>(setting, ROUNDS, |random| random.below(300));
        agree::<u64>(setting, ROUNDS, Random::word);
    });
    on_each(Setting::threads(), |setting| agree::<u64>(setting, ROUNDS / 3, |random| random.below(500)));
}

/// Every word is a legal key, also those that a bucket could confuse with its own marks.
#[test]
fn keys_of_all_types_agree() {
    let setting = Setting::Simulation { cores: 2, seed: 5 };
    on_each([setting].into_iter(), |setting| {
        agree::<u64>(setting, 400, |random| match random.below(3) {
            0 => u64::MAX - random.below(70),
            1 => 1 << random.below(64),
            _ => random.below(70),
        });
        agree::<i8>(setting, 400, |random| random.word() as i8);
        agree::<[u8; 3]>(setting, 400, |random| [0, random.below(9) as u8, random.below(30) as u8]);
        agree::<char>(setting, 400, |random| char::from(random.below(128) as u8));
    });
}

/// Batches of any size agree with the same operations one by one.
#[test]
fn batches_agree() {
    on_each(Setting::simulations(&[3]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let mut random = Random(setting.seed());
        let mut model = BTreeMap::new();
        for size in [0, 1, 2, 31, 700, 3000] {
            let mut keys: Vec<u64> = (0..size).map(|_| random.below(20_000)).collect();
            keys.sort_unstable();
            keys.dedup();
            random.shuffle(&mut keys);
            let entries: Vec<_> = keys.iter().map(|&key| (key, random.word())).collect();
            let (inserts, upserts) = entries.split_at(entries.len() / 2);
            let new = client.insert_many(inserts).unwrap();
            for (&(key, value), new) in inserts.iter().zip(new) {
                assert_eq!(new, !model.contains_key(&key));
                model.entry(key).or_insert(value);
            }
            let old = client.upsert_many(upserts).unwrap();
            for (&(key, value), old) in upserts.iter().zip(old) {
                assert_eq!(old, model.insert(key, value));
            }
            let lookups: Vec<_> = (0..size).map(|_| random.below(20_000)).collect();
            let found = client.get_many(&lookups).unwrap();
            assert!(lookups.iter().zip(found).all(|(key, found)| found == model.get(key).copied()));
            let removals: Vec<_> = keys.iter().copied().step_by(3).collect();
            let gone = client.remove_many(&removals).unwrap();
            assert!(removals.iter().zip(gone).all(|(key, gone)| gone == model.remove(key)));
            same(&client, &model);
        }
    });
}

/// The order of operations on the same key within a batch is open, but their results are those of
/// some order.
#[test]
fn a_key_that_is_many_times_in_a_batch_is_new_once() {
    on_each(Setting::simulations(&[4]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let entries: Vec<_> = (0..2000).map(|number| (number % 7, number)).collect();
        let new = map.client(&rt).insert_many(&entries).unwrap();
        assert_eq!(new.into_iter().filter(|new| *new).count(), 7);
        let gone = map.client(&rt).remove_many(&[3; 900]).unwrap();
        assert_eq!(gone.into_iter().flatten().count(), 1);
        assert_eq!(map.client(&rt).count().unwrap(), 6);
    });
}

#[test]
fn a_panic_in_a_change_leaves_the_entry_and_poisons_nothing() {
    silence_tasks();
    on_each(Setting::simulations(&[6]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let entries: Vec<_> = (0..500).map(|key| (key, key + 1)).collect();
        client.insert_many(&entries).unwrap();
        for key in 0..500 {
            let error = client.modify(key, |_| panic!("provoked")).unwrap_err();
            assert!(
                matches!(&error, JoinError::Panicked(payload) if payload.message() == "provoked"),
                "{error}"
            );
            assert_eq!(client.get(key).unwrap(), Some(key + 1));
        }
        assert_eq!(client.modify(1000, |_| panic!("provoked")).unwrap(), None);
        assert!((0..500).all(|key| client.upsert(key, 0).unwrap() == Some(key + 1)));
        // By a task: the continuation is dropped.
        let (promise, handle) = rt.promise();
        map.modify(&rt, 7, |_| panic!("provoked"), move |old, _| promise.fulfil(old));
        assert!(matches!(handle.join(), Err(JoinError::Abandoned)));
        assert_eq!(client.modify(7, |value| value + 9).unwrap(), Some(0));
        assert_eq!(client.get(7).unwrap(), Some(9));
    });
}

#[test]
fn a_client_does_not_block_a_worker() {
    on_each([Setting::Threads { workers: 1 }].into_iter(), |setting| {
        let rt = std::sync::Arc::new(setting.build());
        let map = HashMap::<u64, u64>::new(&rt);
        map.client(&rt).insert(1, 2).unwrap();
        let (inside, there) = (rt.clone(), map.clone());
        let refused = rt.task(()).submit(move |(), _| {
            let client = there.client(&inside);
            [
                client.get(1).err(),
                client.insert(2, 2).err(),
                client.count().err(),
                client.get_many(&[1]).err(),
                client.insert_many(&[(1, 1)]).err(),
            ]
            .into_iter()
            .all(|error| matches!(error, Some(JoinError::WouldBlock)))
        });
        assert!(refused.join().unwrap());
    });
}

fn operations() -> impl Strategy<Value = Vec<(Operation, u8, u64)>> {
    let operation =
        proptest::sample::select(vec![Get, Insert, Insert, Upsert, Update, Modify, Remove, Count]);
    proptest::collection::vec((operation, any::<u8>(), any::<u64>()), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40 / PATIENCE, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// A failure shrinks to few operations.
    #[test]
    fn any_operations_agree(operations in operations(), cores in 1..5usize, seed in any::<u64>()) {
        let rt = Runtime::builder().platform(Simulation::new(cores, seed)).build().unwrap();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let mut model = BTreeMap::new();
        for (operation, key, value) in operations {
            both(&client, &mut model, (operation, u64::from(key), value));
        }
        same(&client, &model);
    }
}
