//! Numbers of workers for unequal partitions.
//!
//! Workers together do the sum of their speeds, but workers near a memory do no more than the
//! fraction of the data that it holds. If the total throughput is *v*, they do min(*v* × fraction,
//! sum) ([`combined_speed`]).
//!
//! For a given *v* this caps the workers of each memory independently. So the maximum for each
//! number of workers follows memory by memory ([`CombinedSums`]). *v* is feasible if that maximum
//! is at least *v*, and the resulting throughput is then at least as high. The search raises *v*
//! from each result until none is higher.

use crate::solver::numa_levels::{Levels, SolverNode, usable_nodes};
use crate::solver::prefix_sums::{CombinedSums, PrefixSums};
use crate::solver::{Constraints, Problem, RELATIVE_TOLERANCE, WorkerCounts};
use std::cell::OnceCell;

/// The nodes and their throughput.
struct WeightedSearch<'a> {
    problem: &'a Problem<'a>,
    nodes: Vec<SolverNode>,
    sums: Vec<PrefixSums<'static>>,
    levels: Levels,
    /// For each memory, the fraction of all data that it holds.
    parts: Vec<f64>,
    fewest: usize,
    most: usize,
}

/// Returns the best numbers of workers, or `None` if the constraints cannot be met.
pub(crate) fn solve(problem: &Problem<'_>, constraints: &Constraints) -> Option<WorkerCounts> {
    let nodes = usable_nodes(problem, constraints);
    let levels = Levels::new(nodes.iter(), constraints.even);
    let part = |near: &[SolverNode]| problem.part(constraints, near[0].home);
    let search = WeightedSearch {
        problem,
        sums: nodes.iter().map(|node| node.sums(problem.classes)).collect(),
        levels,
        parts: nodes.chunk_by(|a, b| a.home == b.home).map(part).collect(),
        nodes,
        fewest: usize::try_from(constraints.fewest).ok()?,
        most: problem.workers_max(constraints),
    };
    let taken = search.best()?;
    let mut counts = problem.no_workers();
    for (node, workers) in search.nodes.iter().zip(taken) {
        node.count(problem.classes, workers, 0, true, &mut counts);
    }
    Some(counts)
}

/// Returns the throughput of workers with these summed speeds near each memory, and which memories
/// are full. `parts` is the fraction of the data that each memory holds. Returns `None` if they
/// cannot hold all data.
///
/// A full memory's workers do the fraction that it holds; the others share the rest in proportion
/// to their speeds.
pub(crate) fn combined_speed(speeds: &[f64], parts: &[f64]) -> Option<(f64, Vec<bool>)> {
    let mut full = vec![false; speeds.len()];
    let (mut speed, mut rest) = (speeds.iter().sum::<f64>(), 1.0);
    let mut others = speeds.iter().filter(|&&speed| speed != 0.0).count();
    // A full memory leaves more work to the others, which may fill another one.
    while others > 0 {
        let all = speed / rest;
        let before = others;
        for (home, full) in full.iter_mut().enumerate() {
            if !*full && speeds[home] > parts[home] * all * (1.0 + 1e-12) {
                *full = true;
                speed -= speeds[home];
                rest -= parts[home];
                others -= 1;
            }
        }
        if others == before {
            return (all > 0.0).then_some((all, full));
        }
    }
    None
}

/// A level of even spread, and its bounds.
struct SpreadLevel<'a> {
    level: usize,
    /// The minimum number of workers.
    least: usize,
    /// An upper bound on the throughput, for any number of workers.
    bound: f64,
    /// For each memory, the throughput of the workers near it.
    sums: OnceCell<Vec<PrefixSums<'a>>>,
}

