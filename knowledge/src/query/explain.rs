//! The reasons for a plan, in sentences.

use super::search::{Query, Solution};
use super::{Reason, Topic};
use crate::facts::{CpuSet, Quota};
use crate::inference::Exclusion;
use crate::plan::Bytes;
use crate::request::{Bound, CacheSharing};
use crate::speed::{FULL_SPEED, SMT_GAIN};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the reasons, the most general first.
pub(crate) fn reasons(query: &Query<'_>, found: &Solution) -> Vec<Reason> {
    let mut reasons = vec![plan(query, found), cpus(query)];
    reasons.extend(query.facts.limits.quota.as_ref().map(|quota| limited(query, quota)));
    reasons.extend(load(query, found));
    reasons.extend(registered(query));
    reasons.extend(kinds(query, found));
    reasons.extend(siblings(query, found));
    reasons.extend(nodes(query, found));
    reasons.push(memory(query, found));
    reasons.extend(caches(query, found));
    reasons
}

fn plan(query: &Query<'_>, found: &Solution) -> Reason {
    let plan = &found.plan;
    let sizes = || plan.partitions.iter().map(|partition| partition.size());
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let sizes = if most - least <= 1 {
        format!("of {}", Bytes(most))
    } else {
        format!("of {} to {}", Bytes(least), Bytes(most))
    };
    let bound = match query.request.bound {
        Bound::Compute => "computing",
        Bound::Memory => "memory",
    };
    let partitions = many(plan.partitions.len(), "partition");
    let text = format!(
        "{} in {partitions} {sizes}: work bound by {bound} takes {:.3} of the time of one undisturbed CPU.",
        Bytes(query.request.bytes),
        plan.predicted
    );
    Reason::new(Topic::Plan, text)
}

fn cpus(query: &Query<'_>) -> Reason {
    let all = query.facts.cpus.len();
    let mut text = format!("{} of {} may be used", query.machine.places.len(), many(all, "CPU"));
    let excluded = |exclusion: Exclusion| -> CpuSet {
        query
            .derived
            .topology
            .excluded
            .iter()
            .filter(|excluded| excluded.1 == exclusion)
            .map(|excluded| excluded.0)
            .collect()
    };
    for (exclusion, why) in [
        (Exclusion::Affinity, "are not in the affinity mask"),
        (Exclusion::Group, "are not in the control group"),
        (Exclusion::Requested, "are excluded by the request"),
    ] {
        let cpus = excluded(exclusion);
        if !cpus.is_empty() {
            text += &format!("; {cpus} {why}");
        }
    }
    Reason::new(Topic::Cpus, text + ".")
}

fn limited(query: &Query<'_>, quota: &Quota) -> Reason {
    let workers = many(query.machine.granted(), "worker");
    let least = 1.0 / quota.cpus;
    let text = format!(
        "The quota of {} CPUs ({}) allows {workers} and a time of at least {least:.3}.",
        quota.cpus, quota.source
    );
    Reason::new(Topic::Quota, text)
}

fn load(query: &Query<'_>, found: &Solution) -> Vec<Reason> {
    let Some(load) = &query.facts.load else {
        return vec![Reason::new(Topic::Load, "The load of the CPUs is unknown; they count as idle.")];
    };
    let used = found.plan.cpus();
    // CPUs with the same load, share and use are reported together.
    let mut alike = BTreeMap::<(u64, u32, bool), Vec<u32>>::new();
    for cpu in load.cpus.iter().filter(|load| load.competing() >= 0.5 / 32.0) {
        if let Some(&share) = query.derived.share.get(cpu.cpu) {
            let percent = (cpu.competing() * 100.0).round() as u64;
            alike.entry((100 - percent, share, used.contains(cpu.cpu))).or_default().push(cpu.cpu);
        }
    }
    let parts = alike.into_iter().map(|((left, share, used), cpus)| {
        let (cpus, fate) = (CpuSet::from_iter(cpus), if used { "used with that weight" } else { "not used" });
        let text = format!(
            "Other processes take {}% of CPU {cpus}, and a worker would get {:.0}%: {fate}.",
            100 - left,
            f64::from(share) * 100.0 / f64::from(FULL_SPEED)
        );
        Reason::new(Topic::Load, text)
    });
    parts.collect()
}

fn registered(query: &Query<'_>) -> Vec<Reason> {
    let parts = query.others.iter().map(|other| {
        let cpus = CpuSet::from_iter(other.cpus.iter().copied());
        let bytes = other.memory.iter().map(|memory| memory.1).fold(0, u64::saturating_add);
        let text = format!(
            "`{}` has {} on CPU {cpus} and {} of memory, which keep their share.",
            other.name,
            many(other.cpus.len(), "worker"),
            Bytes(bytes)
        );
        Reason::new(Topic::Registered, text)
    });
    parts.collect()
}

