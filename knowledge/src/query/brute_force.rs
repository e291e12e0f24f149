//! Compares the search with every possible plan on small machines, and on larger ones with few
//! classes of cores.

use super::Knowledge;
use super::partitioning::divide;
use crate::facts::{CpuLoad, CpuSet, Facts, Load, Quota};
use crate::machine::{Machine, UsableCore};
use crate::plan::Partition;
use crate::request::{Bound, Request};
use crate::solver::core_classes::{Class, classes};
use crate::solver::cpu_selection::select_cpus;
use crate::solver::{Constraints, Problem};
use crate::speed::FULL_SPEED;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use xtasking_testing::PATIENCE;

/// A set of CPUs that satisfies the constraints: its time, the slowest speed for equal partitions,
/// and its workers on each node, in order.
struct Choice {
    time: f64,
    slowest: u32,
    taken: Vec<usize>,
}

impl Choice {
    fn workers(&self) -> usize {
        self.taken.iter().sum()
    }
}

/// Returns the minimal time for workers of these speeds, each near a memory. For unequal partitions
/// it bisects the time: what workers do in it, capped by their memories, must add up to everything.
fn time(machine: &Machine, request: &Request, fit: bool, workers: &[(u32, u32)]) -> Option<f64> {
    let part = |home: u32| match machine.memory[&home].free {
        Some(free) if fit => free as f64 / request.bytes as f64,
        _ => f64::INFINITY,
    };
    let mut homes = BTreeMap::<u32, Vec<u32>>::new();
    workers.iter().for_each(|&(home, speed)| homes.entry(home).or_default().push(speed));
    if !request.weighted {
        let each = 1.0 / workers.len() as f64;
        let holds = |(&home, here): (&u32, &Vec<u32>)| here.len() as f64 * each <= part(home) * (1.0 + 1e-12);
        return homes
            .iter()
            .all(holds)
            .then(|| machine.time(workers.iter().map(|&(_, speed)| (each, speed))));
    }
    let done = |time: f64| -> f64 {
        let speed = |here: &Vec<u32>| f64::from(here.iter().sum::<u32>()) / f64::from(FULL_SPEED);
        homes.iter().map(|(&home, here)| part(home).min(speed(here) * time)).sum()
    };
    let (mut short, mut long) = (0.0, f64::from(FULL_SPEED) * 2.0);
    if done(long) < 1.0 - 1e-12 {
        return None;
    }
    for _ in 0..60 {
        let middle = (short + long) / 2.0;
        if done(middle) < 1.0 { short = middle } else { long = middle }
    }
    Some(long.max(machine.quota.map_or(0.0, |cpus| 1.0 / cpus)))
}

/// Returns the number of sets of CPUs. Within a core the fastest threads get workers; equal cores
/// are interchangeable.
fn sets(classes: &[Class]) -> usize {
    let of_class = |class: &Class| {
        let threads = class.options.len();
        (1..=threads).fold(1, |sets, n| sets * (class.cores.len() + n) / n)
    };
    classes.iter().map(of_class).product()
}

/// Adds the sets for the cores from `first` on. Of equal cores, a later one has no more workers
/// than the one before.
fn add_sets(
    cores: &[(&UsableCore, bool, usize)],
    first: usize,
    set: &mut Vec<usize>,
    sets: &mut Vec<Vec<u32>>,
) {
    let Some(&(_, alike, room)) = cores.get(first) else {
        let threads = |(core, workers): (&(&UsableCore, bool, usize), &usize)| {
            core.0.threads[..*workers].iter().map(|thread| thread.cpu).collect::<Vec<_>>()
        };
        return sets.push(cores.iter().zip(&*set).flat_map(threads).collect());
    };
    for workers in 0..=(if alike { set[first - 1] } else { room }) {
        set.push(workers);
        add_sets(cores, first + 1, set, sets);
        set.pop();
    }
}

