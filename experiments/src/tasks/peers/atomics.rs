//! The lower bound of a message between two cores: two threads that spin on each other's atomic
//! word.

use super::spin::spin_until;
use crate::tasks::stage::Stage;
use crate::tasks::tally::expect;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::pin;

/// A word on two cache lines of its own, as processors may prefetch the adjacent line.
#[repr(align(128))]
struct Ball(AtomicU64);

impl Ball {
    /// Waits until the other thread has set the word to `number` or more, and returns it.
    fn wait(&self, number: u64) -> u64 {
        // Acquire pairs with the Release stores of the other thread.
        spin_until(|| Some(self.0.load(Ordering::Acquire)).filter(|&found| found >= number))
    }
}

/// Round trips: a word to the other thread, and one back.
pub(in crate::tasks) fn round_trip(_: &Stage, trips: u64) -> Result<Duration, Wrong> {
    let (there, back) = (Ball(AtomicU64::new(0)), Ball(AtomicU64::new(0)));
    let rally = || {
        pin(0, 2);
        // Waits until the other thread runs.
        back.wait(1);
        let began = Instant::now();
        let mut last = 1;
        for trip in 2..trips + 2 {
            there.0.store(trip, Ordering::Release);
            last = back.wait(trip);
        }
        (began.elapsed(), last)
    };
    let answer = || {
        pin(1, 2);
        back.0.store(1, Ordering::Release);
        for trip in 2..trips + 2 {
            let found = there.wait(trip);
            back.0.store(found, Ordering::Release);
        }
    };
    let (time, last) = thread::scope(|scope| {
        scope.spawn(answer);
        scope.spawn(rally).join().map_err(|_| Wrong::new("a thread panicked"))
    })?;
    expect("last word", last, trips + 1)?;
    Ok(time)
}
