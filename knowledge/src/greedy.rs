//! How many workers go to which class of cores, one worker after another: what the integer program finds, where it can be
//! had for less.
//!
//! As long as each further worker of a core adds no more than the one before it, taking those first that add most gives
//! the most that any number of workers can do. That workers are to be spread evenly bounds how many a node has; each level
//! at which it may stand is tried. Two things are left to the program: a node's memory that is too small for what it would
//! get ([`Rules::fit`]), and a quota under which slower workers on nearer nodes would do as well.

use crate::machine::Memory;
use crate::solver::{CLOSE, Counts, Program, Rules};
use std::collections::{BTreeMap, BTreeSet};

/// Not to be found one worker after another.
#[derive(Debug)]
pub(crate) struct Harder;

/// One more worker, on a core that has `n - 1` already.
#[derive(Clone, Copy)]
struct Step {
    gain: i64,
    class: usize,
    n: usize,
}

/// The workers that a node may have, those first that add most.
struct Node {
    rank: usize,
    /// Cores that may have a worker.
    cores: usize,
    /// Its memory is too small for its part.
    small: bool,
    steps: Vec<Step>,
    /// What the first workers do together: none, one, two and so on.
    sums: Vec<i64>,
}

/// A choice of how evenly workers are spread: each node has `least` of its workers, and `more` are to be chosen from.
struct Level {
    least: Vec<usize>,
    workers: usize,
    speed: i64,
    ranks: usize,
    /// What it adds, the rank and the number of the node: those first that add most, and of these those of the first nodes.
    more: Vec<(i64, usize, usize)>,
}

impl Level {
    fn new(nodes: &[Node], range: impl Fn(&Node) -> (usize, usize)) -> Self {
        let mut level = Self { least: Vec::new(), workers: 0, speed: 0, ranks: 0, more: Vec::new() };
        for (index, node) in nodes.iter().enumerate() {
            let (least, most) = range(node);
            level.least.push(least);
            level.workers += least;
            level.speed += node.sums[least];
            level.ranks += least * node.rank;
            level.more.extend(node.steps[least..most].iter().map(|step| (step.gain, node.rank, index)));
        }
        level.more.sort_unstable_by_key(|&(gain, rank, node)| (-gain, rank, node));
        level
    }

    /// Numbers of workers that are allowed, each with what they do at most.
    fn speeds(&self, fewest: usize, most: usize) -> impl Iterator<Item = (usize, i64)> {
        let mut speed = self.speed;
        let more = self.more.iter().map(move |more| {
            speed += more.0;
            speed
        });
        (self.workers..)
            .zip(std::iter::once(self.speed).chain(more))
            .filter(move |(workers, _)| (fewest..=most).contains(workers))
    }

    /// The first `workers`, where others come first than those that add most: ranks, speed and how many each node has.
    fn taken(&self, more: &[(i64, usize, usize)], workers: usize) -> (usize, i64, Vec<usize>) {
        let mut taken = (self.ranks, self.speed, self.least.clone());
        for &(gain, rank, node) in &more[..workers - self.workers] {
            taken.0 += rank;
            taken.1 += gain;
            taken.2[node] += 1;
        }
        taken
    }
}

/// The largest speed with workers no slower than `slowest`, and of all with that the fewest workers on the first nodes;
/// `None` if nothing obeys the rules.
pub(crate) fn solve(
    program: &Program<'_>,
    rules: &Rules,
    slowest: u32,
) -> Result<Option<(f64, Counts)>, Harder> {
    let nodes = nodes(program, rules, slowest)?;
    let most = program.most(rules).min(program.machine.places.len());
    let Some(fewest) =
        usize::try_from(rules.fewest).ok().filter(|&fewest| fewest <= most && !nodes.is_empty())
    else {
        return Ok(None);
    };
    let levels = levels(&nodes, rules.even, most);
    let Some(speed) =
        levels.iter().flat_map(|level| level.speeds(fewest, most)).map(|(_, speed)| speed).max()
    else {
        return Ok(None);
    };
    let granted = program.granted(speed as f64);
    // What the quota does not let through is not worth a worker.
    let enough = if granted < speed as f64 { (granted * (1.0 - CLOSE)).ceil() as i64 } else { speed };
    let reaching = |level: &Level| level.speeds(fewest, most).find(|&(_, speed)| speed >= enough);
    let Some(workers) = levels.iter().filter_map(|level| Some(reaching(level)?.0)).min() else {
        return Err(Harder);
    };

    // The least that the ranks can be at a level, and the numbers of workers by which they are.
    let mut best: Option<(usize, Vec<usize>)> = None;
    let mut bound = usize::MAX;
    for level in levels.iter().filter(|level| reaching(level).is_some_and(|found| found.0 == workers)) {
        let (mut ranks, speed, mut taken) = level.taken(&level.more, workers);
        if speed > enough {
            let mut more = level.more.clone();
            more.sort_unstable_by_key(|&(gain, rank, node)| (rank, -gain, node));
            let first = level.taken(&more, workers);
            if first.1 >= enough {
                (ranks, _, taken) = first;
            } else {
                bound = bound.min(first.0);
                continue;
            }
        }
        if best.as_ref().is_none_or(|best| ranks < best.0) {
            best = Some((ranks, taken));
        }
    }
    let (ranks, taken) = best.ok_or(Harder)?;
    if bound < ranks {
        return Err(Harder);
    }
    let counts = counts(program, &nodes, &taken);
    if fits(program, rules, &counts)? { Ok(Some((granted, counts))) } else { Err(Harder) }
}

