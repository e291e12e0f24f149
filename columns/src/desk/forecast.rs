//! How long a batch will take.

use std::time::Duration;

/// Batches take a time for the rows and a time for each request. Both are learnt from the batches that were served, of which
/// older ones count less and less.
#[derive(Clone, Debug, Default)]
pub(super) struct Forecast {
    /// Sums over batches: how many, requests, seconds, and the products of these.
    count: f64,
    requests: f64,
    seconds: f64,
    squares: f64,
    products: f64,
    /// How far predictions were off, in the mean, in seconds.
    error: f64,
}

/// What an older batch counts when one more is known.
const FADING: f64 = 0.95;
/// So many batches say little.
const FEW: f64 = 2.5;
/// So many mean errors more than expected are hardly ever needed.
const CAUTION: f64 = 3.0;

impl Forecast {
    /// A batch of so many requests has taken this time.
    pub fn learn(&mut self, requests: usize, time: Duration) {
        let (requests, seconds) = (requests as f64, time.as_secs_f64());
        if self.count > 0.0 {
            let error = (seconds - self.expected(requests)).abs();
            self.error += (error - self.error) * (1.0 - FADING);
        }
        let values = [1.0, requests, seconds, requests * requests, requests * seconds];
        let sums =
            [&mut self.count, &mut self.requests, &mut self.seconds, &mut self.squares, &mut self.products];
        sums.into_iter().zip(values).for_each(|(sum, value)| *sum = *sum * FADING + value);
    }

    /// How long a batch of so many requests will hardly ever exceed. Nothing, as long as nothing is known.
    pub fn most(&self, requests: usize) -> Duration {
        if self.count == 0.0 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(self.expected(requests as f64) + CAUTION * self.error)
    }

    /// By the straight line that is nearest to what is known, which does not fall.
    fn expected(&self, requests: f64) -> f64 {
        let mean = self.requests / self.count;
        let spread = self.squares / self.count - mean * mean;
        let together = self.products / self.count - mean * self.seconds / self.count;
        // Batches that were all of about one size do not tell the one time from the other. The first one or two, which had
        // few requests as a rule, are no reason to refuse many.
        let each = if spread > mean * mean * 1e-3 {
            (together / spread).max(0.0)
        } else if self.count < FEW {
            0.0
        } else {
            self.seconds / self.requests
        };
        let most = self.seconds / self.requests;
        (self.seconds / self.count + each.min(most) * (requests - mean)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(requests: usize) -> Duration {
        Duration::from_micros(5000 + 3 * requests as u64)
    }

    #[test]
    fn a_line_is_learnt() {
        let mut forecast = Forecast::default();
        assert_eq!(forecast.most(1000), Duration::ZERO);
        for round in 0..200 {
            let requests = 1 + round * 37 % 4096;
            forecast.learn(requests, line(requests));
        }
        for requests in [1, 100, 4096, 10_000] {
            let ratio = forecast.most(requests).as_secs_f64() / line(requests).as_secs_f64();
            assert!((0.98..1.1).contains(&ratio), "{requests}: {ratio}");
        }
    }

    #[test]
    fn what_varies_is_taken_with_caution() {
        let mut forecast = Forecast::default();
        for round in 0..400u32 {
            forecast.learn(1000, line(1000) * (1 + round % 2));
        }
        assert!(forecast.most(1000) >= line(1000) * 2, "{:?}", forecast.most(1000));
    }

    #[test]
    fn a_change_is_learnt_soon() {
        let mut forecast = Forecast::default();
        (0..500).for_each(|_| forecast.learn(1000, line(1000)));
        (0..60).for_each(|_| forecast.learn(1000, line(1000) * 3));
        assert!(forecast.most(1000) > line(1000) * 5 / 2);
    }

    #[test]
    fn no_size_is_ever_free() {
        let mut forecast = Forecast::default();
        // More requests that took less time tell of something else.
        forecast.learn(10, Duration::from_millis(50));
        forecast.learn(1000, Duration::from_millis(10));
        assert!(forecast.most(5000) > Duration::from_millis(5));
    }
}
