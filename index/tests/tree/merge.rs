//! Sparse leaves merge: after many removals a tree has about as many nodes as its entries need.

use crate::common::*;
use crate::with_all_primitives;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use xtasking::{Runtime, Versioned, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{Layout, Report, Tree, Words};

/// Keys in a random order, different for each seed.
fn shuffled(keys: u64, seed: u64) -> Vec<u64> {
    let mut keys: Vec<u64> = (0..keys).map(|index| index * 3).collect();
    Random(seed).shuffle(&mut keys);
    keys
}

/// Inserts entries in the order of `keys`. The value of a key is its complement.
fn filled<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    rt: &Runtime,
    primitive: P,
    keys: &[u64],
) -> Tree<u64, u64, L> {
    let tree = Tree::with_primitive(rt, primitive);
    for keys in keys.chunks(10_000) {
        let entries: Vec<_> = keys.iter().map(|&key| (key, !key)).collect();
        assert!(tree.client(rt).insert_many(&entries).unwrap().into_iter().all(|new| new));
    }
    tree
}

/// How full the leaves are on average, in percent.
fn fill_percent<L: Layout>(report: &Report) -> u64 {
    report.entries * 100 / (report.leaves * L::CAPACITY as u64)
}

/// Removes 95 of 100 keys in a random order, in batches and one by one, and checks the others.
fn remove_most<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    primitive: P,
    setting: Setting,
    keys: u64,
) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let mut keys = shuffled(keys, setting.seed());
    let tree = filled::<L, P>(&rt, primitive, &keys);
    let client = tree.client(&rt);
    Random(setting.seed() + 1).shuffle(&mut keys);
    let (rest, removed) = keys.split_at(keys.len() / 20);
    for (number, removed) in removed.chunks(500).enumerate() {
        if number % 8 == 0 {
            removed.iter().for_each(|&key| assert_eq!(client.remove(key).unwrap(), Some(!key)));
        } else {
            let old = client.remove_many(removed).unwrap();
            assert!(old.iter().zip(removed).all(|(old, key)| *old == Some(!key)));
        }
    }
    assert!(client.get_many(removed).unwrap().iter().all(Option::is_none));
    assert!(client.get_many(rest).unwrap().iter().zip(rest).all(|(value, key)| *value == Some(!key)));
    let ordered: BTreeSet<u64> = rest.iter().copied().collect();
    assert!(client.scan(0, usize::MAX).unwrap().into_iter().map(|entry| entry.0).eq(ordered));
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, rest.len() as u64);
    let (fill, children) =
        (fill_percent::<L>(&report), report.leaves / (report.nodes - report.leaves).max(1));
    println!("{setting:?}, {}: leaves are {fill}% full, {children} children a node, {report:?}", L::NAME);
    // A node of a few blocks finds out late that it is sparse.
    assert!(fill >= 25, "leaves are {fill}% full");
    assert!(report.nodes <= 3 || children * 5 >= L::CAPACITY as u64, "{children} children a node");
}

#[test]
fn a_tree_of_few_entries_has_few_nodes() {
    on_each(Setting::simulations(&[1]), |setting| {
        remove_most::<Hinted512, _>(OptimisticLatched, setting, 6_000);
    });
    on_each(Setting::threads(), |setting| {
        remove_most::<Hinted1024, _>(OptimisticLatched, setting, 60_000);
    });
    on_each([Setting::Threads { workers: 2 }].into_iter(), |setting| {
        remove_most::<Sorted1024, _>(OptimisticLatched, setting, 60_000);
    });
    let setting = Setting::Simulation { cores: 2, seed: 5 };
    on_each([setting].into_iter(), |setting| {
        with_all_primitives!(remove_most::<Sorted512>(setting, 3_000));
    });
}

