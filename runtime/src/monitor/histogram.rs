//! Histograms of durations: buckets that one worker fills and any thread reads.
//!
//! Up to [`BUCKETS_PER_DOUBLING`] there is a bucket for each value, and then that many for each
//! doubling. So the width of a bucket is at most its greatest value divided by that number,
//! whatever the value (as in HdrHistogram).

use super::Counter;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// Buckets for each doubling.
const BUCKETS_PER_DOUBLING: u64 = 1 << DOUBLING_BITS;
const DOUBLING_BITS: u32 = 5;
/// Buckets for all values of 64 bits.
const BUCKET_COUNT: usize = ((64 - DOUBLING_BITS as usize) + 1) * BUCKETS_PER_DOUBLING as usize;

/// Returns the bucket of a value.
#[inline]
fn bucket_of(value: u64) -> usize {
    // The number of low bits that the value's bucket does not distinguish.
    let coarse = (value | (2 * BUCKETS_PER_DOUBLING - 1)).ilog2() - DOUBLING_BITS;
    (u64::from(coarse) * BUCKETS_PER_DOUBLING + (value >> coarse)) as usize
}

/// Returns the greatest value of a bucket.
fn greatest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let coarse = (bucket / BUCKETS_PER_DOUBLING).saturating_sub(1);
    let rest = bucket - coarse * BUCKETS_PER_DOUBLING;
    // For the last bucket this is 2^64 − 1.
    (u128::from(rest + 1) << coarse).wrapping_sub(1) as u64
}

/// The buckets of one worker.
pub(crate) struct Buckets(Box<[Counter; BUCKET_COUNT]>);

impl Default for Buckets {
    fn default() -> Self {
        Self(Box::new(core::array::from_fn(|_| Counter::default())))
    }
}

impl Buckets {
    /// Counts a value. For the owner only.
    #[inline]
    pub fn record(&self, value: u64) {
        self.0[bucket_of(value)].add(1);
    }

    /// Returns the number of values counted so far.
    pub fn count(&self) -> u64 {
        self.0.iter().map(Counter::get).sum()
    }

    /// Returns everything counted so far, in nanoseconds. `scale` is the length of a counted unit
    /// in nanoseconds.
    pub fn read(&self, scale: f64) -> Histogram {
        Histogram::of(self.0.iter().map(Counter::get), scale)
    }
}

/// Buckets for one thread, which grow with the longest duration.
#[derive(Clone, Default)]
pub(crate) struct LocalBuckets(Vec<u64>);

impl LocalBuckets {
    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        let bucket = bucket_of(value);
        if self.0.len() <= bucket {
            self.0.resize(bucket + 1, 0);
        }
        self.0[bucket] += 1;
    }

    /// Adds what others have counted.
    pub fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    /// Returns everything counted so far, as [`Buckets::read`].
    pub fn read(&self, scale: f64) -> Histogram {
        Histogram::of(self.0.iter().copied(), scale)
    }
}

/// A histogram of durations, with an error of at most 3%.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Histogram {
    /// The non-empty buckets, the shortest durations first.
    pub buckets: Vec<Bucket>,
}

/// Durations that are counted as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Bucket {
    /// The longest duration of the bucket.
    pub up_to: Duration,
    /// The number of durations in the bucket.
    pub count: u64,
}

impl Histogram {
    /// Reads the counts of all buckets, the first ones first.
    fn of(counts: impl Iterator<Item = u64>, scale: f64) -> Self {
        let buckets = counts.enumerate().filter(|&(_, count)| count != 0).map(|(bucket, count)| Bucket {
            up_to: Duration::from_nanos((greatest_of(bucket) as f64 * scale) as u64),
            count,
        });
        Self { buckets: buckets.collect() }
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }

    /// Returns the longest duration; zero if there are none.
    pub fn max(&self) -> Duration {
        self.buckets.last().map_or(Duration::ZERO, |bucket| bucket.up_to)
    }

