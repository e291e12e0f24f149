//! Memory: removed nodes are freed, and a dropped tree is.

use crate::common::*;
use crate::with_all_primitives;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Waker;
use xtasking::platform::{Platform, Simulation, Topology, WouldBlock};
use xtasking::{Driver, GlobalPages, LegalFor, OptimisticLatched, PageSource, Pages, Runtime, Versioned};
use xtasking_index::{Layout, Tree};

/// Nodes that may be left of an empty tree: merges that were disturbed leave some empty leaves.
const LEFT: usize = 12;

/// Inserts and removes keys again and again, in an order of its own each time.
fn rounds<L: Layout, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
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
        let entries = keys.iter().map(|&key| (key, round)).collect();
        assert!(client.insert_many(entries).unwrap().into_iter().all(|new| new));
        most = most.max(tree.memory().live);
        if round % 2 == 0 {
            random.shuffle(&mut keys);
        }
        assert!(client.remove_many(keys.clone()).unwrap().into_iter().all(|old| old == Some(round)));
        settle(&rt, &tree, setting, LEFT);
    }
    // No node holds fewer than a quarter of its room when keys only come, so this many are enough for all of them; and
    // retired ones are not to pile up beside them.
    let enough = 900 / (L::CAPACITY / 4) + LEFT;
    assert!(most <= 3 * enough, "{most} nodes for 900 keys");
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
    assert!(report.leaves <= LEFT as u64, "{} leaves are left of nothing", report.leaves);
    assert_eq!(tree.memory().live, report.nodes as usize, "nodes were lost that nothing links to");
}

/// Waits until all but some nodes have been freed.
fn settle<L: Layout>(rt: &Runtime, tree: &Tree<u64, u64, L>, setting: Setting, left: usize) {
    if setting.is_simulation() {
        // Garbage is looked at between tasks, and there are none if nobody waits.
        for _ in 0..100 {
            tree.client(rt).count().unwrap();
        }
        let live = tree.memory().live;
        assert!(live <= left, "{live} nodes are left of nothing");
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
        rounds::<Hinted512, _>(xtasking::Sequencing, setting);
        rounds::<Hinted512, _>(xtasking::OptimisticSequenced, setting);
    });
}

/// Removes every key in an order, one at a time: next to nothing may be left.
fn remove_all<L: Layout, P: LegalFor<Versioned<L>>>(primitive: P, order: &dyn Fn(&mut Vec<u64>)) {
    let _blame = Blame((P::PRIMITIVE, L::NAME));
    let setting = Setting::Simulation { cores: 2, seed: 1 };
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    let mut keys: Vec<u64> = (0..1200).collect();
    assert!(client.insert_many(keys.iter().map(|&key| (key, key)).collect()).unwrap().iter().all(|new| *new));
    order(&mut keys);
    for key in keys {
        assert_eq!(client.remove(key).unwrap(), Some(key));
    }
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
    assert!(report.leaves <= 2, "nobody disturbed the merges, but {report:?}");
    assert!(report.levels <= 2, "the tree is as high as ever: {report:?}");
}

#[test]
fn an_undisturbed_tree_shrinks_to_nothing() {
    let _watched = watchdog();
    with_all_primitives!(remove_all::<Hinted512>(&|_| {}));
    with_all_primitives!(remove_all::<Hinted512>(&|keys| keys.reverse()));
    with_all_primitives!(remove_all::<Sorted512>(&|keys| Random(1).shuffle(keys)));
    remove_all::<Hinted512, _>(OptimisticLatched, &|keys| Random(2).shuffle(keys));
}

/// A simulation that counts the bytes it gave out.
struct Counting {
    simulation: Simulation,
    pages: Arc<CountedPages>,
}

struct CountedPages(AtomicUsize);

// SAFETY: all is done by a source that keeps the rules.
unsafe impl PageSource for CountedPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        let pages = GlobalPages.pages(bytes, align, node, huge)?;
        self.0.fetch_add(pages.bytes, SeqCst);
        Some(pages)
    }

    unsafe fn release(&self, pages: Pages) {
        self.0.fetch_sub(pages.bytes, SeqCst);
        // SAFETY: by the caller's promise; it came from there.
        unsafe { GlobalPages.release(pages) };
    }
}

impl Platform for Counting {
    fn topology(&self) -> Topology {
        self.simulation.topology()
    }
    fn start(&self, worker: Driver) -> Result<(), &'static str> {
        self.simulation.start(worker)
    }
    fn park(&self, worker: usize) {
        self.simulation.park(worker);
    }
    fn wake(&self, worker: usize) {
        self.simulation.wake(worker);
    }
    fn join(&self) {
        self.simulation.join();
    }
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        self.simulation.block(ready)
    }
    fn pages(&self) -> Arc<dyn PageSource> {
        self.pages.clone()
    }
    fn now(&self) -> u64 {
        self.simulation.now()
    }
}

