//! The machine as a request may use it: cores with their hardware threads, worker speeds, and
//! memory.

use crate::cpu_map::CpuMap;
use crate::facts::{Facts, Registration};
use crate::inference::DerivedFacts;
use crate::plan::{Partition, Plan};
use crate::request::{Bound, Request};
use crate::speed::{self, FULL_SPEED};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The usable part of a machine. Speeds are in thousandths, see [`speed`](crate::speed).
#[derive(Clone)]
pub(crate) struct Machine {
    /// Cores with at least one usable thread.
    pub cores: Vec<UsableCore>,
    /// For each usable CPU, the index of its core and of its thread within that core.
    pub places: CpuMap<(usize, usize)>,
    /// Usable memory, by node.
    pub memory: BTreeMap<u32, NodeMemory>,
    /// For each node with CPUs, the nodes with usable memory, nearest first.
    pub reach: Arc<BTreeMap<u32, Vec<u32>>>,
    /// The CPU quota of the process, in CPUs.
    pub quota: Option<f64>,
    /// True if a core may have more than one worker.
    siblings: bool,
    /// The throughput that a second busy thread adds to its core.
    second: u32,
}

/// A core with its usable hardware threads.
#[derive(Clone)]
pub(crate) struct UsableCore {
    /// Its NUMA node.
    pub node: u32,
    /// The index of the cache that it shares with its neighbours; equal indices share a cache.
    pub near: Option<u32>,
    /// Its usable threads, the fastest alone on the core first. A core with few workers has them on
    /// the first of these, which is the best choice for two threads.
    pub threads: Vec<UsableThread>,
    /// The load of its unusable threads.
    pub rest: u32,
}

/// A usable hardware thread.
#[derive(Clone)]
pub(crate) struct UsableThread {
    /// The number of its CPU.
    pub cpu: u32,
    /// The share of the CPU that one worker gets, times its capacity.
    pub share: u32,
    /// Its load without our workers.
    pub busy: u32,
}

/// The speeds of the workers of one core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkerSpeeds {
    /// Their sum.
    pub sum: u32,
    /// The slowest.
    pub slowest: u32,
}

/// The memory of a node.
#[derive(Clone)]
pub(crate) struct NodeMemory {
    /// Free bytes that may be used; `None` if unknown, and then unlimited.
    pub free: Option<u64>,
}

impl UsableThread {
    /// Returns the speed of a worker here, where each busy thread of the core gets `beside`
    /// thousandths of the core.
    pub fn speed(&self, beside: u32) -> u32 {
        (self.share * beside / FULL_SPEED).max(1)
    }
}

impl Machine {
    /// Builds the part of the machine that `request` may use. `others` are the other registered
    /// runtimes.
    pub fn new(facts: &Facts, derived: &DerivedFacts, others: &[Registration], request: &Request) -> Self {
        let mut numbers = BTreeMap::<u32, usize>::new();
        let mut cores = Vec::<UsableCore>::new();
        for cpu in &facts.cpus {
            let Some(&share) = derived.share.get(cpu.id) else { continue };
            let index = *numbers.entry(cpu.core).or_insert_with(|| {
                let near = derived.topology.near.get(&cpu.id).copied();
                cores.push(UsableCore { node: cpu.node, near, threads: Vec::new(), rest: 0 });
                cores.len() - 1
            });
            let capacity = u32::from(cpu.capacity.unwrap_or(1024)).clamp(1, 1024);
            let share = (share * capacity / 1024).max(1);
            cores[index].threads.push(UsableThread { cpu: cpu.id, share, busy: derived.busy[cpu.id] });
        }
        let second = match request.bound {
            Bound::Compute => speed::SMT_GAIN,
            Bound::Memory => 0,
        };
        for core in &mut cores {
            let siblings = derived.topology.siblings.get(&core.threads[0].cpu).map_or(&[][..], Vec::as_slice);
            let barred = siblings.iter().filter(|cpu| !derived.share.contains(**cpu));
            core.rest = barred.map(|&cpu| derived.busy[cpu]).sum();
            // A busy thread may be the better one: left to other processes, it slows its sibling
            // all the time. So compare the speeds of a worker that is alone on the core.
            let busy = core.rest + core.threads.iter().map(|thread| thread.busy).sum::<u32>();
            core.threads.sort_by_cached_key(|thread| {
                let alone = thread.share * speed::smt_share(busy - thread.busy + FULL_SPEED, second);
                (u32::MAX - alone, thread.busy, thread.cpu)
            });
        }
        let reach = derived.topology.reach.clone();
        // Every node reaches the same memory.
        let held: BTreeSet<u32> = reach.values().next().into_iter().flatten().copied().collect();
        let memory = facts.nodes.iter().filter(|node| held.contains(&node.id)).map(|node| {
            let taken = others.iter().flat_map(|other| &other.memory).filter(|part| part.0 == node.id);
            let taken = taken.map(|part| part.1).fold(0, u64::saturating_add);
            (node.id, NodeMemory { free: node.free.or(node.memory).map(|free| free.saturating_sub(taken)) })
        });
        let memory = memory.collect();
        let quota = facts.limits.quota.as_ref().map(|quota| quota.cpus);
        Self { places: places(&cores), cores, memory, reach, quota, siblings: request.siblings, second }
    }

