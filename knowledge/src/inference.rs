//! What follows from the facts. Datalog rules derive, once for each machine, usable CPUs, shared
//! cores and caches, and the nearest memory. Each query then adds the share that is left of each
//! CPU.

use crate::cpu_map::CpuMap;
use crate::facts::{CacheKind, CpuSet, Facts, Limits, Node, Registration};
use crate::speed;
use ascent::aggregators::{max, min};
use ascent::ascent;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a CPU may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Exclusion {
    /// It is not in the affinity mask of the process.
    Affinity,
    /// It is not in the control group of the process.
    Group,
    /// The request excludes it.
    Requested,
}

ascent! {
    struct DatalogProgram;

    // Facts.
    relation cpu(u32, u32, u32); // number, core, node
    relation outside(u32, Exclusion);
    relation cached(u32, u8, u32); // CPU, level, which cache
    relation node(u32);
    relation holds(u32); // a node whose memory may be used
    relation distance(u32, u32, u32);

    // Rules.
    relation excluded(u32);
    excluded(c) <-- outside(c, _);
    relation usable(u32);
    usable(c) <-- cpu(c, _, _), !excluded(c);

    relation sibling(u32, u32);
    sibling(a, b) <-- cpu(a, core, _), cpu(b, core, _), if a != b;

    // The outermost cache level that divides the cores of a node; CPUs are near if they share a
    // cache of it.
    relation spread(u32, u8, u32);
    spread(n, level, cache) <-- usable(c), cpu(c, _, n), cached(c, level, cache);
    relation spread_level(u32, u8);
    spread_level(n, level) <-- spread(n, level, _);
    relation last(u32, u8, u32);
    last(n, level, cache) <-- spread_level(n, level), agg cache = max(c) in spread(n, level, c);
    relation divides(u32, u8);
    divides(n, level) <-- last(n, level, b), spread(n, level, a), if a < b;
    relation dividing(u32, u8);
    dividing(n, level) <-- cpu(_, _, n), agg level = max(l) in divides(n, l);
    relation near(u32, u32);
    near(c, cache) <-- usable(c), cpu(c, _, n), dividing(n, level), cached(c, level, cache);

    // Reachable memory, and the nearest of it.
    relation reach(u32, u32, u32);
    reach(a, b, d) <-- distance(a, b, d), holds(b);
    relation nearest(u32, u32);
    nearest(n, d) <-- node(n), agg d = min(d) in reach(n, _, d);
    relation home(u32, u32);
    home(n, m) <-- nearest(n, d), reach(n, m, d);
}

/// The derived facts that do not depend on the load.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    /// The CPUs that may be used.
    pub usable: CpuSet,
    /// For each CPU, the other threads of its core.
    pub siblings: BTreeMap<u32, Vec<u32>>,
    /// For each usable CPU, the cache that it shares with near CPUs; none if no cache divides its
    /// node.
    pub near: BTreeMap<u32, u32>,
    /// For each node, the nodes whose memory may be used and is the nearest to some node; nearest
    /// first.
    pub reach: Arc<BTreeMap<u32, Vec<u32>>>,
    /// CPUs that may not be used, and why.
    pub excluded: Vec<(u32, Exclusion)>,
}

impl Topology {
    /// Returns true if both facts give the same topology: all inputs of the rules are equal.
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

    /// Runs the rules. `kept` are the CPUs that the request excludes.
    pub fn derive(facts: &Facts, kept: &CpuSet) -> Self {
        let mut program = DatalogProgram::default();
        for cpu in &facts.cpus {
            program.cpu.push((cpu.id, cpu.core, cpu.node));
            let forbids = |cpus: &Option<CpuSet>| cpus.as_ref().is_some_and(|cpus| !cpus.contains(cpu.id));
            let exclusions = [
                (forbids(&facts.limits.affinity), Exclusion::Affinity),
                (forbids(&facts.limits.group), Exclusion::Group),
                (kept.contains(cpu.id), Exclusion::Requested),
            ];
            program.outside.extend(
                exclusions.into_iter().filter(|exclusion| exclusion.0).map(|exclusion| (cpu.id, exclusion.1)),
            );
        }
        for (index, cache) in (0..).zip(&facts.caches) {
            // A first-level cache belongs to one core.
            if cache.kind != CacheKind::Instruction && cache.level > 1 {
                program.cached.extend(cache.cpus.iter().map(|cpu| (cpu, cache.level, index)));
            }
        }
        for node in &facts.nodes {
            program.node.push((node.id,));
            let allowed = facts.limits.nodes.as_ref().is_none_or(|nodes| nodes.contains(node.id));
            if allowed && node.memory != Some(0) {
                program.holds.push((node.id,));
            }
            for (index, other) in facts.nodes.iter().enumerate() {
                program.distance.push((node.id, other.id, distance(facts, node, index)));
            }
        }
        program.run();
        let mut siblings = BTreeMap::<u32, Vec<u32>>::new();
        for (a, b) in program.sibling {
            siblings.entry(a).or_default().push(b);
        }
        let mut home = BTreeMap::new();
        for (node, memory) in program.home {
            // Of equally near memories, take the lowest number.
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
        program.outside.sort_unstable();
        Self {
            usable: program.usable.into_iter().map(|cpu| cpu.0).collect(),
            siblings,
            near: program.near.into_iter().collect(),
            reach: Arc::new(reach.collect()),
            excluded: program.outside,
        }
    }
}

/// The topology, and what is left of each CPU.
pub(crate) struct DerivedFacts {
    pub topology: Arc<Topology>,
    /// For each usable CPU, the share that one more worker gets.
    pub share: CpuMap<u32>,
    /// For each CPU, its load without our workers.
    pub busy: CpuMap<u32>,
}

impl DerivedFacts {
    /// Computes what other processes and `others`, the other registered runtimes, leave of each
    /// CPU.
    pub fn derive(facts: &Facts, topology: Arc<Topology>, others: &[Registration]) -> Self {
        let mut workers = BTreeMap::<u32, u32>::new();
        for cpu in others.iter().flat_map(|runtime| &runtime.cpus) {
            *workers.entry(*cpu).or_default() += 1;
        }
        let (mut shares, mut busy) = (Vec::new(), Vec::new());
        for cpu in facts.cpus.iter().map(|cpu| cpu.id) {
            let (steps, competing) =
                speed::competing_load(facts.load.as_ref().and_then(|load| load.cpu(cpu)));
            let workers = workers.get(&cpu).copied().unwrap_or(0);
            busy.push((cpu, speed::busy_share(steps, workers)));
            if topology.usable.contains(cpu) {
                shares.push((cpu, speed::worker_share(steps, competing, workers)));
            }
        }
        Self { topology, share: shares.into_iter().collect(), busy: busy.into_iter().collect() }
    }
}

/// Returns the distance from a node to the node at index `to`. Unknown distances are 10 to the node
/// itself and 20 to others.
pub(crate) fn distance(facts: &Facts, from: &Node, to: usize) -> u32 {
    let own = facts.nodes[to].id == from.id;
    from.distances.get(to).copied().unwrap_or(if own { 10 } else { 20 })
}
