//! This runtime's queues on virtual cores, each a core of its own however many there are.

use super::load::{rank_of, work};
use crate::ycsb::plan::Wrong;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use xtasking::platform::{Costs, Simulation};
use xtasking::{Pool, Ranking, Runtime};

/// What was seen on virtual cores.
pub(super) struct Seen {
    /// How much of all cores' time was spent in requests, in percent.
    pub occupancy: f64,
    /// Virtual nanoseconds for each request that a core spent otherwise.
    pub otherwise: f64,
}

/// Virtual nanoseconds that a request takes: from a half to one and a half of `mean`. Cores that all took the same time
/// would take turns at the queue, and never meet there.
fn length(number: u64, mean: u64) -> u64 {
    mean / 2 + work(number, 3) % (mean + 1)
}

/// Serves so many requests, all of which are there before the first is served.
pub(super) fn simulate(
    ranking: Ranking,
    cores: usize,
    seed: u64,
    requests: usize,
    mean: Duration,
) -> Result<Seen, Wrong> {
    let (simulation, clocks) = Simulation::with_costs(cores, 1, seed, Costs::default());
    let rt = Runtime::builder().platform(simulation).pool(Pool::Ranked(ranking)).build();
    let rt = rt.map_err(|error| Wrong::new(error.to_string()))?;
    let (served, busy) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for number in 0..requests as u64 {
        let (clocks, served, busy) = (clocks.clone(), served.clone(), busy.clone());
        rt.task(()).rank(rank_of(number)).spawn(move |(), _| {
            let length = length(number, mean.as_nanos() as u64);
            clocks.spend(length);
            // Relaxed: a simulation has one thread.
            busy.fetch_add(length, Relaxed);
            served.fetch_add(1, Relaxed);
        });
    }
    // Until all are served.
    drop(rt);
    if served.load(Relaxed) != requests as u64 {
        return Err(Wrong::new(format!("{} of {requests} requests were served", served.load(Relaxed))));
    }
    let (busy, whole) = (busy.load(Relaxed) as f64, clocks.makespan() as f64 * cores as f64);
    Ok(Seen { occupancy: 100.0 * busy / whole, otherwise: (whole - busy) / requests as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_take_about_as_long_as_they_should() {
        let lengths = (0..10_000).map(|number| length(number, 1_000));
        assert!(lengths.clone().all(|length| (500..=1_500).contains(&length)));
        let mean = lengths.sum::<u64>() / 10_000;
        assert!((980..1_020).contains(&mean), "{mean}");
    }

    /// What one core spends otherwise is what the costs say; and where many wait for one lock, the time at the lock is all
    /// that counts.
    #[test]
    fn occupancy_is_what_the_costs_leave() {
        let costs = Costs::default();
        let between = (costs.task + costs.unit + costs.queue) as f64;
        let one = simulate(Ranking::Exact, 1, 1, 1_000, Duration::from_micros(10)).unwrap();
        assert!((one.otherwise - between).abs() < 1e-6, "{}", one.otherwise);
        let short = Duration::from_micros(1);
        let crowd = |ranking| simulate(ranking, 64, 1, 20_000, short).unwrap().occupancy;
        let (exact, relaxed) = (crowd(Ranking::Exact), crowd(Ranking::Relaxed));
        let bound = 100.0 * 1_000.0 / (64.0 * costs.queue as f64);
        assert!((exact / bound - 1.0).abs() < 0.05, "{exact} is not about {bound}");
        assert!(relaxed > 4.0 * exact, "{relaxed} is not far from {exact}");
    }
}
