//! Bulk loading, in all layouts and with all primitives, and all operations on the result.

use crate::common::*;
use crate::with_primitives;
use std::panic::{AssertUnwindSafe, catch_unwind};
use xtasking::{Versioned, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{HintedNode, Layout, SortedNode, Tree, Words};

/// Loads entries with gaps between their keys, and runs all operations on them.
fn loaded<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, entries: u64, setting: Setting) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, L::CAPACITY, entries, setting));
    let rt = setting.build();
    // From 0 to near `u64::MAX`, with gaps.
    let key = |index: u64| index * 10;
    let input = (0..entries).map(|index| (key(index), index));
    let tree = Tree::<u64, u64, L>::bulk_load(&rt, primitive, input.clone());
    // SAFETY: no operation has begun yet.
    let report = unsafe { sound(&tree) };
    assert_eq!((report.entries, report.unseparated), (entries, 0));
    assert_eq!(report.empty_leaves, u64::from(entries == 0));
    let per_leaf = L::CAPACITY as u64 * 8 / 10;
    assert!(report.leaves <= entries / per_leaf + 1, "leaves are not filled: {report:?}");

    let client = tree.client(&rt);
    let all: Vec<_> = input.collect();
    assert_eq!(client.scan(0, usize::MAX).unwrap(), all);
    assert_eq!(client.count().unwrap(), entries);
    let middle = all.get(all.len() / 2..).unwrap_or_default();
    let few = &middle[..middle.len().min(7)];
    assert_eq!(client.scan(key(entries / 2), 7).unwrap(), few);
    let found = client.get_many(&(0..entries).map(key).collect::<Vec<_>>()).unwrap();
    assert!(found.into_iter().eq((0..entries).map(Some)));
    assert!(
        client
            .get_many(&(0..entries).map(|index| key(index) + 1).collect::<Vec<_>>())
            .unwrap()
            .iter()
            .all(Option::is_none)
    );

    // Inserts between all entries and at both ends.
    let between: Vec<_> = (0..entries).map(|index| (key(index) + 5, index)).collect();
    assert!(client.insert_many(&between).unwrap().into_iter().all(|new| new));
    assert!(!client.insert_many(&between).unwrap().into_iter().any(|new| new));
    assert!(client.insert(u64::MAX, 1).unwrap());
    assert_eq!(client.upsert(u64::MAX, 2).unwrap(), Some(1));
    assert_eq!(client.update(u64::MAX, 3).unwrap(), Some(2));
    assert_eq!(client.modify(u64::MAX, |value| value + 1).unwrap(), Some(3));
    assert_eq!(client.upsert(3, 33).unwrap(), None);
    assert_eq!(client.update(4, 44).unwrap(), None);
    assert_eq!(client.modify(4, |value| value).unwrap(), None);
    assert_eq!(client.count().unwrap(), 2 * entries + 2);
    assert_eq!(client.scan(u64::MAX, 9).unwrap(), [(u64::MAX, 4)]);

    // Removes everything.
    assert_eq!(client.remove(u64::MAX).unwrap(), Some(4));
    assert_eq!(client.remove(3).unwrap(), Some(33));
    assert_eq!(client.remove(3).unwrap(), None);
    let keys: Vec<u64> = (0..entries).map(key).collect();
    assert!(client.remove_many(&keys).unwrap().into_iter().eq((0..entries).map(Some)));
    assert_eq!(client.scan(0, usize::MAX).unwrap(), between);
    let keys = between.iter().map(|entry| entry.0).collect::<Vec<_>>();
    assert!(client.remove_many(&keys).unwrap().into_iter().eq((0..entries).map(Some)));
    assert_eq!(client.scan(0, usize::MAX).unwrap(), []);
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
}

/// Sizes around the capacity of nodes.
fn sizes<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>> + Copy>(primitive: P) {
    let setting = Setting::Simulation { cores: 3, seed: 11 };
    let leaf = L::CAPACITY as u64 * 9 / 10;
    for entries in [0, 1, leaf, leaf + 1, leaf * 2 + 1] {
        loaded::<L, P>(primitive, entries, setting);
    }
}

/// Enough for three levels of small nodes.
fn many<L: Layout<Keys = Words>>() {
    let leaf = L::CAPACITY as u64 * 9 / 10;
    loaded::<L, _>(
        OptimisticLatched,
        (leaf * leaf + 1).min(1500),
        Setting::Simulation { cores: 4, seed: 12 },
    );
    loaded::<L, _>(OptimisticLatched, (leaf * leaf * 2).min(2000), Setting::Threads { workers: 2 });
}

macro_rules! on_layouts {
    ($($name:ident: $layout:ty, $primitives:tt;)+) => {$(
        #[test]
        fn $name() {
            let _watched = watchdog();
            with_primitives!($primitives, sizes::<$layout>());
            many::<$layout>();
        }
    )+};
}

on_layouts! {
    hinted_512_is_loaded: Hinted512, [
        OptimisticLatched, OptimisticSequenced, SpinLatch, ReaderWriterLatch, Sequencing
    ];
    hinted_1024_is_loaded: Hinted1024, [OptimisticLatched, SpinLatch];
    hinted_2048_is_loaded: Hinted2048, [OptimisticLatched];
    hinted_4096_is_loaded: Hinted4096, [OptimisticLatched];
    sorted_512_is_loaded: Sorted512, [
        OptimisticLatched, OptimisticSequenced, SpinLatch, ReaderWriterLatch, Sequencing
    ];
    sorted_1024_is_loaded: Sorted1024, [OptimisticLatched];
    sorted_2048_is_loaded: Sorted2048, [OptimisticLatched];
    sorted_4096_is_loaded: Sorted4096, [OptimisticLatched];
}

