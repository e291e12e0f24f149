//! Numbers of workers for equal partitions: the slowest worker determines the time.
//!
//! The search tries each possible speed of the slowest worker, in the order of an upper bound on
//! the throughput. For each speed it finds the largest feasible number of workers *w*.
//!
//! Given *w*, each memory holds a known number of partitions ([`EqualSearch::held`]). Within that,
//! every number of workers up to some maximum is feasible; the maximum is reached on the highest
//! level that no memory is too small for. If the maximum is less than *w*, it is an upper bound, so
//! *w* is lowered to it and tried again.

use super::weighted::combined_speed;
use crate::machine::WorkerSpeeds;
use crate::solver::numa_levels::{Levels, SolverNode, usable_nodes};
use crate::solver::{Constraints, Problem, RELATIVE_TOLERANCE, WorkerCounts};
use std::cmp::Reverse;
use std::iter::repeat_n;
use std::ops::Range;

/// What all speeds have in common.
struct EqualSearch<'a> {
    problem: &'a Problem<'a>,
    constraints: &'a Constraints,
    /// True if workers must be spread evenly over the nodes.
    even: bool,
    nodes: Vec<SolverNode>,
    /// For each node, in descending order: the slowest speed for each worker of its cores, and for
    /// the first worker of each core.
    slowest: Vec<[Vec<u32>; 2]>,
    near: Vec<MemoryDomain>,
    fewest: usize,
    most: usize,
}

/// Nodes with the same nearest memory.
struct MemoryDomain {
    nodes: Range<usize>,
    /// Free bytes, if they do not hold all data.
    free: Option<u64>,
}

/// A number of workers, none slower than a given speed.
struct Candidate {
    value: f64,
    workers: usize,
    slowest: u32,
}

/// Returns the best numbers of workers, or `None` if the constraints cannot be met.
pub(crate) fn solve(problem: &Problem<'_>, constraints: &Constraints) -> Option<WorkerCounts> {
    let nodes = usable_nodes(problem, constraints);
    let slowest = |node: &SolverNode| {
        let mut speeds = [Vec::with_capacity(node.room), Vec::with_capacity(node.cores)];
        for class in &problem.classes[node.classes.clone()] {
            let of_cores = |option: &WorkerSpeeds| repeat_n(option.slowest, class.cores.len());
            speeds[0].extend(class.options.iter().flat_map(of_cores));
            speeds[1].extend(of_cores(&class.options[0]));
        }
        speeds.iter_mut().for_each(|speeds| speeds.sort_unstable_by_key(|&speed| Reverse(speed)));
        speeds
    };
    let mut first = 0;
    let near = nodes.chunk_by(|a, b| a.home == b.home).map(|near| {
        let nodes = first..first + near.len();
        first = nodes.end;
        let free = problem.machine.memory[&near[0].home].free;
        MemoryDomain { nodes, free: free.filter(|&free| constraints.fit && free < constraints.bytes) }
    });
    let mut search = EqualSearch {
        problem,
        even: false,
        constraints,
        slowest: nodes.iter().map(slowest).collect(),
        near: near.collect(),
        nodes,
        fewest: usize::try_from(constraints.fewest).ok()?,
        most: problem.workers_max(constraints),
    };
    let speeds = search.speeds();
    // If the data does not fit even without the even spread, there is no solution.
    search.find(speeds.iter().map(|of| of.1).min()?, 0.0)?;
    search.even = constraints.even;
    let mut best: Option<Candidate> = None;
    for (bound, slowest) in speeds {
        if let Some(best) = &best {
            if bound < best.value * (1.0 - RELATIVE_TOLERANCE) {
                break;
            }
            // Skip a speed whose upper bound is no better than the best candidate.
            let workers = (best.value * (1.0 - RELATIVE_TOLERANCE) / f64::from(slowest)).ceil() as usize;
            let at_best = Candidate { value: bound, workers: workers.max(search.fewest), slowest };
            if !at_best.is_better(best) {
                continue;
            }
        }
        let found =
            search.find(slowest, best.as_ref().map_or(0.0, |best| best.value * (1.0 - RELATIVE_TOLERANCE)));
        best = found.filter(|found| best.as_ref().is_none_or(|best| found.is_better(best))).or(best);
    }
    let best = best?;
    search.take(best.slowest);
    let taken = search.taken(best.workers)?;
    let mut counts = problem.no_workers();
    for (node, workers) in search.nodes.iter().zip(taken) {
        node.count(problem.classes, workers, best.slowest, false, &mut counts);
    }
    Some(counts)
}

impl Candidate {
    /// Returns true if the throughput is higher; if it is equal, with fewer workers, then with a
    /// faster slowest one.
    fn is_better(&self, than: &Self) -> bool {
        let fewer = |found: &Self| (Reverse(found.workers), found.slowest);
        self.value > than.value * (1.0 + RELATIVE_TOLERANCE)
            || (self.value > than.value * (1.0 - RELATIVE_TOLERANCE) && fewer(self) > fewer(than))
    }
}

