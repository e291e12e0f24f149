//! What follows from the facts, by rules: who may be used, who shares a core or a cache, what is left of each CPU, and
//! which memory is near.

use crate::facts::{CacheKind, CpuSet, Facts, Node, Registration};
use crate::speed;
use ascent::aggregators::{count, max, min};
use ascent::ascent;
use std::collections::BTreeMap;

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
    relation strangers(u32, u32, bool); // in 32nds; whether that was seen while one of ours competed
    relation worker(u32, usize); // which worker of another runtime of ours
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

    relation workers(u32, u32);
    workers(c, n as u32) <-- cpu(c, _, _), agg n = count() in worker(c, _);

    // What one more worker would get of a CPU, and what the CPU does for others.
    relation share(u32, u32);
    share(c, speed::share(*s, *competing, *n)) <-- usable(c), strangers(c, s, competing), workers(c, n);
    relation busy(u32, u32);
    busy(c, speed::busy(*s, *n)) <-- strangers(c, s, _), workers(c, n);

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

/// What followed.
pub(crate) struct Derived {
    /// For each CPU that may be used, what it gives to one more worker.
    pub share: BTreeMap<u32, u32>,
    /// For each CPU, how much it is busy without us.
    pub busy: BTreeMap<u32, u32>,
    /// For each CPU, the other threads of its core.
    pub siblings: BTreeMap<u32, Vec<u32>>,
    /// For each CPU that may be used, the cache that it shares with its near ones: where nothing divides a node, none.
    pub near: BTreeMap<u32, u32>,
    /// For each node, the nearest one whose memory may be used.
    pub home: BTreeMap<u32, u32>,
    /// Which CPUs may not be used, and why.
    pub barred: Vec<(u32, Bar)>,
}

impl Derived {
    /// Applies the rules. `kept` are CPUs to be kept free; `others` are the runtimes of ours that are in the way.
    pub fn of(facts: &Facts, kept: &CpuSet, others: &[Registration]) -> Self {
        let mut rules = Rules::default();
        for cpu in &facts.cpus {
            rules.cpu.push((cpu.id, cpu.core, cpu.node));
            let (steps, competing) = speed::strangers(facts.load.as_ref().and_then(|load| load.of(cpu.id)));
            rules.strangers.push((cpu.id, steps, competing));
            let forbids = |cpus: &Option<CpuSet>| cpus.as_ref().is_some_and(|cpus| !cpus.contains(cpu.id));
            let bars = [
                (forbids(&facts.limits.affinity), Bar::Affinity),
                (forbids(&facts.limits.group), Bar::Group),
                (kept.contains(cpu.id), Bar::Kept),
            ];
            rules.outside.extend(bars.into_iter().filter(|bar| bar.0).map(|bar| (cpu.id, bar.1)));
        }
        let workers = others.iter().flat_map(|runtime| &runtime.cpus);
        rules.worker = workers.enumerate().map(|(n, &cpu)| (cpu, n)).collect();
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
        rules.outside.sort_unstable();
        Self {
            share: rules.share.into_iter().collect(),
            busy: rules.busy.into_iter().collect(),
            siblings,
            near: rules.near.into_iter().collect(),
            home,
            barred: rules.outside,
        }
    }
}

/// How far it is from a node to the one of that index; where that is not told, every other one is twice as far as its own.
pub(crate) fn distance(facts: &Facts, from: &Node, to: usize) -> u32 {
    let own = facts.nodes[to].id == from.id;
    from.distances.get(to).copied().unwrap_or(if own { 10 } else { 20 })
}