impl WeightedSearch<'_> {
    /// Returns how many workers each node gets.
    fn best(&self) -> Option<Vec<usize>> {
        let mut levels: Vec<SpreadLevel<'_>> = (0..=self.levels.last)
            .filter_map(|level| self.level(level))
            .filter(|level| level.least <= self.most)
            .collect();
        levels.sort_by(|a, b| b.bound.total_cmp(&a.bound).then(a.level.cmp(&b.level)));
        let aim = |all: f64| self.problem.granted(all) * (1.0 - RELATIVE_TOLERANCE);
        let top = levels.first()?.bound;
        if let Some(taken) = self.with_fewest(&levels, aim(top)) {
            return Some(taken);
        }
        let all = self.reached(&mut levels)?;
        self.with_fewest(&levels, aim(all))
    }

    /// Returns the highest throughput within the maximum number of workers.
    fn reached<'a>(&'a self, levels: &mut [SpreadLevel<'a>]) -> Option<f64> {
        let first = levels.first_mut()?;
        let (most, found) = self.at(first, first.bound, 0.0);
        first.bound = first.bound.min(most);
        // Memories that hold all data at some throughput hold it at any lower one.
        let mut reached = found.or_else(|| self.try_to(levels, 0.5))?;
        loop {
            let more = reached * (1.0 + RELATIVE_TOLERANCE / 2.0);
            let Some(found) = self.try_to(levels, more) else { return Some(reached) };
            reached = found;
            // Bisect as well, in case each step is small.
            let bound = levels.iter().map(|level| level.bound).fold(0.0, f64::max);
            if let Some(found) = self.try_to(levels, (reached + bound) / 2.0) {
                reached = found;
            }
        }
    }

    /// Returns the throughput of workers that reach at least `all`. Otherwise lowers the bounds of
    /// the levels to what they reach.
    fn try_to<'a>(&'a self, levels: &mut [SpreadLevel<'a>], all: f64) -> Option<f64> {
        for level in levels.iter_mut().filter(|level| level.bound >= all) {
            // Rounding differs with the order of summation.
            let enough = all * (1.0 - 1e-12);
            let (most, found) = self.at(level, all, enough);
            if most >= enough {
                return Some(found.map_or(all, |found| found.max(all)));
            }
            level.bound = most;
        }
        None
    }

    /// Returns the maximum capped throughput at a level if the total is `all`; if it reaches
    /// `enough`, also the actual throughput.
    fn at<'a>(&'a self, level: &SpreadLevel<'a>, all: f64, enough: f64) -> (f64, Option<f64>) {
        let capped = self.capped(level, all);
        let joint = CombinedSums::new(&capped);
        let allowed = joint.sums.iter().filter(|sum| (self.fewest..=self.most).contains(&sum.0));
        let (workers, most) =
            allowed.fold((0, 0.0), |best: (usize, f64), new| if new.1 > best.1 { new } else { best });
        let combined = || {
            let taken = joint.split(workers, most)?;
            let speeds = level.sums(self).iter().zip(&taken).filter_map(|(sums, &taken)| sums.at(taken));
            Some(combined_speed(&speeds.collect::<Vec<_>>(), &self.parts)?.0)
        };
        (most, if most >= enough { combined() } else { None })
    }

    /// Returns a level, unless the memories cannot hold all data there.
    fn level(&self, level: usize) -> Option<SpreadLevel<'_>> {
        let least = self.nodes.iter().map(|node| self.levels.range(node, level).0).sum();
        let peak = |(node, sums): (&SolverNode, &PrefixSums)| {
            let (least, most) = self.levels.range(node, level);
            sums.between(least, most).iter().map(|sum| sum.1).fold(0.0, f64::max)
        };
        let mut peaks = self.nodes.iter().zip(&self.sums).map(peak);
        let near = self.nodes.chunk_by(|a, b| a.home == b.home);
        let speeds: Vec<f64> = near.map(|near| peaks.by_ref().take(near.len()).sum()).collect();
        let bound = combined_speed(&speeds, &self.parts)?.0;
        Some(SpreadLevel { level, least, bound, sums: OnceCell::new() })
    }

    /// Returns the throughput of each node at a level.
    fn on(&self, level: usize) -> Vec<PrefixSums<'_>> {
        let nodes = self.nodes.iter().zip(&self.sums).map(|(node, sums)| {
            let (least, most) = self.levels.range(node, level);
            sums.between(least, most)
        });
        nodes.collect()
    }

    /// Combines the sums of nodes that share their nearest memory.
    fn by_home<'a>(&self, mut of_nodes: &'a [PrefixSums<'a>]) -> impl Iterator<Item = CombinedSums<'a>> {
        self.nodes.chunk_by(|a, b| a.home == b.home).map(move |near| {
            let (here, others) = of_nodes.split_at(near.len());
            of_nodes = others;
            CombinedSums::new(here)
        })
    }

    /// Returns the throughput near each memory, capped by what the memory holds if the total is
    /// `all`.
    fn capped<'a, 'l>(&'a self, level: &'l SpreadLevel<'a>, all: f64) -> Vec<PrefixSums<'l>> {
        level.sums(self).iter().zip(&self.parts).map(|(sums, part)| sums.capped(part * all)).collect()
    }

    /// Finds the fewest workers that reach `all`; of equal numbers, the one with most workers on
    /// the first node, then on the second, and so on.
    fn with_fewest<'a>(&'a self, levels: &[SpreadLevel<'a>], all: f64) -> Option<Vec<usize>> {
        let mut levels: Vec<_> = levels.iter().filter(|level| level.bound >= all).collect();
        levels.sort_unstable_by_key(|level| (level.least, level.level));
        let mut best: Option<(usize, Vec<usize>)> = None;
        for level in levels {
            if best.as_ref().is_some_and(|best| best.0 < level.least) {
                break;
            }
            let capped = self.capped(level, all);
            let enough = |&(workers, most): &(usize, f64)| {
                (self.fewest..=self.most).contains(&workers) && most >= all * (1.0 - 1e-12)
            };
            let joint = CombinedSums::new(&capped);
            let Some((workers, _)) = joint.sums.iter().find(enough) else { continue };
            if best.as_ref().is_some_and(|best| best.0 < workers) {
                continue;
            }
            let Some(of_homes) = joint.split(workers, all) else { continue };
            let taken = self.of_nodes(level, of_homes);
            if best.as_ref().is_none_or(|best| workers < best.0 || taken > best.1) {
                best = Some((workers, taken));
            }
        }
        best.map(|best| best.1)
    }

    /// Distributes the workers of each memory over its nodes: of the best distributions, the one
    /// with most workers on the first node.
    fn of_nodes(&self, level: &SpreadLevel<'_>, of_homes: Vec<usize>) -> Vec<usize> {
        if of_homes.len() == self.nodes.len() {
            return of_homes;
        }
        let nodes = self.on(level.level);
        let of_nodes = self.by_home(&nodes).zip(of_homes);
        of_nodes.filter_map(|(near, workers)| near.split(workers, near.sums.at(workers)?)).flatten().collect()
    }
}

impl<'a> SpreadLevel<'a> {
    fn sums(&self, search: &'a WeightedSearch<'_>) -> &[PrefixSums<'a>] {
        self.sums.get_or_init(|| {
            let nodes = search.on(self.level);
            if search.parts.len() == nodes.len() {
                return nodes;
            }
            search.by_home(&nodes).map(|near| near.sums).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_memory_leaves_more_to_the_others() {
        assert_eq!(combined_speed(&[4.0, 4.0], &[1.0, 1.0]), Some((8.0, vec![false, false])));
        // The first memory holds a quarter; the second does the other three quarters at speed 4.
        let (all, full) = combined_speed(&[4.0, 4.0], &[0.25, 1.0]).unwrap();
        assert!((all - 16.0 / 3.0).abs() < 1e-9 && full == [true, false]);
        // The rest fills the second memory as well.
        let (all, full) = combined_speed(&[4.0, 4.0, 1.0], &[0.25, 0.45, 1.0]).unwrap();
        assert!((all - 1.0 / 0.3).abs() < 1e-9 && full == [true, true, false]);
        assert_eq!(combined_speed(&[4.0, 4.0, 0.0], &[0.25, 0.45, 1.0]), None);
        assert_eq!(combined_speed(&[4.0, 4.0], &[0.5, 0.5]), Some((8.0, vec![false, false])));
        assert_eq!(combined_speed(&[0.0], &[1.0]), None);
    }
}
