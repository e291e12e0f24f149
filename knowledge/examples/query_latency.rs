//! Measures the latency of queries: the plan alone, and the whole answer with reasons and
//! alternatives. One line for each machine and each distribution of free memory sums up all loads,
//! quotas and requests. It shows the median of the medians, and the largest median with its query,
//! in microseconds.
//!
//! `cargo run --release -p xtasking-knowledge --example query_latency [REPETITIONS [PART OF A
//! MACHINE'S NAME]]`

#![forbid(unsafe_code)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};
use support::{MACHINES, machine};
use xtasking_knowledge::facts::{CpuLoad, Facts, Load, Quota};
use xtasking_knowledge::{AdvicePolicy, Adviser, Bound, CacheSharing, Knowledge, NoPlan, Request};

const BYTES: u64 = 1 << 30;

/// Named alternatives.
type Choices<T> = &'static [(&'static str, T)];

/// Packages with one node each, cores in each, threads in each; the capacity of every second core.
const SYNTHETIC: Choices<(u32, u32, u32, u16)> = &[
    ("2 nodes of 128", (2, 128, 1, 1024)),
    ("4 nodes of 32 x 2", (4, 32, 2, 1024)),
    ("2 nodes of 32 x 4", (2, 32, 4, 1024)),
    ("4 nodes of 8 x 8", (4, 8, 8, 1024)),
    ("8 nodes of 32", (8, 32, 1, 1024)),
    ("16 nodes of 16", (16, 16, 1, 1024)),
    ("32 nodes of 4 x 2", (32, 4, 2, 1024)),
    ("64 nodes of 4", (64, 4, 1, 1024)),
    ("4 nodes of two kinds", (4, 64, 1, 600)),
    ("4 of two kinds x 2", (4, 32, 2, 600)),
];

/// The room of a node for its part of the data, by its number and the number of nodes.
const MEMORIES: Choices<fn(u32, u32) -> f64> = &[
    ("roomy", |_, _| f64::INFINITY),
    ("one full", |node, _| if node == 0 { 0.1 } else { f64::INFINITY }),
    ("half are small", |node, _| if node % 2 == 0 { 0.4 } else { 1.7 }),
    ("all differ", |node, nodes| 2.2 * f64::from(node + 1) / f64::from(nodes + 1)),
    ("just enough", |node, _| 1.01 + 0.003 * f64::from(node % 3)),
];

/// The share of a CPU that other processes take.
const LOADS: Choices<fn(u32) -> f64> = &[
    ("idle", |_| 0.0),
    ("each 7th CPU busy", |cpu| f64::from(u8::from(cpu.is_multiple_of(7)))),
    ("all differ", |cpu| f64::from(cpu.wrapping_mul(2_654_435_761) >> 16) / 65536.0),
];

const QUOTAS: Choices<Option<f64>> = &[("", None), ("quota 24", Some(24.0)), ("quota 99.5", Some(99.5))];

const REQUESTS: Choices<fn() -> Request> = &[
    ("computing", || Request::new(BYTES, Bound::Compute)),
    ("memory", || Request::new(BYTES, Bound::Memory)),
    ("computing, equal", || Request { weighted: false, ..Request::new(BYTES, Bound::Compute) }),
    ("memory, equal", || Request { weighted: false, ..Request::new(BYTES, Bound::Memory) }),
    ("computing together, 100", || Request {
        caches: CacheSharing::Together,
        partitions_max: Some(100),
        ..Request::new(BYTES, Bound::Compute)
    }),
    ("memory apart, 100", || Request {
        caches: CacheSharing::Apart,
        partitions_max: Some(100),
        ..Request::new(BYTES, Bound::Memory)
    }),
    ("memory, at least 200", || Request { partitions_min: Some(200), ..Request::new(BYTES, Bound::Memory) }),
];

/// Medians for machines of one size.
#[derive(Default)]
struct Times {
    plans: Vec<(Duration, String)>,
    answers: Vec<(Duration, String)>,
    new_knowledge: Vec<(Duration, String)>,
    updates: Vec<(Duration, String)>,
    refused: usize,
}