    /// Returns the mean; zero if there are no durations.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum().checked_div(u128::from(self.count())).unwrap_or(0) as u64)
    }

    /// Returns the sum of all durations, in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.buckets.iter().map(|bucket| bucket.up_to.as_nanos() * u128::from(bucket.count)).sum()
    }

    /// Returns the duration that `percent` of all do not exceed: 50 gives the median. Zero if there
    /// are none.
    pub fn percentile(&self, percent: f64) -> Duration {
        // At least one, and never more than there are, whatever the percentage.
        let count = self.count();
        let wanted = count as f64 * percent / 100.0;
        let mut seen = 0;
        for bucket in &self.buckets {
            seen += bucket.count;
            if seen as f64 >= wanted || seen == count {
                return bucket.up_to;
            }
        }
        Duration::ZERO
    }

    /// Adds the durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        let mut all = core::mem::take(&mut self.buckets);
        all.extend_from_slice(&other.buckets);
        all.sort_by_key(|bucket| bucket.up_to);
        all.dedup_by(|next, kept| {
            let same = next.up_to == kept.up_to;
            kept.count += if same { next.count } else { 0 };
            same
        });
        self.buckets = all;
    }
}

/// Writes median, 99th percentile and maximum.
impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, most] = [50.0, 99.0].map(|percent| self.percentile(percent));
        write!(f, "p50 {median:.1?}, p99 {most:.1?}, max {:.1?}", self.max())
    }
}

/// Converts to nanoseconds with three significant figures.
#[cfg(feature = "hdrhistogram")]
impl From<&Histogram> for hdrhistogram::Histogram<u64> {
    fn from(from: &Histogram) -> Self {
        let mut to = match Self::new(3) {
            Ok(to) => to,
            Err(error) => unreachable!("three significant figures are valid: {error}"),
        };
        for bucket in &from.buckets {
            let value = bucket.up_to.as_nanos() as u64;
            if to.record_n(value, bucket.count).is_err() {
                unreachable!("an auto-resizing histogram takes every value");
            }
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn times(values: impl IntoIterator<Item = u64>) -> Histogram {
        let buckets = Buckets::default();
        values.into_iter().for_each(|value| buckets.record(value));
        buckets.read(1.0)
    }

    const fn ns(nanoseconds: u64) -> Duration {
        Duration::from_nanos(nanoseconds)
    }

    #[test]
    fn every_value_has_a_narrow_bucket() {
        let powers = (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1, (1 << bit) + 1, 3 << bit >> 1]);
        for value in powers.chain(0..5000).chain([u64::MAX]) {
            let bucket = bucket_of(value);
            assert!(bucket < BUCKET_COUNT);
            let (least, greatest) =
                (bucket.checked_sub(1).map_or(0, |one| greatest_of(one) + 1), greatest_of(bucket));
            assert!((least..=greatest).contains(&value), "{value} in {least}..={greatest}");
            assert!(greatest - least <= greatest / BUCKETS_PER_DOUBLING, "{least}..={greatest} is wide");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKET_COUNT - 1);
    }

    #[test]
    fn percentiles_are_exact_up_to_the_width_of_a_bucket() {
        let all = times(1..=100_000);
        let near = |told: Duration, exact: u64| {
            let told = told.as_nanos() as u64;
            assert!((exact..=exact + exact / BUCKETS_PER_DOUBLING + 1).contains(&told), "{told} for {exact}");
        };
        assert_eq!(all.count(), 100_000);
        near(all.mean(), 50_000);
        near(all.max(), 100_000);
        for percent in [1, 10, 25, 50, 75, 90, 99] {
            near(all.percentile(percent as f64), percent * 1000);
        }
        assert_eq!([0.0, 100.0, 200.0].map(|percent| all.percentile(percent)), [ns(1), all.max(), all.max()]);
        let nothing = times([]);
        assert_eq!([nothing.percentile(50.0), nothing.mean(), nothing.max()], [Duration::ZERO; 3]);
    }

    #[test]
    fn a_merged_histogram_equals_one_counted_together() {
        let mut merged = times([1, 5, 5, 1000, 77]);
        merged.merge(&times([5, 2, 1_000_000]));
        assert_eq!(merged, times([1, 5, 5, 1000, 77, 5, 2, 1_000_000]));
        assert_eq!(merged.buckets[2], Bucket { up_to: ns(5), count: 3 });
        let text = alloc::format!("{}", times(vec![1535; 10]));
        assert_eq!(text, "p50 1.5µs, p99 1.5µs, max 1.5µs");
    }

    #[cfg(feature = "hdrhistogram")]
    #[test]
    fn a_histogram_converts_to_the_crate_hdrhistogram() {
        let hdr = hdrhistogram::Histogram::from(&times(1..=10_000));
        assert_eq!(hdr.len(), 10_000);
        assert!((4990..=5200).contains(&hdr.value_at_quantile(0.5)), "{}", hdr.value_at_quantile(0.5));
    }
}
