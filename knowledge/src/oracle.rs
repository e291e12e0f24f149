//! What is found against every plan that there is, on small machines; and what is found one worker after another against
//! the program, on larger ones.

use crate::classes;
use crate::facts::{CpuLoad, Facts, Load, Quota};
use crate::greedy::{self, Harder};
use crate::machine::Machine;
use crate::questions::{Bound, Knowledge, Request};
use crate::solver::{Counts, Program, Rules};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// The least time of all sets of CPUs that obey the rules of the solver, with partitions near to their workers; `even` as in the solver.
fn least(machine: &Machine, request: &Request, even: bool) -> Option<f64> {
    let cpus: Vec<u32> = machine.places.cpus().collect();
    let (fewest, most) = request.counts();
    let sets = (1_u32..1 << cpus.len()).filter_map(|set| {
        let chosen: Vec<u32> =
            (0..cpus.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| cpus[bit]).collect();
        let count = chosen.len() as u64;
        if count < fewest || count > most || chosen.len() > machine.granted() {
            return None;
        }
        // Of a core's threads the fastest get workers. (A slower one may fit better, where little memory is near.)
        let are_first = machine.cores.iter().all(|core| {
            core.threads.iter().map(|thread| chosen.contains(&thread.cpu)).is_sorted_by(|a, b| a >= b)
        });
        if !are_first {
            return None;
        }
        let speeds = machine.speeds_on(chosen.iter().copied())?;
        let node = |cpu: &u32| machine.cores[machine.places[*cpu].0].node;
        let weight = |speed: u32| if request.weighted { f64::from(speed) } else { 1.0 };
        let whole: f64 = speeds.iter().map(|&speed| weight(speed)).sum();
        let mut sizes = BTreeMap::<u32, f64>::new();
        for (cpu, &speed) in chosen.iter().zip(&speeds) {
            *sizes.entry(machine.reach[&node(cpu)][0]).or_default() +=
                weight(speed) / whole * request.bytes as f64;
        }
        if sizes
            .iter()
            .any(|(node, size)| machine.memory[node].free.is_some_and(|free| *size > free as f64 + 1e-3))
        {
            return None;
        }
        if even {
            // A core is usable if its best worker alone is no slower than the slowest of the plan, where that one decides.
            let slowest = if request.weighted { 0 } else { *speeds.iter().min()? };
            let mut nodes = BTreeMap::<u32, (usize, usize)>::new();
            for core in &machine.cores {
                let usable = machine.speeds(core, |thread| thread == 0)[0] >= slowest;
                nodes.entry(core.node).or_default().1 += usize::from(usable);
            }
            chosen.iter().for_each(|cpu| nodes.entry(node(cpu)).or_default().0 += 1);
            let most = nodes.values().map(|node| node.0).max()?;
            let small = machine.small(request.bytes, request.weighted);
            let uneven = |(node, &(workers, cores)): (&u32, &(usize, usize))| {
                workers + 1 < most && workers < cores && !small.contains(node)
            };
            if nodes.iter().any(uneven) {
                return None;
            }
        }
        Some(machine.time(speeds.iter().map(|&speed| (weight(speed) / whole, speed))))
    });
    sets.min_by(f64::total_cmp)
}

fn machines() -> impl Strategy<Value = Facts> {
    let shape = prop_oneof![
        Just((1, 1, 7, 1)),
        Just((1, 1, 4, 2)),
        Just((2, 1, 2, 2)),
        Just((2, 1, 4, 1)),
        Just((3, 1, 2, 1)),
        Just((2, 2, 1, 2)),
    ];
    machines_of(shape, 8)
}

