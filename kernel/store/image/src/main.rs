//! Runs commands of the store on all cores, and compares the replies with those of Redis.
//!
//! The commands are those of the store's test program `commands`, from the same sources.

#![no_main]
#![forbid(unsafe_code)]

#[path = "../../../../store/tests/commands/play/mod.rs"]
mod play;

use xkernel::{ExitStatus, Machine};
use xtasking_store::Engine;

xkernel::program!(run);

/// The least number of databases. The script needs one for each core.
const DATABASES: usize = 16;

fn run(machine: &'static Machine) {
    let taken = || {
        let (all, free) = machine.memory();
        all - free
    };
    let rt = machine.runtime().build().expect("a worker on each core");
    let databases = DATABASES.max(rt.workers());
    let builder = Engine::builder().databases(databases).process_memory(move || Some(taken()));
    let engine = builder.build(&rt);
    engine.start_upkeep(&rt);
    println!("a store on {} cores after {:?}, in {} MiB", rt.workers(), machine.uptime(), taken() >> 20);
    if let Err(wrong) = play::play(&rt, &engine, |line| println!("{line}")) {
        println!("{wrong}");
        xkernel::exit(ExitStatus::Failure);
    }
    println!("all replies are those of Redis; {} MiB are taken", taken() >> 20);
}
