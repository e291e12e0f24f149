//! Why a plan is as it is, in sentences.

use super::suggest::{Found, Question};
use super::{About, Bound, Reason, Sharing};
use crate::facts::{CpuSet, Quota};
use crate::plan::Bytes;
use crate::rules::Bar;
use crate::speed::{SECOND_THREAD, WHOLE};
use std::collections::{BTreeMap, BTreeSet};

/// The reasons, the most general first.
pub(crate) fn reasons(question: &Question<'_>, found: &Found) -> Vec<Reason> {
    let mut reasons = vec![plan(question, found), cpus(question)];
    reasons.extend(question.facts.limits.quota.as_ref().map(|quota| limited(question, quota)));
    reasons.extend(load(question, found));
    reasons.extend(registered(question));
    reasons.extend(kinds(question, found));
    reasons.extend(siblings(question, found));
    reasons.extend(nodes(question, found));
    reasons.push(memory(question, found));
    reasons.extend(caches(question, found));
    reasons
}

fn plan(question: &Question<'_>, found: &Found) -> Reason {
    let plan = &found.plan;
    let sizes = || plan.partitions.iter().map(|partition| partition.size());
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let sizes = if most - least <= 1 {
        format!("of {}", Bytes(most))
    } else {
        format!("of {} to {}", Bytes(least), Bytes(most))
    };
    let bound = match question.request.bound {
        Bound::Compute => "computing",
        Bound::Memory => "memory",
    };
    let partitions = many(plan.partitions.len(), "partition");
    let text = format!(
        "{} in {partitions} {sizes}: work bound by {bound} takes {:.3} of the time that one undisturbed CPU would take.",
        Bytes(question.request.bytes),
        plan.predicted
    );
    Reason::new(About::Plan, text)
}

fn cpus(question: &Question<'_>) -> Reason {
    let all = question.facts.cpus.len();
    let mut text = format!("{} of {} may be used", question.machine.places.len(), many(all, "CPU"));
    let barred = |bar: Bar| -> CpuSet {
        question
            .derived
            .topology
            .barred
            .iter()
            .filter(|barred| barred.1 == bar)
            .map(|barred| barred.0)
            .collect()
    };
    for (bar, why) in [
        (Bar::Affinity, "are outside of the affinity mask"),
        (Bar::Group, "are outside of the control group"),
        (Bar::Kept, "are to be kept free"),
    ] {
        let cpus = barred(bar);
        if !cpus.is_empty() {
            text += &format!("; {cpus} {why}");
        }
    }
    Reason::new(About::Cpus, text + ".")
}

fn limited(question: &Question<'_>, quota: &Quota) -> Reason {
    let workers = many(question.machine.granted(), "worker");
    let least = 1.0 / quota.cpus;
    let text = format!(
        "The quota of {} CPUs ({}) grants {workers} at most, and no time below {least:.3}.",
        quota.cpus, quota.source
    );
    Reason::new(About::Quota, text)
}

fn load(question: &Question<'_>, found: &Found) -> Vec<Reason> {
    let Some(load) = &question.facts.load else {
        return vec![Reason::new(
            About::Load,
            "What others do on the CPUs is not known: they are taken for idle.",
        )];
    };
    let used = found.plan.cpus();
    // CPUs with the same load and the same fate are told of together.
    let mut alike = BTreeMap::<(u64, u32, bool), Vec<u32>>::new();
    for cpu in load.cpus.iter().filter(|load| load.strangers() >= 0.5 / 32.0) {
        if let Some(&share) = question.derived.share.get(cpu.cpu) {
            let percent = (cpu.strangers() * 100.0).round() as u64;
            alike.entry((100 - percent, share, used.contains(cpu.cpu))).or_default().push(cpu.cpu);
        }
    }
    let told = alike.into_iter().map(|((left, share, used), cpus)| {
        let (cpus, fate) = (CpuSet::from_iter(cpus), if used { "used with that weight" } else { "left out" });
        let text = format!(
            "On CPU {cpus} others take {}%, and a worker would get {:.0}%: {fate}.",
            100 - left,
            f64::from(share) * 100.0 / f64::from(WHOLE)
        );
        Reason::new(About::Load, text)
    });
    told.collect()
}

fn registered(question: &Question<'_>) -> Vec<Reason> {
    let told = question.others.iter().map(|other| {
        let cpus = CpuSet::from_iter(other.cpus.iter().copied());
        let bytes: u64 = other.memory.iter().map(|memory| memory.1).sum();
        let text = format!(
            "`{}` has {} on CPU {cpus} and {} of memory: it gets its share.",
            other.name,
            many(other.cpus.len(), "worker"),
            Bytes(bytes)
        );
        Reason::new(About::Registered, text)
    });
    told.collect()
}

