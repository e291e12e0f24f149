//! Where a program's time goes: the same work on one object and on many, as the runtime's statistics see it.
//!
//! `cargo run --release -p xtasking-examples --example where_time_goes`, and with the name of a file after `--` for a
//! timeline that <https://ui.perfetto.dev> opens.

#![forbid(unsafe_code)]

use std::io::Write;
use xtasking::{Runtime, Sequencing};

/// Adds up in tasks that touch one of `objects` sums each.
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
        println!("{file} has the last {} events", timeline.events());
    }
    let statistics = rt.statistics().expect("they are on");
    println!("With {objects} objects {statistics}\n");
    Ok(statistics.imbalance())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Tasks of a sequenced object run at its home, which is one worker.
    let one = add_up(1, None)?;
    let many = add_up(64, std::env::args().nth(1))?;
    println!(
        "λ of one object, all of whose tasks run on one of two workers: {one:.2}; of many objects: {many:.2}"
    );
    Ok(())
}
