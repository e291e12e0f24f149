//! A parsed description, and its conversion into facts.

use super::InvalidDescription;
use crate::facts::consistency::{self, CORE_THREADS_MAX, NODES_MAX};
use crate::facts::{Cache, CoreKind, Cpu, CpuSet, Facts, Gap, Limits, Node};
use std::collections::{BTreeMap, BTreeSet};

/// The parsed objects.
#[derive(Default)]
pub(super) struct Description {
    pub model: Option<String>,
    pub cpus: Vec<ProcessingUnit>,
    pub caches: Vec<Cache>,
    pub nodes: Vec<Node>,
    /// Kinds of cores, with their attributes.
    pub kinds: Vec<CpuKind>,
    /// The CPUs and the nodes that may be used, where reported.
    pub allowed: [Option<CpuSet>; 2],
    pub gaps: Vec<Gap>,
}

/// A hardware thread; hwloc calls it a processing unit (PU).
pub(super) struct ProcessingUnit {
    pub id: u32,
    /// Identifiers of its core and its package, unique within the machine; `None` if not described.
    pub core: Option<usize>,
    pub package: Option<usize>,
}

/// CPUs of one kind.
pub(super) struct CpuKind {
    pub cpus: CpuSet,
    pub kind: Option<CoreKind>,
    pub capacity: Option<u16>,
}

impl Description {
    pub fn gap(&mut self, about: impl Into<String>, why: impl Into<String>) {
        self.gaps.push(Gap { about: about.into(), why: why.into() });
    }

    /// Converts the description into facts.
    pub fn facts(mut self) -> Result<Facts, InvalidDescription> {
        self.cpus.sort_by_key(|cpu| cpu.id);
        let online: CpuSet = self.cpus.iter().map(|cpu| cpu.id).collect();
        if online.is_empty() {
            return Err(InvalidDescription("the description has no CPU".into()));
        }
        if online.len() < self.cpus.len() {
            return Err(InvalidDescription("two CPUs have the same number".into()));
        }
        if self.nodes.len() > NODES_MAX {
            return Err(too_many_nodes());
        }
        for (what, lacking) in [
            (
                "cores",
                self.cpus.iter().filter(|cpu| cpu.core.is_none()).map(|cpu| cpu.id).collect::<CpuSet>(),
            ),
            ("packages", self.cpus.iter().filter(|cpu| cpu.package.is_none()).map(|cpu| cpu.id).collect()),
        ] {
            if !lacking.is_empty() {
                let taken =
                    if what == "cores" { "each counts as a core" } else { "they count as the first package" };
                self.gap(what, format!("none contains CPUs {lacking}; {taken}"));
            }
        }
        self.nodes(&online);
        self.caches(&online);
        let cpus = self.numbered();
        check_threads(&cpus)?;
        let memory =
            self.nodes.iter().map(|node| node.memory).try_fold(0_u64, |sum, memory| sum.checked_add(memory?));
        let ids: CpuSet = self.nodes.iter().map(|node| node.id).collect();
        let [group, nodes] = [(&self.allowed[0], &online, "CPUs"), (&self.allowed[1], &ids, "nodes")].map(
            |(allowed, all, what)| {
                let left = allowed.as_ref()?.and(all);
                if left.is_empty() {
                    self.gaps.push(Gap {
                        about: format!("allowed {what}"),
                        why: format!("none of {all} is allowed; all count as allowed"),
                    });
                }
                (!left.is_empty() && left != *all).then_some(left)
            },
        );
        self.gap("limits", "a description has no process; everything that it allows may be used");
        Ok(Facts {
            model: self.model,
            cpus,
            caches: self.caches,
            nodes: self.nodes,
            memory,
            limits: Limits { group, nodes, ..Limits::default() },
            gaps: self.gaps,
            ..Facts::default()
        })
    }