fn kinds(question: &Question<'_>, found: &Found) -> Option<Reason> {
    let used = found.plan.cpus();
    let mut capacities = BTreeMap::<u16, (usize, usize)>::new();
    for cpu in question.facts.cpus.iter().filter(|cpu| question.machine.places.contains(cpu.id)) {
        let count = capacities.entry(cpu.capacity.unwrap_or(1024)).or_default();
        count.0 += 1;
        count.1 += usize::from(used.contains(cpu.id));
    }
    if capacities.len() < 2 {
        return None;
    }
    let told: Vec<_> = capacities
        .iter()
        .rev()
        .map(|(&capacity, (all, used))| {
            let percent = f64::from(capacity) * 100.0 / 1024.0;
            format!("{used} of {} of {percent:.0}%", many(*all, "CPU"))
        })
        .collect();
    let how = if question.request.weighted { "sizes are in proportion" } else { "the slowest decides" };
    Some(Reason::new(About::Kinds, format!("Cores differ in strength: used are {}; {how}.", told.join(", "))))
}

fn siblings(question: &Question<'_>, found: &Found) -> Option<Reason> {
    let machine = &question.machine;
    if machine.cores.iter().all(|core| core.threads.len() < 2) {
        return None;
    }
    let used: BTreeSet<_> = found.plan.partitions.iter().map(|part| machine.places[part.cpu].0).collect();
    let double = found.plan.partitions.len() - used.len();
    let text = if double > 0 {
        let gain = match question.request.bound {
            Bound::Compute => f64::from(SECOND_THREAD) * 100.0 / f64::from(WHOLE),
            Bound::Memory => 0.0,
        };
        format!(
            "{} on {}: a second thread of a core adds {gain:.0}%.",
            many(found.plan.partitions.len(), "worker"),
            many(used.len(), "core")
        )
    } else {
        let why = match (question.request.siblings, question.request.bound) {
            (false, _) => "asked for so",
            (true, Bound::Memory) => "a second thread adds nothing where memory bounds the work",
            (true, Bound::Compute) => "more workers would not shorten the time, or are not allowed",
        };
        format!("One worker on each of {}: {why}.", many(used.len(), "core"))
    };
    Some(Reason::new(About::Siblings, text))
}

fn nodes(question: &Question<'_>, found: &Found) -> Option<Reason> {
    let mut counts: BTreeMap<u32, usize> = question.machine.cores.iter().map(|core| (core.node, 0)).collect();
    for part in &found.plan.partitions {
        let node = question.machine.cores[question.machine.places[part.cpu].0].node;
        *counts.entry(node).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let told: Vec<_> = counts.iter().map(|(node, count)| format!("{count} on node {node}")).collect();
    let why = match (question.request.bound, found.even) {
        (Bound::Memory, true) => {
            "spread evenly, as far as nodes have room, since work bound by memory shares what a node's memory gives"
        }
        (Bound::Memory, false) => "not spread evenly, as the nodes' memory does not allow it",
        (Bound::Compute, _) => "no more nodes than the time needs",
    };
    Some(Reason::new(About::Nodes, format!("Workers: {}: {why}.", told.join(", "))))
}

fn memory(question: &Question<'_>, found: &Found) -> Reason {
    let mut sizes = BTreeMap::<u32, u64>::new();
    for part in &found.plan.partitions {
        *sizes.entry(part.node).or_default() += part.size();
    }
    let told: Vec<_> = sizes
        .iter()
        .map(|(node, &size)| match question.machine.memory[node].free {
            Some(free) => format!("node {node} gets {} and has {} free", Bytes(size), Bytes(free)),
            None => format!("node {node} gets {} and does not tell what is free", Bytes(size)),
        })
        .collect();
    let how = if found.fit { "the nearest to the workers" } else { "the nearest that has room" };
    let mut text = format!("Memory is {how}: {}", told.join(", "));
    // Where all are in proportion, a memory is hardly ever full to the last byte.
    let full = |(node, size): (&u32, &u64)| question.machine.memory[node].free == Some(*size) && *size > 0;
    if found.fit && question.request.weighted && sizes.len() > 1 && sizes.iter().any(full) {
        text += "; where that is all, partitions are smaller than their workers could do";
    }
    Reason::new(About::Memory, text + ".")
}

fn caches(question: &Question<'_>, found: &Found) -> Option<Reason> {
    let how = match question.request.caches {
        Sharing::Any => return None,
        Sharing::Together => "as few as possible",
        Sharing::Apart => "as many as possible",
    };
    let near = |cpu| question.machine.cores[question.machine.places[cpu].0].near;
    let used: BTreeSet<_> = found.plan.partitions.iter().filter_map(|part| near(part.cpu)).collect();
    let text = match used.iter().next().and_then(|&cache| question.facts.caches.get(cache as usize)) {
        Some(cache) => format!("Workers use {} of level {}, {how}.", many(used.len(), "cache"), cache.level),
        None => "No cache divides the cores of a node: who shares one cannot be chosen.".into(),
    };
    Some(Reason::new(About::Caches, text))
}

fn many(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
