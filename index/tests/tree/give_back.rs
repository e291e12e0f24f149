//! Memory goes back to the system after removals.

use crate::common::*;
use crate::memory::MAX_NODES_LEFT;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use xtasking::{
    Runtime, Versioned,
    arena::ArenaStats,
    platform::{GlobalPages, PageSource, Pages, Platform, Simulation},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::LegalFor,
};
use xtasking_index::{Layout, Tree, Words};

/// Keys in an order that looks random: multiplication by an odd factor permutes the words.
fn key(index: u64) -> u64 {
    (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Keys of each batch.
const BATCH: usize = 50_000;

/// Returns the first of 20 parts of the keys, and the others, in an order of its own.
fn parts(keys: u64) -> (Vec<u64>, Vec<u64>) {
    let mut all: Vec<u64> = (0..keys).map(key).collect();
    Random(7).shuffle(&mut all);
    let removed = all.split_off(all.len() / 20);
    (all, removed)
}

fn insert<L: Layout<Keys = Words>>(rt: &Runtime, tree: &Tree<u64, u64, L>, keys: &[u64]) {
    for keys in keys.chunks(BATCH) {
        let entries: Vec<_> = keys.iter().map(|&key| (key, !key)).collect();
        assert!(tree.client(rt).insert_many(&entries).unwrap().into_iter().all(|new| new));
    }
}

fn remove<L: Layout<Keys = Words>>(rt: &Runtime, tree: &Tree<u64, u64, L>, keys: &[u64]) {
    for keys in keys.chunks(BATCH) {
        let old = tree.client(rt).remove_many(keys).unwrap();
        assert!(old.iter().zip(keys).all(|(old, key)| *old == Some(!key)));
    }
}

/// Runs a simulation until nothing changes any more: merges and compactions follow the removals.
fn at_rest<L: Layout<Keys = Words>>(rt: &Runtime, tree: &Tree<u64, u64, L>) -> ArenaStats {
    let mut before = ArenaStats::default();
    for _ in 0..1_000 {
        (0..50).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
        let now = tree.memory();
        if now == before {
            return now;
        }
        before = now;
    }
    panic!("the tree's memory still changes");
}

/// Waits until merges and compactions have left a tree of threads with little memory.
fn until(tree: &Tree<u64, u64>, what: &str, is_little: impl Fn(&ArenaStats) -> bool) {
    let mut last = ArenaStats::default();
    eventually(what, || {
        std::thread::sleep(std::time::Duration::from_millis(1));
        last = tree.memory();
        is_little(&last)
    });
    println!("{what}: {last:?}");
}

/// A simulation that counts the bytes it has discarded. It zeroes them, so that a node that is
/// still in use is noticed.
struct Discarding {
    simulation: Simulation,
    pages: Arc<DiscardedPages>,
}

#[derive(Default)]
struct DiscardedPages {
    discarded: AtomicUsize,
}

// SAFETY: every run is one of `GlobalPages`, which keeps the contract, and what is discarded is
// zeroed.
unsafe impl PageSource for DiscardedPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        GlobalPages.pages(bytes, align, node, huge)
    }

    unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> bool {
        self.discarded.fetch_add(bytes, SeqCst);
        // SAFETY: by the contract the memory is in a run of this source, and not in use. No thread
        // of this simulation reads it meanwhile.
        unsafe { start.write_bytes(0, bytes) };
        true
    }

    unsafe fn discard_run(&self, pages: &Pages) -> bool {
        // SAFETY: this function's contract.
        unsafe { self.discard(pages.ptr, pages.bytes) }
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the caller returns pages that it got from `pages`, which come from `GlobalPages`.
        unsafe { GlobalPages.release(pages) };
    }
}

impl Platform for Discarding {
    xtasking_testing::forward_platform!(simulation: topology start park wake join block now virtual_time);

    fn pages(&self) -> Arc<dyn PageSource> {
        self.pages.clone()
    }
}

fn discarding(cores: usize, seed: u64) -> (Runtime, Arc<DiscardedPages>) {
    let pages = Arc::new(DiscardedPages::default());
    let platform = Discarding { simulation: Simulation::new(cores, seed), pages: pages.clone() };
    (Runtime::builder().platform(platform).build().unwrap(), pages)
}

