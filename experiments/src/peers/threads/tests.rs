//! The tree against an ordered map, and threads against each other.

use super::limit::{Interleaving, get_all};
use super::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use xtasking_index::node::{Hinted, Layout, Sorted, words};

type Large = Hinted<{ words(1024) }>;
type Small = Hinted<{ words(512) }>;
type Plain = Sorted<{ words(1024) }>;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A bijection, to spread keys without repeating any.
fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn check<L: Layout>(tree: &OlcTree<L>) {
    for leaf in tree.leaves() {
        assert_eq!(leaf.check(), []);
    }
}

fn as_a_map<L: Layout>() {
    let tree = OlcTree::<L>::new();
    let mut model = BTreeMap::new();
    let mut random = Random(1);
    assert!(tree.is_empty());
    for round in 0..60_000 {
        let value = random.next();
        // Few keys in the first half, so that operations meet; the extremes of the range are among them.
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
    for how in [
        Interleaving::default(),
        Interleaving { batch: 5, cached: 0 },
        Interleaving { batch: 99, cached: 99 },
    ] {
        let mut found = vec![None; keys.len()];
        // SAFETY: there is no other thread.
        unsafe { get_all(&tree, &keys, &mut found, how) };
        assert!(keys.iter().zip(&found).all(|(key, found)| model.get(key) == found.as_ref()));
    }
    for key in model.keys() {
        assert_eq!(tree.remove(*key), Some(model[key]));
    }
    assert!(tree.is_empty());
    check(&tree);
}

#[test]
fn is_a_map() {
    as_a_map::<Large>();
    as_a_map::<Small>();
    as_a_map::<Plain>();
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

/// Every thread inserts keys of its own, removes some of them and reads those of others meanwhile; a value
/// tells its key and its state.
fn under_stress<L: Layout>(threads: u64, count: u64, key_of: fn(u64) -> u64) {
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
                if let Some(found) = tree.get(key) {
                    assert!((0..3).any(|version| found == value(key, version)));
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
fn threads_agree() {
    let count = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    under_stress::<Large>(3, count, spread);
    under_stress::<Small>(2, count, spread);
    under_stress::<Plain>(3, count, spread);
    // All at the same end, where nodes split one after the other.
    under_stress::<Large>(3, count, |key| key);
    under_stress::<Small>(3, count, |key| key);
    under_stress::<Plain>(2, count, |key| u64::MAX - key);
}
