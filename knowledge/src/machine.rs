//! The machine as far as a request may use it: cores with their threads, how fast workers are on them, and memory.

use crate::by_cpu::ByCpu;
use crate::facts::{Facts, Registration};
use crate::plan::{Partition, Plan};
use crate::questions::{Bound, Request};
use crate::rules::Derived;
use crate::speed::{self, WHOLE};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct Machine {
    /// Cores that have at least one thread that may be used.
    pub cores: Vec<Core>,
    /// For each CPU that may be used: which core, and which of its threads.
    pub places: ByCpu<(usize, usize)>,
    /// Memory that may be used, by node.
    pub memory: BTreeMap<u32, Memory>,
    /// For each node with CPUs, the nodes with memory that may be used, the nearest first.
    pub reach: Arc<BTreeMap<u32, Vec<u32>>>,
    /// CPUs' worth of time that the process gets at most.
    pub quota: Option<f64>,
    /// Whether a core may have more than one worker.
    siblings: bool,
    /// What a second busy thread adds to its core.
    second: u32,
}

/// A core.
#[derive(Clone)]
pub(crate) struct Core {
    /// The node that it is in.
    pub node: u32,
    /// Who has the same number shares a cache with it.
    pub near: Option<u32>,
    /// Its threads that may be used, the one that does most alone on its core first: a core with few
    /// workers has them on the first of these, which is the best choice where a core has two threads.
    pub threads: Vec<Thread>,
    /// How much its other threads are busy.
    pub rest: u32,
}

/// A CPU.
#[derive(Clone)]
pub(crate) struct Thread {
    /// Its number.
    pub cpu: u32,
    /// How much of it one of our workers gets, times its capacity.
    pub share: u32,
    /// How much it is busy without us.
    pub busy: u32,
}

/// What the workers of a core do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Workers {
    /// All together.
    pub sum: u32,
    /// The slowest of them.
    pub slowest: u32,
}

/// Memory of a node.
#[derive(Clone)]
pub(crate) struct Memory {
    /// Bytes that may be used; `None` is not known, and not limited.
    pub free: Option<u64>,
}

impl Thread {
    /// How fast a worker is on it, where each busy thread of its core gets so much of the core.
    pub fn speed(&self, beside: u32) -> u32 {
        (self.share * beside / WHOLE).max(1)
    }
}

impl Machine {
    /// What `request` may use of it. `others` are the runtimes of ours that are in the way.
    pub fn new(facts: &Facts, derived: &Derived, others: &[Registration], request: &Request) -> Self {
        let mut numbers = BTreeMap::<u32, usize>::new();
        let mut cores = Vec::<Core>::new();
        for cpu in &facts.cpus {
            let Some(&share) = derived.share.get(cpu.id) else { continue };
            let index = *numbers.entry(cpu.core).or_insert_with(|| {
                let near = derived.topology.near.get(&cpu.id).copied();
                cores.push(Core { node: cpu.node, near, threads: Vec::new(), rest: 0 });
                cores.len() - 1
            });
            let capacity = u32::from(cpu.capacity.unwrap_or(1024)).clamp(1, 1024);
            let share = (share * capacity / 1024).max(1);
            cores[index].threads.push(Thread { cpu: cpu.id, share, busy: derived.busy[cpu.id] });
        }
        let second = match request.bound {
            Bound::Compute => speed::SECOND_THREAD,
            Bound::Memory => 0,
        };
        for core in &mut cores {
            let siblings = derived.topology.siblings.get(&core.threads[0].cpu).map_or(&[][..], Vec::as_slice);
            let barred = siblings.iter().filter(|cpu| !derived.share.contains(**cpu));
            core.rest = barred.map(|&cpu| derived.busy[cpu]).sum();
            // A busy thread may be the better one: where it is left to strangers, it slows the other all the time. So they
            // are told apart by what a worker does that is alone on the core.
            let busy = core.rest + core.threads.iter().map(|thread| thread.busy).sum::<u32>();
            core.threads.sort_by_cached_key(|thread| {
                let alone = thread.share * speed::beside(busy - thread.busy + WHOLE, second);
                (u32::MAX - alone, thread.busy, thread.cpu)
            });
        }
        let reach = derived.topology.reach.clone();
        // What can be reached is the same from all nodes.
        let held: BTreeSet<u32> = reach.values().next().into_iter().flatten().copied().collect();
        let memory = facts.nodes.iter().filter(|node| held.contains(&node.id)).map(|node| {
            let taken = others.iter().flat_map(|other| &other.memory).filter(|part| part.0 == node.id);
            let taken: u64 = taken.map(|part| part.1).sum();
            (node.id, Memory { free: node.free.or(node.memory).map(|free| free.saturating_sub(taken)) })
        });
        let memory = memory.collect();
        let quota = facts.limits.quota.as_ref().map(|quota| quota.cpus);
        Self { places: places(&cores), cores, memory, reach, quota, siblings: request.siblings, second }
    }

