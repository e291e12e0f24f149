//! What is noted of accesses to keys: when the last one was, or how often there were some.
//!
//! Redis' policies LRU and LFU evict by that. An entry has 32 bits for it:
//!
//! | clock | bits |
//! |---|---|
//! | [`AccessClock::Time`] | 32: the seconds since 1970 |
//! | [`AccessClock::Frequency`] | 8 to 23: the minutes since 1970; 0 to 7: a counter |
//!
//! The counter grows with a probability that falls as it grows, so that 255 stands for very many
//! accesses. It loses one for each time `lfu-decay-time` that has passed since the last access.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is noted of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AccessClock {
    /// The time of the last one.
    #[default]
    Time,
    /// How often there were some.
    Frequency {
        /// The larger, the slower the counter grows.
        log_factor: u32,
        /// The minutes after which the counter loses one; 0 for never.
        decay_minutes: u32,
    },
}

/// The counter of a new key, so that it is not evicted at once.
const FIRST_COUNT: u32 = 5;
const MOST_COUNT: u32 = 255;
/// The bits of the minutes.
const MINUTES: u32 = 0xffff;
const COUNT_BITS: u32 = 8;

impl AccessClock {
    /// Returns what an entry has at first.
    #[inline]
    pub(super) fn first(self, now: u64) -> u32 {
        match self {
            Self::Time => seconds(now),
            Self::Frequency { .. } => minutes(now) << COUNT_BITS | FIRST_COUNT,
        }
    }

    /// Returns what an entry has after an access.
    #[inline]
    pub(super) fn after_access(self, accessed: u32, now: u64) -> u32 {
        match self {
            Self::Time => seconds(now),
            Self::Frequency { log_factor, decay_minutes } => {
                let count = grown(decayed(accessed, decay_minutes, now), log_factor);
                minutes(now) << COUNT_BITS | count
            }
        }
    }

    /// Returns what stands for a number of seconds without access.
    pub(super) fn of_idle_seconds(self, idle: u64, now: u64) -> u32 {
        match self {
            Self::Time => seconds(now).saturating_sub(u32::try_from(idle).unwrap_or(u32::MAX)),
            Self::Frequency { .. } => self.first(now),
        }
    }

    /// Returns what stands for a counter.
    pub(super) fn of_count(self, count: u8, now: u64) -> u32 {
        match self {
            Self::Time => seconds(now),
            Self::Frequency { .. } => minutes(now) << COUNT_BITS | u32::from(count),
        }
    }

    /// Returns the seconds since the last access.
    pub(super) fn idle_seconds(self, accessed: u32, now: u64) -> u32 {
        match self {
            Self::Time => seconds(now).saturating_sub(accessed),
            Self::Frequency { .. } => 0,
        }
    }

    /// Returns the counter; `None` if accesses are not counted.
    pub(super) fn count(self, accessed: u32, now: u64) -> Option<u32> {
        match self {
            Self::Time => None,
            Self::Frequency { decay_minutes, .. } => Some(decayed(accessed, decay_minutes, now)),
        }
    }

    /// Returns how much sooner than others an entry is to be evicted.
    pub(super) fn staleness(self, accessed: u32, now: u64) -> u64 {
        let count = self.count(accessed, now);
        count.map_or_else(|| self.idle_seconds(accessed, now).into(), |count| (MOST_COUNT - count).into())
    }
}

/// Seconds since 1970, which fit until 2106.
fn seconds(now: u64) -> u32 {
    (now / 1000) as u32
}

fn minutes(now: u64) -> u32 {
    (now / 60_000) as u32 & MINUTES
}

/// Returns the counter, less what it has lost since the last access.
fn decayed(accessed: u32, decay_minutes: u32, now: u64) -> u32 {
    let elapsed = minutes(now).wrapping_sub(accessed >> COUNT_BITS) & MINUTES;
    let lost = elapsed.checked_div(decay_minutes).unwrap_or(0);
    (accessed & MOST_COUNT).saturating_sub(lost)
}