fn main() {
    let repetitions =
        std::env::args().nth(1).map_or(11, |text| text.parse().expect("a number of repetitions"));
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let fixtures =
        MACHINES.into_iter().filter(|name| name.contains(&wanted)).map(|name| (name, machine(name)));
    let synthetic = SYNTHETIC.iter().filter(|synthetic| synthetic.0.contains(&wanted)).map(
        |&(name, (packages, cores, threads, second))| {
            let mut facts = Facts::symmetric(packages, 1, cores, threads);
            let weaker = facts.cpus.iter_mut().filter(|cpu| second < 1024 && cpu.core % 2 == 1);
            weaker.for_each(|cpu| cpu.capacity = Some(second));
            (name, facts)
        },
    );
    println!(
        "{:20} {:>4}  {:14} {:>9} {:>13} {:>13}  longest answer",
        "machine", "CPUs", "memory", "queries", "plan (max)", "answer (max)"
    );
    let mut all = Times::default();
    for (name, facts) in fixtures.chain(synthetic) {
        for (memory, room) in MEMORIES {
            let mut facts = facts.clone();
            let nodes = facts.nodes.len() as u32;
            for (node, number) in facts.nodes.iter_mut().zip(0..) {
                let part = BYTES as f64 / f64::from(nodes) * room(number, nodes);
                node.free = node.free.map(|free| free.min(part as u64));
            }
            let mut times = Times::default();
            ask(&facts, repetitions, &mut times);
            print!("{name:20} {:4}  {memory:14} {:9}", facts.cpus.len(), times.answers.len());
            for times in [&mut times.plans, &mut times.answers] {
                print!(" {:>13}", median(times));
            }
            println!("  {}", times.answers.last().map_or("", |longest| &longest.1));
            if facts.cpus.len() == 256 {
                all.plans.append(&mut times.plans);
                all.answers.append(&mut times.answers);
                all.new_knowledge.append(&mut times.new_knowledge);
                all.updates.append(&mut times.updates);
                all.refused += times.refused;
            }
        }
    }
    let long = all.answers.iter().filter(|answer| answer.0 >= Duration::from_millis(1)).count();
    let [plans, answers, new_knowledge, updates] =
        [&mut all.plans, &mut all.answers, &mut all.new_knowledge, &mut all.updates]
            .map(|times| median(times));
    println!(
        "256 CPUs: {} queries, of which {} have no plan and {long} take 1 ms or more; plan {plans}, \
         answer {answers}, new knowledge {new_knowledge}, an adviser's update {updates}",
        all.answers.len(),
        all.refused
    );
}

/// Sorts the times and formats the median and the maximum.
fn median(times: &mut [(Duration, String)]) -> String {
    times.sort();
    let at = |index: usize| times.get(index).map_or(0, |time| time.0.as_micros());
    format!("{} ({})", at(times.len() / 2), at(times.len().saturating_sub(1)))
}

/// Runs all queries on a machine.
fn ask(machine: &Facts, repetitions: usize, times: &mut Times) {
    for (load, competing) in LOADS {
        let cpus = machine.cpus.iter();
        let cpus = cpus.map(|cpu| CpuLoad { cpu: cpu.id, others: competing(cpu.id), ..CpuLoad::default() });
        let load_now = Load { span: Duration::from_secs(1), cpus: cpus.collect() };
        for (limit, quota) in QUOTAS {
            let mut facts = Facts { load: Some(load_now.clone()), ..machine.clone() };
            if let Some(cpus) = *quota {
                facts.limits.quota = Some(Quota { cpus, source: "synthetic".into() });
            }
            let knowledge = Knowledge::new(facts.clone());
            let new_knowledge = timed(repetitions, || Knowledge::new(facts.clone())).0;
            times.new_knowledge.push((new_knowledge, String::new()));
            for (name, request) in REQUESTS {
                let (request, name) = (request(), format!("{name}; {load} {limit}"));
                let (plan_time, plan) = timed(repetitions, || knowledge.best_plan(&request, None));
                let (time, answer) = timed(repetitions, || knowledge.suggest_allocation(&request, None));
                assert_eq!(answer.as_ref().map(|answer| &answer.plan), plan.as_ref());
                times.refused += usize::from(answer.is_err());
                let too_few = matches!(answer, Err(NoPlan::TooFewCpus { .. } | NoPlan::Memory { .. }));
                assert!(answer.is_ok() || too_few, "{answer:?}");
                if let Ok(plan) = plan {
                    let mut adviser = Adviser::new(request, plan, AdvicePolicy::default());
                    let update = || adviser.update(Duration::ZERO, &facts).expect("there is a plan");
                    times.updates.push((timed(repetitions, update).0, String::new()));
                }
                times.plans.push((plan_time, name.clone()));
                times.answers.push((time, name));
            }
        }
    }
}

/// Returns the median time of the repetitions, and the last result.
fn timed<T>(repetitions: usize, mut work: impl FnMut() -> T) -> (Duration, T) {
    let (mut times, mut result) = (Vec::new(), None);
    for _ in 0..repetitions.max(1) {
        let began = Instant::now();
        let new = work();
        times.push(began.elapsed());
        result = Some(new);
    }
    times.sort_unstable();
    (times[times.len() / 2], result.expect("it was done at least once"))
}