/// Insertions and removals at a border neither split nor merge.
#[test]
fn a_merged_leaf_has_room_and_is_not_sparse() {
    fn rounds<L: Layout<Keys = Words>>() {
        let _blame = Blame(L::NAME);
        let setting = Setting::Simulation { cores: 2, seed: 1 };
        let rt = setting.build();
        let keys = shuffled(2_000, 1);
        let tree = filled::<L, _>(&rt, OptimisticLatched, &keys);
        let client = tree.client(&rt);
        // Removals in some order make most leaves sparse, and merge them.
        let (rest, removed) = keys.split_at(600);
        client.remove_many(removed).unwrap();
        let settled = || {
            (0..100).for_each(|_| _ = client.count().unwrap());
            tree.memory().live
        };
        let nodes = settled();
        let mut after = Vec::new();
        for (number, &key) in rest.iter().cycle().take(3_000).enumerate() {
            assert_eq!(client.remove(key).unwrap(), Some(!key));
            assert!(client.insert(key, !key).unwrap());
            // One entry less and one more: some leaves merge, and what is merged stays merged.
            if number % 600 == 599 {
                after.push(settled());
            }
        }
        assert!(after.is_sorted_by(|one, next| one >= next), "{nodes} nodes became {after:?}");
        assert!(after[0] <= nodes, "{nodes} nodes became {after:?}");
        let report = sound_after(rt, &tree);
        assert_eq!(report.entries, 600);
    }
    rounds::<Hinted512>();
    rounds::<Sorted512>();
}

/// Waves of removals and insertions run beside readers. The readers know some entries that stay,
/// which every lookup and every scan must find, and only once.
fn waves<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting, keys: u64) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let keys = shuffled(keys, setting.seed());
    let tree = filled::<L, P>(&rt, primitive, &keys);
    let (staying, changing) = keys.split_at(keys.len() / 30);
    let done = AtomicBool::new(false);
    let reads = |seed: u64| {
        let (client, mut random) = (tree.client(&rt), Random(seed));
        let ordered: BTreeSet<u64> = staying.iter().copied().collect();
        while !done.load(SeqCst) {
            let found = client.get_many(staying).unwrap();
            assert!(found.iter().zip(staying).all(|(value, key)| *value == Some(!key)), "a lookup missed");
            let from = random.below(keys.len() as u64 * 3);
            let entries = client.scan(from, 300).unwrap();
            assert!(entries.is_sorted_by(|one, next| one.0 < next.0), "a scan is out of order");
            let end = if entries.len() < 300 { u64::MAX } else { entries[299].0 + 1 };
            let seen = entries.iter().map(|entry| entry.0).filter(|key| ordered.contains(key));
            assert!(seen.eq(ordered.range(from..end).copied()), "a scan missed an entry");
        }
    };
    let half = changing.len() / 2;
    let changes = |own: &[u64], seed: u64| {
        let (client, mut own) = (tree.client(&rt), own.to_vec());
        for wave in 0..4 {
            Random(seed + wave).shuffle(&mut own);
            for keys in own.chunks(333) {
                assert!(client.remove_many(keys).unwrap().into_iter().all(|old| old.is_some()));
            }
            if wave < 3 {
                for keys in own.chunks(333) {
                    let entries: Vec<_> = keys.iter().map(|&key| (key, !key)).collect();
                    assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let writers = [&changing[..half], &changing[half..]].map(|own| {
            let changes = &changes;
            scope.spawn(move || changes(own, own.len() as u64))
        });
        let readers = [1, 2].map(|seed| {
            let reads = &reads;
            scope.spawn(move || reads(seed))
        });
        let outcomes = writers.map(|writer| writer.join());
        done.store(true, SeqCst);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, staying.len() as u64);
    let fill = fill_percent::<L>(&report);
    assert!(fill >= 25, "leaves are {fill}% full");
}

#[test]
fn readers_and_writers_run_beside_merges() {
    on_each(Setting::threads(), |setting| {
        waves::<Hinted512, _>(OptimisticLatched, setting, 6_000);
        waves::<Sorted512, _>(xtasking::primitive::Sequencing, setting, 3_000);
        waves::<Hinted512, _>(xtasking::primitive::OptimisticSequenced, setting, 3_000);
    });
}
