//! How long a question takes: a plan alone, and the whole answer with its reasons and other plans. Medians and greatest of
//! all repetitions, in microseconds, for several machines and loads.
//!
//! `cargo run --release -p xtasking-knowledge --example how_long [REPETITIONS]`

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};
use support::{MACHINES, machine};
use xtasking_knowledge::facts::{CpuLoad, Facts, Load, Quota};
use xtasking_knowledge::{Bound, Knowledge, Request};

/// How much strangers take of a CPU.
type Strangers = fn(u32) -> f64;

const LOADS: [(&str, Strangers); 3] = [
    ("idle", |_| 0.0),
    ("a hog on each 7th", |cpu| f64::from(u8::from(cpu.is_multiple_of(7)))),
    ("all differ", |cpu| f64::from(cpu.wrapping_mul(2_654_435_761) >> 16) / 65536.0),
];

fn main() {
    let repetitions =
        std::env::args().nth(1).map_or(51, |text| text.parse().expect("a number of repetitions"));
    println!(
        "{:24} {:>4}  {:18} {:8} {:>14} {:>16} {:>7} {:>14}",
        "machine", "CPUs", "load", "bound", "plan (most)", "answer (most)", "others", "learnt (most)"
    );
    for name in MACHINES {
        lines(name, &machine(name), repetitions);
    }
    let made_up = [
        ("8 nodes of 32", (8, 1, 32, 1)),
        ("4 nodes of 32 x 2", (4, 1, 32, 2)),
        ("2 nodes of 128", (2, 1, 128, 1)),
    ];
    for (name, (packages, nodes, cores, threads)) in made_up {
        let mut facts = Facts::symmetric(packages, nodes, cores, threads);
        lines(name, &facts, repetitions);
        facts.limits.quota = Some(Quota { cpus: 24.0, source: "made up".into() });
        lines(&format!("{name}, quota 24"), &facts, repetitions);
        facts.limits.quota = None;
        // Less than an even part of the data fits there.
        facts.nodes[0].free = Some(32 << 20);
        lines(&format!("{name}, one full"), &facts, repetitions);
    }
}

/// A line for each load and bound.
fn lines(name: &str, machine: &Facts, repetitions: usize) {
    for (load, strangers) in LOADS {
        let cpus = machine.cpus.iter();
        let cpus = cpus.map(|cpu| CpuLoad { cpu: cpu.id, others: strangers(cpu.id), ..CpuLoad::default() });
        let facts = Facts {
            load: Some(Load { span: Duration::from_secs(1), cpus: cpus.collect() }),
            ..machine.clone()
        };
        let knowledge = Knowledge::new(facts.clone());
        for bound in [Bound::Compute, Bound::Memory] {
            let request = Request::new(1 << 30, bound);
            let (mut plans, mut answers, mut learnt) = (Vec::new(), Vec::new(), Vec::new());
            let mut others = 0;
            for _ in 0..repetitions {
                let plan =
                    timed(&mut plans, || knowledge.best_plan(&request, None)).expect("there is a plan");
                let answer = timed(&mut answers, || knowledge.suggest_allocation(&request, None));
                let answer = answer.expect("there is a plan");
                assert_eq!(answer.plan, plan);
                others = answer.alternatives.len();
                let facts = facts.clone();
                timed(&mut learnt, || Knowledge::new(facts));
            }
            let [plans, answers, learnt] = [plans, answers, learnt].map(|mut times| {
                times.sort_unstable();
                format!("{} ({})", times[times.len() / 2].as_micros(), times[times.len() - 1].as_micros())
            });
            let (cpus, bound) = (machine.cpus.len(), format!("{bound:?}"));
            println!(
                "{name:24} {cpus:4}  {load:18} {bound:8} {plans:>14} {answers:>16} {others:7} {learnt:>14}"
            );
        }
    }
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = work();
    times.push(began.elapsed());
    result
}
