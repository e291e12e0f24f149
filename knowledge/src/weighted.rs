//! Numbers of workers whose partitions may differ.
//!
//! Workers do together what the sum of their speeds is, but those near to a memory no more than the part of all that it
//! holds: if all do *v*, they do min(*v* × part, sum) ([`together`]). For a given *v* this bounds each memory's workers alone,
//! so that the most that any number of workers can do follows memory by memory ([`Joint`]). They can reach *v* if that
//! is no less than *v*; and what they are then does at least as much. So *v* is raised from what was found until nothing
//! reaches more.

use crate::nodes::{Levels, Node, nodes};
use crate::solver::{CLOSE, Counts, Program, Rules};
use crate::sums::{Joint, Sums};
use std::cell::OnceCell;

/// The nodes and what they can do.
struct Field<'a> {
    program: &'a Program<'a>,
    nodes: Vec<Node>,
    sums: Vec<Sums<'static>>,
    levels: Levels,
    /// For each memory, the part of all data that it holds.
    parts: Vec<f64>,
    fewest: usize,
    most: usize,
}

/// The best numbers; `None` if nothing obeys the rules.
pub(crate) fn solve(program: &Program<'_>, rules: &Rules) -> Option<Counts> {
    let nodes = nodes(program, rules);
    let levels = Levels::of(nodes.iter(), rules.even);
    let part = |near: &[Node]| program.part(rules, near[0].home);
    let field = Field {
        program,
        sums: nodes.iter().map(|node| node.sums(program.classes)).collect(),
        levels,
        parts: nodes.chunk_by(|a, b| a.home == b.home).map(part).collect(),
        nodes,
        fewest: usize::try_from(rules.fewest).ok()?,
        most: program.most(rules),
    };
    let taken = field.best()?;
    let mut counts = program.none();
    for (node, workers) in field.nodes.iter().zip(taken) {
        node.count(program.classes, workers, 0, true, &mut counts);
    }
    Some(counts)
}

/// What workers do together, where those near to each memory have these speeds and it holds that part of all data; and
/// for each memory, whether it is full. `None` if they do not hold everything.
///
/// Each does as much of all as it holds, and the others do the rest in proportion to their speeds.
pub(crate) fn together(speeds: &[f64], parts: &[f64]) -> Option<(f64, Vec<bool>)> {
    let mut full = vec![false; speeds.len()];
    let (mut speed, mut rest) = (speeds.iter().sum::<f64>(), 1.0);
    let mut others = speeds.iter().filter(|&&speed| speed != 0.0).count();
    // A memory that is full leaves more to the others, some of which it may fill.
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

/// How evenly workers are spread, and what follows from it.
struct Level<'a> {
    level: usize,
    /// The fewest workers.
    least: usize,
    /// What they cannot exceed, however many they are.
    bound: f64,
    /// For each memory, what the workers near to it can do.
    sums: OnceCell<Vec<Sums<'a>>>,
}