/// Machines of that shape: packages, nodes in each, cores in each, threads of each, which are `cpus` at most.
fn machines_of(
    shape: impl Strategy<Value = (u32, u32, u32, u32)>,
    cpus: u32,
) -> impl Strategy<Value = Facts> {
    let many = cpus as usize;
    let loads = prop::collection::vec((prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64], any::<bool>()), many);
    let capacities = prop_oneof![Just(None), Just(Some(1024)), Just(Some(600)), Just(Some(300))];
    let capacities = prop::collection::vec(capacities, many);
    let free = prop::collection::vec(prop_oneof![3 => Just(u64::MAX), 1 => 0..1200_u64], 4);
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
            Request { fewest, most, weighted, siblings, ..Request::new(1000, bound) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn no_plan_is_faster(facts in machines(), request in requests()) {
        let knowledge = Knowledge::new(facts);
        let machine = knowledge.question(&request, None).machine;
        let memory = request.bound == Bound::Memory;
        let expected = least(&machine, &request, memory).or_else(|| least(&machine, &request, false));
        let answer = knowledge.suggest_allocation(&request, None);
        match (expected, answer) {
            (Some(expected), Ok(answer)) => {
                let found = answer.plan.predicted;
                prop_assert!((found / expected - 1.0).abs() < 1e-4, "{found} instead of {expected}: {:?}", answer.plan);
                for other in answer.alternatives {
                    prop_assert!(other.costs > -1e-4, "{}: {}", other.what, other.costs);
                }
            }
            (Some(expected), Err(error)) => prop_assert!(false, "{error} instead of {expected}"),
            // Whatever memory there is may be far away.
            (None, Ok(answer)) => prop_assert!(answer.why.iter().any(|why| why.text.contains("has room"))),
            (None, Err(_)) => {}
        }
    }
}

/// What both are to agree about: speed, workers and their ranks.
fn outcome(program: &Program<'_>, found: &(f64, Counts)) -> (f64, usize, usize) {
    let (mut workers, mut ranks) = (0, 0);
    for (class, counts) in program.classes.iter().zip(&found.1) {
        let of_class: usize = (1..).zip(counts).map(|(n, count)| n * count).sum();
        workers += of_class;
        ranks += of_class * program.rank(class.node);
    }
    (found.0, workers, ranks)
}

fn larger() -> impl Strategy<Value = Facts> {
    let shape = prop_oneof![
        Just((2, 1, 8, 2)),
        Just((4, 1, 4, 1)),
        Just((1, 1, 12, 2)),
        Just((3, 1, 3, 2)),
        Just((2, 2, 3, 3))
    ];
    machines_of(shape, 36)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]
    #[test]
    fn one_after_another_is_what_the_program_finds(
        facts in larger(),
        request in requests(),
        fit in any::<bool>(),
        ahead in 0..4_u32,
    ) {
        let knowledge = Knowledge::new(facts);
        let question = knowledge.question(&request, None);
        let machine = &question.machine;
        let (few, order) = (classes::few(machine), [ahead, 0, 1, 2, 3]);
        let program = Program { machine, classes: &few, order: &order };
        let (fewest, most) = request.counts();
        let even = request.bound == Bound::Memory;
        let rules = Rules { bytes: request.bytes, fewest, most, weighted: request.weighted, even, fit };
        for slowest in if rules.weighted { vec![0] } else { vec![1, 250, 500, 1000] } {
            match (greedy::solve(&program, &rules, slowest), program.program(&rules, slowest)) {
                (Ok(Some(direct)), Some(by_program)) => {
                    let (direct, expected) = (outcome(&program, &direct), outcome(&program, &by_program));
                    prop_assert!((direct.0 / expected.0 - 1.0).abs() < 1e-6, "{direct:?} {expected:?}");
                    prop_assert_eq!((direct.1, direct.2), (expected.1, expected.2));
                }
                (Ok(direct), by_program) => prop_assert_eq!(direct, by_program),
                (Err(Harder), _) => {
                    // Only for want of memory, under a quota, or where a third thread adds more than a second.
                    let tight = fit && machine.memory.values().any(|memory| memory.free < Some(rules.bytes));
                    let threads = machine.cores.iter().map(|core| core.threads.len()).max();
                    prop_assert!(tight || machine.quota.is_some() || threads > Some(2));
                }
            }
        }
    }
}