    /// Returns the CPUs, with cores and packages numbered in the order of their first CPU.
    fn numbered(&self) -> Vec<Cpu> {
        let (mut cores, mut packages) = (BTreeMap::new(), BTreeMap::new());
        // After `nodes`, each CPU is in one node.
        let of_node = |node: &Node| node.cpus.iter().map(|cpu| (cpu, node.id)).collect::<Vec<_>>();
        let homes: BTreeMap<u32, u32> = self.nodes.iter().flat_map(of_node).collect();
        let mut kinds = BTreeMap::new();
        for kind in &self.kinds {
            kind.cpus.iter().for_each(|cpu| _ = kinds.entry(cpu).or_insert(kind));
        }
        let mut number = |cpu: &ProcessingUnit| {
            let next = cores.len() as u32;
            // A CPU without a core counts as a core of its own.
            let core = *cores.entry((cpu.core, cpu.core.is_none().then_some(cpu.id))).or_insert(next);
            let next = packages.len() as u32;
            let package = cpu.package.map_or(0, |package| *packages.entry(package).or_insert(next));
            let kind = kinds.get(&cpu.id);
            Cpu {
                id: cpu.id,
                core,
                package,
                node: homes.get(&cpu.id).copied().unwrap_or(0),
                capacity: kind.and_then(|kind| kind.capacity),
                kind: kind.and_then(|kind| kind.kind),
            }
        };
        self.cpus.iter().map(&mut number).collect()
    }

    /// Sorts the nodes by number and assigns each CPU to one of them.
    fn nodes(&mut self, online: &CpuSet) {
        if self.nodes.is_empty() {
            self.gap("nodes", "none is described; all CPUs count as one node");
            self.nodes.push(Node {
                id: 0,
                cpus: online.clone(),
                memory: None,
                free: None,
                distances: Vec::new(),
            });
        }
        self.nodes.sort_by_key(|node| node.id);
        for node in &mut self.nodes {
            node.cpus = node.cpus.and(online);
            if node.memory.is_none() {
                self.gaps.push(Gap {
                    about: format!("memory of node {}", node.id),
                    why: "it is not described".into(),
                });
            }
        }
        if self.nodes.len() > 1 && self.nodes.iter().any(|node| node.distances.is_empty()) {
            self.gap("distances", "the distances between nodes are not described");
        }
        consistency::drop_invalid_distances(&mut self.nodes, &mut self.gaps);
        consistency::each_cpu_once(&mut self.nodes, online, &mut self.gaps);
    }

    /// Sorts the caches by level, kind and first CPU; those of one level and kind become disjoint.
    fn caches(&mut self, online: &CpuSet) {
        let mut seen = BTreeMap::<_, BTreeSet<u32>>::new();
        let mut caches = std::mem::take(&mut self.caches);
        for cache in &mut caches {
            cache.cpus = cache.cpus.and(online);
        }
        caches.retain(|cache| {
            let seen = seen.entry((cache.level, cache.kind)).or_default();
            let again = cache.cpus.iter().any(|cpu| seen.contains(&cpu));
            if again {
                let why = format!("CPUs {} have two of one kind; one is ignored", cache.cpus);
                self.gaps.push(Gap { about: format!("caches of level {}", cache.level), why });
            } else {
                seen.extend(cache.cpus.iter());
            }
            !again && !cache.cpus.is_empty()
        });
        caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.iter().next()));
        if caches.is_empty() {
            self.gap("caches", "none is described");
        }
        self.caches = caches;
    }
}

pub(super) fn too_many_nodes() -> InvalidDescription {
    InvalidDescription(format!("there are more than {NODES_MAX} nodes"))
}

fn check_threads(cpus: &[Cpu]) -> Result<(), InvalidDescription> {
    let mut threads = BTreeMap::<u32, usize>::new();
    cpus.iter().for_each(|cpu| *threads.entry(cpu.core).or_default() += 1);
    match threads.into_values().max() {
        Some(most) if most > CORE_THREADS_MAX => Err(InvalidDescription(format!(
            "a core has {most} CPUs; at most {CORE_THREADS_MAX} are supported"
        ))),
        _ => Ok(()),
    }
}