fn kinds(query: &Query<'_>, found: &Solution) -> Option<Reason> {
    let used = found.plan.cpus();
    let mut capacities = BTreeMap::<u16, (usize, usize)>::new();
    for cpu in query.facts.cpus.iter().filter(|cpu| query.machine.places.contains(cpu.id)) {
        let count = capacities.entry(cpu.capacity.unwrap_or(1024)).or_default();
        count.0 += 1;
        count.1 += usize::from(used.contains(cpu.id));
    }
    if capacities.len() < 2 {
        return None;
    }
    let parts: Vec<_> = capacities
        .iter()
        .rev()
        .map(|(&capacity, (all, used))| {
            let percent = f64::from(capacity) * 100.0 / 1024.0;
            format!("{used} of {} of {percent:.0}%", many(*all, "CPU"))
        })
        .collect();
    let how = if query.request.weighted {
        "partitions are in proportion"
    } else {
        "the slowest determines the time"
    };
    Some(Reason::new(
        Topic::Kinds,
        format!("Cores differ in capacity: the plan uses {}; {how}.", parts.join(", ")),
    ))
}

fn siblings(query: &Query<'_>, found: &Solution) -> Option<Reason> {
    let machine = &query.machine;
    if machine.cores.iter().all(|core| core.threads.len() < 2) {
        return None;
    }
    let used: BTreeSet<_> = found.plan.partitions.iter().map(|part| machine.places[part.cpu].0).collect();
    let double = found.plan.partitions.len() - used.len();
    let text = if double > 0 {
        let gain = match query.request.bound {
            Bound::Compute => f64::from(SMT_GAIN) * 100.0 / f64::from(FULL_SPEED),
            Bound::Memory => 0.0,
        };
        format!(
            "{} on {}: the second thread of a core adds {gain:.0}%.",
            many(found.plan.partitions.len(), "worker"),
            many(used.len(), "core")
        )
    } else {
        let why = match (query.request.siblings, query.request.bound) {
            (false, _) => "as requested",
            (true, Bound::Memory) => "a second thread adds nothing to work bound by memory",
            (true, Bound::Compute) => "more workers are not allowed or do not shorten the time",
        };
        format!("One worker on each of {}: {why}.", many(used.len(), "core"))
    };
    Some(Reason::new(Topic::Siblings, text))
}

fn nodes(query: &Query<'_>, found: &Solution) -> Option<Reason> {
    let mut counts: BTreeMap<u32, usize> = query.machine.cores.iter().map(|core| (core.node, 0)).collect();
    for part in &found.plan.partitions {
        let node = query.machine.cores[query.machine.places[part.cpu].0].node;
        *counts.entry(node).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let parts: Vec<_> = counts.iter().map(|(node, count)| format!("{count} on node {node}")).collect();
    let why = match (query.request.bound, found.even) {
        (Bound::Memory, true) => {
            "spread evenly as far as nodes have room, because work bound by memory shares the bandwidth \
             of a node"
        }
        (Bound::Memory, false) => "not spread evenly, because the nodes' memory is too small",
        (Bound::Compute, _) => "no more nodes than needed",
    };
    Some(Reason::new(Topic::Nodes, format!("Workers: {}: {why}.", parts.join(", "))))
}

fn memory(query: &Query<'_>, found: &Solution) -> Reason {
    let mut sizes = BTreeMap::<u32, u64>::new();
    for part in &found.plan.partitions {
        *sizes.entry(part.node).or_default() += part.size();
    }
    let parts: Vec<_> = sizes
        .iter()
        .map(|(node, &size)| match query.machine.memory[node].free {
            Some(free) => format!("node {node} gets {} and has {} free", Bytes(size), Bytes(free)),
            None => format!("node {node} gets {}; its free memory is unknown", Bytes(size)),
        })
        .collect();
    let how = if found.fit { "the nearest to the workers" } else { "the nearest with room" };
    let mut text = format!("Memory is {how}: {}", parts.join(", "));
    // Unequal partitions rarely fill a memory to the last byte.
    let full = |(node, size): (&u32, &u64)| query.machine.memory[node].free == Some(*size) && *size > 0;
    if found.fit && query.request.weighted && sizes.len() > 1 && sizes.iter().any(full) {
        text += "; on a full node, partitions are smaller than their workers could process";
    }
    Reason::new(Topic::Memory, text + ".")
}

fn caches(query: &Query<'_>, found: &Solution) -> Option<Reason> {
    let how = match query.request.caches {
        CacheSharing::Any => return None,
        CacheSharing::Together => "as few as possible",
        CacheSharing::Apart => "as many as possible",
    };
    let near = |cpu| query.machine.cores[query.machine.places[cpu].0].near;
    let used: BTreeSet<_> = found.plan.partitions.iter().filter_map(|part| near(part.cpu)).collect();
    let text = match used.iter().next().and_then(|&cache| query.facts.caches.get(cache as usize)) {
        Some(cache) => format!("Workers use {} of level {}, {how}.", many(used.len(), "cache"), cache.level),
        None => "No cache divides the cores of a node, so the preference for caches has no effect.".into(),
    };
    Some(Reason::new(Topic::Caches, text))
}

fn many(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
