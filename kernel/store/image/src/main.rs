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

fn run(machine: &'static Machine) {
    let taken = || {
        let (all, free) = machine.memory();
        all - free
    };
    let rt = machine.runtime().build().expect("a worker on each core");
    println!("a worker on each of {} cores after {:?}", rt.workers(), machine.uptime());
    let engine = Engine::builder().process_memory(move || Some(taken()));
    if let Err(wrong) = play::play(&rt, engine, |line| println!("{line}")) {
        println!("{wrong}");
        xkernel::exit(ExitStatus::Failure);
    }
    println!("all replies are those of Redis; {} MiB are taken", taken() >> 20);
}
