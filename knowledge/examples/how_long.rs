//! How long a question takes on large machines: the median of 100, in microseconds, for several loads.
//!
//! `cargo run --release -p xtasking-knowledge --example how_long [NUMBER]`: with a number, only that question, once, for an
//! instruction count.

use std::time::{Duration, Instant};
use xtasking_knowledge::facts::{CpuLoad, Facts, Load};
use xtasking_knowledge::{Bound, Knowledge, Request};

/// Loads of strangers: none, a hog on one CPU, on some, or something else on each.
fn loads(facts: &Facts, kind: u32) -> Option<Load> {
    let of = |cpu: u32| match kind {
        0 => 0.0,
        1 => f64::from(u8::from(cpu == 5)),
        2 => f64::from(u8::from(cpu.is_multiple_of(7))),
        _ => f64::from(cpu.wrapping_mul(2_654_435_761) >> 16) / 65536.0,
    };
    let cpus = facts.cpus.iter().map(|cpu| CpuLoad { cpu: cpu.id, others: of(cpu.id), ..CpuLoad::default() });
    Some(Load { span: Duration::from_secs(1), cpus: cpus.collect() })
}

fn main() {
    let only = std::env::args().nth(1).and_then(|number| number.parse::<usize>().ok());
    let bytes = 1 << 30;
    let mut number = 0;
    for (packages, nodes, cores, threads) in
        [(1, 1, 2, 1), (4, 1, 4, 1), (2, 1, 64, 2), (2, 4, 16, 2), (2, 4, 32, 1)]
    {
        let machine = Facts::symmetric(packages, nodes, cores, threads);
        for kind in 0..4 {
            let knowledge = Knowledge::new(Facts { load: loads(&machine, kind), ..machine.clone() });
            for bound in [Bound::Compute, Bound::Memory] {
                for (weighted, most) in [(true, None), (false, None), (true, Some(100))] {
                    let request = Request { weighted, most, ..Request::new(bytes, bound) };
                    number += 1;
                    let ask = || knowledge.suggest_allocation(&request, None).expect("there is a plan");
                    match only {
                        Some(only) if only == number => println!("{:.4}", ask().plan.predicted),
                        Some(_) => {}
                        None => {
                            let mut times: Vec<_> = (0..100)
                                .map(|_| {
                                    let start = Instant::now();
                                    std::hint::black_box(ask());
                                    start.elapsed().as_micros()
                                })
                                .collect();
                            times.sort_unstable();
                            println!(
                                "{number:3}: {packages}x{nodes}x{cores}x{threads}, loads {kind}, {bound:?}, weighted {weighted}, \
                                 most {most:?}: {} us",
                                times[times.len() / 2]
                            );
                        }
                    }
                }
            }
        }
    }
}