/// Returns the counter after an access.
fn grown(count: u32, log_factor: u32) -> u32 {
    let excess = u64::from(count.saturating_sub(FIRST_COUNT));
    let odds = excess.saturating_mul(log_factor.into()).saturating_add(1);
    let grows = count < MOST_COUNT && (odds == 1 || random() % odds == 0);
    count + u32::from(grows)
}

/// Returns a random number, of a sequence of the thread: xorshift64.
pub(super) fn random() -> u64 {
    thread_local!(static STATE: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) });
    STATE.with(|state| {
        let mut word = state.get();
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        state.set(word);
        word
    })
}

/// The clock of a store, which the setting of the policy changes.
#[derive(Debug, Default)]
pub(super) struct SharedClock(AtomicU64);

/// Set if accesses are counted; the settings are in the bits below.
const IS_FREQUENCY: u64 = 1 << 63;
const SETTING_BITS: u32 = 31;

impl SharedClock {
    #[inline]
    pub(super) fn get(&self) -> AccessClock {
        // Relaxed, as below: the clock orders nothing.
        match self.0.load(Ordering::Relaxed) {
            0 => AccessClock::Time,
            word => {
                let mask = (1 << SETTING_BITS) - 1;
                let setting = |shift: u32| (word >> shift & mask) as u32;
                AccessClock::Frequency { log_factor: setting(SETTING_BITS), decay_minutes: setting(0) }
            }
        }
    }

    pub(super) fn set(&self, clock: AccessClock) {
        let word = match clock {
            AccessClock::Time => 0,
            AccessClock::Frequency { log_factor, decay_minutes } => {
                IS_FREQUENCY | u64::from(log_factor) << SETTING_BITS | u64::from(decay_minutes)
            }
        };
        self.0.store(word, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{AccessClock, SharedClock};

    const MINUTE: u64 = 60_000;

    fn count_after(accesses: u64, clock: AccessClock) -> u32 {
        let accessed = (0..accesses).fold(clock.first(0), |accessed, _| clock.after_access(accessed, 0));
        clock.count(accessed, 0).unwrap()
    }

    #[test]
    fn counters_grow_with_the_logarithm_of_the_accesses() {
        let clock = |log_factor| AccessClock::Frequency { log_factor, decay_minutes: 1 };
        assert_eq!(count_after(0, clock(10)), 5);
        assert_eq!(count_after(1, clock(10)), 6);
        assert_eq!(count_after(1000, clock(0)), 255);
        let [some, many] = [100, 100_000].map(|accesses| count_after(accesses, clock(10)));
        assert!((6..30).contains(&some) && (60..255).contains(&many), "{some} {many}");
    }

    #[test]
    fn counters_decay_over_the_end_of_the_minutes() {
        let clock = AccessClock::Frequency { log_factor: 0, decay_minutes: 2 };
        let end = 65_535 * MINUTE;
        let accessed = clock.of_count(100, end);
        for (minutes, expected) in [(0, 100), (1, 100), (2, 99), (9, 96), (199, 1), (1000, 0)] {
            assert_eq!(clock.count(accessed, end + minutes * MINUTE), Some(expected), "{minutes}");
        }
        let never = AccessClock::Frequency { log_factor: 0, decay_minutes: 0 };
        assert_eq!(never.count(accessed, end + 500 * MINUTE), Some(100));
        assert!(clock.staleness(accessed, end) < clock.staleness(accessed, end + 10 * MINUTE));
    }

    #[test]
    fn times_tell_how_long_there_was_no_access() {
        let clock = AccessClock::Time;
        let accessed = clock.of_idle_seconds(7, 10_000);
        assert_eq!((clock.idle_seconds(accessed, 12_000), clock.count(accessed, 12_000)), (9, None));
        assert_eq!(clock.idle_seconds(clock.after_access(accessed, 12_000), 12_999), 0);
    }

    #[test]
    fn the_clock_of_a_store_keeps_its_settings() {
        let shared = SharedClock::default();
        assert_eq!(shared.get(), AccessClock::Time);
        let largest = i32::MAX as u32;
        for (log_factor, decay_minutes) in [(0, 0), (10, 1), (largest, largest)] {
            let clock = AccessClock::Frequency { log_factor, decay_minutes };
            shared.set(clock);
            assert_eq!(shared.get(), clock);
        }
    }
}
