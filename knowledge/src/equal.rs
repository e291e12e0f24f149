//! Numbers of workers whose partitions are equal: the slowest of them decides.
//!
//! For each speed that the slowest may have, in the order of what could be reached with it at most, the largest number of
//! workers is looked for. If there are *w*, each memory holds the partitions of so many of them ([`Field::held`]), and
//! within that, those that may have workers can have all numbers up to some most: on the highest level that asks of no node
//! more than its memory holds. If this is less than *w*, there are no more than that; so *w* is lowered until it is not.

use crate::machine::Workers;
use crate::nodes::{Levels, Node, nodes};
use crate::solver::{CLOSE, Counts, Program, Rules};
use crate::weighted::together;
use std::cmp::Reverse;
use std::iter::repeat_n;
use std::ops::Range;

/// What is the same for all speeds.
struct Field<'a> {
    program: &'a Program<'a>,
    rules: &'a Rules,
    /// Workers are spread evenly over the nodes.
    even: bool,
    nodes: Vec<Node>,
    /// For each node, how fast the slowest worker of a core is, whatever number it has, and if it has one: the fastest first.
    slowest: Vec<[Vec<u32>; 2]>,
    near: Vec<Near>,
    fewest: usize,
    most: usize,
}

/// Nodes whose nearest memory is the same.
struct Near {
    nodes: Range<usize>,
    /// Bytes that it holds, if that is not all.
    free: Option<u64>,
}

/// Workers that are no slower than a speed.
struct Found {
    value: f64,
    workers: usize,
    slowest: u32,
}

/// The best numbers; `None` if nothing obeys the rules.
pub(crate) fn solve(program: &Program<'_>, rules: &Rules) -> Option<Counts> {
    let nodes = nodes(program, rules);
    let slowest = |node: &Node| {
        let mut speeds = [Vec::with_capacity(node.room), Vec::with_capacity(node.cores)];
        for class in &program.classes[node.classes.clone()] {
            let of_cores = |option: &Workers| repeat_n(option.slowest, class.cores.len());
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
        let free = program.machine.memory[&near[0].home].free;
        Near { nodes, free: free.filter(|&free| rules.fit && free < rules.bytes) }
    });
    let mut field = Field {
        program,
        even: false,
        rules,
        slowest: nodes.iter().map(slowest).collect(),
        near: near.collect(),
        nodes,
        fewest: usize::try_from(rules.fewest).ok()?,
        most: program.most(rules),
    };
    let speeds = field.speeds();
    // Where not even workers of any speed can be had, however they are spread, there are none.
    field.find(speeds.iter().map(|of| of.1).min()?, 0.0)?;
    field.even = rules.even;
    let mut best: Option<Found> = None;
    for (bound, slowest) in speeds {
        if let Some(best) = &best {
            if bound < best.value * (1.0 - CLOSE) {
                break;
            }
            // What is no better at best is not looked for.
            let workers = (best.value * (1.0 - CLOSE) / f64::from(slowest)).ceil() as usize;
            let at_best = Found { value: bound, workers: workers.max(field.fewest), slowest };
            if !at_best.is_better(best) {
                continue;
            }
        }
        let found = field.find(slowest, best.as_ref().map_or(0.0, |best| best.value * (1.0 - CLOSE)));
        best = found.filter(|found| best.as_ref().is_none_or(|best| found.is_better(best))).or(best);
    }
    let best = best?;
    field.take(best.slowest);
    let taken = field.taken(best.workers)?;
    let mut counts = program.none();
    for (node, workers) in field.nodes.iter().zip(taken) {
        node.count(program.classes, workers, best.slowest, false, &mut counts);
    }
    Some(counts)
}

impl Found {
    /// With a faster slowest, fewer workers do as much.
    fn is_better(&self, than: &Self) -> bool {
        let fewer = |found: &Self| (Reverse(found.workers), found.slowest);
        self.value > than.value * (1.0 + CLOSE)
            || (self.value > than.value * (1.0 - CLOSE) && fewer(self) > fewer(than))
    }
}