impl EqualSearch<'_> {
    /// Returns the possible speeds of the slowest worker, each after its upper bound on the
    /// throughput, best first.
    fn speeds(&self) -> Vec<(f64, u32)> {
        let mut all: Vec<u32> = self.slowest.iter().flat_map(|of| of[0].iter().copied()).collect();
        all.sort_unstable_by_key(|&speed| Reverse(speed));
        let mut workers = 0;
        let bound = |alike: &[u32]| {
            workers += alike.len();
            (self.value(workers.min(self.most), alike[0]), alike[0])
        };
        let mut bounds: Vec<_> = all.chunk_by(|a, b| a == b).map(bound).collect();
        bounds.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        bounds
    }

    /// Returns the throughput of `workers` workers.
    fn value(&self, workers: usize, slowest: u32) -> f64 {
        self.problem.granted(workers as f64 * f64::from(slowest))
    }

    /// Restricts the nodes to workers that are no slower than `slowest`.
    fn take(&mut self, slowest: u32) {
        for (node, [all, first]) in self.nodes.iter_mut().zip(&self.slowest) {
            node.room = all.partition_point(|&speed| speed >= slowest);
            node.cores = first.partition_point(|&speed| speed >= slowest);
        }
    }

    /// Finds the number of workers, none slower than `slowest`, with the highest throughput; `None`
    /// if that is below `least`.
    fn find(&mut self, slowest: u32, least: f64) -> Option<Candidate> {
        self.take(slowest);
        let levels = self.levels();
        let part =
            |near: &MemoryDomain| near.free.map_or(1.0, |free| free as f64 / self.constraints.bytes as f64);
        let room =
            |near: &MemoryDomain| self.nodes[near.nodes.clone()].iter().map(|node| node.room as f64).sum();
        let parts: Vec<f64> = self.near.iter().map(part).collect();
        let rooms: Vec<f64> = self.near.iter().map(room).collect();
        let bound = combined_speed(&rooms, &parts)?.0;
        let mut workers = self.most.min((bound * (1.0 + RELATIVE_TOLERANCE)) as usize);
        while self.value(workers, slowest) >= least {
            let possible = self.possible(&levels, workers);
            if possible >= workers {
                break;
            }
            workers = possible;
        }
        if self.value(workers, slowest) < least {
            return None;
        }
        // Workers beyond the quota add nothing.
        let enough =
            (self.value(workers, slowest) * (1.0 - RELATIVE_TOLERANCE) / f64::from(slowest)).ceil() as usize;
        let mut fewer = enough.max(self.fewest)..workers;
        let workers = fewer.find(|&fewer| self.possible(&levels, fewer) >= fewer).unwrap_or(workers);
        (workers >= self.fewest.max(1)).then(|| Candidate {
            value: self.value(workers, slowest),
            workers,
            slowest,
        })
    }

    fn levels(&self) -> Levels {
        Levels::new(self.nodes.iter(), self.even)
    }

    /// Returns for how many of `workers` partitions each memory has room.
    fn held(&self, workers: usize) -> Vec<usize> {
        let bytes = self.constraints.bytes;
        let held = |near: &MemoryDomain| match near.free.map(|free| (free, free.checked_mul(workers as u64)))
        {
            Some((_, Some(all))) => (all / bytes) as usize,
            Some((free, None)) => (u128::from(free) * workers as u128 / u128::from(bytes)) as usize,
            None => workers,
        };
        self.near.iter().map(held).collect()
    }

    /// Returns the minimum and maximum number of workers of the nodes near a memory at a level.
    fn range(&self, near: &MemoryDomain, levels: &Levels, level: usize) -> (usize, usize) {
        let add = |(fewest, most), node| {
            let range = levels.range(node, level);
            (fewest + range.0, most + range.1)
        };
        self.nodes[near.nodes.clone()].iter().fold((0, 0), add)
    }

    /// Returns the highest level at which no memory must hold more than it can if there are
    /// `workers`.
    fn highest(&self, levels: &Levels, held: &[usize]) -> usize {
        let highest = |(near, &held): (&MemoryDomain, &usize)| {
            let (mut low, mut high) = (0, levels.last);
            while low < high {
                let middle = if high == levels.last { high } else { (low + high).div_ceil(2) };
                if self.range(near, levels, middle).0 <= held { low = middle } else { high = middle - 1 }
            }
            low
        };
        self.near.iter().zip(held).map(highest).min().unwrap_or(0)
    }

    /// Returns how many workers are feasible if each has 1 / `workers` of the data. Every smaller
    /// number is feasible too, because the maximum of a level is at least the minimum of the next.
    fn possible(&self, levels: &Levels, workers: usize) -> usize {
        let held = self.held(workers);
        let level = self.highest(levels, &held);
        let room = |(near, held): (&MemoryDomain, usize)| self.range(near, levels, level).1.min(held);
        self.near.iter().zip(held).map(room).sum()
    }

    /// Returns how many of `workers` each node gets: as many as possible on the first, then on the
    /// second, and so on. `None` if they do not fit.
    fn taken(&self, workers: usize) -> Option<Vec<usize>> {
        let levels = self.levels();
        (0..=self.highest(&levels, &self.held(workers)))
            .filter_map(|level| self.taken_at(&levels, level, workers))
            .max()
    }

    /// Does the same at one level.
    fn taken_at(&self, levels: &Levels, level: usize, workers: usize) -> Option<Vec<usize>> {
        let range = |node: &SolverNode| levels.range(node, level);
        let mut taken: Vec<usize> = self.nodes.iter().map(|node| range(node).0).collect();
        let mut left = workers.checked_sub(taken.iter().sum())?;
        for (near, held) in self.near.iter().zip(self.held(workers)) {
            let here = &mut taken[near.nodes.clone()];
            let mut held = held.checked_sub(here.iter().sum())?;
            for (node, taken) in self.nodes[near.nodes.clone()].iter().zip(here) {
                let more = (range(node).1 - *taken).min(held).min(left);
                (*taken, held, left) = (*taken + more, held - more, left - more);
            }
        }
        (left == 0).then_some(taken)
    }
}
