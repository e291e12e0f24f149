//! What follows from the facts: by rules, once for each machine, who may be used, who shares a core or a cache and which
//! memory is near; and for each question, what is left of each CPU.

use crate::by_cpu::ByCpu;
use crate::facts::{CacheKind, CpuSet, Facts, Limits, Node, Registration};
use crate::speed;
use ascent::aggregators::{max, min};
use ascent::ascent;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a CPU may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Bar {
    /// The affinity mask of the process.
    Affinity,
    /// Its control group.
    Group,
    /// It is to be kept free.
    Kept,
}

ascent! {
    struct Rules;

    // Facts.
    relation cpu(u32, u32, u32); // number, core, node
    relation outside(u32, Bar);
    relation cached(u32, u8, u32); // CPU, level, which cache
    relation node(u32);
    relation holds(u32); // a node whose memory may be used
    relation distance(u32, u32, u32);

    // Rules.
    relation barred(u32);
    barred(c) <-- outside(c, _);
    relation usable(u32);
    usable(c) <-- cpu(c, _, _), !barred(c);

    relation sibling(u32, u32);
    sibling(a, b) <-- cpu(a, core, _), cpu(b, core, _), if a != b;

    // A level of caches that divides the cores of a node: who shares one of its caches is near to one another.
    relation spread(u32, u8, u32);
    spread(n, level, cache) <-- usable(c), cpu(c, _, n), cached(c, level, cache);
    relation divides(u32, u8);
    divides(n, level) <--
        spread(n, level, a), agg last = max(b) in spread(n, level, b), if *a < last;
    relation dividing(u32, u8);
    dividing(n, level) <-- cpu(_, _, n), agg level = max(l) in divides(n, l);
    relation near(u32, u32);
    near(c, cache) <-- usable(c), cpu(c, _, n), dividing(n, level), cached(c, level, cache);

    // Memory that can be reached, and the nearest of it.
    relation reach(u32, u32, u32);
    reach(a, b, d) <-- distance(a, b, d), holds(b);
    relation nearest(u32, u32);
    nearest(n, d) <-- node(n), agg d = min(d) in reach(n, _, d);
    relation home(u32, u32);
    home(n, m) <-- nearest(n, d), reach(n, m, d);
}

/// What followed by rules, whatever the load.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    /// The CPUs that may be used.
    pub usable: CpuSet,
    /// For each CPU, the other threads of its core.
    pub siblings: BTreeMap<u32, Vec<u32>>,
    /// For each CPU that may be used, the cache that it shares with its near ones: where nothing divides a node, none.
    pub near: BTreeMap<u32, u32>,
    /// For each node, the nodes whose memory may be used and is the nearest to some node: the nearest first.
    pub reach: Arc<BTreeMap<u32, Vec<u32>>>,
    /// Which CPUs may not be used, and why.
    pub barred: Vec<(u32, Bar)>,
}

impl Topology {
    /// Whether the same follows from both: they differ in nothing that the rules look at.
    pub fn is_shared(one: &Facts, other: &Facts) -> bool {
        let nodes = |facts: &Facts| {
            let node = |node: &Node| (node.id, node.memory == Some(0), node.distances.clone());
            facts.nodes.iter().map(node).collect::<Vec<_>>()
        };
        let limits = |facts: &Facts| {
            let Limits { affinity, group, nodes, .. } = &facts.limits;
            [affinity, group, nodes].map(Option::clone)
        };
        one.cpus == other.cpus
            && one.caches == other.caches
            && limits(one) == limits(other)
            && nodes(one) == nodes(other)
    }

