//! How many workers go to which class of cores: an integer program, for what cannot be had one worker after another.
//!
//! # What is minimised
//!
//! The time of a plan is the largest of all partitions' share / speed, and not below 1 / quota. Where partitions may
//! differ, shares are in proportion to speeds, so that time is 1 / (sum of all speeds). Where they are equal, time is
//! 1 / (number × speed of the slowest): for each speed that the slowest may have, in the order of what could be reached
//! with it at most, the largest number of workers is looked for.
//!
//! Among plans of the least time, the one with the fewest workers is taken, and of these the one whose nodes come first in
//! the order that is given.
//!
//! # What has to hold
//!
//! - Of a core's threads the fastest get workers.
//! - At most one worker for each CPU, no more and no fewer than asked for and than the quota grants.
//! - Each node's memory holds the partitions of its workers, in proportion to their shares ([`Rules::fit`]).
//! - Where memory bounds the work, the numbers of workers of two nodes differ by one at most, but for nodes that have fewer
//!   since their usable cores have one each already, or since their memory is too small for their part ([`Rules::even`]).

use crate::classes::Class;
use crate::greedy::{self, Harder};
use crate::machine::Machine;
use crate::speed::WHOLE;
use good_lp::{
    Expression, ProblemVariables, Solution as _, SolverModel, Variable, constraint, microlp, variable,
    variables,
};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// What a solution has to obey.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Bytes of all data.
    pub bytes: u64,
    /// At least so many workers.
    pub fewest: u64,
    /// At most so many.
    pub most: u64,
    /// Partitions may differ in size.
    pub weighted: bool,
    /// Workers are spread evenly over the nodes.
    pub even: bool,
    /// Partitions lie in the memory nearest to their workers.
    pub fit: bool,
}

/// Values that differ by less than this part of them are the same: the solver counts in floating point.
pub(crate) const CLOSE: f64 = 1e-6;

/// How many cores of each class have one worker, two and so on.
pub(crate) type Counts = Vec<Vec<usize>>;

/// The classes of a machine, and the nodes in the order in which they are to be filled.
pub(crate) struct Program<'a> {
    pub machine: &'a Machine,
    pub classes: &'a [Class],
    pub order: &'a [u32],
}

/// A model whose constraints are the same for both of its objectives.
struct Model {
    variables: ProblemVariables,
    constraints: Vec<good_lp::Constraint>,
    /// For each class, how many cores have one worker, two and so on; `None` if so many may not be.
    counts: Vec<Vec<Option<Variable>>>,
    /// All workers.
    workers: Expression,
    /// All their speeds.
    speed: Expression,
    /// Each worker, by where its node is in the order.
    ranks: Expression,
}

