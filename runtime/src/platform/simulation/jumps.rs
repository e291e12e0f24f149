//! A clock that jumps, as the clocks of suspended, moved or badly synchronised machines do.

use super::random::Random;
use crate::sync::{AtomicU64, Relaxed, SpinMutex};
use core::time::Duration;

/// How the clock of a [`Simulation`](super::Simulation) jumps; see
/// [`Simulation::clock_jumps`](super::Simulation::clock_jumps).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockJumps {
    /// The clock jumps in one step of a core of this many, on average. 0 counts as 1.
    pub one_in: u32,
    /// The clock is ahead of the true time by at most this; more than 417 days count as that.
    pub ahead: Duration,
    /// The clock is behind the true time by at most this; more than 417 days count as that.
    /// Without it the clock still goes back, to the true time.
    pub behind: Duration,
}

/// A clock that is ahead or behind by an amount that changes by seed.
pub(super) struct JumpingClock {
    jumps: ClockJumps,
    /// Its own generator: the interleaving is that of a clock that does not jump.
    random: SpinMutex<Random>,
    /// How far the clock is ahead, plus `behind`.
    offset: AtomicU64,
}

/// The most nanoseconds that a clock is ahead or behind: 417 days. A hundred waits for a moment
/// that was read too far ahead do not come near the end of time.
const FARTHEST: u64 = 1 << 55;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(FARTHEST, |time| time.min(FARTHEST))
}

impl JumpingClock {
    pub fn new(jumps: ClockJumps, seed: u64) -> Self {
        let offset = AtomicU64::new(nanoseconds(jumps.behind));
        Self { jumps, random: SpinMutex::new(Random::new(!seed)), offset }
    }

    /// Jumps, if the seed says so. Called once a step.
    pub fn step(&self) {
        let mut random = self.random.lock();
        if random.next().is_multiple_of(u64::from(self.jumps.one_in.max(1))) {
            let range = nanoseconds(self.jumps.ahead) + nanoseconds(self.jumps.behind);
            // Relaxed: the offset orders nothing. Small jumps are as likely as large ones.
            let most = range >> random.below(64).min(63);
            let center = nanoseconds(self.jumps.behind);
            let low = center.saturating_sub(most / 2).min(range - most);
            self.offset.store(low + random.next() % (most + 1), Relaxed);
        }
    }

    /// Returns what the clock says at a time.
    pub fn reading(&self, time: u64) -> u64 {
        // Relaxed: a thread may read the clock just before or after a jump.
        let ahead = time.saturating_add(self.offset.load(Relaxed));
        ahead.saturating_sub(nanoseconds(self.jumps.behind))
    }

    /// Returns the time from which on the clock says `reading` or more, until it jumps again.
    pub fn time_of(&self, reading: u64) -> u64 {
        let behind = reading.saturating_add(nanoseconds(self.jumps.behind));
        behind.saturating_sub(self.offset.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUMPS: ClockJumps =
        ClockJumps { one_in: 2, ahead: Duration::from_micros(5), behind: Duration::from_micros(3) };

    #[test]
    fn a_clock_jumps_both_ways_within_its_bounds() {
        let clock = JumpingClock::new(JUMPS, 1);
        let readings: alloc::vec::Vec<_> = (0..10_000u64)
            .map(|step| {
                clock.step();
                clock.reading(10_000 + step)
            })
            .collect();
        assert!((0u64..).zip(&readings).all(|(step, &at)| (7_000 + step..=15_000 + step).contains(&at)));
        assert!(!readings.is_sorted());
        assert!(readings.iter().any(|&at| at < 8_000) && readings.iter().any(|&at| at > 18_000));
    }

    #[test]
    fn the_time_of_a_reading_is_when_the_clock_says_it() {
        let clock = JumpingClock::new(JUMPS, 7);
        for reading in 20_000..21_000 {
            clock.step();
            let time = clock.time_of(reading);
            assert!(clock.reading(time) >= reading && clock.reading(time - 1) < reading);
        }
    }
}