/// Removes 95% of the keys in some order. Returns the bytes of memory that the tree had in all, and
/// what it has then.
fn shrink<L, P>(primitive: P, cores: usize, seed: u64, keys: u64) -> (ArenaStats, ArenaStats)
where
    L: Layout<Keys = Words>,
    P: LegalFor<Versioned<L>>,
{
    let _blame = Blame((P::PRIMITIVE, L::NAME, cores, seed));
    let (rt, pages) = discarding(cores, seed);
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    let (rest, removed) = parts(keys);
    insert(&rt, &tree, &rest);
    insert(&rt, &tree, &removed);
    let full = tree.memory();
    assert_eq!(pages.discarded.load(SeqCst), 0);
    for (number, removed) in removed.chunks(3_000).enumerate() {
        remove(&rt, &tree, removed);
        // Compactions run meanwhile, and later.
        let some = rest.iter().skip(number % 7).step_by(7).copied().collect::<Vec<_>>();
        assert!(client.get_many(&some).unwrap().iter().zip(&some).all(|(old, key)| *old == Some(!key)));
    }
    let less = at_rest(&rt, &tree);
    assert!(pages.discarded.load(SeqCst) > 0, "nothing was given back");
    let mut sorted = rest;
    sorted.sort_unstable();
    assert!(client.scan(0, usize::MAX).unwrap().into_iter().map(|entry| entry.0).eq(sorted.iter().copied()));
    let report = sound_after(rt, &tree);
    assert_eq!((report.entries, report.nodes), (sorted.len() as u64, tree.memory().live as u64));
    (full, less)
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a simulation has one thread")]
fn nodes_move_together_and_memory_goes_back() {
    let _watched = watchdog();
    for (cores, seed) in [(1, 1), (2, 2), (4, 3), (4, 4)] {
        let (full, less) = shrink::<Hinted1024, _>(OptimisticLatched, cores, seed, 120_000);
        assert!(full.resident_bytes <= full.bytes && full.live * full.node_bytes <= full.resident_bytes);
        let most = less.live * less.node_bytes * 3 / 2 + (1 << 20);
        assert!(less.resident_bytes <= most, "{less:?} of {full:?}");
        assert_eq!(less.bytes, full.bytes, "addresses stay");
    }
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a simulation has one thread")]
fn nodes_of_all_primitives_and_layouts_move() {
    let _watched = watchdog();
    let keys = 60_000;
    shrink::<Sorted512, _>(OptimisticLatched, 2, 1, keys);
    shrink::<Sorted512, _>(OptimisticSequenced, 2, 2, keys);
    shrink::<Hinted512, _>(SpinLatch, 2, 3, keys);
    shrink::<Hinted512, _>(ReaderWriterLatch, 2, 4, keys);
    shrink::<Hinted512, _>(Sequencing, 2, 5, keys);
}

#[test]
fn a_tree_of_the_system_s_pages_gives_memory_back() {
    // Memory goes back in pieces of up to a huge page, and below half a megabyte none does.
    const SLACK: usize = 5 << 20 >> 1;
    // Only on Linux.
    let resident = |memory: &ArenaStats| if cfg!(target_os = "linux") { memory.resident_bytes } else { 0 };
    on_each([Setting::Threads { workers: 2 }].into_iter(), |setting| {
        let rt = setting.build();
        let (rest, removed) = parts(300_000);
        let fresh = Tree::<u64, u64>::new(&rt);
        insert(&rt, &fresh, &rest);
        let need = fresh.memory();
        println!("needed: {need:?}");
        let tree = Tree::<u64, u64>::new(&rt);
        insert(&rt, &tree, &rest);
        insert(&rt, &tree, &removed);
        remove(&rt, &tree, &removed);
        until(&tree, "memory goes back with 95% of the keys", |less| {
            resident(less) * 2 <= need.resident_bytes * 5 + 2 * SLACK && less.live * 2 <= need.live * 5
        });
        remove(&rt, &tree, &rest);
        until(&tree, "all memory goes back", |none| none.live <= MAX_NODES_LEFT && resident(none) <= SLACK);
        sound_after(rt, &tree);
    });
}

/// Threads remove and insert, and others read, while nodes move.
#[test]
fn readers_and_writers_run_beside_compactions() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let (rest, removed) = parts(80_000);
        let tree = Tree::<u64, u64>::new(&rt);
        insert(&rt, &tree, &rest);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let readers = [1, 2].map(|seed| {
                let (rt, tree, rest, done) = (&rt, &tree, &rest, &done);
                scope.spawn(move || {
                    let (client, mut random) = (tree.client(rt), Random(seed));
                    while !done.load(SeqCst) {
                        let from = random.below(rest.len() as u64 - 500) as usize;
                        let some = &rest[from..from + 500];
                        let found = client.get_many(some).unwrap();
                        assert!(found.iter().zip(some).all(|(value, key)| *value == Some(!key)));
                        let key = some[0];
                        assert_eq!(client.get(key).unwrap(), Some(!key));
                        let entries = client.scan(key, 100).unwrap();
                        assert!(
                            entries.is_sorted_by(|one, next| one.0 < next.0) && entries[0] == (key, !key)
                        );
                    }
                })
            });
            let halves = removed.split_at(removed.len() / 2);
            let writers = [halves.0, halves.1].map(|own| {
                let (rt, tree) = (&rt, &tree);
                scope.spawn(move || {
                    for _ in 0..if PATIENCE == 1 { 2 } else { 1 } {
                        insert(rt, tree, own);
                        own.chunks(1_000).for_each(|keys| remove(rt, tree, keys));
                    }
                })
            });
            let outcomes = writers.map(|writer| writer.join());
            done.store(true, SeqCst);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            outcomes.into_iter().for_each(|outcome| outcome.unwrap());
        });
        let report = sound_after(rt, &tree);
        assert_eq!(report.entries, rest.len() as u64);
    });
}

/// A pass consists of several operations. It keeps the tree from one to the next.
#[test]
#[cfg_attr(sanitizer = "thread", ignore = "a simulation has one thread")]
fn a_tree_is_dropped_during_a_compaction() {
    let _watched = watchdog();
    for seed in 0..if PATIENCE == 1 { 12 } else { 4 } {
        let (rt, pages) = discarding(2, seed);
        let pass = |times: u64| (0..times).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
        let tree = Tree::<u64, u64, Hinted512>::new(&rt);
        let (_, removed) = parts(40_000);
        insert(&rt, &tree, &removed);
        let bytes = tree.memory().bytes;
        remove(&rt, &tree, &removed[..removed.len() * 3 / 5]);
        pass(seed * 3);
        let before = pages.discarded.load(SeqCst);
        drop(tree);
        pass(2_000);
        let discarded = pages.discarded.load(SeqCst) - before;
        assert!(discarded >= bytes, "the nodes were not freed: {discarded} of {bytes} bytes");
    }
}