    /// Applies the rules. `kept` are CPUs to be kept free.
    pub fn of(facts: &Facts, kept: &CpuSet) -> Self {
        let mut rules = Rules::default();
        for cpu in &facts.cpus {
            rules.cpu.push((cpu.id, cpu.core, cpu.node));
            let forbids = |cpus: &Option<CpuSet>| cpus.as_ref().is_some_and(|cpus| !cpus.contains(cpu.id));
            let bars = [
                (forbids(&facts.limits.affinity), Bar::Affinity),
                (forbids(&facts.limits.group), Bar::Group),
                (kept.contains(cpu.id), Bar::Kept),
            ];
            rules.outside.extend(bars.into_iter().filter(|bar| bar.0).map(|bar| (cpu.id, bar.1)));
        }
        for (index, cache) in (0..).zip(&facts.caches) {
            // A first level is of one core, and near to none.
            if cache.kind != CacheKind::Instruction && cache.level > 1 {
                rules.cached.extend(cache.cpus.iter().map(|cpu| (cpu, cache.level, index)));
            }
        }
        for node in &facts.nodes {
            rules.node.push((node.id,));
            let allowed = facts.limits.nodes.as_ref().is_none_or(|nodes| nodes.contains(node.id));
            if allowed && node.memory != Some(0) {
                rules.holds.push((node.id,));
            }
            for (index, other) in facts.nodes.iter().enumerate() {
                rules.distance.push((node.id, other.id, distance(facts, node, index)));
            }
        }
        rules.run();
        let mut siblings = BTreeMap::<u32, Vec<u32>>::new();
        for (a, b) in rules.sibling {
            siblings.entry(a).or_default().push(b);
        }
        let mut home = BTreeMap::new();
        for (node, memory) in rules.home {
            // Of several that are as near, the first.
            home.entry(node).and_modify(|first: &mut u32| *first = memory.min(*first)).or_insert(memory);
        }
        let homes: BTreeSet<u32> = home.into_values().collect();
        let ids = facts.nodes.iter().map(|node| node.id).enumerate();
        let homes: Vec<(usize, u32)> = ids.filter(|node| homes.contains(&node.1)).collect();
        let reach = facts.nodes.iter().map(|node| {
            let mut near: Vec<_> =
                homes.iter().map(|&(index, id)| (distance(facts, node, index), id)).collect();
            near.sort_unstable();
            (node.id, near.into_iter().map(|near| near.1).collect())
        });
        rules.outside.sort_unstable();
        Self {
            usable: rules.usable.into_iter().map(|cpu| cpu.0).collect(),
            siblings,
            near: rules.near.into_iter().collect(),
            reach: Arc::new(reach.collect()),
            barred: rules.outside,
        }
    }
}

/// What followed, with what is left of each CPU.
pub(crate) struct Derived {
    pub topology: Arc<Topology>,
    /// For each CPU that may be used, what it gives to one more worker.
    pub share: ByCpu<u32>,
    /// For each CPU, how much it is busy without us.
    pub busy: ByCpu<u32>,
}

impl Derived {
    /// What is left beside strangers and `others`, the runtimes of ours that are in the way.
    pub fn of(facts: &Facts, topology: Arc<Topology>, others: &[Registration]) -> Self {
        let mut workers = BTreeMap::<u32, u32>::new();
        for cpu in others.iter().flat_map(|runtime| &runtime.cpus) {
            *workers.entry(*cpu).or_default() += 1;
        }
        let (mut shares, mut busy) = (Vec::new(), Vec::new());
        for cpu in facts.cpus.iter().map(|cpu| cpu.id) {
            let (steps, competing) = speed::strangers(facts.load.as_ref().and_then(|load| load.of(cpu)));
            let workers = workers.get(&cpu).copied().unwrap_or(0);
            busy.push((cpu, speed::busy(steps, workers)));
            if topology.usable.contains(cpu) {
                shares.push((cpu, speed::share(steps, competing, workers)));
            }
        }
        Self { topology, share: shares.into_iter().collect(), busy: busy.into_iter().collect() }
    }
}

/// How far it is from a node to the one of that index; where that is not told, every other one is twice as far as its own.
pub(crate) fn distance(facts: &Facts, from: &Node, to: usize) -> u32 {
    let own = facts.nodes[to].id == from.id;
    from.distances.get(to).copied().unwrap_or(if own { 10 } else { 20 })
}
