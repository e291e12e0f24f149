//! The usable nodes, how evenly workers are spread over them, and over the cores of each.

use crate::solver::core_classes::Class;
use crate::solver::prefix_sums::PrefixSums;
use crate::solver::{Constraints, Problem, WorkerCounts};
use std::collections::BTreeMap;
use std::ops::Range;

/// A node that may have workers.
pub(crate) struct SolverNode {
    /// The node of its nearest memory.
    pub home: u32,
    /// The range of its classes.
    pub classes: Range<usize>,
    /// Cores that may have a worker.
    pub cores: usize,
    /// The maximum number of workers.
    pub room: usize,
    /// True if its memory is too small for its part when every core has one worker.
    pub small: bool,
}

/// Levels of even spread. At level *n* a node has *n* or *n* + 1 workers. It may have fewer if each
/// of its cores has one, or if its memory is small. The last level also allows every number above
/// *n*.
pub(crate) struct Levels {
    even: bool,
    /// The highest level.
    pub last: usize,
}

/// Returns the nodes in the order of the problem, with nodes of the same nearest memory made
/// adjacent.
pub(crate) fn usable_nodes(problem: &Problem<'_>, constraints: &Constraints) -> Vec<SolverNode> {
    let node = |&id: &u32| {
        let first = problem.classes.partition_point(|class| class.node < id);
        let classes = &problem.classes[first..];
        let classes = &classes[..classes.partition_point(|class| class.node == id)];
        let home = *problem.machine.reach.get(&id)?.first()?;
        let cores = classes.iter().map(|class| class.cores.len()).sum();
        let room = classes.iter().map(|class| class.cores.len() * class.options.len()).sum();
        let classes = first..first + classes.len();
        (cores > 0).then_some(SolverNode { home, classes, cores, room, small: false })
    };
    let mut nodes: Vec<SolverNode> = problem.order.iter().filter_map(node).collect();
    let mut homes: Vec<u32> = nodes.iter().map(|node| node.home).collect();
    homes.sort_unstable();
    if homes.windows(2).any(|two| two[0] == two[1]) {
        let mut ranks = BTreeMap::<u32, usize>::new();
        for (rank, node) in nodes.iter().enumerate() {
            ranks.entry(node.home).or_insert(rank);
        }
        nodes.sort_by_key(|node| ranks[&node.home]);
    }
    if constraints.fit && constraints.even {
        // The throughput of a class with one worker on each core.
        let of_class = |class: &Class| {
            class.cores.len() as u64 * if constraints.weighted { class.options[0].sum.into() } else { 1 }
        };
        let whole: u128 = problem.classes.iter().map(|class| u128::from(of_class(class))).sum();
        for near in nodes.chunk_by_mut(|a, b| a.home == b.home) {
            let classes = near.iter().flat_map(|node| &problem.classes[node.classes.clone()]);
            let part: u128 = classes.map(|class| u128::from(of_class(class))).sum();
            let free = problem.machine.memory[&near[0].home].free;
            let small =
                free.is_some_and(|free| u128::from(free) * whole < u128::from(constraints.bytes) * part);
            near.iter_mut().for_each(|node| node.small = small);
        }
    }
    nodes
}

impl Levels {
    /// Returns the levels for these nodes, some of which may have no usable cores.
    pub fn new<'a>(nodes: impl Iterator<Item = &'a SolverNode>, even: bool) -> Self {
        let with = |(many, cores): (usize, usize), node: &SolverNode| {
            (many + usize::from(node.cores > 0), cores.max(node.cores))
        };
        let (many, cores) = nodes.fold((0, 0), with);
        let even = even && many > 1;
        Self { even, last: if even { cores } else { 0 } }
    }

    /// Returns the minimum and maximum number of workers of a node at a level.
    pub fn range(&self, node: &SolverNode, level: usize) -> (usize, usize) {
        if !self.even {
            return (0, node.room);
        }
        let least = if node.small { 0 } else { level.min(node.cores) };
        let most = if level == self.last { node.room } else { (level + 1).min(node.room).max(least) };
        (least, most)
    }
}

/// One more worker on a core that has `n - 1`.
struct Step {
    gain: i64,
    class: usize,
    n: usize,
}

impl SolverNode {
    /// Returns the best throughput for each number of workers.
    pub fn sums(&self, classes: &[Class]) -> PrefixSums<'static> {
        if classes[self.classes.clone()].iter().any(|class| !class.is_concave()) {
            let last = self.one_core_after_another(classes).pop();
            return last.unwrap_or_else(PrefixSums::nothing);
        }
        let mut sum = 0;
        let sums = self.steps(classes, 0, true).into_iter().map(|step| {
            sum += step.gain;
            sum as f64
        });
        PrefixSums::new(0, std::iter::once(0.0).chain(sums).collect())
    }

    /// Distributes `workers` over the cores, none slower than `slowest`: for the highest throughput
    /// if `weighted`, otherwise one for each core before a second.
    pub fn count(
        &self,
        classes: &[Class],
        workers: usize,
        slowest: u32,
        weighted: bool,
        counts: &mut WorkerCounts,
    ) {
        let concave = !weighted || classes[self.classes.clone()].iter().all(Class::is_concave);
        if concave {
            for step in &self.steps(classes, slowest, weighted)[..workers] {
                let counts = &mut counts[classes[step.class].counts()];
                counts[step.n - 1] += 1;
                if step.n > 1 {
                    counts[step.n - 2] -= 1;
                }
            }
            return;
        }
        let sums = self.one_core_after_another(classes);
        let mut left = workers;
        for (index, class) in self.cores(classes).enumerate().collect::<Vec<_>>().into_iter().rev() {
            let before = |n: usize| sums[index].at(left.checked_sub(n)?);
            let all = |n: usize| before(n).map(|before| before + classes[class].value(n));
            let best = (0..=classes[class].options.len()).filter_map(|n| Some((n, all(n)?)));
            let (n, _) =
                best.fold((0, f64::NEG_INFINITY), |best, new| if new.1 > best.1 { new } else { best });
            if n > 0 {
                counts[classes[class].counts()][n - 1] += 1;
            }
            left -= n;
        }
    }

    /// Returns all possible workers, those that add most first.
    fn steps(&self, classes: &[Class], slowest: u32, weighted: bool) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.room);
        for class in self.classes.clone() {
            let of = &classes[class];
            for n in 1..=of.allowed(slowest) {
                let gain = if weighted { (of.value(n) - of.value(n - 1)) as i64 } else { 0 };
                steps.extend(of.cores.iter().map(|_| Step { gain, class, n }));
            }
        }
        // A core gets its first worker before its second. Classes are in ascending order of speed,
        // so prefer the last.
        steps.sort_unstable_by_key(|step| (-step.gain, step.n, usize::MAX - step.class));
        steps
    }

    /// Returns the class of each core.
    fn cores<'a>(&self, classes: &'a [Class]) -> impl Iterator<Item = usize> + use<'a> {
        self.classes.clone().flat_map(|class| classes[class].cores.iter().map(move |_| class))
    }

    /// Returns the sums for no core, the first core, the first two cores and so on.
    fn one_core_after_another(&self, classes: &[Class]) -> Vec<PrefixSums<'static>> {
        let mut sums = vec![PrefixSums::nothing()];
        for class in self.cores(classes) {
            let class = &classes[class];
            let here = PrefixSums::new(0, (0..=class.options.len()).map(|n| class.value(n)).collect());
            sums.push(sums[sums.len() - 1].with(&here));
        }
        sums
    }
}