impl Field<'_> {
    /// How many workers each node has.
    fn best(&self) -> Option<Vec<usize>> {
        let mut levels: Vec<Level<'_>> = (0..=self.levels.last)
            .filter_map(|level| self.level(level))
            .filter(|level| level.least <= self.most)
            .collect();
        levels.sort_by(|a, b| b.bound.total_cmp(&a.bound).then(a.level.cmp(&b.level)));
        let aim = |all: f64| self.program.granted(all) * (1.0 - CLOSE);
        let top = levels.first()?.bound;
        if let Some(taken) = self.with_fewest(&levels, aim(top)) {
            return Some(taken);
        }
        let all = self.reached(&mut levels)?;
        self.with_fewest(&levels, aim(all))
    }

    /// The most that can be done by as many as are allowed.
    fn reached<'a>(&'a self, levels: &mut [Level<'a>]) -> Option<f64> {
        let first = levels.first_mut()?;
        let (most, found) = self.at(first, first.bound, 0.0);
        first.bound = first.bound.min(most);
        // Memories that hold everything if all do something hold it if they do less as well.
        let mut reached = found.or_else(|| self.try_to(levels, 0.5))?;
        loop {
            let more = reached * (1.0 + CLOSE / 2.0);
            let Some(found) = self.try_to(levels, more) else { return Some(reached) };
            reached = found;
            // Where each step is a small one, halves are faster.
            let bound = levels.iter().map(|level| level.bound).fold(0.0, f64::max);
            if let Some(found) = self.try_to(levels, (reached + bound) / 2.0) {
                reached = found;
            }
        }
    }

    /// What those do together who can do at least `all`. Where nobody can, levels are bounded by what can be done.
    fn try_to<'a>(&'a self, levels: &mut [Level<'a>], all: f64) -> Option<f64> {
        for level in levels.iter_mut().filter(|level| level.bound >= all) {
            // Sums in another order differ by less.
            let enough = all * (1.0 - 1e-12);
            let (most, found) = self.at(level, all, enough);
            if most >= enough {
                return Some(found.map_or(all, |found| found.max(all)));
            }
            level.bound = most;
        }
        None
    }

    /// How much counts at most on a level if all do `all`; if that is `enough`, what they do together then.
    fn at<'a>(&'a self, level: &Level<'a>, all: f64, enough: f64) -> (f64, Option<f64>) {
        let capped = self.capped(level, all);
        let joint = Joint::of(&capped);
        let allowed = joint.sums.iter().filter(|sum| (self.fewest..=self.most).contains(&sum.0));
        let (workers, most) =
            allowed.fold((0, 0.0), |best: (usize, f64), new| if new.1 > best.1 { new } else { best });
        let together = || {
            let taken = joint.split(workers, most)?;
            let speeds = level.sums(self).iter().zip(&taken).filter_map(|(sums, &taken)| sums.at(taken));
            Some(together(&speeds.collect::<Vec<_>>(), &self.parts)?.0)
        };
        (most, if most >= enough { together() } else { None })
    }

    /// A level, if the memories hold everything there.
    fn level(&self, level: usize) -> Option<Level<'_>> {
        let least = self.nodes.iter().map(|node| self.levels.range(node, level).0).sum();
        let peak = |(node, sums): (&Node, &Sums)| {
            let (least, most) = self.levels.range(node, level);
            sums.between(least, most).iter().map(|sum| sum.1).fold(0.0, f64::max)
        };
        let mut peaks = self.nodes.iter().zip(&self.sums).map(peak);
        let near = self.nodes.chunk_by(|a, b| a.home == b.home);
        let speeds: Vec<f64> = near.map(|near| peaks.by_ref().take(near.len()).sum()).collect();
        let bound = together(&speeds, &self.parts)?.0;
        Some(Level { level, least, bound, sums: OnceCell::new() })
    }

    /// What each node can do on a level.
    fn on(&self, level: usize) -> Vec<Sums<'_>> {
        let nodes = self.nodes.iter().zip(&self.sums).map(|(node, sums)| {
            let (least, most) = self.levels.range(node, level);
            sums.between(least, most)
        });
        nodes.collect()
    }

    /// Where several nodes have the same memory nearest: the same of these, memory by memory.
    fn by_home<'a>(&self, mut of_nodes: &'a [Sums<'a>]) -> impl Iterator<Item = Joint<'a>> {
        self.nodes.chunk_by(|a, b| a.home == b.home).map(move |near| {
            let (here, others) = of_nodes.split_at(near.len());
            of_nodes = others;
            Joint::of(here)
        })
    }

    /// How much of what the workers near to each memory can do counts if all do `all`.
    fn capped<'a, 'l>(&'a self, level: &'l Level<'a>, all: f64) -> Vec<Sums<'l>> {
        level.sums(self).iter().zip(&self.parts).map(|(sums, part)| sums.capped(part * all)).collect()
    }

    /// The fewest workers who do at least `all`, and of these those with most on the first node, then on the second, and so on.
    fn with_fewest<'a>(&'a self, levels: &[Level<'a>], all: f64) -> Option<Vec<usize>> {
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
            let joint = Joint::of(&capped);
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

    /// How many workers each node has, where it is told how many are near to each memory: of those that do most, so many as
    /// possible are on the first.
    fn of_nodes(&self, level: &Level<'_>, of_homes: Vec<usize>) -> Vec<usize> {
        if of_homes.len() == self.nodes.len() {
            return of_homes;
        }
        let nodes = self.on(level.level);
        let of_nodes = self.by_home(&nodes).zip(of_homes);
        of_nodes.filter_map(|(near, workers)| near.split(workers, near.sums.at(workers)?)).flatten().collect()
    }
}

impl<'a> Level<'a> {
    fn sums(&self, field: &'a Field<'_>) -> &[Sums<'a>] {
        self.sums.get_or_init(|| {
            let nodes = field.on(self.level);
            if field.parts.len() == nodes.len() {
                return nodes;
            }
            field.by_home(&nodes).map(|near| near.sums).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_memory_leaves_more_to_the_others() {
        assert_eq!(together(&[4.0, 4.0], &[1.0, 1.0]), Some((8.0, vec![false, false])));
        // A quarter is there, and the other three take 4.
        let (all, full) = together(&[4.0, 4.0], &[0.25, 1.0]).unwrap();
        assert!((all - 16.0 / 3.0).abs() < 1e-9 && full == [true, false]);
        // The rest fills the second as well.
        let (all, full) = together(&[4.0, 4.0, 1.0], &[0.25, 0.45, 1.0]).unwrap();
        assert!((all - 1.0 / 0.3).abs() < 1e-9 && full == [true, true, false]);
        assert_eq!(together(&[4.0, 4.0, 0.0], &[0.25, 0.45, 1.0]), None);
        assert_eq!(together(&[4.0, 4.0], &[0.5, 0.5]), Some((8.0, vec![false, false])));
        assert_eq!(together(&[0.0], &[1.0]), None);
    }
}