    /// Returns the maximum number of workers of a core.
    pub fn room(&self, core: &UsableCore) -> usize {
        if self.siblings { core.threads.len() } else { 1 }
    }

    /// Returns the speeds of `workers` workers on the first threads of a core.
    pub fn workers(&self, core: &UsableCore, workers: usize) -> WorkerSpeeds {
        let beside = self.smt_share(core, |thread| thread < workers);
        let speeds = || core.threads[..workers].iter().map(|thread| thread.speed(beside));
        WorkerSpeeds { sum: speeds().sum(), slowest: speeds().min().unwrap_or(0) }
    }

    /// Returns the share of the core that each busy thread gets if the `chosen` threads have
    /// workers.
    pub fn smt_share(&self, core: &UsableCore, chosen: impl Fn(usize) -> bool) -> u32 {
        let threads = core.threads.iter().enumerate();
        let busy = threads.map(|(index, thread)| if chosen(index) { FULL_SPEED } else { thread.busy });
        speed::smt_share(core.rest + busy.sum::<u32>(), self.second)
    }

    /// Returns the speed of each worker if these CPUs have one, or `None` if one of them may not be
    /// used.
    pub fn speeds_on(&self, cpus: impl Iterator<Item = u32>) -> Option<Vec<u32>> {
        // One entry for each thread, core by core: first whether it has a worker, then its speed.
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
                let beside = self.smt_share(core, |thread| here[thread].is_some());
                let threads = here.iter_mut().zip(&core.threads);
                threads.for_each(|(speed, thread)| *speed = speed.map(|_| thread.speed(beside)));
            }
        }
        places.into_iter().map(|place| speeds[place]).collect()
    }

    /// Returns the time of work whose partitions have these shares of the data and these speeds.
    pub fn time(&self, parts: impl Iterator<Item = (f64, u32)>) -> f64 {
        let slowest =
            parts.map(|(share, speed)| share * f64::from(FULL_SPEED) / f64::from(speed)).fold(0.0, f64::max);
        slowest.max(self.quota.map_or(0.0, |cpus| 1.0 / cpus))
    }

    /// Returns the time that a plan takes now, or `None` if it is infeasible: it names a CPU or
    /// memory that may not be used, uses a CPU twice, or exceeds the quota. Free memory is not
    /// checked, because data that is already in place is not free.
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

    /// Returns the fraction of `bytes` that the memory of node `home` holds.
    pub fn part(&self, home: u32, bytes: u64) -> f64 {
        let free = self.memory.get(&home).and_then(|memory| memory.free).filter(|&free| free < bytes);
        free.map_or(1.0, |free| free as f64 / bytes as f64)
    }

    /// Returns how many workers the quota allows.
    pub fn granted(&self) -> usize {
        self.quota.map_or(usize::MAX, |cpus| (cpus.ceil() as usize).max(1))
    }

    /// Returns the machine with one worker at most for each core.
    pub fn with_one_worker_per_core(&self) -> Self {
        Self { siblings: false, ..self.clone() }
    }

    /// Returns the machine without the threads that `leaves` selects.
    pub fn without(&self, leaves: impl Fn(u32, &UsableThread) -> bool) -> Self {
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

fn places(cores: &[UsableCore]) -> CpuMap<(usize, usize)> {
    let of_core = |(core, threads): (usize, &[UsableThread])| -> Vec<_> {
        threads.iter().enumerate().map(|(thread, is)| (is.cpu, (core, thread))).collect()
    };
    cores.iter().map(|core| &core.threads[..]).enumerate().flat_map(of_core).collect()
}
