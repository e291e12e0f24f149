//! Whom each of N workers deals out to with log₂ N links each: by Kautz's graph, as Imase and Itoh have made it for any
//! number (1981).
//!
//! With d links, worker w has them to −dw − 1, …, −dw − d (modulo N): the links of one go to workers side by side, those of
//! the next one to the workers beside these, and so all are taken before any is taken twice. So as many lead to each as
//! from each, and it takes at most ⌈log N ÷ log d⌉ steps from each to each, three for 192 workers.
//!
//! A few workers would have a link to themselves, which leads to another one of these here. (To stay is less work than to
//! go: they would be less busy than the others.)

use alloc::vec::Vec;

/// Fewer workers are too close together; they deal out to those that come next.
const FEWEST: usize = 8;

/// Whom a worker deals out to.
pub(super) fn from(worker: usize, workers: usize) -> Vec<usize> {
    let links = (usize::BITS - (workers - 1).leading_zeros()) as usize;
    if workers < FEWEST {
        return (1..=links).map(|distance| (worker + distance) % workers).collect();
    }
    // Those who deal out to the same one lie N ÷ d apart. Each of them begins with another link, so that all of them do so
    // at different turns.
    let first = worker * links / workers;
    let links_in_turn = (0..links).map(|turn| 1 + (first + turn) % links);
    let targets = links_in_turn.map(|link| (links * (workers - worker) + workers - link) % workers);
    targets.map(|target| if target == worker { other_loop(worker, links, workers) } else { target }).collect()
}

/// Whom one has for itself: the second after it who would have a link to itself, too. (The first is among its other links
/// where workers are few.)
fn other_loop(worker: usize, links: usize, workers: usize) -> usize {
    let is_loop = |&other: &usize| (1..=links).contains(&((links + 1) * (workers - other) % workers));
    let others = (1..workers).map(|distance| (worker + distance) % workers);
    others.filter(is_loop).nth(1).expect("there are three at least, if any")
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    /// Words of two different letters of six, each of which leads to those that begin as it ends.
    #[test]
    fn it_is_the_graph_of_kautz_where_there_is_one() {
        let in_order = |worker| {
            let mut targets = from(worker, 30);
            targets.sort_unstable();
            targets
        };
        // A sixth of all lead to the same ones, and to none of those that others lead to.
        for worker in 0..30 {
            let targets: Vec<_> = (0..30).filter(|target| target / 5 == 5 - worker % 6).collect();
            assert_eq!(in_order(worker), targets);
        }
    }

    #[test]
    fn it_takes_few_steps_from_each_to_each() {
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

    /// What one gets by the same turn of all who deal out to it is not what they spawn.
    #[test]
    fn those_who_deal_out_to_the_same_one_do_so_at_different_turns() {
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
