//! Targets of N workers with log₂ N links each: a Kautz graph, as Imase and Itoh generalised it to
//! any N (1981).
//!
//! With d links, worker w is linked to −dw − 1, …, −dw − d (modulo N). The targets of one worker
//! are consecutive, and those of the next worker are adjacent to them. So every worker is a target
//! as often as every other. There are at most ⌈log N ÷ log d⌉ steps between any two workers: three
//! for 192 workers.
//!
//! A few workers would be linked to themselves. Each of them is linked to another one of these few
//! instead. (With a link to itself, a worker would receive fewer tasks from others.)

use alloc::vec::Vec;

/// With fewer workers the formula has too many loops; each worker is then linked to those that come
/// next.
const MIN_KAUTZ_WORKERS: usize = 8;

/// Returns the targets of a worker.
pub(super) fn from(worker: usize, workers: usize) -> Vec<usize> {
    let links = (usize::BITS - (workers - 1).leading_zeros()) as usize;
    if workers < MIN_KAUTZ_WORKERS {
        return (1..=links).map(|distance| (worker + distance) % workers).collect();
    }
    // Workers with a common target are N ÷ d apart. Each begins with another of its links, so that
    // they reach the target at different turns.
    let first = worker * links / workers;
    let links_in_turn = (0..links).map(|turn| 1 + (first + turn) % links);
    let targets = links_in_turn.map(|link| (links * (workers - worker) + workers - link) % workers);
    targets.map(|target| if target == worker { other_loop(worker, links, workers) } else { target }).collect()
}

/// Returns the target that replaces a link to itself: the second worker after it that would also be
/// linked to itself. (The first one is already among its targets where there are few workers.)
fn other_loop(worker: usize, links: usize, workers: usize) -> usize {
    let is_loop = |&other: &usize| (1..=links).contains(&((links + 1) * (workers - other) % workers));
    let others = (1..workers).map(|distance| (worker + distance) % workers);
    others.filter(is_loop).nth(1).expect("a graph with loops has at least three")
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    /// The graph of words of two different letters out of six, where each word leads to those that
    /// begin with its last letter.
    #[test]
    fn the_links_form_a_kautz_graph_where_one_exists() {
        let in_order = |worker| {
            let mut targets = from(worker, 30);
            targets.sort_unstable();
            targets
        };
        // A sixth of the workers have the same targets, and share none with the others.
        for worker in 0..30 {
            let targets: Vec<_> = (0..30).filter(|target| target / 5 == 5 - worker % 6).collect();
            assert_eq!(in_order(worker), targets);
        }
    }

    #[test]
    fn every_worker_is_few_steps_from_every_other() {
        for (workers, most) in [(24, 2), (30, 2), (42, 2), (48, 3), (64, 3), (192, 3), (384, 3)] {
            for worker in 0..workers {
                let (mut reached, mut steps) = (alloc::vec![worker], 0);
                while reached.len() < workers {
                    let further: Vec<_> = reached.iter().flat_map(|&by| from(by, workers)).collect();
                    reached.extend(further);
                    reached.sort_unstable();
                    reached.dedup();
                    steps += 1;
                }
                assert!(steps <= most, "{steps} steps from {worker} of {workers}");
            }
        }
    }

    /// Otherwise a worker would receive the same turn's task of all its sources, which is not what
    /// they spawn on average.
    #[test]
    fn workers_with_a_common_target_reach_it_at_different_turns() {
        for workers in [24, 48, 192] {
            let links = from(0, workers).len();
            let mut turns = alloc::vec![0u64; workers];
            for worker in 0..workers {
                from(worker, workers)
                    .iter()
                    .enumerate()
                    .for_each(|(turn, &target)| turns[target] |= 1 << turn);
            }
            let different: u32 = turns.iter().map(|turns| turns.count_ones()).sum();
            assert!(different as usize * 10 >= workers * links * 9, "{different} of {}", workers * links);
        }
    }
}
