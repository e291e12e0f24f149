//! What is noted of accesses to keys: when the last one was, or how often there were some.
//!
//! Redis' policies LRU and LFU evict by that. An entry has 32 bits for it:
//!
//! | clock | bits |
//! |---|---|
//! | [`AccessClock::TIME`] | 32: the seconds since 1970 |
//! | [`AccessClock::counting`] | 8 to 23: the minutes since 1970; 0 to 7: a counter |
//!
//! The counter grows with a probability that falls as it grows, so that 255 stands for very many
//! accesses. It loses one for each time `lfu-decay-time` that has passed since the last access.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is noted of accesses: one word, as each task reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessClock(u64);

/// Set if accesses are counted. Below are `lfu-log-factor` and `lfu-decay-time`.
const COUNTS: u64 = 1 << 63;
const SETTING_BITS: u32 = 31;

/// The counter of a new key, so that it is not evicted at once.
const FIRST_COUNT: u32 = 5;
const MOST_COUNT: u32 = 255;
/// The bits of the minutes.
const MINUTES: u32 = 0xffff;
const COUNT_BITS: u32 = 8;

impl AccessClock {
    /// The time of the last access is noted.
    pub(crate) const TIME: Self = Self(0);

    /// Accesses are counted. The larger `log_factor` is, the slower the counter grows; after each
    /// time of `decay_minutes` it loses one, if that is not 0. Both have 31 bits.
    pub(crate) fn counting(log_factor: u32, decay_minutes: u32) -> Self {
        Self(COUNTS | u64::from(log_factor) << SETTING_BITS | u64::from(decay_minutes))
    }

    #[inline]
    fn counts(self) -> bool {
        self.0 != 0
    }

    fn log_factor(self) -> u32 {
        (self.0 >> SETTING_BITS) as u32 & (u32::MAX >> 1)
    }

    fn decay_minutes(self) -> u32 {
        self.0 as u32 & (u32::MAX >> 1)
    }

    /// Returns what an entry has at first.
    #[inline]
    pub(super) fn first(self, now: u64) -> u32 {
        if self.counts() { of_count(FIRST_COUNT, now) } else { seconds(now) }
    }

    /// Returns what an entry has after an access.
    #[inline]
    pub(super) fn after_access(self, accessed: u32, now: u64) -> u32 {
        if self.counts() { self.counted(accessed, now) } else { seconds(now) }
    }

    #[cold]
    fn counted(self, accessed: u32, now: u64) -> u32 {
        of_count(grown(decayed(accessed, self.decay_minutes(), now), self.log_factor()), now)
    }

    /// Returns what stands for a number of seconds without access.
    pub(super) fn of_idle_seconds(self, idle: u64, now: u64) -> u32 {
        match self.counts() {
            false => seconds(now).saturating_sub(u32::try_from(idle).unwrap_or(u32::MAX)),
            true => self.first(now),
        }
    }

    /// Returns what stands for a counter.
    pub(super) fn of_count(self, count: u8, now: u64) -> u32 {
        if self.counts() { of_count(count.into(), now) } else { seconds(now) }
    }

    /// Returns the seconds since the last access.
    pub(super) fn idle_seconds(self, accessed: u32, now: u64) -> u32 {
        if self.counts() { 0 } else { seconds(now).saturating_sub(accessed) }
    }

    /// Returns the counter; `None` if accesses are not counted.
    pub(super) fn count(self, accessed: u32, now: u64) -> Option<u32> {
        self.counts().then(|| decayed(accessed, self.decay_minutes(), now))
    }

    /// Returns how much sooner than others an entry is to be evicted.
    pub(super) fn staleness(self, accessed: u32, now: u64) -> u64 {
        let count = self.count(accessed, now);
        count.map_or_else(|| self.idle_seconds(accessed, now).into(), |count| (MOST_COUNT - count).into())
    }
}

fn of_count(count: u32, now: u64) -> u32 {
    minutes(now) << COUNT_BITS | count
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
    let grows = count < MOST_COUNT && random().is_multiple_of(odds);
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

impl SharedClock {
    #[inline]
    pub(super) fn get(&self) -> AccessClock {
        // Relaxed, as below: the clock orders nothing.
        AccessClock(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, clock: AccessClock) {
        self.0.store(clock.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::AccessClock;

    const MINUTE: u64 = 60_000;

    fn count_after(accesses: u64, clock: AccessClock) -> u32 {
        let accessed = (0..accesses).fold(clock.first(0), |accessed, _| clock.after_access(accessed, 0));
        clock.count(accessed, 0).unwrap()
    }

    #[test]
    fn counters_grow_with_the_logarithm_of_the_accesses() {
        let clock = |log_factor| AccessClock::counting(log_factor, 1);
        assert_eq!(count_after(0, clock(10)), 5);
        assert_eq!(count_after(1, clock(10)), 6);
        assert_eq!(count_after(1000, clock(0)), 255);
        let [some, many] = [100, 100_000].map(|accesses| count_after(accesses, clock(10)));
        assert!((6..30).contains(&some) && (60..255).contains(&many), "{some} {many}");
    }

    #[test]
    fn counters_decay_over_the_end_of_the_minutes() {
        let clock = AccessClock::counting(0, 2);
        let end = 65_535 * MINUTE;
        let accessed = clock.of_count(100, end);
        for (minutes, expected) in [(0, 100), (1, 100), (2, 99), (9, 96), (199, 1), (1000, 0)] {
            assert_eq!(clock.count(accessed, end + minutes * MINUTE), Some(expected), "{minutes}");
        }
        let never = AccessClock::counting(0, 0);
        assert_eq!(never.count(accessed, end + 500 * MINUTE), Some(100));
        assert!(clock.staleness(accessed, end) < clock.staleness(accessed, end + 10 * MINUTE));
    }

    #[test]
    fn times_tell_how_long_there_was_no_access() {
        let clock = AccessClock::TIME;
        let accessed = clock.of_idle_seconds(7, 10_000);
        assert_eq!((clock.idle_seconds(accessed, 12_000), clock.count(accessed, 12_000)), (9, None));
        assert_eq!(clock.idle_seconds(clock.after_access(accessed, 12_000), 12_999), 0);
    }

    #[test]
    fn the_clock_keeps_its_settings() {
        let largest = i32::MAX as u32;
        for (log_factor, decay_minutes) in [(0, 0), (10, 1), (largest, 0), (0, largest), (largest, largest)] {
            let clock = AccessClock::counting(log_factor, decay_minutes);
            assert!(clock.counts() && clock != AccessClock::TIME);
            assert_eq!((clock.log_factor(), clock.decay_minutes()), (log_factor, decay_minutes));
        }
    }
}