impl Program<'_> {
    /// The best numbers, one worker after another; `None` if nothing obeys the rules.
    pub fn solve_directly(&self, rules: &Rules) -> Result<Option<Counts>, Harder> {
        self.best(rules, |slowest| greedy::solve(self, rules, slowest))
    }

    /// The best numbers, by the program where it takes one; `None` if nothing obeys the rules.
    pub fn solve(&self, rules: &Rules) -> Option<Counts> {
        let best = self.best::<Infallible>(rules, |slowest| {
            Ok(greedy::solve(self, rules, slowest).unwrap_or_else(|Harder| self.program(rules, slowest)))
        });
        let Ok(best) = best;
        best
    }

    /// Looks for the best numbers with `find`, which does so for workers that are no slower than it is told.
    fn best<E>(
        &self,
        rules: &Rules,
        find: impl Fn(u32) -> Result<Option<(f64, Counts)>, E>,
    ) -> Result<Option<Counts>, E> {
        if rules.weighted {
            return Ok(find(0)?.map(|found| found.1));
        }
        let mut best: Option<(f64, Counts)> = None;
        for (bound, slowest) in self.slowest(rules) {
            if best.as_ref().is_some_and(|best| bound < best.0 * (1.0 - CLOSE)) {
                break;
            }
            let Some((value, counts)) = find(slowest)? else { continue };
            // With a faster slowest, fewer workers do as much.
            let workers = |counts: &Counts| -> usize {
                counts.iter().flat_map(|class| (1..).zip(class)).map(|(n, count)| n * count).sum()
            };
            let better = best.as_ref().is_none_or(|(least, before)| {
                value > least * (1.0 + CLOSE)
                    || (value > least * (1.0 - CLOSE) && workers(&counts) < workers(before))
            });
            if better {
                best = Some((value, counts));
            }
        }
        Ok(best.map(|best| best.1))
    }

    /// By the program: the most that workers no slower than `slowest` can do, and their numbers.
    pub fn program(&self, rules: &Rules, slowest: u32) -> Option<(f64, Counts)> {
        let model = self.model(rules, slowest)?;
        let speed =
            if rules.weighted { model.speed.clone() } else { model.workers.clone() * f64::from(slowest) };
        self.two_steps(model, &speed)
    }

    /// Speeds that the slowest worker may have, each after what could be reached with it at most, the best first.
    fn slowest(&self, rules: &Rules) -> Vec<(f64, u32)> {
        let speeds =
            |class: &Class| -> Vec<u32> { (1..=class.options.len()).map(|n| class.slowest(n)).collect() };
        let all: BTreeSet<u32> = self.classes.iter().flat_map(speeds).collect();
        let mut bounds: Vec<_> = all
            .into_iter()
            .map(|slowest| {
                let most = |class: &Class| {
                    let enough = (1..=class.options.len()).rev().find(|&n| class.slowest(n) >= slowest);
                    class.cores.len() * enough.unwrap_or(0)
                };
                let workers = self.classes.iter().map(most).sum::<usize>().min(self.most(rules));
                (self.granted(workers as f64 * f64::from(slowest)), slowest)
            })
            .collect();
        bounds.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        bounds
    }

    /// The part of a speed that the quota lets through.
    pub fn granted(&self, speed: f64) -> f64 {
        self.machine.quota.map_or(speed, |cpus| speed.min(cpus * f64::from(WHOLE)))
    }

    /// So many workers there may be.
    pub fn most(&self, rules: &Rules) -> usize {
        usize::try_from(rules.most).unwrap_or(usize::MAX).min(self.machine.granted())
    }

    /// The nodes whose memory is too small for their part, where that matters.
    pub fn small(&self, rules: &Rules) -> BTreeSet<u32> {
        if rules.fit { self.machine.small(rules.bytes, rules.weighted) } else { BTreeSet::new() }
    }

    /// Where a node is in the order.
    pub fn rank(&self, node: u32) -> usize {
        self.order.iter().position(|&other| other == node).unwrap_or(0)
    }

    /// The constraints, for workers that are no slower than `slowest`; `None` if they cannot be met for want of workers.
    fn model(&self, rules: &Rules, slowest: u32) -> Option<Model> {
        let mut vars = variables!();
        let mut constraints = Vec::new();
        let (mut workers, mut speed, mut ranks) =
            (Expression::default(), Expression::default(), Expression::default());
        let mut nodes = BTreeMap::<u32, (Expression, usize)>::new();
        let mut homes = BTreeMap::<u32, Expression>::new();
        let mut counts = Vec::new();
        for class in self.classes {
            let rank = self.rank(class.node);
            let mut cores = Expression::default();
            let mut of_class = Vec::new();
            for n in 1..=class.options.len() {
                if class.slowest(n) < slowest {
                    of_class.push(None);
                    continue;
                }
                let count = vars.add(variable().integer().min(0).max(class.cores.len() as f64));
                of_class.push(Some(count));
                cores += count;
                workers += n as f64 * count;
                speed += f64::from(class.sum(n)) * count;
                ranks += (n * rank) as f64 * count;
                let node = nodes.entry(class.node).or_default();
                node.0 += n as f64 * count;
                let share = if rules.weighted { f64::from(class.sum(n)) } else { n as f64 };
                let home = self.machine.reach[&class.node].first()?;
                *homes.entry(*home).or_default() += share * count;
            }
            if of_class.iter().flatten().count() > 1 {
                constraints.push(constraint!(cores <= class.cores.len() as f64));
            }
            if class.slowest(1) >= slowest {
                nodes.entry(class.node).or_default().1 += class.cores.len();
            }
            counts.push(of_class);
        }
        let most = self.most(rules).min(self.machine.places.len());
        if counts.iter().flatten().flatten().count() == 0 || rules.fewest > most as u64 {
            return None;
        }
        constraints.push(constraint!(workers.clone() >= rules.fewest as f64));
        constraints.push(constraint!(workers.clone() <= most as f64));
        if rules.fit {
            let whole = if rules.weighted { &speed } else { &workers };
            for (node, share) in homes {
                // Nodes that hold all of it need no constraint.
                if let Some(free) = self.machine.memory[&node].free.filter(|&free| free < rules.bytes) {
                    constraints.push(constraint!(share <= free as f64 / rules.bytes as f64 * whole.clone()));
                }
            }
        }
        if rules.even && nodes.len() > 1 {
            let small = self.small(rules);
            let level = vars.add(variable().integer().min(0).max(most as f64));
            for (node, (here, cores)) in nodes {
                constraints.push(constraint!(here.clone() <= level + 1));
                if small.contains(&node) {
                    continue;
                }
                let full = vars.add(variable().binary());
                constraints.push(constraint!(here.clone() + most as f64 * full >= level));
                constraints.push(constraint!(here >= cores as f64 * full));
            }
        }
        Some(Model { variables: vars, constraints, counts, workers, speed, ranks })
    }

    /// The largest speed, and of all with that the fewest workers on the first nodes.
    fn two_steps(&self, model: Model, speed: &Expression) -> Option<(f64, Counts)> {
        let mut variables = model.variables.clone();
        let mut constraints = model.constraints.clone();
        let objective = match self.machine.quota {
            // What the quota does not let through is not worth a worker.
            Some(cpus) => {
                let granted = variables.add(variable().min(0).max(cpus * f64::from(WHOLE)));
                constraints.push(constraint!(granted <= speed.clone()));
                Expression::from(granted)
            }
            None => speed.clone(),
        };
        let mut first = variables.maximise(objective.clone()).using(microlp);
        for constraint in constraints {
            first = first.with(constraint);
        }
        let value = first.solve().ok()?.eval(objective);

        // One worker less counts more than all ranks.
        let most_ranks = (self.order.len() * self.machine.places.len() + 1) as f64;
        let objective = most_ranks * model.workers + model.ranks;
        let second = model.variables.minimise(objective).using(microlp);
        let mut second = second.with(constraint!(speed.clone() >= value * (1.0 - CLOSE)));
        for constraint in model.constraints {
            second = second.with(constraint);
        }
        let solution = second.solve().ok()?;
        let count = |count: &Option<Variable>| {
            count.map_or(0, |count| solution.value(count).round().max(0.0) as usize)
        };
        let counts = model.counts.iter().map(|class| class.iter().map(count).collect()).collect();
        Some((value, counts))
    }
}
