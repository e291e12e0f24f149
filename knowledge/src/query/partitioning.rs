//! Divides the data among selected CPUs: the size of each partition, and its memory.

use crate::machine::Machine;
use crate::plan::{Partition, Plan};
use crate::request::Request;
use crate::solver::weighted::combined_speed;
use std::collections::BTreeMap;

/// Workers whose partitions are in proportion to their weights, and their part of the data.
struct ProportionGroup {
    bytes: u64,
    weight: u64,
    before: u64,
}

impl ProportionGroup {
    /// Returns the size of the next partition. All sizes add up to `bytes`.
    fn next(&mut self, weight: u64) -> u64 {
        let low = u128::from(self.bytes) * u128::from(self.before) / u128::from(self.weight);
        self.before += weight;
        (u128::from(self.bytes) * u128::from(self.before) / u128::from(self.weight) - low) as u64
    }
}

/// A worker on its CPU.
struct PlacedWorker {
    node: u32,
    cpu: u32,
    speed: u32,
    /// Its weight within its group.
    weight: u64,
    /// The node of its nearest memory.
    home: u32,
    group: usize,
}

/// Divides the data among `cpus` and places each partition: with `fit` in the nearest memory,
/// otherwise in the nearest with room. Returns `None` if there is no room.
pub(crate) fn divide(machine: &Machine, request: &Request, cpus: Vec<u32>, fit: bool) -> Option<Plan> {
    let speeds = machine.speeds_on(cpus.iter().copied())?;
    let node_of = |cpu: u32| machine.cores[machine.places[cpu].0].node;
    let weight = |speed: u32| if request.weighted { u64::from(speed) } else { 1 };
    let worker = |(cpu, speed): (u32, u32)| PlacedWorker {
        node: node_of(cpu),
        cpu,
        speed,
        weight: weight(speed),
        home: 0,
        group: 0,
    };
    let mut workers: Vec<PlacedWorker> = cpus.into_iter().zip(speeds).map(worker).collect();
    workers.sort_unstable_by_key(|worker| (worker.node, worker.cpu));
    for here in workers.chunk_by_mut(|a, b| a.node == b.node) {
        let home = *machine.reach[&here[0].node].first()?;
        here.iter_mut().for_each(|worker| worker.home = home);
    }
    let mut groups = groups(machine, request, fit, &mut workers)?;
    let (mut partitions, mut low) = (Vec::with_capacity(workers.len()), 0);
    for worker in &workers {
        let group = &mut groups[worker.group];
        let part = if group.bytes == request.bytes { 1.0 } else { group.bytes as f64 / request.bytes as f64 };
        let weight = worker.weight as f64 / group.weight as f64 * part;
        let high = low + group.next(worker.weight);
        partitions.push(Partition { low, high, cpu: worker.cpu, node: worker.home, weight });
        low = high;
    }
    if !fit {
        spill(machine, &mut partitions, |cpu| &machine.reach[&node_of(cpu)])?;
    }
    let parts = partitions.iter().zip(&workers).map(|(partition, worker)| (partition.weight, worker.speed));
    let predicted = machine.time(parts);
    Some(Plan { partitions, predicted })
}

/// Groups the workers. All partitions are in proportion, except those near a memory that is full:
/// these share what it holds.
fn groups(
    machine: &Machine,
    request: &Request,
    fit: bool,
    workers: &mut [PlacedWorker],
) -> Option<Vec<ProportionGroup>> {
    let weight = |workers: &[PlacedWorker]| workers.iter().map(|worker| worker.weight).sum::<u64>();
    let mut groups = vec![ProportionGroup { bytes: request.bytes, weight: weight(workers), before: 0 }];
    if !fit || !request.weighted {
        return Some(groups);
    }
    let mut homes = BTreeMap::<u32, u64>::new();
    for near in workers.chunk_by(|a, b| a.home == b.home) {
        *homes.entry(near[0].home).or_default() += weight(near);
    }
    let parts: Vec<f64> = homes.keys().map(|&home| machine.part(home, request.bytes)).collect();
    let speeds: Vec<f64> = homes.values().map(|&speed| speed as f64).collect();
    let (_, full) = combined_speed(&speeds, &parts)?;
    let mut alone = BTreeMap::<u32, usize>::new();
    for ((home, weight), _) in homes.into_iter().zip(full).filter(|home| home.1) {
        let bytes = machine.memory[&home].free?;
        groups[0].bytes = groups[0].bytes.checked_sub(bytes)?;
        groups[0].weight -= weight;
        alone.insert(home, groups.len());
        groups.push(ProportionGroup { bytes, weight, before: 0 });
    }
    for near in workers.chunk_by_mut(|a, b| a.home == b.home) {
        let group = alone.get(&near[0].home).copied().unwrap_or(0);
        near.iter_mut().for_each(|worker| worker.group = group);
    }
    Some(groups)
}

/// Keeps partitions in their memory while there is room, and moves the others to the nearest memory
/// with room. Returns `None` if there is none.
fn spill<'a>(
    machine: &Machine,
    partitions: &mut [Partition],
    reach: impl Fn(u32) -> &'a Vec<u32>,
) -> Option<()> {
    let mut free: BTreeMap<u32, Option<u64>> =
        machine.memory.iter().map(|(&node, memory)| (node, memory.free)).collect();
    // A memory without room for the smallest partition is not tried again.
    let smallest = partitions.iter().map(Partition::size).min()?;
    let mut take = |node: u32, size: u64| {
        let Some(left) = free.get_mut(&node) else { return false };
        let Some(bytes) = left else { return true };
        let fits = *bytes >= size;
        *bytes -= if fits { size } else { 0 };
        if *bytes < smallest {
            free.remove(&node);
        }
        fits
    };
    let without: Vec<_> = partitions.iter_mut().filter(|part| !take(part.node, part.size())).collect();
    for partition in without {
        partition.node = *reach(partition.cpu).iter().find(|&&node| take(node, partition.size()))?;
    }
    Some(())
}
