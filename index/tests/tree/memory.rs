//! Memory: nodes are freed when their entries are removed, and when the tree is dropped.

#[path = "../shared/pages.rs"]
mod counted;

use crate::common::*;
use crate::with_all_primitives;
use counted::{CountedPages, Counting};
use std::sync::Arc;
use xtasking::{Runtime, Versioned, platform::Simulation, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{Layout, Tree, Words};

/// Nodes that may be left of an empty tree: merges that conflict with other changes leave some
/// empty leaves.
pub const MAX_NODES_LEFT: usize = 12;

/// Inserts and removes keys again and again, in different orders.
fn rounds<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    let mut random = Random(setting.seed());
    let mut keys: Vec<u64> = (0..900).collect();
    let mut most = 0;
    for round in 0..10 {
        match round % 3 {
            0 => keys.sort_unstable(),
            1 => keys.reverse(),
            _ => random.shuffle(&mut keys),
        }
        let entries = keys.iter().map(|&key| (key, round)).collect::<Vec<_>>();
        assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
        most = most.max(tree.memory().live);
        if round % 2 == 0 {
            random.shuffle(&mut keys);
        }
        assert!(client.remove_many(&keys).unwrap().into_iter().all(|old| old == Some(round)));
        settle(&rt, &tree, setting, MAX_NODES_LEFT);
    }
    // Insertions alone leave no node less than a quarter full, which bounds the number of nodes.
    // Retired nodes must not pile up beside them.
    let enough = 900 / (L::CAPACITY / 4) + MAX_NODES_LEFT;
    assert!(most <= 3 * enough, "{most} nodes for 900 keys");
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
    assert!(report.leaves <= MAX_NODES_LEFT as u64, "{} leaves are left of an empty tree", report.leaves);
    assert_eq!(tree.memory().live, report.nodes as usize, "unlinked nodes were not freed");
}

/// Waits until all but some nodes have been freed.
fn settle<L: Layout<Keys = Words>>(rt: &Runtime, tree: &Tree<u64, u64, L>, setting: Setting, left: usize) {
    if setting.is_simulation() {
        // Nodes are reclaimed between tasks, and in a simulation tasks run only while a thread
        // waits.
        for _ in 0..100 {
            tree.client(rt).count().unwrap();
        }
        let live = tree.memory().live;
        assert!(live <= left, "{live} nodes are left of an empty tree");
    } else {
        eventually("the nodes are freed", || tree.memory().live <= left);
    }
}

#[test]
fn nodes_of_removed_entries_are_freed() {
    on_each(Setting::simulations(&[2]).chain(Setting::threads()), |setting| {
        rounds::<Hinted512, _>(OptimisticLatched, setting);
    });
    let setting = Setting::Simulation { cores: 4, seed: 3 };
    on_each([setting].into_iter(), |setting| {
        with_all_primitives!(rounds::<Sorted512>(setting));
    });
    on_each([Setting::Threads { workers: 2 }].into_iter(), |setting| {
        rounds::<Hinted512, _>(xtasking::primitive::Sequencing, setting);
        rounds::<Hinted512, _>(xtasking::primitive::OptimisticSequenced, setting);
    });
}

/// Removes every key, one at a time, in some order: at most two leaves may be left.
fn remove_all<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    primitive: P,
    order: &dyn Fn(&mut Vec<u64>),
) {
    let _blame = Blame((P::PRIMITIVE, L::NAME));
    let setting = Setting::Simulation { cores: 2, seed: 1 };
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    let mut keys: Vec<u64> = (0..1200).collect();
    assert!(
        client
            .insert_many(&keys.iter().map(|&key| (key, key)).collect::<Vec<_>>())
            .unwrap()
            .iter()
            .all(|new| *new)
    );
    order(&mut keys);
    for key in keys {
        assert_eq!(client.remove(key).unwrap(), Some(key));
    }
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
    assert!(report.leaves <= 2, "merges did not conflict, but {report:?}");
    assert!(report.levels <= 2, "the tree has not become lower: {report:?}");
}

#[test]
fn an_undisturbed_tree_shrinks_to_nothing() {
    let _watched = watchdog();
    with_all_primitives!(remove_all::<Hinted512>(&|_| {}));
    with_all_primitives!(remove_all::<Hinted512>(&|keys| keys.reverse()));
    with_all_primitives!(remove_all::<Sorted512>(&|keys| Random(1).shuffle(keys)));
    remove_all::<Hinted512, _>(OptimisticLatched, &|keys| Random(2).shuffle(keys));
}

/// The task that starts a lookup may run long after the tree was dropped. What it spawns keeps the
/// tree alive as well.
#[test]
fn a_lookup_that_has_not_begun_keeps_a_dropped_tree() {
    let _watched = watchdog();
    for seed in 0..200 / u64::from(PATIENCE) {
        let rt = Runtime::builder().platform(Simulation::new(2, seed)).build().unwrap();
        let tree = Tree::<u64, u64>::new(&rt);
        let entries = (0..2_000).map(|key| (key, key)).collect::<Vec<_>>();
        assert!(tree.client(&rt).insert_many(&entries).unwrap().into_iter().all(|new| new));
        let (promise, found) = rt.promise();
        tree.get(&rt, 1_000, |value, _| promise.fulfil(value));
        drop(tree);
        // The epoch advances meanwhile.
        (0..20).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
        assert_eq!(found.join().unwrap(), Some(1_000));
    }
}

