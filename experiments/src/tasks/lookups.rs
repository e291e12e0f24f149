//! Single lookups in a tree: what `own` and `peers` share.
//!
//! A lookup in turn begins when the one before has ended: its key depends on that result. So this
//! is the time that one lookup takes. Independent lookups follow each other as fast as the
//! processor can overlap them.

use super::tally::expect;
use std::hint::black_box;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_index::{HintedNode, node::words};

/// The nodes of all trees.
pub(super) type Node = HintedNode<{ words(1024) }>;

/// Lookups that are timed together, as reading the clock takes about as long as one.
const GROUP: usize = 16;
/// The largest number of keys.
const MAX_KEYS: u64 = 1_000_000;

/// Returns the number of keys for a number of lookups. The keys are the numbers below it.
pub(super) fn keys(lookups: u64) -> u64 {
    (lookups / 2).clamp(1, MAX_KEYS)
}

/// Returns the value of a key.
pub(super) fn value(key: u64) -> u64 {
    !key
}

/// Looks keys up at random, in turn or independently. Returns the median time of a group of
/// lookups, times the number of groups.
pub(super) fn measure<const IN_TURN: bool>(
    lookups: u64,
    seed: u64,
    get: impl Fn(u64) -> Option<u64>,
) -> Result<Duration, Wrong> {
    let keys = keys(lookups);
    let asked: Vec<u64> = (0..lookups).map(|count| spread(count ^ seed << 32) % keys).collect();
    let mut wrong = 0;
    let mut times = Vec::with_capacity(asked.len().div_ceil(GROUP));
    for group in asked.chunks(GROUP) {
        let began = Instant::now();
        let mut last = 0;
        for &key in group {
            // `last` is 0 if the result before was right; only the compiler does not know it.
            let difference = get(black_box(key ^ last)).map_or(u64::MAX, |found| found ^ value(key));
            wrong |= difference;
            last = if IN_TURN { black_box(difference) } else { 0 };
        }
        times.push(began.elapsed());
    }
    expect("difference of values", wrong, 0)?;
    times.sort_unstable();
    Ok(times[times.len() / 2] * times.len() as u32)
}

/// Spreads numbers over all words.
fn spread(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
}