/// Loads entries up to and including the greatest key, which gets every possible position in a
/// leaf.
fn ends<L: Layout<Keys = Words>>() {
    let leaf = L::CAPACITY as u64 * 9 / 10;
    let rt = Setting::Simulation { cores: 2, seed: 13 }.build();
    for entries in [1, 2, leaf, leaf + 1, leaf * 2, (leaf * leaf + 1).min(1200)] {
        let _blame = Blame((L::NAME, L::CAPACITY, entries));
        let first = u64::MAX - (entries - 1);
        let tree = Tree::<u64, u64, L>::bulk_load(
            &rt,
            OptimisticLatched,
            (0..entries).map(|index| (first + index, index)),
        );
        // SAFETY: no operation has begun yet.
        let report = unsafe { sound(&tree) };
        assert_eq!((report.entries, report.unseparated), (entries, 0));
        let client = tree.client(&rt);
        assert_eq!(client.get(u64::MAX).unwrap(), Some(entries - 1));
        assert_eq!(client.get(first).unwrap(), Some(0));
        assert_eq!(client.count().unwrap(), entries);
        assert!(client.insert(0, 7).unwrap());
        for index in (0..entries).rev() {
            assert_eq!(client.remove(first + index).unwrap(), Some(index));
        }
        assert_eq!(client.scan(0, 9).unwrap(), [(0, 7)]);
        assert!(client.insert(u64::MAX, 8).unwrap());
        assert_eq!(client.scan(0, 9).unwrap(), [(0, 7), (u64::MAX, 8)]);
        // SAFETY: this is a simulation, and this thread is not waiting.
        unsafe { sound(&tree) };
    }
}

#[test]
fn the_greatest_key_can_be_stored() {
    let _watched = watchdog();
    ends::<Hinted512>();
    ends::<Hinted1024>();
    ends::<Sorted512>();
}

#[test]
fn signed_keys_are_loaded_in_their_order() {
    let _watched = watchdog();
    let rt = Setting::Simulation { cores: 1, seed: 1 }.build();
    let entries = (-500i64..500).map(|key| (key, key as i32));
    let tree = Tree::<i64, i32>::bulk_load(&rt, OptimisticLatched, entries.clone());
    let client = tree.client(&rt);
    assert_eq!(client.scan(i64::MIN, usize::MAX).unwrap(), entries.collect::<Vec<_>>());
    assert_eq!(client.get(-500).unwrap(), Some(-500));
    assert_eq!(client.get(-501).unwrap(), None);
    sound_after(rt, &tree);
}

#[test]
fn keys_of_bytes_are_in_the_order_of_bytes() {
    let _watched = watchdog();
    let rt = Setting::Simulation { cores: 2, seed: 1 }.build();
    let tree = Tree::<[u8; 6], [u8; 3]>::new(&rt);
    let client = tree.client(&rt);
    // Keys that differ in their first bytes, their last ones, or both.
    let key = |index: u16| {
        let [high, low] = index.to_be_bytes();
        [low, b'k', 0, u8::MAX, high, low]
    };
    let mut entries: Vec<_> = (0..1000).map(|index| (key(index), [b'v', index as u8, 7])).collect();
    assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
    entries.sort_unstable();
    assert_eq!(client.scan([0; 6], usize::MAX).unwrap(), entries);
    let from = [9, 0, 0, 0, 0, 0];
    let rest: Vec<_> = entries.iter().copied().filter(|entry| entry.0 >= from).take(40).collect();
    assert_eq!(client.scan(from, 40).unwrap(), rest);
    assert_eq!(client.get(key(513)).unwrap(), Some([b'v', 1, 7]));
    assert_eq!(client.get([u8::MAX; 6]).unwrap(), None);
    assert_eq!(client.remove(key(513)).unwrap(), Some([b'v', 1, 7]));
    assert_eq!(client.get(key(513)).unwrap(), None);
    sound_after(rt, &tree);
}

#[test]
fn unsorted_input_is_rejected() {
    let _watched = watchdog();
    fn load<L: Layout<Keys = Words>>(entries: &[(u64, u64)]) -> bool {
        let rt = Setting::Simulation { cores: 1, seed: 1 }.build();
        let load = || Tree::<u64, u64, L>::bulk_load(&rt, OptimisticLatched, entries.iter().copied());
        catch_unwind(AssertUnwindSafe(load)).is_ok()
    }
    assert!(load::<Hinted512>(&[(1, 0), (2, 0)]));
    assert!(!load::<Hinted512>(&[(2, 0), (1, 0)]));
    assert!(!load::<Hinted512>(&[(1, 0), (1, 0)]), "keys must be distinct");
    assert!(!load::<Sorted512>(&[(0, 0), (5, 0), (4, 0)]));
    // The disorder may also be between two leaves.
    let mut entries: Vec<(u64, u64)> = (0..1000).map(|key| (key, key)).collect();
    for at in [1, 500, 999] {
        entries.swap(at - 1, at);
        assert!(!load::<HintedNode<62>>(&entries));
        assert!(!load::<SortedNode<126>>(&entries));
        entries.swap(at - 1, at);
    }
    assert!(load::<SortedNode<126>>(&entries));
}