    /// How many workers a core may have.
    pub fn room(&self, core: &Core) -> usize {
        if self.siblings { core.threads.len() } else { 1 }
    }

    /// What so many workers do on the first threads of a core.
    pub fn workers(&self, core: &Core, workers: usize) -> Workers {
        let beside = self.beside(core, |thread| thread < workers);
        let speeds = || core.threads[..workers].iter().map(|thread| thread.speed(beside));
        Workers { sum: speeds().sum(), slowest: speeds().min().unwrap_or(0) }
    }

    /// What each busy thread of a core gets of it if these have a worker.
    pub fn beside(&self, core: &Core, chosen: impl Fn(usize) -> bool) -> u32 {
        let threads = core.threads.iter().enumerate();
        let busy = threads.map(|(index, thread)| if chosen(index) { WHOLE } else { thread.busy });
        speed::beside(core.rest + busy.sum::<u32>(), self.second)
    }

    /// How fast each worker is if these CPUs have one; `None` if one of them may not be used.
    pub fn speeds_on(&self, cpus: impl Iterator<Item = u32>) -> Option<Vec<u32>> {
        // For each thread, core by core: who has a worker, and then how fast it is.
        let firsts = self.cores.iter().scan(0, |first, core| {
            *first += core.threads.len();
            Some(*first - core.threads.len())
        });
        let firsts: Vec<usize> = firsts.collect();
        let mut speeds: Vec<Option<u32>> = vec![None; self.places.len()];
        let places: Vec<usize> = cpus
            .map(|cpu| self.places.get(cpu).map(|&(core, thread)| firsts[core] + thread))
            .collect::<Option<_>>()?;
        places.iter().for_each(|&place| speeds[place] = Some(0));
        for (core, &first) in self.cores.iter().zip(&firsts) {
            let here = &mut speeds[first..first + core.threads.len()];
            let workers = here.iter().flatten().count();
            if workers > self.room(core) {
                return None;
            }
            if workers > 0 {
                let beside = self.beside(core, |thread| here[thread].is_some());
                let threads = here.iter_mut().zip(&core.threads);
                threads.for_each(|(speed, thread)| *speed = speed.map(|_| thread.speed(beside)));
            }
        }
        places.into_iter().map(|place| speeds[place]).collect()
    }

    /// The time that work takes whose partitions have these shares of it and run so fast.
    pub fn time(&self, parts: impl Iterator<Item = (f64, u32)>) -> f64 {
        let slowest =
            parts.map(|(share, speed)| share * f64::from(WHOLE) / f64::from(speed)).fold(0.0, f64::max);
        slowest.max(self.quota.map_or(0.0, |cpus| 1.0 / cpus))
    }

    /// The time that a plan would take now; `None` if it cannot be: a CPU or a memory may not be used, two workers have the
    /// same CPU, or there are more than the quota grants. Whether a node has the memory is not looked at: data that is there
    /// already is not free.
    pub fn predict(&self, plan: &Plan) -> Option<f64> {
        let cpus = || plan.partitions.iter().map(|partition| partition.cpu);
        if plan.cpus().len() != plan.partitions.len() || plan.partitions.len() > self.granted() {
            return None;
        }
        let known = |partition: &Partition| self.memory.contains_key(&partition.node);
        if !plan.partitions.iter().all(known) {
            return None;
        }
        let speeds = self.speeds_on(cpus())?;
        Some(self.time(plan.partitions.iter().map(|partition| partition.weight).zip(speeds)))
    }

    /// The part of `bytes` that a memory holds.
    pub fn part(&self, home: u32, bytes: u64) -> f64 {
        let free = self.memory.get(&home).and_then(|memory| memory.free).filter(|&free| free < bytes);
        free.map_or(1.0, |free| free as f64 / bytes as f64)
    }

    /// How many workers the quota grants.
    pub fn granted(&self) -> usize {
        self.quota.map_or(usize::MAX, |cpus| (cpus.ceil() as usize).max(1))
    }

    /// The same, but with one worker at most for each core.
    pub fn of_single_threads(&self) -> Self {
        Self { siblings: false, ..self.clone() }
    }

    /// The same, but without these threads.
    pub fn without(&self, leaves: impl Fn(u32, &Thread) -> bool) -> Self {
        let mut less = self.clone();
        for core in &mut less.cores {
            let node = core.node;
            core.rest +=
                core.threads.extract_if(.., |thread| leaves(node, thread)).map(|gone| gone.busy).sum::<u32>();
        }
        less.cores.retain(|core| !core.threads.is_empty());
        less.places = places(&less.cores);
        less
    }
}

fn places(cores: &[Core]) -> ByCpu<(usize, usize)> {
    let of_core = |(core, threads): (usize, &[Thread])| -> Vec<_> {
        threads.iter().enumerate().map(|(thread, is)| (is.cpu, (core, thread))).collect()
    };
    cores.iter().map(|core| &core.threads[..]).enumerate().flat_map(of_core).collect()
}
