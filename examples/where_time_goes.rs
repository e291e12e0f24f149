//! How to find out where a program's time goes: runs the same work on one object and on many, and
//! prints the runtime's statistics.
//!
//! `cargo run --release -p xtasking-examples --example where_time_goes [-- FILE]`
//!
//! With FILE, it also writes a timeline that <https://ui.perfetto.dev> opens.

#![forbid(unsafe_code)]

use std::io::Write;
use xtasking::{Runtime, primitive::Sequencing};

/// Runs tasks that each increment one of `objects` sums.
fn add_up(objects: usize, file: Option<String>) -> Result<f64, Box<dyn std::error::Error>> {
    let builder = Runtime::builder().workers(2).statistics(true);
    let rt = if file.is_some() { builder.timeline(5_000) } else { builder }.build()?;
    let sums: Vec<_> = (0..objects).map(|_| rt.plain(0u64).pin(Sequencing).build()).collect();
    let tasks = sums.iter().cycle().take(50_000);
    let tasks: Vec<_> = tasks.map(|sum| rt.task(sum.write()).submit(|sum, _cx| *sum += 1)).collect();
    for task in tasks {
        task.join()?;
    }
    if let (Some(file), Some(timeline)) = (file, rt.timeline()) {
        write!(std::fs::File::create(&file)?, "{timeline}")?;
        println!("{file} contains the last {} events", timeline.events());
    }
    let statistics = rt.statistics().expect("statistics are on");
    println!("With {objects} objects:\n{statistics}\n");
    Ok(statistics.imbalance())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Tasks on a sequenced object run at its home, which is one worker.
    let one = add_up(1, None)?;
    let many = add_up(64, std::env::args().nth(1))?;
    println!(
        "imbalance λ with one object, whose tasks all run on one of two workers: {one:.2}; \
         with many objects: {many:.2}"
    );
    Ok(())
}
