//! When requests are due, and how long each takes.

use std::fmt;
use std::time::Duration;
use xtasking_harness::random::Random;

/// The load of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    /// The mean service time in microseconds.
    pub service: u32,
    /// The rate of arrivals in percent of the workers' capacity.
    pub load: u32,
}

/// A request to come.
pub(super) struct Arrival {
    /// When it is due, from the begin of the turn.
    pub due: Duration,
    /// Its service time in microseconds.
    pub service: f64,
}

/// The requests of a turn, in the order in which they come.
pub(super) struct Schedule(pub Vec<Arrival>);

/// The shape of the Pareto distribution of service times.
const SHAPE: f64 = 1.5;
/// The longest service time as a multiple of the shortest.
const LONGEST: f64 = 100.0;

/// Turns a number in `0..1` into a service time, as a multiple of the shortest: 1 to [`LONGEST`].
fn pareto(fraction: f64) -> f64 {
    (1.0 - fraction * (1.0 - LONGEST.powf(-SHAPE))).powf(-1.0 / SHAPE)
}

/// Turns a number in `0..1` into an exponentially distributed one with mean 1.
fn exponential(fraction: f64) -> f64 {
    -(-fraction).ln_1p()
}

/// Scales numbers so that their mean is 1.
fn with_mean_one(numbers: Vec<f64>) -> impl Iterator<Item = f64> {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    numbers.into_iter().map(move |number| number / mean)
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs at {}%", self.service, self.load)
    }
}

impl Workload {
    /// Returns the number of requests that come in a time.
    pub fn requests(&self, workers: usize, time: Duration) -> usize {
        let capacity = workers as f64 / f64::from(self.service);
        (time.as_secs_f64() * 1e6 * capacity * f64::from(self.load) / 100.0).ceil() as usize
    }
}

impl Schedule {
    /// Draws the requests that come to a number of workers in a time.
    ///
    /// Gaps are exponential, and service times have a bounded Pareto distribution. Both are scaled
    /// to the exact means, so that the load is the same with every seed.
    pub fn draw(workload: Workload, workers: usize, time: Duration, seed: u64) -> Self {
        let count = workload.requests(workers, time);
        let stream = |what| Random::new(seed, &[what, workload.service.into(), workload.load.into()]);
        let draw = |what, distribution: fn(f64) -> f64| {
            let mut random = stream(what);
            with_mean_one((0..count).map(|_| distribution(random.fraction())).collect())
        };
        let gap = f64::from(workload.service) / workers as f64 * 100.0 / f64::from(workload.load);
        let mut due = 0.0;
        let arrivals = draw(0, exponential).zip(draw(1, pareto)).map(|(gaps, services)| {
            due += gaps * gap;
            Arrival {
                due: Duration::from_secs_f64(due / 1e6),
                service: services * f64::from(workload.service),
            }
        });
        Self(arrivals.collect())
    }

    /// Returns the latencies in nanoseconds of a FIFO server whose workers take no time between
    /// requests.
    pub fn ideal(&self, workers: usize) -> Vec<u64> {
        // When each worker ends its last request.
        let mut free = vec![Duration::ZERO; workers];
        let latency = |arrival: &Arrival| {
            let first = free.iter_mut().min().expect("at least one worker");
            *first = arrival.due.max(*first) + Duration::from_secs_f64(arrival.service / 1e6);
            (*first - arrival.due).as_nanos() as u64
        };
        self.0.iter().map(latency).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: Workload = Workload { service: 10, load: 80 };

    #[test]
    fn the_means_are_exact_and_the_tail_is_heavy() {
        for workers in [1, 2] {
            let Schedule(arrivals) = Schedule::draw(WORKLOAD, workers, Duration::from_secs(1), 7);
            assert_eq!(arrivals.len(), 80_000 * workers);
            assert!(arrivals.is_sorted_by_key(|arrival| arrival.due));
            let last = arrivals.last().unwrap().due.as_secs_f64();
            assert!((last - 1.0).abs() < 1e-6, "{last}");
            let mut services: Vec<_> = arrivals.iter().map(|arrival| arrival.service).collect();
            services.sort_by(f64::total_cmp);
            let mean = services.iter().sum::<f64>() / services.len() as f64;
            let [shortest, median, longest] =
                [0, services.len() / 2, services.len() - 1].map(|at| services[at]);
            assert!((mean - 10.0).abs() < 1e-6, "{mean}");
            assert!((3.0..4.5).contains(&shortest) && (5.0..7.0).contains(&median), "{shortest} {median}");
            assert!((30.0 * mean..100.0 * shortest).contains(&longest), "{longest}");
        }
    }

    /// Half of all gaps of a Poisson process are shorter than ln 2 of the mean.
    #[test]
    fn gaps_are_exponential() {
        let Schedule(arrivals) = Schedule::draw(WORKLOAD, 1, Duration::from_secs(1), 3);
        let gaps = arrivals.windows(2).map(|pair| (pair[1].due - pair[0].due).as_secs_f64() * 1e6);
        let mut gaps: Vec<_> = gaps.collect();
        gaps.sort_by(f64::total_cmp);
        let median = gaps[gaps.len() / 2] / 12.5;
        assert!((median - 2f64.ln()).abs() < 0.02, "{median}");
    }

    #[test]
    fn an_ideal_server_serves_in_order_on_the_first_free_worker() {
        let arrival = |due, service| Arrival { due: Duration::from_micros(due), service };
        let schedule = Schedule(vec![arrival(1, 10.0), arrival(2, 3.0), arrival(3, 1.0), arrival(40, 5.0)]);
        assert_eq!(schedule.ideal(1), [10_000, 12_000, 12_000, 5000]);
        assert_eq!(schedule.ideal(2), [10_000, 3000, 3000, 5000]);
    }

    #[test]
    fn equal_seeds_draw_equal_requests() {
        let due = |seed| Schedule::draw(WORKLOAD, 1, Duration::from_millis(1), seed).0[5].due;
        assert_eq!(due(1), due(1));
        assert_ne!(due(1), due(2));
    }
}