#[test]
fn a_dropped_tree_gives_its_memory_back() {
    let _watched = watchdog();
    let pages = Arc::new(CountedPages(AtomicUsize::new(0)));
    let platform = Counting { simulation: Simulation::new(2, 1), pages: pages.clone() };
    let rt = Runtime::builder().platform(platform).build().unwrap();
    let other = Tree::<u64, u64>::new(&rt);
    let fill = |tree: &Tree<u64, u64>| {
        let entries = (0..20_000).map(|key| (key, key)).collect();
        assert_eq!(tree.client(&rt).insert_many(entries).unwrap().len(), 20_000);
    };
    // The first tree warms the heaps of the runtime up.
    let first = Tree::new(&rt);
    fill(&first);
    drop(first);
    let pass = || (0..200).for_each(|_| assert_eq!(other.client(&rt).count().unwrap(), 0));
    pass();
    let before = pages.0.load(SeqCst);
    let tree = Tree::new(&rt);
    fill(&tree);
    let bytes = tree.memory().bytes;
    assert!(bytes > 20_000 * 16, "the entries take memory");
    assert!(pages.0.load(SeqCst) >= before + bytes, "nodes come from the platform's pages");
    // Operations on their way keep the tree's nodes; when they have run, all goes.
    tree.get(&rt, 1, |value, _| assert_eq!(value, Some(1)));
    drop(tree);
    assert!(pages.0.load(SeqCst) >= before + bytes, "a lookup is still on its way");
    pass();
    assert_eq!(pages.0.load(SeqCst), before, "the nodes are still there");
    drop(other);
    drop(rt);
    assert_eq!(pages.0.load(SeqCst), 0, "the runtime kept memory");
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

/// Pages that this process has in memory, in bytes; `None` where the system does not say.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split_whitespace().nth(1)?.parse::<usize>().ok()? * 4096)
}

/// The size that users have: some minutes, so it is asked for by `--ignored`.
#[test]
#[ignore = "takes minutes; run it in release"]
fn ten_rounds_of_ten_million_keys_stay_within_bounds() {
    const KEYS: u64 = 10_000_000;
    const BATCH: u64 = 100_000;
    let Some(before) = resident() else {
        return eprintln!("skipped: this system does not tell how much memory a process has");
    };
    let rt = Runtime::builder().workers(2).build().unwrap();
    let tree = Tree::<u64, u64>::new(&rt);
    let client = tree.client(&rt);
    // An odd factor is a permutation of the 64-bit words: random order, another one each round.
    let key = |round: u64, index: u64| (index * 10 + round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let batches = || (0..KEYS).step_by(BATCH as usize).map(|from| from..from + BATCH);
    let mut need = 0;
    for round in 0..10 {
        for batch in batches() {
            let entries = batch.map(|index| (key(round, index), round)).collect();
            assert!(client.insert_many(entries).unwrap().into_iter().all(|new| new));
        }
        let used = resident().unwrap() - before;
        if round == 0 {
            need = used;
        }
        let nodes = tree.memory().live;
        println!("round {round}: {} MB resident with {KEYS} keys, {nodes} nodes", used >> 20);
        assert!(used <= need * 3 / 2, "{used} bytes instead of {need}");
        for batch in batches() {
            let keys = batch.map(|index| key(round, index)).collect();
            assert!(client.remove_many(keys).unwrap().into_iter().all(|old| old == Some(round)));
        }
        settle(&rt, &tree, Setting::Threads { workers: 2 }, LEFT);
        let used = resident().unwrap() - before;
        println!("round {round}: {} MB resident with none", used >> 20);
        assert!(used <= need * 3 / 2, "{used} bytes instead of {need}");
    }
}

#[test]
fn a_bulk_load_of_unsorted_keys_leaves_nothing_behind() {
    let _watched = watchdog();
    let pages = Arc::new(CountedPages(AtomicUsize::new(0)));
    let platform = Counting { simulation: Simulation::new(1, 1), pages: pages.clone() };
    let rt = Runtime::builder().platform(platform).build().unwrap();
    let load = |last: u64| {
        let entries = (1..20_000).chain([last]).map(|key| (key, key));
        Tree::<u64, u64>::bulk_load(&rt, OptimisticLatched, entries)
    };
    drop(load(20_000));
    (0..100).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
    let before = pages.0.load(SeqCst);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| load(1))).is_err());
    assert_eq!(pages.0.load(SeqCst), before);
}
