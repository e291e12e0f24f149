//! Computes the balance of work among workers, and the share of time spent waiting.

use super::Clocks;
use std::fmt;

/// The balance of work, up to the [makespan](Clocks::makespan).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The busiest worker's time divided by the mean, less 1.
    pub imbalance: f64,
    /// The share of all workers' time that tasks spent waiting. On threads, the share spent outside
    /// of bodies: on claims, locks and scheduling.
    pub blocked: f64,
}

impl Spread {
    /// Computes the balance from the clocks.
    pub fn of(clocks: &Clocks) -> Self {
        let cores = clocks.cores();
        let total = (cores.len() as u64 * clocks.makespan()).max(1);
        let blocked: u64 = cores.iter().map(|core| core.blocked).sum();
        Self { imbalance: clocks.imbalance(), blocked: blocked as f64 / total as f64 }
    }
}

/// Formats the balance for a report.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (busiest, blocked) = (1.0 + self.imbalance, 100.0 * self.blocked);
        write!(f, "busiest worker {busiest:.2} times the mean; {blocked:.0}% of all time waited in tasks")
    }
}

/// Returns the busiest worker's time divided by the mean, less 1; 0 if no worker was busy.
pub fn imbalance(busy: &[u64]) -> f64 {
    let (max, sum) = (busy.iter().max().copied().unwrap_or(0), busy.iter().sum::<u64>());
    if sum == 0 { 0.0 } else { max as f64 * busy.len() as f64 / sum as f64 - 1.0 }
}

/// Returns a time that the busiest worker has at least, however these tasks are assigned to
/// workers.
///
/// Of the `k * workers + 1` longest tasks, some worker has `k + 1`, for any `k`: that takes as long
/// as the shortest `k + 1` of these, at least.
pub fn least_busiest(tasks: &[u64], workers: usize) -> u64 {
    let mut tasks = tasks.to_vec();
    tasks.sort_unstable_by(|a, b| b.cmp(a));
    let mut sums = vec![0];
    sums.extend(tasks.iter().scan(0, |sum, task| {
        *sum += task;
        Some(*sum)
    }));
    let of = |last: usize| sums[last + 1] - sums[last - last / workers];
    (0..tasks.len()).step_by(workers).map(of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{imbalance, least_busiest};

    #[test]
    fn the_busiest_worker_has_some_of_the_longest_tasks() {
        assert_eq!((least_busiest(&[], 3), least_busiest(&[5], 3)), (0, 5));
        assert_eq!(least_busiest(&[3, 9, 1], 1), 13, "one worker has all");
        assert_eq!(least_busiest(&[4, 4, 5], 2), 8, "two of three");
        assert_eq!(least_busiest(&[1, 1, 1, 1, 9, 1], 2), 9);
        assert_eq!(least_busiest(&[2; 7], 2), 8, "four of seven");
    }

    #[test]
    fn imbalance_is_the_excess_of_the_busiest_over_the_mean() {
        assert_eq!((imbalance(&[]), imbalance(&[0, 0]), imbalance(&[7, 7, 7])), (0.0, 0.0, 0.0));
        assert_eq!((imbalance(&[0, 8]), imbalance(&[6, 2, 4])), (1.0, 0.5));
    }
}
