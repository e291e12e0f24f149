//! Random operations, one after another, compared with the standard library's ordered map.
//!
//! Results do not depend on the schedule here, but structure changes do: they run concurrently with
//! later operations.

use crate::common::*;
use crate::{with_all_primitives, with_primitives};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use xtasking::platform::Simulation;
use xtasking::{Runtime, Versioned, task::LegalFor};
use xtasking_index::{Client, Layout, Tree, WordKey, Words};

/// One operation on one key.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Get,
    Insert,
    Upsert,
    Update,
    Modify,
    Remove,
    Scan,
    Count,
}

use Operation::*;

/// Weights of the operations while the map grows, and while it shrinks.
const GROWING: [Operation; 12] =
    [Insert, Insert, Insert, Insert, Upsert, Upsert, Upsert, Get, Update, Modify, Remove, Scan];
const SHRINKING: [Operation; 12] =
    [Remove, Remove, Remove, Remove, Remove, Remove, Remove, Get, Insert, Update, Modify, Scan];

/// Runs an operation on both maps and compares the results.
fn both<K, L>(
    client: &Client<'_, K, u64, L>,
    map: &mut BTreeMap<K, u64>,
    (operation, key, value): (Operation, K, u64),
) where
    K: WordKey + Ord + Debug,
    L: Layout<Keys = Words>,
{
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
        Scan => {
            let limit = (value % 100) as usize;
            let expected: Vec<_> = map.range(key..).take(limit).map(|(&key, &value)| (key, value)).collect();
            assert_eq!(client.scan(key, limit).unwrap(), expected, "scan of {limit} from {key:?}");
        }
        Count => assert_eq!(client.count().unwrap(), map.len() as u64, "count"),
    }
}

/// Compares the entries of both maps.
fn same<K: WordKey + Ord + Debug, L: Layout<Keys = Words>>(
    client: &Client<'_, K, u64, L>,
    map: &BTreeMap<K, u64>,
    low: K,
) {
    let all: Vec<_> = map.iter().map(|(&key, &value)| (key, value)).collect();
    assert_eq!(client.scan(low, usize::MAX).unwrap(), all);
    assert_eq!(client.count().unwrap(), all.len() as u64);
}

/// Grows and shrinks a tree by random operations on keys that `choose` returns, checking it all
/// along.
fn agree<K, L, P>(
    rt: Runtime,
    primitive: P,
    rounds: u64,
    low: K,
    choose: impl Fn(&mut Random) -> K,
    seed: u64,
) where
    K: WordKey + Ord + Debug,
    L: Layout<Keys = Words>,
    P: LegalFor<Versioned<L>>,
{
    let mut random = Random(seed);
    let tree = Tree::<K, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    let mut map = BTreeMap::new();
    for phase in 0..4 {
        let mix = if phase % 2 == 0 { GROWING } else { SHRINKING };
        for round in 0..rounds {
            let operation = mix[random.below(mix.len() as u64) as usize];
            let mut key = choose(&mut random);
            if phase % 2 == 1 && random.percent(60) {
                // An existing key, or the next one, so that nodes do become empty.
                key = map.range(key..).next().map_or(key, |(&key, _)| key);
            }
            both(&client, &mut map, (operation, key, random.word()));
            if round % 64 == 0 {
                both(&client, &mut map, (Count, key, 0));
                // SAFETY: this is a simulation, and this thread is not waiting.
                let report = unsafe { sound(&tree) };
                assert_eq!(report.entries, map.len() as u64, "the leaves and the map differ in size");
            }
        }
        same(&client, &map, low);
    }
    // Removes the rest, in random order.
    let mut rest: Vec<K> = map.keys().copied().collect();
    random.shuffle(&mut rest);
    for key in rest {
        both(&client, &mut map, (Remove, key, 0));
    }
    same(&client, &map, low);
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
}

