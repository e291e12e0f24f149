//! A fixed amount of computation, and how much of it takes a time.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Mixes a number in a number of rounds: a fixed amount of work instead of a fixed time, so that a
/// preempted thread still has to do all of it.
pub(crate) fn work(number: u64, rounds: u64) -> u64 {
    (0..rounds).fold(number, |mixed, round| (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ round)
}

/// Calibrates the number of rounds that take a time on this machine, by the fastest of several
/// trials, as others may be preempted.
pub(crate) fn rounds_of(time: Duration) -> u64 {
    const ROUNDS: u64 = 100_000;
    let trial = |number| {
        let began = Instant::now();
        black_box(work(black_box(number), ROUNDS));
        began.elapsed()
    };
    let best = (0..20).map(trial).min().unwrap_or_default();
    (ROUNDS as f64 * time.as_secs_f64() / best.as_secs_f64().max(1e-9)) as u64
}