/// Returns the nodes whose nearest memory is too small for their part when every core has one
/// worker.
fn small(machine: &Machine, request: &Request) -> BTreeSet<u32> {
    let home = |node: u32| machine.reach[&node][0];
    let does = |core: &UsableCore| if request.weighted { u64::from(machine.workers(core, 1).sum) } else { 1 };
    let all: u64 = machine.cores.iter().map(does).sum();
    let is_small = |node: &u32| {
        let near = machine.cores.iter().filter(|core| home(core.node) == home(*node));
        let part = near.map(does).sum::<u64>() as f64 / all as f64;
        machine.memory[&home(*node)].free.is_some_and(|free| (free as f64) < part * request.bytes as f64)
    };
    machine.cores.iter().map(|core| core.node).filter(is_small).collect()
}

/// Returns the best of all sets that satisfy the solver's constraints.
fn best(machine: &Machine, request: &Request, order: &[u32], even: bool, fit: bool) -> Option<Choice> {
    let classes = classes(machine);
    let of_class = |class: &Class| -> Vec<(&UsableCore, bool, usize)> {
        let core = |(index, &core): (usize, &usize)| (&machine.cores[core], index > 0, class.options.len());
        class.cores.iter().enumerate().map(core).collect()
    };
    let cores: Vec<_> = classes.iter().flat_map(of_class).collect();
    let mut sets = Vec::new();
    add_sets(&cores, 0, &mut Vec::new(), &mut sets);
    let (fewest, most) = request.counts();
    let sets = sets.into_iter().filter_map(|chosen| {
        let count = chosen.len() as u64;
        if count < fewest || count > most || chosen.len() > machine.granted() {
            return None;
        }
        let speeds = machine.speeds_on(chosen.iter().copied())?;
        let node = |cpu: &u32| machine.cores[machine.places[*cpu].0].node;
        let home = |cpu: &u32| machine.reach[&node(cpu)][0];
        let workers: Vec<_> = chosen.iter().map(home).zip(speeds.iter().copied()).collect();
        if even {
            // For equal partitions, a core is usable if its first worker is no slower than the
            // slowest of the plan.
            let slowest = if request.weighted { 0 } else { *speeds.iter().min()? };
            let mut nodes = BTreeMap::<u32, (usize, usize)>::new();
            for core in &machine.cores {
                let usable = core.threads[0].speed(machine.smt_share(core, |thread| thread == 0)) >= slowest;
                nodes.entry(core.node).or_default().1 += usize::from(usable);
            }
            chosen.iter().for_each(|cpu| nodes.entry(node(cpu)).or_default().0 += 1);
            let most = nodes.values().map(|node| node.0).max()?;
            let small = if fit { small(machine, request) } else { BTreeSet::new() };
            let uneven = |(node, &(workers, cores)): (&u32, &(usize, usize))| {
                workers + 1 < most && workers < cores && !small.contains(node)
            };
            if nodes.iter().any(uneven) {
                return None;
            }
        }
        let time = time(machine, request, fit, &workers)?;
        let here = |&id: &u32| chosen.iter().filter(|cpu| node(cpu) == id).count();
        let slowest = if request.weighted { 0 } else { *speeds.iter().min()? };
        Some(Choice { time, slowest, taken: order.iter().map(here).collect() })
    });
    // Compare time, number of workers, slowest speed, and workers on the first nodes, in this
    // order.
    sets.reduce(|best, new| {
        let same = (new.time / best.time - 1.0).abs() < 1e-7;
        let key = |choice: &Choice| (Reverse(choice.workers()), choice.slowest, choice.taken.clone());
        let better = if same { key(&new) > key(&best) } else { new.time < best.time };
        if better { new } else { best }
    })
}

fn machines() -> impl Strategy<Value = Facts> {
    let shape = prop_oneof![
        Just((1, 1, 7, 1)),
        Just((1, 1, 4, 2)),
        Just((2, 1, 2, 2)),
        Just((2, 1, 4, 1)),
        Just((3, 1, 2, 1)),
        Just((2, 2, 1, 2)),
        Just((1, 1, 2, 4)),
        Just((2, 1, 1, 3)),
        Just((4, 1, 2, 1)),
    ];
    machines_of(shape, 8)
}