/// The nodes that may have a worker.
fn nodes(program: &Program<'_>, rules: &Rules, slowest: u32) -> Result<Vec<Node>, Harder> {
    let small = if rules.even { program.small(rules) } else { BTreeSet::new() };
    let mut nodes = BTreeMap::<u32, Node>::new();
    for (index, class) in program.classes.iter().enumerate() {
        let room = class.options.len();
        let allowed = (1..=room).take_while(|&n| class.slowest(n) >= slowest).count();
        if (allowed + 1..=room).any(|n| class.slowest(n) >= slowest) {
            return Err(Harder);
        }
        if allowed == 0 {
            continue;
        }
        let sum = |n: usize| if n == 0 { 0 } else { i64::from(class.sum(n)) };
        let gain = |n: usize| if rules.weighted { sum(n) - sum(n - 1) } else { i64::from(slowest) };
        if (2..=allowed).any(|n| gain(n) > gain(n - 1)) {
            return Err(Harder);
        }
        let node = nodes.entry(class.node).or_insert_with(|| Node {
            rank: program.rank(class.node),
            cores: 0,
            small: small.contains(&class.node),
            steps: Vec::new(),
            sums: vec![0],
        });
        node.cores += class.cores.len();
        for n in 1..=allowed {
            let step = Step { gain: gain(n), class: index, n };
            node.steps.extend(std::iter::repeat_n(step, class.cores.len()));
        }
    }
    let mut nodes: Vec<_> = nodes.into_values().collect();
    for node in &mut nodes {
        // A core gets its first worker before its second. Classes are in the order of their speed, the slowest first.
        node.steps.sort_unstable_by_key(|step| (-step.gain, step.n, usize::MAX - step.class));
        let mut sum = 0;
        node.sums.extend(node.steps.iter().map(|step| {
            sum += step.gain;
            sum
        }));
    }
    Ok(nodes)
}

/// The levels at which nodes may stand: at each of them a node has as many workers as it says or one more, or at least one
/// on each core, or, if its memory is small, fewer.
fn levels(nodes: &[Node], even: bool, most: usize) -> Vec<Level> {
    let all = |node: &Node| (0, node.steps.len());
    if !even || nodes.len() < 2 {
        return vec![Level::new(nodes, all)];
    }
    let cores = nodes.iter().map(|node| node.cores).max().unwrap_or(0);
    let at = |level: usize| {
        Level::new(nodes, |node| {
            let least = if node.small { 0 } else { level.min(node.cores) };
            (least, (level + 1).min(node.steps.len()).max(least))
        })
    };
    let mut levels: Vec<_> = (0..cores.min(most + 1)).map(at).collect();
    // Where all cores have a worker, a higher level allows whatever a lower one does.
    if cores <= most {
        levels.push(at(most));
    }
    levels
}

fn counts(program: &Program<'_>, nodes: &[Node], taken: &[usize]) -> Counts {
    let mut counts: Counts = program.classes.iter().map(|class| vec![0; class.options.len()]).collect();
    for (node, &taken) in nodes.iter().zip(taken) {
        for step in &node.steps[..taken] {
            counts[step.class][step.n - 1] += 1;
        }
    }
    // So far: cores that have at least so many workers.
    for class in &mut counts {
        for n in 1..class.len() {
            class[n - 1] -= class[n];
        }
    }
    counts
}

/// Whether each node's memory holds the partitions of its workers.
fn fits(program: &Program<'_>, rules: &Rules, counts: &Counts) -> Result<bool, Harder> {
    let mut homes = BTreeMap::<u32, u64>::new();
    let mut whole = 0;
    for (class, counts) in program.classes.iter().zip(counts) {
        for (n, &count) in (1..).zip(counts).filter(|(_, count)| **count > 0) {
            let share = (if rules.weighted { class.sum(n).into() } else { n as u64 }) * count as u64;
            let home = program.machine.reach[&class.node].first().ok_or(Harder)?;
            *homes.entry(*home).or_default() += share;
            whole += share;
        }
    }
    let holds = |(home, &share): (&u32, &u64)| match program.machine.memory[home] {
        Memory { free: Some(free) } if free < rules.bytes => {
            u128::from(share) * u128::from(rules.bytes) <= u128::from(free) * u128::from(whole)
        }
        _ => true,
    };
    Ok(!rules.fit || homes.iter().all(holds))
}
