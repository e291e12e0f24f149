//! Zipf's distribution with the newest record as the most frequent one.

use super::Zipfian;
use xtasking_harness_core::random::Random;

/// Draws the age of a record as YCSB's `SkewedLatestGenerator` does: 0 is the newest.
#[derive(Clone, Debug)]
pub struct Latest(Zipfian);

impl Latest {
    /// Creates a distribution over the ages of `records` records.
    ///
    /// # Panics
    ///
    /// If there are none, or `theta` is not between 0 and 1.
    pub fn new(records: u64, theta: f64) -> Self {
        Self(Zipfian::new(records, theta))
    }

    /// Draws the age of a record among `records`, which must not decrease from call to call.
    #[inline]
    pub fn draw(&mut self, records: u64, random: &mut Random) -> u64 {
        while self.0.items() < records {
            self.0.grow();
        }
        self.0.draw(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_the_records() {
        let mut latest = Latest::new(1, 0.99);
        let mut random = Random::new(5, &[]);
        for records in 1..2_000 {
            assert!(latest.draw(records, &mut random) < records);
        }
        let newest = (0..100_000).filter(|_| latest.draw(2_000, &mut random) == 0).count();
        let expected = 100_000.0 / super::super::zipfian::zeta(2_000, 0.99);
        assert!((newest as f64 - expected).abs() < 0.05 * expected, "{newest} instead of {expected}");
    }
}