/// Operations of a phase: enough for a few levels of nodes. (Fewer under a sanitizer, which learns
/// little from the single thread of a simulation.)
fn rounds<L: Layout<Keys = Words>>() -> u64 {
    (L::CAPACITY as u64 * 12).clamp(500, 1200) / u64::from(PATIENCE)
}

fn few_keys<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, cores: usize, seed: u64) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, L::CAPACITY, cores, seed));
    let rt = Setting::Simulation { cores, seed }.build();
    let keys = L::CAPACITY as u64 * 6;
    agree::<u64, L, P>(rt, primitive, rounds::<L>(), 0, |random| random.below(keys), seed);
}

fn many_keys<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, cores: usize, seed: u64) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, L::CAPACITY, cores, seed));
    let rt = Setting::Simulation { cores, seed }.build();
    agree::<u64, L, P>(rt, primitive, rounds::<L>(), 0, Random::word, seed);
}

/// Keys around both ends of their range, and some in between.
fn extreme_keys<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, cores: usize, seed: u64) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, L::CAPACITY, cores, seed));
    let rt = Setting::Simulation { cores, seed }.build();
    let choose = |random: &mut Random| match random.below(8) {
        0 => u64::MAX,
        1 => 0,
        2..5 => u64::MAX - random.below(60),
        5..7 => random.below(60),
        _ => random.word(),
    };
    agree::<u64, L, P>(rt, primitive, rounds::<L>() / 2, 0, choose, seed);
}

fn signed_keys<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, cores: usize, seed: u64) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, L::CAPACITY, cores, seed));
    let rt = Setting::Simulation { cores, seed }.build();
    let choose = |random: &mut Random| match random.below(8) {
        0 => i64::MIN,
        1 => i64::MAX,
        2 => random.word() as i64,
        _ => random.below(400) as i64 - 200,
    };
    agree::<i64, L, P>(rt, primitive, rounds::<L>() / 2, i64::MIN, choose, seed);
}

macro_rules! on_layouts {
    ($($name:ident: $layout:ty, $seed:literal, $primitives:tt;)+) => {$(
        mod $name {
            use super::*;

            #[test]
            fn few_keys_agree() {
                let _watched = watchdog();
                with_primitives!($primitives, few_keys::<$layout>(4, $seed));
            }

            #[test]
            fn many_keys_agree() {
                let _watched = watchdog();
                with_primitives!($primitives, many_keys::<$layout>(2, $seed + 10));
            }

            #[test]
            fn extreme_keys_agree() {
                let _watched = watchdog();
                with_primitives!($primitives, extreme_keys::<$layout>(2, $seed + 20));
            }
        }
    )+};
}

on_layouts! {
    hinted_512: Hinted512, 100, [
        OptimisticLatched, OptimisticSequenced, SpinLatch, ReaderWriterLatch, Sequencing
    ];
    hinted_1024: Hinted1024, 200, [OptimisticLatched, SpinLatch];
    hinted_2048: Hinted2048, 300, [OptimisticSequenced];
    hinted_4096: Hinted4096, 400, [Sequencing];
    sorted_512: Sorted512, 500, [
        OptimisticLatched, OptimisticSequenced, SpinLatch, ReaderWriterLatch, Sequencing
    ];
    sorted_1024: Sorted1024, 600, [OptimisticLatched];
    sorted_4096: Sorted4096, 700, [ReaderWriterLatch];
}

#[test]
fn few_keys_agree_on_one_core_and_on_many() {
    let _watched = watchdog();
    for seed in [101, 201, 301] {
        with_primitives!([OptimisticLatched, Sequencing], few_keys::<Hinted512>(1, seed));
        with_primitives!([OptimisticSequenced, SpinLatch], few_keys::<Hinted512>(16, seed));
        with_primitives!([OptimisticLatched, Sequencing], few_keys::<Sorted512>(1, seed));
        with_primitives!([OptimisticSequenced, SpinLatch], few_keys::<Sorted512>(16, seed));
    }
}

