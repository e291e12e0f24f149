//! Measures a tree with keys of text, 16 to 40 bytes each, beside peers that are ordered, take such
//! keys, and can be changed by several threads.
//!
//! `cargo run --release -p xtasking-experiments --example text_keys [KEYS [WORKERS [ROUNDS]]]`
//!
//! The tree uses the batches of its client; the peers run on as many plain threads. Lookups are of
//! random keys, in rounds that alternate. Every result is checked. The memory of a key is what the
//! process has in memory after the insertions beyond what it had before.

#![forbid(unsafe_code)]

use crossbeam_skiplist::SkipMap;
use std::hint::black_box;
use std::time::Instant;
use xtasking::Runtime;
use xtasking_index::Tree;

/// Operations that are begun together.
const BATCH: usize = 1 << 14;

fn main() {
    let number = |index, otherwise| {
        std::env::args().nth(index).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (count, workers, rounds) = (number(1, 1_000_000), number(2, 2), number(3, 5));
    let keys = Keys::new(count);
    let rt = Runtime::builder().workers(workers).build().expect("a runtime");
    let tree = Tree::<Vec<u8>, u64>::new(&rt);
    let (skip_list, tree_index) = (SkipMap::<Box<[u8]>, u64>::new(), scc::TreeIndex::<Box<[u8]>, u64>::new());

    let client = tree.client(&rt);
    let insert_many = || {
        for start in (0..count).step_by(BATCH) {
            let numbers = start..count.min(start + BATCH);
            let entries: Vec<_> = numbers.map(|number| (keys.get(number), number as u64)).collect();
            let results = client.insert_many(&entries).expect("a sound tree");
            assert!(results.into_iter().all(|is_new| is_new));
        }
    };
    let get_many = |numbers: &[usize]| {
        for numbers in numbers.chunks(BATCH) {
            let batch: Vec<_> = numbers.iter().map(|&number| keys.get(number)).collect();
            let values = client.get_many(&batch).expect("a sound tree");
            assert!(values.iter().zip(numbers).all(|(value, &number)| *value == Some(number as u64)));
        }
    };
    let random = |number| spread(number as u64 ^ 1 << 40) as usize % count;
    let asked: Vec<usize> = (0..count).map(random).collect();
    let peer = |insert: &(dyn Fn(Box<[u8]>, u64) -> bool + Sync)| {
        let insert = |number: usize| assert!(insert(keys.get(number).into(), number as u64));
        on_threads(workers, count, &|numbers| numbers.for_each(insert));
    };
    let peer_gets = |get: &(dyn Fn(&[u8]) -> Option<u64> + Sync)| {
        on_threads(workers, count, &|numbers| {
            for &number in &asked[numbers] {
                assert_eq!(get(black_box(keys.get(number))), Some(number as u64));
            }
        });
    };

    let built = [
        built("tree", count, insert_many),
        built("crossbeam-skiplist", count, || {
            peer(&|key, value| *skip_list.get_or_insert(key, value).value() == value);
        }),
        built("scc::TreeIndex", count, || peer(&|key, value| tree_index.insert_sync(key, value).is_ok())),
    ];
    let mut lookups = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        lookups[0].push(timed(|| get_many(&asked)));
        lookups[1].push(timed(|| peer_gets(&|key| skip_list.get(key).map(|entry| *entry.value()))));
        lookups[2].push(timed(|| peer_gets(&|key| tree_index.peek_with(key, |_, value| *value))));
    }
    println!("{count} keys of {:.1} bytes, {workers} workers", keys.bytes.len() as f64 / count as f64);
    for ((name, inserts, bytes), mut rounds) in built.into_iter().zip(lookups) {
        rounds.sort_unstable_by(f64::total_cmp);
        let speed = |seconds: f64| count as f64 / seconds / 1e6;
        println!(
            "{name:20} {:6.2} M inserts/s {:6.2} M lookups/s {bytes:6.0} bytes a key",
            speed(inserts),
            speed(rounds[rounds.len() / 2])
        );
    }
}

/// All keys, one after the other.
struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn new(count: usize) -> Self {
        let mut keys = Self { bytes: Vec::with_capacity(count * 28), ends: vec![0] };
        for number in 0..count as u64 {
            let word = spread(number);
            keys.bytes.extend_from_slice(format!("{word:016x}").as_bytes());
            let letters = (0..word % 25).map(|at| b'a' + (word.rotate_right(at as u32) % 26) as u8);
            keys.bytes.extend(letters);
            keys.ends.push(keys.bytes.len());
        }
        keys
    }

    fn get(&self, number: usize) -> &[u8] {
        &self.bytes[self.ends[number]..self.ends[number + 1]]
    }
}

/// Spreads numbers over all words. No two have the same result.
fn spread(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 27
}

/// Divides numbers among threads.
fn on_threads(threads: usize, count: usize, work: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
    let share = count.div_ceil(threads);
    std::thread::scope(|scope| {
        for start in (0..count).step_by(share) {
            scope.spawn(move || work(start..count.min(start + share)));
        }
    });
}

/// Fills a map. Returns its name, the seconds, and the bytes of memory a key.
fn built(name: &'static str, count: usize, build: impl FnOnce()) -> (&'static str, f64, f64) {
    let before = resident_bytes();
    let seconds = timed(build);
    (name, seconds, (resident_bytes() - before) / count as f64)
}

/// Bytes of this process in memory.
fn resident_bytes() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("the memory of this process");
    let resident = pages.split_whitespace().nth(1).expect("a second number");
    resident.parse::<f64>().expect("a number") * 4096.0
}

/// Returns the seconds that a call takes.
fn timed(call: impl FnOnce()) -> f64 {
    let began = Instant::now();
    call();
    began.elapsed().as_secs_f64()
}
