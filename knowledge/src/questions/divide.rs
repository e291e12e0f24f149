//! Partitions for workers: how large, and in whose memory.

use super::Request;
use crate::machine::Machine;
use crate::plan::{Partition, Plan};
use crate::weighted::together;
use std::collections::BTreeMap;

/// Workers whose partitions are in proportion to one another, and what these have of all data.
struct Group {
    bytes: u64,
    weight: u64,
    before: u64,
}

impl Group {
    /// The size of the next partition: sizes together are all bytes.
    fn next(&mut self, weight: u64) -> u64 {
        let low = u128::from(self.bytes) * u128::from(self.before) / u128::from(self.weight);
        self.before += weight;
        (u128::from(self.bytes) * u128::from(self.before) / u128::from(self.weight) - low) as u64
    }
}

/// Gives each CPU its partition and the partition its memory: if they are to `fit`, the nearest. `None` if there is no room.
pub(crate) fn divide(machine: &Machine, request: &Request, cpus: Vec<u32>, fit: bool) -> Option<Plan> {
    let speeds = machine.speeds_on(cpus.iter().copied())?;
    let node_of = |cpu: u32| machine.cores[machine.places[cpu].0].node;
    let mut workers = Vec::with_capacity(cpus.len());
    for (cpu, speed) in cpus.into_iter().zip(speeds) {
        let node = node_of(cpu);
        workers.push((node, cpu, speed, *machine.reach[&node].first()?));
    }
    workers.sort_unstable();
    let weight = |speed: u32| if request.weighted { u64::from(speed) } else { 1 };
    let (mut groups, of_home) =
        groups(machine, request, fit, || workers.iter().map(|&(_, _, speed, home)| (home, weight(speed))))?;
    let (mut partitions, mut low) = (Vec::with_capacity(workers.len()), 0);
    for &(_, cpu, speed, node) in &workers {
        let group = &mut groups[of_home[&node]];
        let high = low + group.next(weight(speed));
        let of_group = weight(speed) as f64 / group.weight as f64;
        let weight = if group.bytes == request.bytes {
            of_group
        } else {
            of_group * (group.bytes as f64 / request.bytes as f64)
        };
        partitions.push(Partition { low, high, cpu, node, weight });
        low = high;
    }
    if !fit {
        spill(machine, &mut partitions, |cpu| &machine.reach[&node_of(cpu)])?;
    }
    let parts =
        partitions.iter().map(|partition| partition.weight).zip(workers.iter().map(|worker| worker.2));
    let predicted = machine.time(parts);
    Some(Plan { partitions, predicted })
}

/// Who has partitions in proportion to one another, and for each memory, which of these groups: one of all, but for those
/// near to a memory that is full with less.
fn groups<W: Iterator<Item = (u32, u64)>>(
    machine: &Machine,
    request: &Request,
    fit: bool,
    workers: impl Fn() -> W,
) -> Option<(Vec<Group>, BTreeMap<u32, usize>)> {
    let mut homes = BTreeMap::<u32, u64>::new();
    workers().for_each(|(home, weight)| *homes.entry(home).or_default() += weight);
    let all = Group { bytes: request.bytes, weight: homes.values().sum(), before: 0 };
    let mut groups = vec![all];
    let mut of_home: BTreeMap<u32, usize> = homes.keys().map(|&home| (home, 0)).collect();
    if fit && request.weighted {
        let part = |&home: &u32| machine.part(home, request.bytes);
        let parts: Vec<f64> = homes.keys().map(part).collect();
        let speeds: Vec<f64> = homes.values().map(|&speed| speed as f64).collect();
        let (_, full) = together(&speeds, &parts)?;
        for ((&home, &weight), _) in homes.iter().zip(full).filter(|home| home.1) {
            let bytes = machine.memory[&home].free?;
            of_home.insert(home, groups.len());
            groups[0].bytes = groups[0].bytes.checked_sub(bytes)?;
            groups[0].weight -= weight;
            groups.push(Group { bytes, weight, before: 0 });
        }
    }
    Some((groups, of_home))
}

/// Leaves partitions where they are as long as there is room, and moves the others to the nearest memory that has some.
/// `None` if there is none.
fn spill<'a>(
    machine: &Machine,
    partitions: &mut [Partition],
    reach: impl Fn(u32) -> &'a Vec<u32>,
) -> Option<()> {
    let mut free: BTreeMap<u32, Option<u64>> =
        machine.memory.iter().map(|(&node, memory)| (node, memory.free)).collect();
    let mut take = |node: u32, size: u64| match free.get_mut(&node) {
        Some(Some(free)) if *free < size => false,
        Some(free) => {
            *free = free.map(|free| free - size);
            true
        }
        None => false,
    };
    let without: Vec<_> = partitions.iter_mut().filter(|part| !take(part.node, part.size())).collect();
    for partition in without {
        partition.node = *reach(partition.cpu).iter().find(|&&node| take(node, partition.size()))?;
    }
    Some(())
}
