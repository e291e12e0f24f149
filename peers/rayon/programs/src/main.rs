//! Programs that use rayon: each is run once and checked. Prints the wall-clock time of each in
//! milliseconds. `peers/rayon/compare` runs this on either core, in turns.

#![forbid(unsafe_code)]

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Instant;

const SEED: u64 = 1;
const NUMBERS: usize = 2_000_000;

/// What the programs work on.
struct Input {
    numbers: Vec<u64>,
    sorted: Vec<u64>,
    words: Vec<String>,
}

impl Input {
    fn new() -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let numbers: Vec<u64> = (0..NUMBERS).map(|_| random.next_u64() >> 20).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let words = numbers.iter().take(200_000).map(u64::to_string).collect();
        Self { numbers, sorted, words }
    }
}

/// A program: checks its own result, and returns the milliseconds of the part to be measured.
type Program = fn(&Input) -> f64;

const PROGRAMS: &[(&str, Program)] = &[
    ("join-fib-32", |_| timed(|| fib(32), |&found| found == 2_178_309)),
    ("par-sort", |input| {
        let mut numbers = input.numbers.clone();
        timed(|| numbers.par_sort(), |()| true) + check(numbers == input.sorted)
    }),
    ("par-sort-unstable", |input| {
        let mut numbers = input.numbers.clone();
        timed(|| numbers.par_sort_unstable(), |()| true) + check(numbers == input.sorted)
    }),
    ("par-sort-words", |input| {
        let mut words = input.words.clone();
        timed(|| words.par_sort(), |()| true) + check(words.is_sorted())
    }),
    ("map-sum", |input| {
        let expected = input.numbers.iter().map(|&number| mix(number)).fold(0, u64::wrapping_add);
        let sum = || input.numbers.par_iter().map(|&number| mix(number)).reduce(|| 0, u64::wrapping_add);
        timed(sum, |&found| found == expected)
    }),
    ("filter-collect", |input| {
        let even = |number: &u64| number.is_multiple_of(2);
        let expected: Vec<u64> = input.numbers.iter().copied().filter(even).collect();
        timed(
            || input.numbers.par_iter().copied().filter(even).collect::<Vec<_>>(),
            |found| *found == expected,
        )
    }),
    ("map-collect", |input| {
        let collect = || input.numbers.par_iter().map(|&number| mix(number)).collect::<Vec<_>>();
        timed(collect, |found| found.len() == NUMBERS && found[7] == mix(input.numbers[7]))
    }),
    ("par-bridge", |input| {
        let expected =
            input.numbers.iter().take(40_000).map(|&number| work(number, 200)).fold(0, u64::wrapping_add);
        let bridge = || {
            let numbers = input.numbers.iter().take(40_000).par_bridge();
            numbers.map(|&number| work(number, 200)).reduce(|| 0, u64::wrapping_add)
        };
        timed(bridge, |&found| found == expected)
    }),
    ("chunks-for-each", |input| {
        let mut numbers = input.numbers.clone();
        let each = || {
            numbers
                .par_chunks_mut(100)
                .for_each(|chunk| chunk.iter_mut().for_each(|number| *number = mix(*number)))
        };
        timed(each, |()| true) + check(numbers[7] == mix(input.numbers[7]))
    }),
    ("small-loops", |input| {
        let few = &input.numbers[..2000];
        let expected: u64 = few.iter().sum();
        let loops = || (0..2000).map(|_| few.par_iter().sum::<u64>()).max();
        timed(loops, |&found| found == Some(expected))
    }),
    ("installs", |_| {
        let calls = || (0..2000u64).map(|number| rayon::join(|| number, || number + 1).1).sum::<u64>();
        timed(calls, |&found| found == 2_001_000)
    }),
    ("scope-spawn", |_| {
        let count = AtomicU64::new(0);
        let pieces = || {
            rayon::scope(|scope| {
                for piece in 0..100_000u64 {
                    let count = &count;
                    scope.spawn(move |_| _ = count.fetch_add(work(piece, 5) | 1, Relaxed));
                }
            });
        };
        timed(pieces, |()| true) + check(count.load(Relaxed) > 0)
    }),
    ("scope-tree", |_| {
        let count = AtomicU64::new(0);
        timed(|| rayon::scope(|scope| tree(scope, &count, 16)), |()| true)
            + check(count.load(Relaxed) == (1 << 17) - 1)
    }),
    ("scope-of-loops", |input| {
        let loops = || {
            let mut sums = [0u64; 3];
            rayon::scope(|scope| {
                for (sum, part) in sums.iter_mut().zip(input.numbers.chunks(NUMBERS / 3 + 1)) {
                    scope.spawn(|_| {
                        *sum = part.par_iter().map(|&number| work(number, 5)).reduce(|| 0, u64::wrapping_add)
                    });
                }
            });
            sums.iter().copied().fold(0, u64::wrapping_add)
        };
        let expected = input.numbers.iter().map(|&number| work(number, 5)).fold(0, u64::wrapping_add);
        timed(loops, |&found| found == expected)
    }),
    ("spawn", |_| {
        let (sender, receiver) = mpsc::channel();
        let spawns = move || {
            for piece in 0..50_000u64 {
                let sender = sender.clone();
                rayon::spawn(move || sender.send(work(piece, 5)).unwrap());
            }
            drop(sender);
            receiver.iter().count()
        };
        timed(spawns, |&found| found == 50_000)
    }),
];

/// A few nanoseconds of work.
fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 27
}

fn work(number: u64, steps: u32) -> u64 {
    (0..steps).fold(number, |number, _| mix(number))
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn tree<'scope>(scope: &rayon::Scope<'scope>, count: &'scope AtomicU64, depth: u32) {
    count.fetch_add(1, Relaxed);
    if depth > 0 {
        scope.spawn(move |scope| tree(scope, count, depth - 1));
        scope.spawn(move |scope| tree(scope, count, depth - 1));
    }
}

/// Returns the milliseconds of a function whose result is right.
fn timed<R>(body: impl FnOnce() -> R, is_right: impl FnOnce(&R) -> bool) -> f64 {
    let began = Instant::now();
    let result = black_box(body());
    let time = began.elapsed();
    check(is_right(&result));
    time.as_secs_f64() * 1e3
}

fn check(is_right: bool) -> f64 {
    assert!(is_right, "a program's result is wrong");
    0.0
}

fn main() {
    let input = Input::new();
    // Starts the threads.
    rayon::broadcast(|_| ());
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    for (name, program) in PROGRAMS {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            let mut times: Vec<f64> = (0..15).map(|_| program(&input)).collect();
            times.sort_by(f64::total_cmp);
            println!("{name} {:.3}", times[times.len() / 2]);
        }
    }
}
