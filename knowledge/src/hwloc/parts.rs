//! The parts of a machine as they are described, put together.

use super::NotAMachine;
use crate::facts::{Cache, CoreKind, Cpu, CpuSet, Facts, Gap, Limits, Node, sense};
use std::collections::{BTreeMap, BTreeSet};

/// What was read.
#[derive(Default)]
pub(super) struct Parts {
    pub model: Option<String>,
    pub cpus: Vec<Thread>,
    pub caches: Vec<Cache>,
    pub nodes: Vec<Node>,
    /// Kinds of cores, by what is told of them.
    pub kinds: Vec<Kind>,
    /// The CPUs and nodes that may be used, where that is told.
    pub allowed: [Option<CpuSet>; 2],
    pub gaps: Vec<Gap>,
}

/// A thread of a core.
pub(super) struct Thread {
    pub id: u32,
    /// Which core and which package, each told from all others of the machine by a number; `None` is not told.
    pub core: Option<usize>,
    pub package: Option<usize>,
}

/// CPUs that are alike.
pub(super) struct Kind {
    pub cpus: CpuSet,
    pub kind: Option<CoreKind>,
    pub capacity: Option<u16>,
}

impl Parts {
    pub fn gap(&mut self, about: impl Into<String>, why: impl Into<String>) {
        self.gaps.push(Gap { about: about.into(), why: why.into() });
    }

    /// What is known by them.
    pub fn facts(mut self) -> Result<Facts, NotAMachine> {
        self.cpus.sort_by_key(|cpu| cpu.id);
        let online: CpuSet = self.cpus.iter().map(|cpu| cpu.id).collect();
        if online.is_empty() {
            return Err(NotAMachine("no CPU is described".into()));
        }
        if online.len() < self.cpus.len() {
            return Err(NotAMachine("two CPUs are described that have the same number".into()));
        }
        for (what, lacking) in [
            (
                "cores",
                self.cpus.iter().filter(|cpu| cpu.core.is_none()).map(|cpu| cpu.id).collect::<CpuSet>(),
            ),
            ("packages", self.cpus.iter().filter(|cpu| cpu.package.is_none()).map(|cpu| cpu.id).collect()),
        ] {
            if !lacking.is_empty() {
                let taken = if what == "cores" {
                    "each is taken for one"
                } else {
                    "they are taken to be in the first"
                };
                self.gap(what, format!("none is described that contains CPUs {lacking}: {taken}"));
            }
        }
        self.nodes(&online);
        self.caches(&online);
        let cpus = self.numbered();
        let memory =
            self.nodes.iter().map(|node| node.memory).try_fold(0_u64, |sum, memory| sum.checked_add(memory?));
        let ids: CpuSet = self.nodes.iter().map(|node| node.id).collect();
        let [group, nodes] = [(&self.allowed[0], &online, "CPUs"), (&self.allowed[1], &ids, "nodes")].map(
            |(allowed, all, what)| {
                let left = allowed.as_ref()?.and(all);
                if left.is_empty() {
                    self.gaps.push(Gap {
                        about: format!("{what} that are allowed"),
                        why: format!("none of {all} is: all are taken for allowed"),
                    });
                }
                (!left.is_empty() && left != *all).then_some(left)
            },
        );
        self.gap("limits", "a description does not tell of a process: all that it allows may be used");
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

    /// The CPUs, with numbers of cores and packages as they are met.
    fn numbered(&self) -> Vec<Cpu> {
        let (mut cores, mut packages) = (BTreeMap::new(), BTreeMap::new());
        let mut number = |cpu: &Thread| {
            let next = cores.len() as u32;
            // A CPU of which no core is told is one.
            let core = *cores.entry((cpu.core, cpu.core.is_none().then_some(cpu.id))).or_insert(next);
            let next = packages.len() as u32;
            let package = cpu.package.map_or(0, |package| *packages.entry(package).or_insert(next));
            let node = self.nodes.iter().find(|node| node.cpus.contains(cpu.id)).map_or(0, |node| node.id);
            let kind = self.kinds.iter().find(|kind| kind.cpus.contains(cpu.id));
            Cpu {
                id: cpu.id,
                core,
                package,
                node,
                capacity: kind.and_then(|kind| kind.capacity),
                kind: kind.and_then(|kind| kind.kind),
            }
        };
        self.cpus.iter().map(&mut number).collect()
    }

    /// Nodes by number, each CPU in one of them.
    fn nodes(&mut self, online: &CpuSet) {
        if self.nodes.is_empty() {
            self.gap("nodes", "none is described: all CPUs are taken for one");
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
                self.gaps
                    .push(Gap { about: format!("memory of node {}", node.id), why: "it is not told".into() });
            }
        }
        if self.nodes.len() > 1 && self.nodes.iter().any(|node| node.distances.is_empty()) {
            self.gap("distances", "those of the nodes are not told");
        }
        sense::distances(&mut self.nodes, &mut self.gaps);
        sense::each_cpu_once(&mut self.nodes, online, &mut self.gaps);
    }

    /// Caches by level, kind and first CPU, of which those of one level and kind share no CPU.
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
                let why = format!("CPUs {} have two of a kind, of which one is left out", cache.cpus);
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
