//! How long a question takes: the median of 20, in microseconds, for several machines and loads.
//!
//! `cargo run --release -p xtasking-knowledge --example how_long`

use std::time::{Duration, Instant};
use xtasking_knowledge::facts::{CpuLoad, Facts, Load};
use xtasking_knowledge::{Bound, Knowledge, Request};

/// How much strangers take of a CPU.
type Strangers = fn(u32) -> f64;

const LOADS: [(&str, Strangers); 3] = [
    ("idle", |_| 0.0),
    ("a hog on each seventh CPU", |cpu| f64::from(u8::from(cpu.is_multiple_of(7)))),
    ("another load on each CPU", |cpu| f64::from(cpu.wrapping_mul(2_654_435_761) >> 16) / 65536.0),
];

fn main() {
    for (packages, cores, threads) in [(1, 2, 1), (4, 4, 1), (2, 64, 2)] {
        let machine = Facts::symmetric(packages, 1, cores, threads);
        for (name, strangers) in LOADS {
            let cpus = machine.cpus.iter();
            let cpus =
                cpus.map(|cpu| CpuLoad { cpu: cpu.id, others: strangers(cpu.id), ..CpuLoad::default() });
            let load = Some(Load { span: Duration::from_secs(1), cpus: cpus.collect() });
            let knowledge = Knowledge::new(Facts { load, ..machine.clone() });
            for bound in [Bound::Compute, Bound::Memory] {
                let request = Request::new(1 << 30, bound);
                let mut times = [0; 20].map(|_| {
                    let began = Instant::now();
                    let plan = knowledge.suggest_allocation(&request, None).expect("there is a plan").plan;
                    assert!(plan.predicted > 0.0);
                    began.elapsed().as_micros()
                });
                times.sort_unstable();
                println!("{:4} CPUs, {name}, {bound:?}: {} µs", machine.cpus.len(), times[10]);
            }
        }
    }
}
