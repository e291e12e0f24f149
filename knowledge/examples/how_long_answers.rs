//! How long a question takes: a plan alone, and the whole answer with its reasons and other plans. For each machine and each
//! way in which its memory is free, a line tells of all loads, quotas and requests: the median of their medians, and the
//! greatest median with the question whose it is. In microseconds.
//!
//! `cargo run --release -p xtasking-knowledge --example how_long_answers [REPETITIONS [PART OF A MACHINE'S NAME]]`

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};
use support::{MACHINES, machine};
use xtasking_knowledge::facts::{CpuLoad, Facts, Load, Quota};
use xtasking_knowledge::{Adviser, Bound, Knowledge, NoPlan, Patience, Request, Sharing};

const BYTES: u64 = 1 << 30;

/// Names of what can be chosen.
type Choices<T> = &'static [(&'static str, T)];

/// Packages with a node each, cores of each, threads of each; the strength of every second core.
const MADE_UP: Choices<(u32, u32, u32, u16)> = &[
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

/// How much of its part of the data each node has room for, given its number and how many there are.
const MEMORIES: Choices<fn(u32, u32) -> f64> = &[
    ("roomy", |_, _| f64::INFINITY),
    ("one full", |node, _| if node == 0 { 0.1 } else { f64::INFINITY }),
    ("half are small", |node, _| if node % 2 == 0 { 0.4 } else { 1.7 }),
    ("all differ", |node, nodes| 2.2 * f64::from(node + 1) / f64::from(nodes + 1)),
    ("just enough", |node, _| 1.01 + 0.003 * f64::from(node % 3)),
];

/// How much strangers take of a CPU.
const LOADS: Choices<fn(u32) -> f64> = &[
    ("idle", |_| 0.0),
    ("a hog on each 7th", |cpu| f64::from(u8::from(cpu.is_multiple_of(7)))),
    ("all differ", |cpu| f64::from(cpu.wrapping_mul(2_654_435_761) >> 16) / 65536.0),
];

const QUOTAS: Choices<Option<f64>> = &[("", None), ("quota 24", Some(24.0)), ("quota 99.5", Some(99.5))];

const REQUESTS: Choices<fn() -> Request> = &[
    ("computing", || Request::new(BYTES, Bound::Compute)),
    ("memory", || Request::new(BYTES, Bound::Memory)),
    ("computing, equal", || Request { weighted: false, ..Request::new(BYTES, Bound::Compute) }),
    ("memory, equal", || Request { weighted: false, ..Request::new(BYTES, Bound::Memory) }),
    ("computing together, 100", || Request {
        caches: Sharing::Together,
        most: Some(100),
        ..Request::new(BYTES, Bound::Compute)
    }),
    ("memory apart, 100", || Request {
        caches: Sharing::Apart,
        most: Some(100),
        ..Request::new(BYTES, Bound::Memory)
    }),
    ("memory, at least 200", || Request { fewest: Some(200), ..Request::new(BYTES, Bound::Memory) }),
];

/// Medians of questions about machines of some size.
#[derive(Default)]
struct Times {
    plans: Vec<(Duration, String)>,
    answers: Vec<(Duration, String)>,
    learnt: Vec<(Duration, String)>,
    looks: Vec<(Duration, String)>,
    refused: usize,
}

fn main() {
    let repetitions =
        std::env::args().nth(1).map_or(11, |text| text.parse().expect("a number of repetitions"));
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let fixtures =
        MACHINES.into_iter().filter(|name| name.contains(&wanted)).map(|name| (name, machine(name)));
    let made_up = MADE_UP.iter().filter(|made_up| made_up.0.contains(&wanted)).map(
        |&(name, (packages, cores, threads, second))| {
            let mut facts = Facts::symmetric(packages, 1, cores, threads);
            let weaker = facts.cpus.iter_mut().filter(|cpu| second < 1024 && cpu.core % 2 == 1);
            weaker.for_each(|cpu| cpu.capacity = Some(second));
            (name, facts)
        },
    );
    println!(
        "{:20} {:>4}  {:14} {:>9} {:>13} {:>13}  longest answer",
        "machine", "CPUs", "memory", "questions", "plan (most)", "answer (most)"
    );
    let mut all = Times::default();
    for (name, facts) in fixtures.chain(made_up) {
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
                all.learnt.append(&mut times.learnt);
                all.looks.append(&mut times.looks);
                all.refused += times.refused;
            }
        }
    }
    let long = all.answers.iter().filter(|answer| answer.0 >= Duration::from_millis(1)).count();
    let [plans, answers, learnt, looks] =
        [&mut all.plans, &mut all.answers, &mut all.learnt, &mut all.looks].map(|times| median(times));
    println!(
        "256 CPUs: {} questions, of which {} have no plan and {long} take 1 ms or more; plan {plans}, answer {answers}, learnt \
         {learnt}, an adviser's look {looks}",
        all.answers.len(),
        all.refused
    );
}

/// The median of medians, and the greatest, after which they are sorted.
fn median(times: &mut [(Duration, String)]) -> String {
    times.sort();
    let at = |index: usize| times.get(index).map_or(0, |time| time.0.as_micros());
    format!("{} ({})", at(times.len() / 2), at(times.len().saturating_sub(1)))
}

/// Asks everything of a machine.
fn ask(machine: &Facts, repetitions: usize, times: &mut Times) {
    for (load, strangers) in LOADS {
        let cpus = machine.cpus.iter();
        let cpus = cpus.map(|cpu| CpuLoad { cpu: cpu.id, others: strangers(cpu.id), ..CpuLoad::default() });
        let load_now = Load { span: Duration::from_secs(1), cpus: cpus.collect() };
        for (limit, quota) in QUOTAS {
            let mut facts = Facts { load: Some(load_now.clone()), ..machine.clone() };
            if let Some(cpus) = *quota {
                facts.limits.quota = Some(Quota { cpus, source: "made up".into() });
            }
            let knowledge = Knowledge::new(facts.clone());
            let learnt = timed(repetitions, || Knowledge::new(facts.clone())).0;
            times.learnt.push((learnt, String::new()));
            for (name, request) in REQUESTS {
                let (request, name) = (request(), format!("{name}; {load} {limit}"));
                let (plan_time, plan) = timed(repetitions, || knowledge.best_plan(&request, None));
                let (time, answer) = timed(repetitions, || knowledge.suggest_allocation(&request, None));
                assert_eq!(answer.as_ref().map(|answer| &answer.plan), plan.as_ref());
                times.refused += usize::from(answer.is_err());
                let too_few = matches!(answer, Err(NoPlan::TooFewCpus { .. } | NoPlan::Memory { .. }));
                assert!(answer.is_ok() || too_few, "{answer:?}");
                if let Ok(plan) = plan {
                    let mut adviser = Adviser::new(request, plan, Patience::default());
                    let look = || adviser.look(Duration::ZERO, &facts).expect("there is a plan");
                    times.looks.push((timed(repetitions, look).0, String::new()));
                }
                times.plans.push((plan_time, name.clone()));
                times.answers.push((time, name));
            }
        }
    }
}

/// The median of that many times, and the last result.
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
