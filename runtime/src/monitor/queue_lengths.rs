//! How many tasks wait for each object: a count-min sketch.
//!
//! Each object has a counter in each row, which it shares with others; the least of its counters is
//! nearest to its own number, and never below it. (Cormode, Muthukrishnan, "An Improved Data Stream
//! Summary: The Count-Min Sketch and its Applications", Journal of Algorithms 55, 2005.)

use crate::sync::{AtomicU32, Relaxed, under_model};
use alloc::boxed::Box;
use once_cell::race::OnceBox;

const ROWS: usize = 2;
/// Counters of a row: a power of two.
const WIDTH: usize = under_model(1 << 12, 4) as usize;
/// An odd multiplier for the hash of each row.
const MULTIPLIERS: [u64; ROWS] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// The sketch. It is allocated when a session begins. Its counters are Relaxed: they order nothing.
#[derive(Default)]
pub(crate) struct QueueLengths(OnceBox<Box<[AtomicU32]>>);

impl QueueLengths {
    /// Begins a session: no task waits.
    pub fn reset(&self) {
        let counters =
            self.0.get_or_init(|| Box::new((0..ROWS * WIDTH).map(|_| AtomicU32::new(0)).collect()));
        counters.iter().for_each(|counter| counter.store(0, Relaxed));
    }

    /// Counts a task that begins to wait for an object.
    pub fn add(&self, object: usize) {
        self.counters(object).for_each(|counter| _ = counter.fetch_add(1, Relaxed));
    }

    /// Counts a task that no longer waits for an object.
    pub fn remove(&self, object: usize) {
        self.counters(object).for_each(|counter| _ = counter.fetch_sub(1, Relaxed));
    }

    /// Returns how many tasks wait for an object; perhaps too many.
    pub fn length(&self, object: usize) -> u64 {
        let least = self.counters(object).map(|counter| counter.load(Relaxed)).min().unwrap_or(0);
        // Below zero if a task of an earlier session has begun to run.
        u64::from(least.cast_signed().max(0).cast_unsigned())
    }

    fn counters(&self, object: usize) -> impl Iterator<Item = &AtomicU32> {
        let counters = self.0.get().map_or(&[][..], |counters| &counters[..]);
        counters.chunks(WIDTH).zip(MULTIPLIERS).map(move |(row, multiplier)| {
            let hash = (object as u64 >> 6).wrapping_mul(multiplier);
            &row[(hash >> 40) as usize % WIDTH]
        })
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_never_too_small_and_seldom_too_large() {
        let lengths = QueueLengths::default();
        lengths.add(64);
        assert_eq!(lengths.length(64), 0, "no session has begun");
        lengths.reset();
        let objects = || (1..=100usize).map(|number| (number * 0x1040, number as u64));
        objects().for_each(|(object, waiting)| (0..waiting).for_each(|_| lengths.add(object)));
        assert!(objects().all(|(object, waiting)| lengths.length(object) >= waiting));
        assert!(objects().filter(|&(object, waiting)| lengths.length(object) == waiting).count() >= 95);
        objects().for_each(|(object, waiting)| (0..waiting).for_each(|_| lengths.remove(object)));
        lengths.remove(0x1040);
        assert!(objects().all(|(object, _)| lengths.length(object) == 0));
    }
}