#[test]
fn a_dropped_tree_releases_its_memory() {
    let _watched = watchdog();
    let pages = Arc::new(CountedPages::default());
    let platform = Counting { simulation: Simulation::new(2, 1), pages: pages.clone() };
    let rt = Runtime::builder().platform(platform).build().unwrap();
    let fill = |tree: &Tree<u64, u64>| {
        let entries = (0..20_000).map(|key| (key, key)).collect::<Vec<_>>();
        assert_eq!(tree.client(&rt).insert_many(&entries).unwrap().len(), 20_000);
    };
    let pass = || (0..200).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
    let (taken, discarded) = (|| pages.taken(), || pages.discarded());
    // The first tree warms the runtime's heaps up.
    let begin = taken();
    let first = Tree::new(&rt);
    fill(&first);
    let bytes = first.memory().bytes;
    assert!(bytes > 20_000 * 16, "the entries take memory");
    assert!(taken() >= begin + bytes, "nodes come from the platform's pages");
    drop(first);
    pass();
    assert_eq!(discarded(), bytes, "the nodes were not freed");
    let before = taken();
    let tree = Tree::new(&rt);
    fill(&tree);
    assert_eq!((tree.memory().bytes, taken()), (bytes, before), "addresses are used again");
    // Pending operations keep the tree's nodes alive; when they have run, the nodes are freed.
    tree.get(&rt, 1, |value, _| assert_eq!(value, Some(1)));
    drop(tree);
    assert_eq!(discarded(), bytes, "a lookup is still pending");
    pass();
    assert_eq!(discarded(), 2 * bytes, "the nodes were not freed");
    drop(rt);
    assert_eq!(taken(), bytes, "the runtime kept more than the addresses of nodes");
}

#[test]
fn a_tree_outlives_its_runtime() {
    let _watched = watchdog();
    let setting = Setting::Simulation { cores: 2, seed: 9 };
    let rt = setting.build();
    let tree = Tree::<u64, u64>::new(&rt);
    assert!(tree.client(&rt).insert(1, 2).unwrap());
    let clone = tree.clone();
    drop(tree);
    let report = sound_after(rt, &clone);
    assert_eq!((report.entries, report.nodes, report.levels), (1, 1, 1));
    drop(clone);
}

/// Resident memory of this process, in bytes; `None` where the system does not say.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<usize>().ok()? * 4096)
}

/// A realistic size. It takes minutes, so it runs only with `--ignored`.
#[test]
#[ignore = "takes minutes; run it in release"]
fn ten_rounds_of_ten_million_keys_stay_within_bounds() {
    const KEYS: u64 = 10_000_000;
    const BATCH: u64 = 100_000;
    let Some(before) = resident() else {
        return eprintln!("skipped: /proc/self/statm is not available on this system");
    };
    let rt = Runtime::builder().workers(2).build().unwrap();
    let tree = Tree::<u64, u64>::new(&rt);
    let client = tree.client(&rt);
    // Multiplication by an odd factor permutes the 64-bit words: a random order, different in each
    // round.
    let key = |round: u64, index: u64| (index * 10 + round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let batches = || (0..KEYS).step_by(BATCH as usize).map(|from| from..from + BATCH);
    let mut need = 0;
    for round in 0..10 {
        for batch in batches() {
            let entries = batch.map(|index| (key(round, index), round)).collect::<Vec<_>>();
            assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
        }
        let used = resident().unwrap() - before;
        if round == 0 {
            need = used;
        }
        let nodes = tree.memory().live;
        println!("round {round}: {} MB resident with {KEYS} keys, {nodes} nodes", used >> 20);
        assert!(used <= need * 3 / 2, "{used} bytes instead of {need}");
        for batch in batches() {
            let keys = batch.map(|index| key(round, index)).collect::<Vec<_>>();
            assert!(client.remove_many(&keys).unwrap().into_iter().all(|old| old == Some(round)));
        }
        settle(&rt, &tree, Setting::Threads { workers: 2 }, MAX_NODES_LEFT);
        let used = resident().unwrap() - before;
        println!("round {round}: {} MB resident without keys", used >> 20);
        assert!(used <= need * 3 / 2, "{used} bytes instead of {need}");
    }
}

#[test]
fn a_failed_bulk_load_releases_its_memory() {
    let _watched = watchdog();
    let pages = Arc::new(CountedPages::default());
    let platform = Counting { simulation: Simulation::new(1, 1), pages: pages.clone() };
    let rt = Runtime::builder().platform(platform).build().unwrap();
    let load = |last: u64| {
        let entries = (1..20_000).chain([last]).map(|key| (key, key));
        Tree::<u64, u64>::bulk_load(&rt, OptimisticLatched, entries)
    };
    let pass = || (0..100).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
    drop(load(20_000));
    pass();
    let [taken, discarded] = [pages.taken(), pages.discarded()];
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load(1))).is_err());
    pass();
    assert!(pages.taken() == taken && pages.discarded() == 2 * discarded);
}
