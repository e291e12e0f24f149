//! What a message between two cores costs at least: two threads that do nothing but wait for each other's word.

use crate::machine::pin;
use crate::tasks::stage::Stage;
use crate::tasks::tally::expect;
use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A word on cache lines of its own: the neighbour of a line may be fetched with it.
#[repr(align(128))]
struct Ball(AtomicU64);

impl Ball {
    /// Waits until the other side has set the word to this or more, and gives what it is.
    fn wait(&self, number: u64) -> u64 {
        let mut looks = 0u32;
        loop {
            let found = self.0.load(Ordering::Acquire);
            if found >= number {
                return found;
            }
            looks += 1;
            std::hint::spin_loop();
            // The other side may have lost its core.
            if looks.is_multiple_of(1 << 14) {
                thread::yield_now();
            }
        }
    }
}

/// A word to the other thread, and one back.
pub(in crate::tasks) fn round_trip(_: &Stage, trips: u64) -> Result<Duration, Wrong> {
    let (there, back) = (Ball(AtomicU64::new(0)), Ball(AtomicU64::new(0)));
    let rally = || {
        pin(0, 2);
        // The other one is there.
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
        scope.spawn(rally).join().map_err(|_| Wrong::new("a thread has panicked"))
    })?;
    expect("last word", last, trips + 1)?;
    Ok(time)
}
