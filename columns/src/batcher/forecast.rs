//! A forecast of the latency of batches.

use std::time::Duration;

/// A linear model of a batch's latency: a part for the scan of the rows, and a part for each
/// request. It is fitted by least squares to the batches served so far; older ones count less.
#[derive(Clone, Debug, Default)]
pub(super) struct Forecast {
    /// Weighted sums over batches: their number, requests, seconds, and the products of these.
    weight: f64,
    requests: f64,
    seconds: f64,
    squares: f64,
    products: f64,
    /// The mean absolute error of the predictions, in seconds.
    mean_error_s: f64,
}

/// The factor by which each new batch reduces the weight of the earlier ones.
const DECAY: f64 = 0.95;
/// Below this weight, batches of equal size say nothing about the time per request.
const MIN_WEIGHT: f64 = 2.5;
/// The upper bound exceeds the prediction by this multiple of the mean error.
const ERROR_MARGIN: f64 = 3.0;

impl Forecast {
    /// Records a batch of `requests` requests and its latency.
    pub fn record(&mut self, requests: usize, time: Duration) {
        let (requests, seconds) = (requests as f64, time.as_secs_f64());
        if self.weight > 0.0 {
            let mean_error_s = (seconds - self.expected(requests)).abs();
            self.mean_error_s += (mean_error_s - self.mean_error_s) * (1.0 - DECAY);
        }
        let values = [1.0, requests, seconds, requests * requests, requests * seconds];
        let sums =
            [&mut self.weight, &mut self.requests, &mut self.seconds, &mut self.squares, &mut self.products];
        sums.into_iter().zip(values).for_each(|(sum, value)| *sum = *sum * DECAY + value);
    }

    /// Returns a latency that a batch of `requests` requests rarely exceeds; zero before the first
    /// record.
    pub fn upper_bound(&self, requests: usize) -> Duration {
        if self.weight == 0.0 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(self.expected(requests as f64) + ERROR_MARGIN * self.mean_error_s)
    }

    /// Evaluates the regression line, whose slope is not negative.
    fn expected(&self, requests: f64) -> f64 {
        let mean = self.requests / self.weight;
        let variance = self.squares / self.weight - mean * mean;
        let covariance = self.products / self.weight - mean * self.seconds / self.weight;
        // Batches of nearly equal size do not determine the slope. The first one or two usually
        // have few requests and must not cause many to be refused.
        let per_request = if variance > mean * mean * 1e-3 {
            (covariance / variance).max(0.0)
        } else if self.weight < MIN_WEIGHT {
            0.0
        } else {
            self.seconds / self.requests
        };
        let most = self.seconds / self.requests;
        (self.seconds / self.weight + per_request.min(most) * (requests - mean)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(requests: usize) -> Duration {
        Duration::from_micros(5000 + 3 * requests as u64)
    }

    #[test]
    fn a_linear_latency_is_learned() {
        let mut forecast = Forecast::default();
        assert_eq!(forecast.upper_bound(1000), Duration::ZERO);
        for round in 0..200 {
            let requests = 1 + round * 37 % 4096;
            forecast.record(requests, line(requests));
        }
        for requests in [1, 100, 4096, 10_000] {
            let ratio = forecast.upper_bound(requests).as_secs_f64() / line(requests).as_secs_f64();
            assert!((0.98..1.1).contains(&ratio), "{requests}: {ratio}");
        }
    }

    #[test]
    fn variance_raises_the_upper_bound() {
        let mut forecast = Forecast::default();
        for round in 0..400u32 {
            forecast.record(1000, line(1000) * (1 + round % 2));
        }
        assert!(forecast.upper_bound(1000) >= line(1000) * 2, "{:?}", forecast.upper_bound(1000));
    }

    #[test]
    fn recent_batches_dominate_the_forecast() {
        let mut forecast = Forecast::default();
        (0..500).for_each(|_| forecast.record(1000, line(1000)));
        (0..60).for_each(|_| forecast.record(1000, line(1000) * 3));
        assert!(forecast.upper_bound(1000) > line(1000) * 5 / 2);
    }

    #[test]
    fn large_batches_are_never_predicted_free() {
        let mut forecast = Forecast::default();
        // A negative slope must not make large batches free.
        forecast.record(10, Duration::from_millis(50));
        forecast.record(1000, Duration::from_millis(10));
        assert!(forecast.upper_bound(5000) > Duration::from_millis(5));
    }
}
