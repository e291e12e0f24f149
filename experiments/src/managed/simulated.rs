//! The runtime's rank orders on virtual cores.

use super::load::rank_of;
use crate::computation::work;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use xtasking::platform::{Costs, Simulation};
use xtasking::{QueuePolicy, Runtime, queues::RankOrder};
use xtasking_harness::failure::Wrong;

/// The occupancy of virtual cores.
pub(super) struct VirtualOccupancy {
    /// The percentage of all cores' time that was spent in requests.
    pub percent: f64,
    /// Virtual nanoseconds outside requests, per request.
    pub overhead_ns: f64,
}

/// Returns the virtual nanoseconds of a request: 0.5 to 1.5 times `mean`. With equal times, cores
/// would take turns at the queue and never contend.
fn length(number: u64, mean: u64) -> u64 {
    mean / 2 + work(number, 3) % (mean + 1)
}

/// Serves a number of requests, all submitted before the first is served.
///
/// # Errors
///
/// If a request is not served.
pub(super) fn simulate(
    order: RankOrder,
    cores: usize,
    seed: u64,
    requests: usize,
    mean: Duration,
) -> Result<VirtualOccupancy, Wrong> {
    let (simulation, clocks) = Simulation::with_costs(cores, 1, seed, Costs::default());
    let rt = Runtime::builder().platform(simulation).pool(QueuePolicy::Ranked(order)).build();
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
    // Dropping the runtime waits until all requests have been served.
    drop(rt);
    if served.load(Relaxed) != requests as u64 {
        return Err(Wrong::new(format!("{} of {requests} requests were served", served.load(Relaxed))));
    }
    let (busy, total) = (busy.load(Relaxed) as f64, clocks.makespan() as f64 * cores as f64);
    Ok(VirtualOccupancy { percent: 100.0 * busy / total, overhead_ns: (total - busy) / requests as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lengths_have_their_mean() {
        let lengths = (0..10_000).map(|number| length(number, 1_000));
        assert!(lengths.clone().all(|length| (500..=1_500).contains(&length)));
        let mean = lengths.sum::<u64>() / 10_000;
        assert!((980..1_020).contains(&mean), "{mean}");
    }

    /// One core has the overhead of the cost model. Many cores at one lock are limited by the time
    /// in the lock.
    #[test]
    fn occupancy_matches_the_cost_model() {
        let costs = Costs::default();
        let between = (costs.task + costs.unit + costs.queue) as f64;
        let one = simulate(RankOrder::Exact, 1, 1, 1_000, Duration::from_micros(10)).unwrap();
        assert!((one.overhead_ns - between).abs() < 1e-6, "{}", one.overhead_ns);
        let short = Duration::from_micros(1);
        let contended = |order| simulate(order, 64, 1, 20_000, short).unwrap().percent;
        let (exact, relaxed) = (contended(RankOrder::Exact), contended(RankOrder::Relaxed));
        let bound = 100.0 * 1_000.0 / (64.0 * costs.queue as f64);
        assert!((exact / bound - 1.0).abs() < 0.05, "{exact} is not about {bound}");
        assert!(relaxed > 4.0 * exact, "{relaxed} is not much more than {exact}");
    }
}
