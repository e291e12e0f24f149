//! Histograms of a span of time, and their bars.

use serde::Serialize;
use std::time::Duration;
use xtasking::metrics::Histogram;

/// The bars of a histogram: four for each power of ten from 100 ns to 10 s. The first and the last
/// also have what is beyond.
const BARS: usize = 32;

/// What the page draws of a histogram.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Spread {
    pub count: u64,
    pub p50: u64,
    pub p99: u64,
    pub max: u64,
    /// The share of each bar.
    pub bars: Vec<f64>,
}

impl Spread {
    pub fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        let mut bars = vec![0.0; BARS];
        for bucket in &histogram.buckets {
            bars[bar(bucket.up_to)] += bucket.count as f64 / count.max(1) as f64;
        }
        let percentile = |percent| histogram.percentile(percent).as_nanos() as u64;
        let max = histogram.max().as_nanos() as u64;
        Self { count, p50: percentile(50.0), p99: percentile(99.0), max, bars }
    }
}

/// Returns the bar in which a time is counted.
fn bar(time: Duration) -> usize {
    let decades = (time.as_nanos().max(1) as f64).log10() - 2.0;
    ((decades * 4.0).max(0.0) as usize).min(BARS - 1)
}

/// Returns what was counted in `newer` since `older`.
///
/// The runtime measures the length of its clock's ticks as it goes on, so that a bucket moves
/// slightly from one snapshot to the next: by less than half of its width.
pub(super) fn since(newer: &Histogram, older: Option<&Histogram>) -> Histogram {
    let mut span = newer.clone();
    let mut older = older.into_iter().flat_map(|older| &older.buckets).peekable();
    let mut before = 0;
    for bucket in &mut span.buckets {
        let limit = bucket.up_to.mul_f64(1.01) + Duration::from_nanos(1);
        while let Some(old) = older.next_if(|old| old.up_to <= limit) {
            before += old.count;
        }
        let taken = before.min(bucket.count);
        bucket.count -= taken;
        before -= taken;
    }
    span.buckets.retain(|bucket| bucket.count > 0);
    span
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn histogram(buckets: &[(u32, u64)]) -> Histogram {
        let time = |nanoseconds: u32| json!({"secs": 0, "nanos": nanoseconds});
        let bucket = |&(up_to, count): &(u32, u64)| json!({"up_to": time(up_to), "count": count});
        let buckets: Vec<_> = buckets.iter().map(bucket).collect();
        serde_json::from_value(json!({ "buckets": buckets })).expect("a histogram")
    }

    #[test]
    fn what_was_before_is_not_counted() {
        let newer = histogram(&[(100, 7), (1_000, 5), (50_000, 1)]);
        assert_eq!(since(&newer, None), newer);
        assert_eq!(since(&newer, Some(&newer)), histogram(&[]));
        let older = histogram(&[(100, 3), (1_000, 5)]);
        assert_eq!(since(&newer, Some(&older)), histogram(&[(100, 4), (50_000, 1)]));
    }

    #[test]
    fn buckets_that_move_with_the_clock_are_the_same() {
        let newer = histogram(&[(3, 4), (100_000, 7), (103_200, 9)]);
        let older = histogram(&[(4, 4), (100_090, 2), (103_290, 9)]);
        assert_eq!(since(&newer, Some(&older)), histogram(&[(100_000, 5)]));
        // A count is never lost, wherever its bucket has gone.
        let older = histogram(&[(1, 1), (2, 1), (99_000, 4)]);
        assert_eq!(since(&newer, Some(&older)).count(), newer.count() - older.count());
    }

    #[test]
    fn bars_are_shares() {
        let spread = Spread::of(&histogram(&[(5, 1), (100, 1), (999_999_999, 2)]));
        assert_eq!((spread.count, spread.p50, spread.max), (4, 100, 999_999_999));
        assert_eq!((spread.bars[0], spread.bars[27]), (0.5, 0.5));
        assert_eq!(spread.bars.len(), BARS);
        assert_eq!(bar(Duration::from_secs(100)), BARS - 1);
        assert!(Spread::of(&Histogram::default()).bars.iter().all(|&bar| bar == 0.0));
    }
}