impl Field<'_> {
    /// Speeds that the slowest worker may have, each after what could be reached with it at most, the best first.
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

    /// What so many do.
    fn value(&self, workers: usize, slowest: u32) -> f64 {
        self.program.granted(workers as f64 * f64::from(slowest))
    }

    /// Nodes have cores for workers that are no slower than that.
    fn take(&mut self, slowest: u32) {
        for (node, [all, first]) in self.nodes.iter_mut().zip(&self.slowest) {
            node.room = all.partition_point(|&speed| speed >= slowest);
            node.cores = first.partition_point(|&speed| speed >= slowest);
        }
    }

    /// The number of workers, none of them slower than `slowest`, that does most, if that is not less than `least`.
    fn find(&mut self, slowest: u32, least: f64) -> Option<Found> {
        self.take(slowest);
        let levels = self.levels();
        let part = |near: &Near| near.free.map_or(1.0, |free| free as f64 / self.rules.bytes as f64);
        let room = |near: &Near| self.nodes[near.nodes.clone()].iter().map(|node| node.room as f64).sum();
        let parts: Vec<f64> = self.near.iter().map(part).collect();
        let rooms: Vec<f64> = self.near.iter().map(room).collect();
        let bound = together(&rooms, &parts)?.0;
        let mut workers = self.most.min((bound * (1.0 + CLOSE)) as usize);
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
        // What the quota does not let through is not worth a worker.
        let enough = (self.value(workers, slowest) * (1.0 - CLOSE) / f64::from(slowest)).ceil() as usize;
        let mut fewer = enough.max(self.fewest)..workers;
        let workers = fewer.find(|&fewer| self.possible(&levels, fewer) >= fewer).unwrap_or(workers);
        (workers >= self.fewest.max(1)).then(|| Found {
            value: self.value(workers, slowest),
            workers,
            slowest,
        })
    }

    fn levels(&self) -> Levels {
        Levels::of(self.nodes.iter(), self.even)
    }

    /// For how many of `workers` each memory holds partitions.
    fn held(&self, workers: usize) -> Vec<usize> {
        let bytes = self.rules.bytes;
        let held = |near: &Near| match near.free.map(|free| (free, free.checked_mul(workers as u64))) {
            Some((_, Some(all))) => (all / bytes) as usize,
            Some((free, None)) => (u128::from(free) * workers as u128 / u128::from(bytes)) as usize,
            None => workers,
        };
        self.near.iter().map(held).collect()
    }

    /// The fewest and the most workers that the nodes near to a memory have at a level.
    fn range(&self, near: &Near, levels: &Levels, level: usize) -> (usize, usize) {
        let add = |(fewest, most), node| {
            let range = levels.range(node, level);
            (fewest + range.0, most + range.1)
        };
        self.nodes[near.nodes.clone()].iter().fold((0, 0), add)
    }

    /// The highest level on which no memory has to hold more than it does if there are `workers`.
    fn highest(&self, levels: &Levels, held: &[usize]) -> usize {
        let highest = |(near, &held): (&Near, &usize)| {
            let (mut low, mut high) = (0, levels.last);
            while low < high {
                let middle = if high == levels.last { high } else { (low + high).div_ceil(2) };
                if self.range(near, levels, middle).0 <= held { low = middle } else { high = middle - 1 }
            }
            low
        };
        self.near.iter().zip(held).map(highest).min().unwrap_or(0)
    }

    /// So many there can be, if there are to be `workers` and each has a partition of that size. All fewer are possible as
    /// well: the most of a level are no fewer than the least of the next one.
    fn possible(&self, levels: &Levels, workers: usize) -> usize {
        let held = self.held(workers);
        let level = self.highest(levels, &held);
        let room = |(near, held): (&Near, usize)| self.range(near, levels, level).1.min(held);
        self.near.iter().zip(held).map(room).sum()
    }

    /// How many of `workers` each node has: as many as possible on the first, then on the second, and so on. `None` if they
    /// have no place.
    fn taken(&self, workers: usize) -> Option<Vec<usize>> {
        let levels = self.levels();
        (0..=self.highest(&levels, &self.held(workers)))
            .filter_map(|level| self.taken_at(&levels, level, workers))
            .max()
    }

    /// The same on a level.
    fn taken_at(&self, levels: &Levels, level: usize, workers: usize) -> Option<Vec<usize>> {
        let range = |node: &Node| levels.range(node, level);
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