/// Generates machines of a shape (packages, nodes in each, cores in each, threads in each) with at
/// most `cpus` CPUs.
fn machines_of(
    shape: impl Strategy<Value = (u32, u32, u32, u32)>,
    cpus: u32,
) -> impl Strategy<Value = Facts> {
    let many = cpus as usize;
    let loads = prop::collection::vec((prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64], any::<bool>()), many);
    let capacities = prop_oneof![Just(None), Just(Some(1024)), Just(Some(600)), Just(Some(300))];
    let capacities = prop::collection::vec(capacities, many);
    // Of 1000 bytes; on half of the machines, most nodes have little room.
    let free = prop_oneof![
        prop::collection::vec(prop_oneof![3 => Just(u64::MAX), 1 => 0..1200_u64], 4),
        prop::collection::vec(prop_oneof![1 => Just(u64::MAX), 1 => 0..250_u64, 3 => 200..900_u64], 4),
    ];
    let quota =
        prop_oneof![3 => Just(None), 1 => (1..80_u32).prop_map(|tenths| Some(f64::from(tenths) / 10.0))];
    (shape, loads, capacities, free, quota, prop::collection::btree_set(0..cpus, 1..=many), any::<bool>())
        .prop_map(|((packages, nodes, cores, threads), loads, capacities, free, quota, mask, masked)| {
            let mut facts = Facts::symmetric(packages, nodes, cores, threads);
            let cpus = facts.cpus.iter_mut().map(|cpu| {
                cpu.capacity = capacities[cpu.core as usize];
                let (others, competing) = loads[cpu.id as usize];
                let own = if competing { 1.0 - others } else { 0.0 };
                CpuLoad { cpu: cpu.id, own, others, ..CpuLoad::default() }
            });
            facts.load = Some(Load { span: Duration::from_secs(1), cpus: cpus.collect() });
            facts.nodes.iter_mut().zip(free).for_each(|(node, free)| node.free = Some(free));
            facts.limits.quota = quota.map(|cpus| Quota { cpus, source: "cpu.max".into() });
            facts.limits.affinity = masked.then(|| mask.into_iter().collect());
            facts
        })
}

fn requests() -> impl Strategy<Value = Request> {
    let fewest = prop_oneof![3 => Just(None), 1 => (1..6_u32).prop_map(Some)];
    let most = prop_oneof![3 => Just(None), 2 => (1..8_u32).prop_map(Some)];
    (any::<bool>(), fewest, most, any::<bool>(), any::<bool>()).prop_map(
        |(memory, fewest, most, weighted, siblings)| {
            let bound = if memory { Bound::Memory } else { Bound::Compute };
            Request {
                partitions_min: fewest,
                partitions_max: most,
                weighted,
                siblings,
                ..Request::new(1000, bound)
            }
        },
    )
}

/// Generates parameters of a search: the first node, even spread, and nearest memory.
fn searches() -> impl Strategy<Value = (u32, bool, bool)> {
    (0..4_u32, any::<bool>(), prop_oneof![1 => Just(false), 4 => Just(true)])
}

