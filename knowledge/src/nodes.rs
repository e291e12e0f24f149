//! The nodes that may have workers: how many, and on which of their cores.

use crate::classes::Class;
use crate::solver::{Counts, Program, Rules};
use crate::sums::Sums;
use std::collections::BTreeMap;
use std::ops::Range;

/// A node that may have workers.
pub(crate) struct Node {
    /// Its nearest memory.
    pub home: u32,
    /// Its classes.
    pub classes: Range<usize>,
    /// Cores that may have a worker.
    pub cores: usize,
    /// So many workers it may have.
    pub room: usize,
    /// Its memory is too small for its part, if all cores had one worker each.
    pub small: bool,
}

/// How evenly workers are spread. On a level, a node has as many workers as it says or one more, or at least one on each core,
/// or, if its memory is small, fewer. Where all cores have a worker, a higher level allows whatever a lower one does.
pub(crate) struct Levels {
    even: bool,
    /// Levels are 0 to that.
    pub last: usize,
}

/// The nodes in order, but for those that have the same memory nearest, which are together.
pub(crate) fn nodes(program: &Program<'_>, rules: &Rules) -> Vec<Node> {
    let node = |&id: &u32| {
        let first = program.classes.partition_point(|class| class.node < id);
        let classes = &program.classes[first..];
        let classes = &classes[..classes.partition_point(|class| class.node == id)];
        let home = *program.machine.reach.get(&id)?.first()?;
        let cores = classes.iter().map(|class| class.cores.len()).sum();
        let room = classes.iter().map(|class| class.cores.len() * class.options.len()).sum();
        let classes = first..first + classes.len();
        (cores > 0).then_some(Node { home, classes, cores, room, small: false })
    };
    let mut nodes: Vec<Node> = program.order.iter().filter_map(node).collect();
    let mut homes: Vec<u32> = nodes.iter().map(|node| node.home).collect();
    homes.sort_unstable();
    if homes.windows(2).any(|two| two[0] == two[1]) {
        let mut ranks = BTreeMap::<u32, usize>::new();
        for (rank, node) in nodes.iter().enumerate() {
            ranks.entry(node.home).or_insert(rank);
        }
        nodes.sort_by_key(|node| ranks[&node.home]);
    }
    if rules.fit && rules.even {
        // What cores with a worker each do.
        let of_class = |class: &Class| {
            class.cores.len() as u64 * if rules.weighted { class.options[0].sum.into() } else { 1 }
        };
        let whole: u128 = program.classes.iter().map(|class| u128::from(of_class(class))).sum();
        for near in nodes.chunk_by_mut(|a, b| a.home == b.home) {
            let classes = near.iter().flat_map(|node| &program.classes[node.classes.clone()]);
            let part: u128 = classes.map(|class| u128::from(of_class(class))).sum();
            let free = program.machine.memory[&near[0].home].free;
            let small = free.is_some_and(|free| u128::from(free) * whole < u128::from(rules.bytes) * part);
            near.iter_mut().for_each(|node| node.small = small);
        }
    }
    nodes
}

impl Levels {
    /// The levels of nodes of which some may have no workers.
    pub fn of<'a>(nodes: impl Iterator<Item = &'a Node>, even: bool) -> Self {
        let with = |(many, cores): (usize, usize), node: &Node| {
            (many + usize::from(node.cores > 0), cores.max(node.cores))
        };
        let (many, cores) = nodes.fold((0, 0), with);
        let even = even && many > 1;
        Self { even, last: if even { cores } else { 0 } }
    }

    /// The fewest and the most workers that a node has at a level.
    pub fn range(&self, node: &Node, level: usize) -> (usize, usize) {
        if !self.even {
            return (0, node.room);
        }
        let least = if node.small { 0 } else { level.min(node.cores) };
        let most = if level == self.last { node.room } else { (level + 1).min(node.room).max(least) };
        (least, most)
    }
}

/// One more worker, on a core that has `n - 1` already.
struct Step {
    gain: i64,
    class: usize,
    n: usize,
}

impl Node {
    /// What any number of its workers can do.
    pub fn sums(&self, classes: &[Class]) -> Sums<'static> {
        if classes[self.classes.clone()].iter().any(|class| !class.is_concave()) {
            let last = self.one_core_after_another(classes).pop();
            return last.unwrap_or_else(Sums::nothing);
        }
        let mut sum = 0;
        let sums = self.steps(classes, 0, true).into_iter().map(|step| {
            sum += step.gain;
            sum as f64
        });
        Sums::new(0, std::iter::once(0.0).chain(sums).collect())
    }

    /// Gives `workers` to its cores, none of them slower than `slowest`: so that they do most if they are `weighted`, and
    /// otherwise each core has one before it has two.
    pub fn count(
        &self,
        classes: &[Class],
        workers: usize,
        slowest: u32,
        weighted: bool,
        counts: &mut Counts,
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

    /// Its workers, those first that add most.
    fn steps(&self, classes: &[Class], slowest: u32, weighted: bool) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.room);
        for class in self.classes.clone() {
            let of = &classes[class];
            for n in 1..=of.allowed(slowest) {
                let gain = if weighted { (of.value(n) - of.value(n - 1)) as i64 } else { 0 };
                steps.extend(of.cores.iter().map(|_| Step { gain, class, n }));
            }
        }
        // A core gets its first worker before its second. Classes are in the order of their speed, the slowest first.
        steps.sort_unstable_by_key(|step| (-step.gain, step.n, usize::MAX - step.class));
        steps
    }

    /// The class of each core.
    fn cores<'a>(&self, classes: &'a [Class]) -> impl Iterator<Item = usize> + use<'a> {
        self.classes.clone().flat_map(|class| classes[class].cores.iter().map(move |_| class))
    }

    /// What no core can do, the first, the first two and so on.
    fn one_core_after_another(&self, classes: &[Class]) -> Vec<Sums<'static>> {
        let mut sums = vec![Sums::nothing()];
        for class in self.cores(classes) {
            let class = &classes[class];
            let here = Sums::new(0, (0..=class.options.len()).map(|n| class.value(n)).collect());
            sums.push(sums[sums.len() - 1].with(&here));
        }
        sums
    }
}
