//! Compares the tree with an ordered map, and tests concurrent threads.

use super::limit::{Interleaving, get_all};
use super::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use xtasking_index::Words;
use xtasking_index::node::{HintedNode, Layout, SortedNode, words};

type Large = HintedNode<{ words(1024) }>;
type Small = HintedNode<{ words(512) }>;
type Plain = SortedNode<{ words(1024) }>;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A bijection, which spreads keys without duplicates.
fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn check<L: Layout<Keys = Words>>(tree: &OlcTree<L>) {
    for leaf in tree.leaves() {
        assert_eq!(leaf.check(), []);
    }
}

fn compare_with_map<L: Layout<Keys = Words>>() {
    let tree = OlcTree::<L>::new();
    let mut model = BTreeMap::new();
    let mut random = Random(1);
    assert!(tree.is_empty());
    for round in 0..60_000 {
        let value = random.next();
        // Few keys in the first half, so that operations collide. The extremes of the range are
        // among them.
        let key = match value % 16 {
            0 => u64::MAX - value % 3,
            _ if round < 30_000 => value >> 52,
            _ => value,
        };
        match random.next() % 8 {
            0 | 1 => {
                assert_eq!(tree.insert(key, value), !model.contains_key(&key));
                model.entry(key).or_insert(value);
            }
            2 | 3 => assert_eq!(tree.upsert(key, value), model.insert(key, value)),
            4 => {
                let old = model.get(&key).copied();
                assert_eq!(tree.update(key, value), old);
                model.entry(key).and_modify(|old| *old = value);
            }
            5 => assert_eq!(tree.remove(key), model.remove(&key)),
            6 => assert_eq!(tree.get(key), model.get(&key).copied()),
            _ if round % 16 == 0 => {
                let (limit, mut entries) = ((value % 300) as usize, vec![(1, 2)]);
                tree.scan(key, limit, &mut entries);
                assert!(
                    entries[1..].iter().copied().eq(model.range(key..).take(limit).map(|(k, v)| (*k, *v)))
                );
            }
            _ => {}
        }
    }
    assert_eq!(tree.len(), model.len());
    check(&tree);
    let keys: Vec<u64> = model.keys().flat_map(|&key| [key, key ^ 1]).collect();
    let others = [Interleaving { batch: 5, cached: 0 }, Interleaving { batch: 99, cached: 99 }];
    for how in Interleaving::ways(&Interleaving::BATCHES).chain(others) {
        let mut values = vec![None; keys.len()];
        // SAFETY: no other thread accesses the tree.
        unsafe { get_all(&tree, &keys, &mut values, how) };
        assert!(keys.iter().zip(&values).all(|(key, values)| model.get(key) == values.as_ref()));
    }
    for key in model.keys() {
        assert_eq!(tree.remove(*key), Some(model[key]));
    }
    assert!(tree.is_empty());
    check(&tree);
}

#[test]
fn the_tree_is_an_ordered_map() {
    compare_with_map::<Large>();
    compare_with_map::<Small>();
    compare_with_map::<Plain>();
}

#[test]
fn ascending_keys_fill_leaves() {
    let tree = OlcTree::<Large>::new();
    for key in 0..100_000 {
        assert!(tree.insert(key, !key));
    }
    assert!((0..100_000).all(|key| tree.get(key) == Some(!key)));
    assert_eq!(tree.leaves().count(), 100_000usize.div_ceil(Large::CAPACITY));
    check(&tree);
}

/// Each thread inserts keys of its own, removes some of them, and reads those of other threads
/// meanwhile. A value identifies its key and version.
fn run_concurrently<L: Layout<Keys = Words>>(threads: u64, count: u64, key_of: fn(u64) -> u64) {
    let tree = OlcTree::<L>::new();
    let stop = AtomicBool::new(false);
    let value = |key: u64, version: u64| key.rotate_left(32) ^ version;
    thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|thread| {
                let tree = &tree;
                scope.spawn(move || {
                    for i in 0..count {
                        let key = key_of(i * threads + thread);
                        assert!(tree.insert(key, value(key, 0)));
                        assert_eq!(tree.get(key), Some(value(key, 0)));
                        assert!(!tree.insert(key, 7));
                        assert_eq!(tree.update(key, value(key, 1)), Some(value(key, 0)));
                        let earlier = key_of(i / 2 * threads + thread);
                        match i % 4 {
                            0 => assert_eq!(tree.upsert(key, value(key, 2)), Some(value(key, 1))),
                            1 => assert!(tree.remove(earlier).is_some()),
                            _ => {}
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let (mut random, mut entries) = (Random(7), Vec::new());
            while !stop.load(Relaxed) {
                let key = key_of(random.next() % (count * threads));
                if let Some(values) = tree.get(key) {
                    assert!((0..3).any(|version| values == value(key, version)));
                }
                entries.clear();
                tree.scan(key, 100, &mut entries);
                assert!(entries.is_sorted_by_key(|entry| entry.0));
                assert!(
                    entries.iter().all(|entry| entry.0 >= key && (entry.0.rotate_left(32) ^ entry.1) < 3)
                );
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        stop.store(true, Relaxed);
    });
    check(&tree);
    let removed = |i: u64| (0..2).any(|half| (2 * i + half) < count && (2 * i + half) % 4 == 1);
    let mut left = 0;
    for i in 0..count {
        for thread in 0..threads {
            let key = key_of(i * threads + thread);
            let version = if i % 4 == 0 { 2 } else { 1 };
            let expected = (!removed(i)).then(|| value(key, version));
            assert_eq!(tree.get(key), expected);
            left += usize::from(expected.is_some());
        }
    }
    assert_eq!(tree.len(), left);
}

#[test]
fn concurrent_threads_see_consistent_values() {
    let count = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    run_concurrently::<Large>(3, count, spread);
    run_concurrently::<Small>(2, count, spread);
    run_concurrently::<Plain>(3, count, spread);
    // All at the same end, where nodes split one after the other.
    run_concurrently::<Large>(3, count, |key| key);
    run_concurrently::<Small>(3, count, |key| key);
    run_concurrently::<Plain>(2, count, |key| u64::MAX - key);
}
