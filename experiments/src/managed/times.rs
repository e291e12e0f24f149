//! Percentiles of times.

use std::time::Duration;

/// Times in nanoseconds, ascending.
pub(super) struct Times(Vec<u64>);

impl Times {
    /// Sorts times.
    pub fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// Returns the time that `percent` of all times do not exceed.
    pub fn percentile(&self, percent: f64) -> Duration {
        let rank = (self.0.len() as f64 * percent / 100.0).ceil() as usize;
        Duration::from_nanos(self.0[rank.clamp(1, self.0.len()) - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let times = Times::of((1..=200).rev().collect());
        let found = [0.0, 50.0, 99.0, 99.5, 100.0].map(|percent| times.percentile(percent).as_nanos());
        assert_eq!(found, [1, 100, 198, 199, 200]);
        assert_eq!(Times::of(vec![7]).percentile(50.0), Duration::from_nanos(7));
    }
}
