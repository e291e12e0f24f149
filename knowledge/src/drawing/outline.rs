//! A machine as parts within parts: packages, nodes, caches and cores, each by the CPUs that belong to it.

use super::count;
use crate::Bytes;
use crate::facts::{Cache, CacheKind, CoreKind, Cpu, CpuSet, Facts, Node};
use std::collections::BTreeMap;

/// A part of a machine. Parts with the same CPUs are one.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// What has a number of its own: packages and nodes.
    pub names: Vec<String>,
    /// The caches that its CPUs share, the farthest from the core first.
    pub caches: Vec<String>,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// If it is a core.
    pub core: Option<Core>,
    /// What is within it, by first CPU.
    pub parts: Vec<Part>,
}

/// A core.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// Its number.
    pub number: u32,
    kind: Option<CoreKind>,
    capacity: Option<u16>,
    /// How many of its threads this process may use.
    allowed: usize,
}

/// Parts that follow each other and are drawn as one.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a>(pub &'a [Part]);

impl Part {
    /// The machine as a whole.
    pub fn of(facts: &Facts) -> Self {
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
        // Strength is worth a word only where it differs.
        let differ = facts.cpus.windows(2).any(|pair| pair[0].capacity != pair[1].capacity);
        for (number, cpus) in groups(facts, |cpu| cpu.core) {
            let first = cpus.iter().next().and_then(|cpu| facts.cpu(cpu));
            let core = Core {
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

    /// Puts a part, which is no larger than those before, where it belongs. One that lies across others stands beside them.
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

    /// The parts within, those that are alike together.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.parts.chunk_by(Part::is_like).map(Run)
    }

    /// Whether one may stand for the other. What has a name never does.
    fn is_like(&self, other: &Self) -> bool {
        let core = |part: &Self| part.core.as_ref().map(|core| Core { number: 0, ..core.clone() });
        self.names.is_empty()
            && other.names.is_empty()
            && self.cpus.len() == other.cpus.len()
            && self.caches == other.caches
            && core(self) == core(other)
            && self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(one, other)| one.is_like(other))
    }
}

impl Run<'_> {
    /// All its CPUs.
    pub fn cpus(self) -> CpuSet {
        self.0.iter().flat_map(|part| part.cpus.iter()).collect()
    }

    /// What it is, for people: with numbers, unless it stands for others besides.
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
            title += &format!(", strength {capacity}");
        }
        match threads - core.allowed {
            0 => {}
            forbidden if forbidden == threads => title += ", forbidden",
            forbidden => title += &format!(", {forbidden} of {threads} threads forbidden"),
        }
        if own.is_empty() { title } else { format!("{title}: {own}") }
    }
}

/// The CPUs by something that they have in common.
fn groups(facts: &Facts, of: impl Fn(&Cpu) -> u32) -> BTreeMap<u32, CpuSet> {
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    facts.cpus.iter().for_each(|cpu| groups.entry(of(cpu)).or_default().push(cpu.id));
    groups.into_iter().map(|(group, cpus)| (group, cpus.into_iter().collect())).collect()
}

/// A node and its memory.
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