#[test]
fn signed_keys_agree() {
    let _watched = watchdog();
    for seed in [130, 230, 330] {
        with_primitives!([OptimisticLatched, OptimisticSequenced], signed_keys::<Hinted512>(16, seed));
        with_primitives!([SpinLatch, Sequencing], signed_keys::<Sorted512>(16, seed));
        with_primitives!([OptimisticLatched], signed_keys::<Hinted1024>(16, seed));
    }
}

/// Batches of distinct keys, compared with the map.
fn batches_agree<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, cores: usize, seed: u64) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, L::CAPACITY, cores, seed));
    let mut random = Random(seed);
    let rt = Setting::Simulation { cores, seed }.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    let mut map = BTreeMap::new();
    assert_eq!(client.get_many(&[]).unwrap(), []);
    for round in 0..24 / u64::from(PATIENCE) {
        let mut keys: Vec<u64> = (0..1500).collect();
        random.shuffle(&mut keys);
        keys.truncate(1 + random.below(600) as usize);
        let entries: Vec<(u64, u64)> = keys.iter().map(|&key| (key, key * 1000 + round)).collect();
        match random.below(4) {
            0 => {
                let expected: Vec<bool> = entries.iter().map(|(key, _)| !map.contains_key(key)).collect();
                entries.iter().for_each(|&(key, value)| _ = map.entry(key).or_insert(value));
                assert_eq!(client.insert_many(&entries).unwrap(), expected);
            }
            1 => {
                let expected: Vec<_> = entries.iter().map(|&(key, value)| map.insert(key, value)).collect();
                assert_eq!(client.upsert_many(&entries).unwrap(), expected);
            }
            2 => {
                let expected: Vec<_> = keys.iter().map(|key| map.remove(key)).collect();
                assert_eq!(client.remove_many(&keys).unwrap(), expected);
            }
            _ => {}
        }
        let expected: Vec<_> = keys.iter().map(|key| map.get(key).copied()).collect();
        assert_eq!(client.get_many(&keys).unwrap(), expected);
        // SAFETY: this is a simulation, and this thread is not waiting.
        unsafe { sound(&tree) };
    }
    same(&client, &map, 0);
    sound_after(rt, &tree);
}

#[test]
fn batches_agree_with_the_model() {
    let _watched = watchdog();
    with_all_primitives!(batches_agree::<Hinted512>(4, 17));
    with_all_primitives!(batches_agree::<Sorted512>(2, 18));
    with_primitives!([OptimisticLatched, SpinLatch], batches_agree::<Hinted1024>(16, 19));
}

fn operations() -> impl Strategy<Value = Vec<(Operation, u8, u64)>> {
    let operation = prop_oneof![
        6 => Just(Insert), 2 => Just(Upsert), 6 => Just(Remove), 1 => Just(Get),
        1 => Just(Update), 1 => Just(Modify), 1 => Just(Scan), 1 => Just(Count),
    ];
    prop::collection::vec((operation, any::<u8>(), any::<u64>()), 0..500)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40 / PATIENCE, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// A failure shrinks to few operations. There are few keys, around both ends of their range.
    #[test]
    fn any_operations_agree(operations in operations(), cores in 1..5usize, seed in any::<u64>()) {
        let rt = Runtime::builder().platform(Simulation::new(cores, seed)).build().unwrap();
        let hinted = Tree::<u64, u64, Hinted512>::new(&rt);
        let sorted = Tree::<u64, u64, Sorted512>::new(&rt);
        let mut maps = [BTreeMap::new(), BTreeMap::new()];
        for (operation, key, value) in operations {
            let key = if key < 128 { u64::from(key) } else { u64::MAX - u64::from(key - 128) };
            both(&hinted.client(&rt), &mut maps[0], (operation, key, value));
            both(&sorted.client(&rt), &mut maps[1], (operation, key, value));
        }
        same(&hinted.client(&rt), &maps[0], 0);
        same(&sorted.client(&rt), &maps[1], 0);
        sound_after(rt, &hinted);
        // SAFETY: the runtime was shut down, so no operation is left.
        unsafe { sound(&sorted) };
    }
}