/// Runs the search and compares it with every set of CPUs.
fn compare(
    facts: Facts,
    request: &Request,
    (ahead, even, fit): (u32, bool, bool),
) -> Result<(), TestCaseError> {
    let knowledge = Knowledge::new(facts);
    let query = knowledge.query(request, None);
    let machine = &query.machine;
    let mut order: Vec<u32> = machine.cores.iter().map(|core| core.node).collect();
    order.sort_unstable();
    order.dedup();
    order.sort_by_key(|&node| node != ahead);
    let (fewest, most) = request.counts();
    let constraints =
        Constraints { bytes: request.bytes, fewest, most, weighted: request.weighted, even, fit };
    let classes = classes(machine);
    prop_assume!(sets(&classes) <= 4000);
    let problem = Problem { machine, classes: &classes, order: &order };
    let expected = best(machine, request, &order, even, fit);
    let Some(counts) = problem.solve(&constraints) else {
        prop_assert!(expected.is_none());
        return Ok(());
    };
    let expected = expected.ok_or_else(|| TestCaseError::fail(format!("{counts:?}")))?;
    let cpus = select_cpus(machine, &classes, &counts, request.caches, &CpuSet::default());
    let node = |cpu: &u32| machine.cores[machine.places[*cpu].0].node;
    let here = |&id: &u32| cpus.iter().filter(|cpu| node(cpu) == id).count();
    prop_assert_eq!(order.iter().map(here).collect::<Vec<_>>(), expected.taken);
    if !fit {
        return Ok(());
    }
    let Some(plan) = divide(machine, request, cpus, fit) else {
        return Err(TestCaseError::fail("it does not fit"));
    };
    let found = plan.predicted;
    prop_assert!((found / expected.time - 1.0).abs() < 3e-6, "{found} instead of {}", expected.time);
    prop_assert_eq!(plan.bytes(), request.bytes);
    for (node, memory) in &machine.memory {
        let here = plan.partitions.iter().filter(|part| part.node == *node).map(Partition::size);
        prop_assert!(memory.free.is_none_or(|free| here.sum::<u64>() <= free));
    }
    Ok(())
}

/// Generates larger machines with few different loads.
fn larger() -> impl Strategy<Value = Facts> {
    let shape = prop_oneof![
        Just((2, 1, 8, 2)),
        Just((4, 1, 4, 1)),
        Just((1, 1, 12, 2)),
        Just((3, 1, 3, 2)),
        Just((2, 2, 3, 3)),
        Just((4, 1, 8, 1)),
        Just((2, 1, 4, 4)),
    ];
    let share = prop_oneof![Just(0.0), Just(0.5), Just(1.0)];
    let alike = prop::collection::vec((share, prop_oneof![Just(None), Just(Some(600))]), 4);
    (machines_of(shape, 36), alike).prop_map(|(mut facts, alike)| {
        // The first cores of a node have one load, the others another.
        let cores = facts.cpus.iter().filter(|cpu| cpu.node == 0).map(|cpu| cpu.core).max().unwrap_or(0) + 1;
        let loads = facts.load.iter_mut().flat_map(|load| &mut load.cpus);
        for (cpu, load) in facts.cpus.iter_mut().zip(loads) {
            let of = &alike[(cpu.node % 2 * 2 + u32::from(cpu.core % cores > cores / 2)) as usize];
            (load.own, load.others, cpu.capacity) = (0.0, of.0, of.1);
        }
        facts
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400 / PATIENCE, ..ProptestConfig::default() })]
    #[test]
    fn no_set_of_cpus_is_better(facts in machines(), request in requests(), search in searches()) {
        compare(facts, &request, search)?;
    }

    #[test]
    fn no_set_of_cpus_is_better_on_larger_machines(
        facts in larger(),
        request in requests(),
        search in searches(),
    ) {
        compare(facts, &request, search)?;
    }

    #[test]
    fn suggestions_are_optimal(facts in machines(), request in requests()) {
        let knowledge = Knowledge::new(facts);
        let machine = knowledge.query(&request, None).machine;
        let memory = request.bound == Bound::Memory;
        let least = |even| best(&machine, &request, &[0, 1, 2, 3], even, true).map(|best| best.time);
        let expected = least(memory).or_else(|| least(false));
        let answer = knowledge.suggest_allocation(&request, None);
        match (expected, answer) {
            (Some(expected), Ok(answer)) => {
                let found = answer.plan.predicted;
                let is_close = (found / expected - 1.0).abs() < 3e-6;
                prop_assert!(is_close, "{found} instead of {expected}: {:?}", answer.plan);
                for other in answer.alternatives {
                    prop_assert!(other.costs > -3e-6, "{}: {}", other.what, other.costs);
                }
            }
            (Some(expected), Err(error)) => prop_assert!(false, "{error} instead of {expected}"),
            // The only memory with room may be far away.
            (None, Ok(answer)) => prop_assert!(answer.why.iter().any(|why| why.text.contains("with room"))),
            (None, Err(_)) => {}
        }
    }
}
