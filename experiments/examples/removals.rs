//! Prints what memory a tree takes after removals, beside trees of only the entries that are left.
//!
//! `cargo run --release -p xtasking-experiments --example removals [KEYS [WORKERS]]`
//!
//! A tree gets 10 million keys in a random order, unless the command line says otherwise. Then 95%
//! of them are removed in another order, and then the rest. Every result is checked. Two columns
//! tell the memory: of the process by the system, beyond that of the keys, and of the tree by
//! itself. The figures are taken when nothing changes any more.

#![forbid(unsafe_code)]

use std::thread::sleep;
use std::time::{Duration, Instant};
use xtasking::{Runtime, primitive::OptimisticLatched};
use xtasking_index::Tree;

/// Keys of a batch.
const BATCH: usize = 50_000;
/// One key of this number is left.
const KEPT_PART: usize = 20;

fn main() {
    let number = |index, otherwise| {
        std::env::args().nth(index).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (keys, workers) = (number(1, 10_000_000), number(2, 2));
    let rt = Runtime::builder().workers(workers).build().expect("a runtime");
    let order: Vec<u64> = (0..keys as u64).map(spread).collect();
    let (rest, removed) = order.split_at(keys / KEPT_PART);
    let mut removed = removed.to_vec();
    removed.sort_unstable_by_key(|key| spread(*key));
    let mut sorted: Vec<(u64, u64)> = rest.iter().map(|&key| (key, !key)).collect();
    sorted.sort_unstable();
    // The runtime's own memory for tasks and batches is not the tree's.
    let scratch = Tree::<u64, u64>::new(&rt);
    insert(&rt, &scratch, &order[..BATCH.min(keys)]);
    remove(&rt, &scratch, &order[..BATCH.min(keys)]);
    drop(scratch);
    sleep(Duration::from_millis(200));
    let meter = Meter { base: resident() };

    println!("{:28} {:>9} {:>12} {:>10} {:>9}", "", "seconds", "process, MB", "tree, MB", "nodes");
    let tree = Tree::<u64, u64>::new(&rt);
    let full = meter.step("all inserted", &tree, || insert(&rt, &tree, &order));
    let less = meter.step("95% removed", &tree, || remove(&rt, &tree, &removed));
    let none = meter.step("all removed", &tree, || remove(&rt, &tree, rest));
    let meter = Meter { base: resident() };
    let fresh = Tree::<u64, u64>::new(&rt);
    let need = meter.step("the rest, inserted", &fresh, || insert(&rt, &fresh, rest));
    let meter = Meter { base: resident() };
    let begin = Instant::now();
    let loaded = Tree::<u64, u64>::load_sorted(&rt, OptimisticLatched, &sorted).expect("sorted keys");
    let least = meter.print("the rest, loaded", begin.elapsed(), &loaded);

    let ratio = |one: f64, other: f64| one / other.max(1.0);
    println!("\n{:44} {:>8} {:>8}", "", "process", "tree");
    for (what, one, other) in [
        ("95% removed / the rest, inserted", &less, &need),
        ("95% removed / the rest, loaded", &less, &least),
        ("all removed / all inserted", &none, &full),
    ] {
        println!("{what:44} {:8.3} {:8.3}", ratio(one.process, other.process), ratio(one.tree, other.tree));
    }
}

/// Memory in bytes.
struct Memory {
    process: f64,
    tree: f64,
}

/// Measures the process's memory beyond that of an earlier moment.
struct Meter {
    base: usize,
}

impl Meter {
    /// Takes the time of some work on a tree, and prints the memory after it.
    fn step(&self, what: &str, tree: &Tree<u64, u64>, work: impl FnOnce()) -> Memory {
        let begin = Instant::now();
        work();
        self.print(what, begin.elapsed(), tree)
    }

    fn print(&self, what: &str, time: Duration, tree: &Tree<u64, u64>) -> Memory {
        let mut stats = tree.memory();
        loop {
            // Merges and compactions follow the removals.
            sleep(Duration::from_millis(200));
            let now = tree.memory();
            if now == stats {
                break;
            }
            stats = now;
        }
        let process = resident().saturating_sub(self.base) as f64;
        let tree = stats.resident_bytes as f64;
        let seconds = time.as_secs_f64();
        println!("{what:28} {seconds:9.2} {:12.1} {:10.1} {:9}", process / 1e6, tree / 1e6, stats.live);
        Memory { process, tree }
    }
}

/// Spreads numbers over all words. Different numbers give different words.
fn spread(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn insert(rt: &Runtime, tree: &Tree<u64, u64>, keys: &[u64]) {
    for keys in keys.chunks(BATCH) {
        let entries: Vec<_> = keys.iter().map(|&key| (key, !key)).collect();
        let new = tree.client(rt).insert_many(&entries).expect("a sound tree");
        assert!(new.into_iter().all(|new| new));
    }
}

fn remove(rt: &Runtime, tree: &Tree<u64, u64>, keys: &[u64]) {
    for keys in keys.chunks(BATCH) {
        let old = tree.client(rt).remove_many(keys).expect("a sound tree");
        assert!(old.iter().zip(keys).all(|(old, key)| *old == Some(!key)));
    }
}

/// Resident memory of this process in bytes; 0 where the system does not say.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
