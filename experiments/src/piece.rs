//! A piece of work: a computation of a fixed number of steps.

use std::hint::black_box;
use std::time::Instant;

/// Computes a number of steps, each of which needs the one before. Returns the last value.
pub(crate) fn compute(steps: u64) -> u64 {
    (0..black_box(steps))
        .fold(1, |value, step| black_box(u64::wrapping_add(value, step).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Measures how many steps a core computes in a microsecond, at its best of several attempts.
pub(crate) fn steps_per_microsecond() -> f64 {
    const STEPS: u64 = 1_000_000;
    let attempt = |_| {
        let began = Instant::now();
        black_box(compute(STEPS));
        STEPS as f64 / began.elapsed().as_secs_f64() / 1e6
    };
    (0..10).map(attempt).fold(0.0, f64::max)
}
