//! The times of a command, in the buckets of HdrHistogram with two digits, which Redis has.
//!
//! Times below 256 have a bucket each. From there each power of two has 128 buckets of one width.

/// The buckets of a power of two, as a power of two.
const HALF_BITS: u32 = 7;
/// The buckets of a power of two.
const HALF: u64 = 1 << HALF_BITS;

/// How many times fell into each bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// Up to the last bucket that has some.
    counts: Vec<u64>,
    total: u64,
}

/// Returns by how many bits a time is shifted, so that its bucket is left.
fn shift(time: u64) -> u32 {
    (u64::BITS - HALF_BITS - 1).saturating_sub(time.leading_zeros())
}

/// Returns the number of the bucket of a time.
fn bucket(time: u64) -> usize {
    let shift = shift(time);
    (u64::from(shift) * HALF + (time >> shift)) as usize
}

/// Returns the shortest time of a bucket.
fn first_of(bucket: usize) -> u64 {
    let shift = (bucket as u64 / HALF).saturating_sub(1);
    (bucket as u64 - shift * HALF) << shift
}

/// Returns the longest time in the bucket of a time.
pub(crate) fn longest_beside(time: u64) -> u64 {
    time | ((1 << shift(time)) - 1)
}

impl Histogram {
    /// Adds a time that was taken `calls` times.
    pub(crate) fn record(&mut self, time: u64, calls: u64) {
        let bucket = bucket(time);
        self.counts.resize(self.counts.len().max(bucket + 1), 0);
        self.counts[bucket] += calls;
        self.total += calls;
    }

    /// Adds the counts of another one.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (count, added) in self.counts.iter_mut().zip(&other.counts) {
            *count += added;
        }
        self.total += other.total;
    }

    /// Returns the number of calls.
    pub(crate) fn calls(&self) -> u64 {
        self.total
    }

    /// Returns the number of calls in the buckets up to that of a time.
    pub(crate) fn calls_up_to(&self, time: u64) -> u64 {
        self.counts.iter().take(bucket(time) + 1).sum()
    }

    /// Returns the time that this percentage of the calls does not exceed, but for the width of
    /// its bucket; 0 if there are no calls.
    pub(crate) fn percentile(&self, percent: f64) -> u64 {
        let share = (percent / 100.0).min(1.0);
        let wanted = ((share * self.total as f64).ceil() as u64).max(1);
        let mut calls = 0;
        let reaches = |count: &u64| {
            calls += count;
            calls >= wanted
        };
        let Some(bucket) = self.counts.iter().position(reaches) else { return 0 };
        let first = first_of(bucket);
        if share == 0.0 { first } else { longest_beside(first) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, longest_beside};
    use proptest::prelude::*;

    /// The same calls in a histogram of this module and in one of the crate `hdrhistogram`.
    fn both(calls: &[(u64, u64)]) -> (Histogram, hdrhistogram::Histogram<u64>) {
        let (mut own, mut other) = (Histogram::default(), hdrhistogram::Histogram::new(2).unwrap());
        for &(time, count) in calls {
            own.record(time, count);
            other.record_n(time, count).unwrap();
        }
        (own, other)
    }

    /// Times of all magnitudes.
    fn times() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let time = (0..34u32, any::<u64>()).prop_map(|(bits, time)| time & ((1 << bits) - 1));
        prop::collection::vec((time, 1..1000u64), 1..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_is_as_hdrhistogram(
            first in times(),
            second in times(),
            percents in prop::collection::vec(0.0..=100.0, 8),
        ) {
            let ((mut own, mut other), (added, other_added)) = (both(&first), both(&second));
            own.add(&added);
            other.add(&other_added).unwrap();
            prop_assert_eq!(own.calls(), other.len());
            for percent in percents.into_iter().chain([0.0, 50.0, 99.9, 100.0]) {
                prop_assert_eq!(own.percentile(percent), other.value_at_percentile(percent), "{}", percent);
            }
            for (time, _) in first.into_iter().chain((0..40).map(|bits| (1 << bits, 0))) {
                prop_assert_eq!(own.calls_up_to(time), other.count_between(0, time), "{}", time);
                prop_assert_eq!(longest_beside(time), other.highest_equivalent(time), "{}", time);
            }
        }
    }

    #[test]
    fn without_calls_there_is_no_time() {
        assert_eq!([Histogram::default().percentile(50.0), Histogram::default().calls()], [0, 0]);
    }
}
