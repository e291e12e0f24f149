//! Numbers of workers whose partitions are equal: the slowest of them decides.
//!
//! For each speed that the slowest may have, in the order of what could be reached with it at most, the largest number of
//! workers is looked for. So many workers can be had if those on the nodes near to each memory are no more than it holds
//! partitions for, and a level allows it: the lowest on which enough of them have room asks least of the nodes.

use crate::nodes::{Levels, Node, nodes};
use crate::solver::{CLOSE, Counts, Program, Rules};
use crate::speed::WHOLE;
use std::cmp::Reverse;

/// Workers that are no slower than a speed.
struct Found {
    value: f64,
    workers: usize,
    slowest: u32,
    taken: Vec<usize>,
    nodes: Vec<Node>,
}

/// The best numbers; `None` if nothing obeys the rules.
pub(crate) fn solve(program: &Program<'_>, rules: &Rules) -> Option<Counts> {
    let mut best: Option<Found> = None;
    for (bound, slowest) in speeds(program, rules) {
        let least = best.as_ref().map_or(0.0, |best| best.value);
        if bound < least * (1.0 - CLOSE) {
            break;
        }
        let Some(found) = find(program, rules, slowest, least) else { continue };
        // With a faster slowest, fewer workers do as much.
        let fewer = |found: &Found| (Reverse(found.workers), found.slowest);
        let better = best.as_ref().is_none_or(|best| {
            found.value > best.value * (1.0 + CLOSE)
                || (found.value > best.value * (1.0 - CLOSE) && fewer(&found) > fewer(best))
        });
        if better {
            best = Some(found);
        }
    }
    let best = best?;
    let mut counts = program.none();
    for (node, &workers) in best.nodes.iter().zip(&best.taken) {
        node.count(program.classes, workers, best.slowest, false, &mut counts);
    }
    Some(counts)
}

/// Speeds that the slowest worker may have, each after what could be reached with it at most, the best first.
fn speeds(program: &Program<'_>, rules: &Rules) -> Vec<(f64, u32)> {
    let of_class = |class: &crate::classes::Class| {
        let cores = class.cores.len();
        class.options.iter().map(|option| (option.slowest, cores)).collect::<Vec<_>>()
    };
    let mut all: Vec<(u32, usize)> = program.classes.iter().flat_map(of_class).collect();
    all.sort_unstable_by_key(|of| u32::MAX - of.0);
    let (mut workers, most) = (0, program.most(rules));
    let mut bounds: Vec<_> = all
        .chunk_by(|a, b| a.0 == b.0)
        .map(|alike| {
            workers += alike.iter().map(|of| of.1).sum::<usize>();
            let slowest = alike[0].0;
            (program.granted(workers.min(most) as f64 * f64::from(slowest)), slowest)
        })
        .collect();
    bounds.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    bounds
}

/// The number of workers, none of them slower than `slowest`, that does most, if that is not less than `least`.
fn find(program: &Program<'_>, rules: &Rules, slowest: u32, least: f64) -> Option<Found> {
    let nodes = nodes(program, rules, slowest);
    let levels = Levels::of(&nodes, rules.even);
    let room: usize = nodes.iter().map(|node| node.room).sum();
    let (fewest, most) = (usize::try_from(rules.fewest).ok()?, program.most(rules).min(room));
    // What the quota does not let through is not worth a worker.
    let enough = program
        .machine
        .quota
        .map_or(most, |cpus| (cpus * f64::from(WHOLE) / f64::from(slowest) * (1.0 - CLOSE)).ceil() as usize);
    let enough = enough.max(fewest);
    let value = |workers: usize| program.granted(workers as f64 * f64::from(slowest));
    let workers = (enough..=most)
        .chain((fewest..enough.min(most + 1)).rev())
        .take_while(|&workers| workers >= enough || value(workers) >= least * (1.0 - CLOSE))
        .find(|&workers| lowest(program, rules, &nodes, &levels, workers).is_some())?;
    let lowest = lowest(program, rules, &nodes, &levels, workers)?;
    let taken = (lowest..=levels.last)
        .map_while(|level| taken(program, rules, &nodes, |node| levels.range(node, level), workers))
        .max()?;
    Some(Found { value: value(workers), workers, slowest, taken, nodes })
}

/// For how many of `workers` the memory near to a node holds partitions.
fn holds(program: &Program<'_>, rules: &Rules, node: &Node, workers: usize) -> usize {
    match program.machine.memory[&node.home].free.filter(|&free| rules.fit && free < rules.bytes) {
        Some(free) => (u128::from(free) * workers as u128 / u128::from(rules.bytes)) as usize,
        None => workers,
    }
}

/// The lowest level that has room for so many workers, if it allows them.
fn lowest(
    program: &Program<'_>,
    rules: &Rules,
    nodes: &[Node],
    levels: &Levels,
    workers: usize,
) -> Option<usize> {
    // For each memory: how many workers there must be, can be, and may be.
    let homes = |level: usize| {
        nodes.chunk_by(|a, b| a.home == b.home).map(move |near| {
            let ranges = || near.iter().map(|node| levels.range(node, level));
            let (least, most): (usize, usize) =
                (ranges().map(|range| range.0).sum(), ranges().map(|range| range.1).sum());
            (
                least,
                most.min(holds(program, rules, &near[0], workers)),
                holds(program, rules, &near[0], workers),
            )
        })
    };
    let room = |level: usize| homes(level).map(|home| home.1).sum::<usize>() >= workers;
    let (mut low, mut high) = (0, levels.last);
    while low < high {
        let middle = (low + high) / 2;
        if room(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let obeys = room(low)
        && homes(low).all(|home| home.0 <= home.2)
        && homes(low).map(|home| home.0).sum::<usize>() <= workers;
    obeys.then_some(low)
}

/// How many of `workers` each node has: as many as possible on the first, then on the second, and so on. `None` if they have
/// no place.
fn taken(
    program: &Program<'_>,
    rules: &Rules,
    nodes: &[Node],
    range: impl Fn(&Node) -> (usize, usize),
    workers: usize,
) -> Option<Vec<usize>> {
    let mut taken: Vec<usize> = nodes.iter().map(|node| range(node).0).collect();
    let mut left = workers.checked_sub(taken.iter().sum())?;
    for near in nodes.chunk_by(|a, b| a.home == b.home) {
        let first = nodes.iter().position(|node| node.id == near[0].id)?;
        let here = &mut taken[first..first + near.len()];
        let mut held = holds(program, rules, &near[0], workers).checked_sub(here.iter().sum())?;
        for (node, taken) in near.iter().zip(here) {
            let more = (range(node).1 - *taken).min(held).min(left);
            (*taken, held, left) = (*taken + more, held - more, left - more);
        }
    }
    (left == 0).then_some(taken)
}
