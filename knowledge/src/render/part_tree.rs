//! The machine as a tree of parts: packages, nodes, caches and cores, each with its CPUs.

use super::count;
use crate::Bytes;
use crate::facts::{Cache, CacheKind, CoreKind, Cpu, CpuSet, Facts, Node};
use std::collections::BTreeMap;

/// A part of the machine. Packages, nodes, caches and cores with the same CPUs are one part.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Names of packages and nodes, which have numbers.
    pub names: Vec<String>,
    /// The caches that its CPUs share, outermost first.
    pub caches: Vec<String>,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// The core, if it is one.
    pub core: Option<CoreLabel>,
    /// The parts inside, by first CPU.
    pub parts: Vec<Part>,
}

/// The properties of a core that the drawing shows.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreLabel {
    /// Its number.
    pub number: u32,
    kind: Option<CoreKind>,
    capacity: Option<u16>,
    /// How many of its threads this process may use.
    allowed: usize,
}

/// Consecutive equal parts, drawn as one.
#[derive(Clone, Copy, Debug)]
pub struct PartRun<'a>(pub &'a [Part]);

impl Part {
    /// Builds the tree of a machine.
    pub fn new(facts: &Facts) -> Self {
        let mut parts: BTreeMap<CpuSet, Part> = BTreeMap::new();
        let mut part = |cpus: &CpuSet, add: &dyn Fn(&mut Part)| {
            if !cpus.is_empty() {
                let part = parts.entry(cpus.clone()).or_default();
                part.cpus = cpus.clone();
                add(part);
            }
        };
        for (package, cpus) in groups(facts, |cpu| cpu.package) {
            part(&cpus, &|part| part.names.push(format!("package {package}")));
        }
        for node in &facts.nodes {
            part(&node.cpus, &|part| part.names.push(node_name(node)));
        }
        let mut caches: Vec<_> = facts.caches.iter().collect();
        caches.sort_by_key(|cache| (std::cmp::Reverse(cache.level), cache.kind));
        for cache in caches {
            part(&cache.cpus, &|part| part.caches.push(cache_name(cache)));
        }
        // Capacity is shown only if it differs.
        let differ = facts.cpus.windows(2).any(|pair| pair[0].capacity != pair[1].capacity);
        for (number, cpus) in groups(facts, |cpu| cpu.core) {
            let first = cpus.iter().next().and_then(|cpu| facts.cpu(cpu));
            let core = CoreLabel {
                number,
                kind: first.and_then(|cpu| cpu.kind),
                capacity: first.and_then(|cpu| cpu.capacity).filter(|_| differ),
                allowed: cpus.iter().filter(|&cpu| facts.limits.allow(cpu)).count(),
            };
            part(&cpus, &|part| part.core = Some(core.clone()));
        }
        let mut parts: Vec<_> = parts.into_values().collect();
        parts.sort_by_key(|part| (std::cmp::Reverse(part.cpus.len()), part.cpus.iter().next()));
        let mut whole = Part { cpus: facts.cpus.iter().map(|cpu| cpu.id).collect(), ..Part::default() };
        parts.into_iter().for_each(|part| whole.take_in(part));
        whole.sort();
        whole
    }

    /// Inserts a part that is no larger than the previous ones. If no part contains it, it becomes
    /// a sibling.
    fn take_in(&mut self, part: Part) {
        let holds = |other: &&mut Part| part.cpus.and(&other.cpus).len() == part.cpus.len();
        match self.parts.iter_mut().find(holds) {
            Some(inner) => inner.take_in(part),
            None => self.parts.push(part),
        }
    }

    fn sort(&mut self) {
        self.parts.sort_by_key(|part| part.cpus.iter().next());
        self.parts.iter_mut().for_each(Part::sort);
    }

    /// Returns the parts inside, with consecutive equal ones grouped.
    pub fn runs(&self) -> impl Iterator<Item = PartRun<'_>> {
        self.parts.chunk_by(Part::is_like).map(PartRun)
    }

    /// Returns true if both parts look the same. Parts with a name never do.
    fn is_like(&self, other: &Self) -> bool {
        let core = |part: &Self| part.core.as_ref().map(|core| CoreLabel { number: 0, ..core.clone() });
        self.names.is_empty()
            && other.names.is_empty()
            && self.cpus.len() == other.cpus.len()
            && self.caches == other.caches
            && core(self) == core(other)
            && self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(one, other)| one.is_like(other))
    }
}

impl PartRun<'_> {
    /// Returns all CPUs of the run.
    pub fn cpus(self) -> CpuSet {
        self.0.iter().flat_map(|part| part.cpus.iter()).collect()
    }

    /// Returns the title. With `numbered`, cores have their numbers.
    pub fn title(self, numbered: bool) -> String {
        let [first, rest @ ..] = self.0 else { return String::new() };
        let own = first.names.iter().chain(&first.caches).cloned().collect::<Vec<_>>().join(" · ");
        let Some(core) = &first.core else {
            return match rest.len() {
                0 => own,
                _ => format!("{} × {own}, {} each", self.0.len(), count(first.cpus.len(), "CPU", "CPUs")),
            };
        };
        let kind = match core.kind {
            None => "",
            Some(CoreKind::Performance) => "performance ",
            Some(CoreKind::Efficiency) => "efficiency ",
        };
        let noun = if rest.is_empty() { "core" } else { "cores" };
        let mut title = match rest.len() {
            0 => format!("{kind}{noun}"),
            _ => format!("{} {kind}{noun}", self.0.len()),
        };
        if numbered {
            let numbers: CpuSet =
                self.0.iter().filter_map(|part| part.core.as_ref()).map(|core| core.number).collect();
            title += &format!(" {numbers}");
        }
        let threads = first.cpus.len();
        if threads > 1 {
            title += &format!(", {threads} threads{}", if rest.is_empty() { "" } else { " each" });
        }
        if let Some(capacity) = core.capacity {
            title += &format!(", capacity {capacity}");
        }
        match threads - core.allowed {
            0 => {}
            forbidden if forbidden == threads => title += ", forbidden",
            forbidden => title += &format!(", {forbidden} of {threads} threads forbidden"),
        }
        if own.is_empty() { title } else { format!("{title}: {own}") }
    }
}

/// Groups the CPUs by a property.
fn groups(facts: &Facts, of: impl Fn(&Cpu) -> u32) -> BTreeMap<u32, CpuSet> {
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    facts.cpus.iter().for_each(|cpu| groups.entry(of(cpu)).or_default().push(cpu.id));
    groups.into_iter().map(|(group, cpus)| (group, cpus.into_iter().collect())).collect()
}

/// Formats a node and its memory.
pub fn node_name(node: &Node) -> String {
    let memory = match (node.memory, node.free) {
        (Some(memory), Some(free)) => format!(" ({}, {} free)", Bytes(memory), Bytes(free)),
        (Some(memory), None) => format!(" ({})", Bytes(memory)),
        (None, _) => String::new(),
    };
    format!("node {}{memory}", node.id)
}

fn cache_name(cache: &Cache) -> String {
    let kind = match cache.kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    format!("L{}{kind} {}", cache.level, Bytes(cache.size))
}
