//! Runs commands of the store on all cores, and compares the replies with those of Redis.
//!
//! The commands are those of the store's test program `commands`, from the same sources. With `log
//! [COUNT]` it keeps a log on the machine's block device instead.

#![no_main]
#![forbid(unsafe_code)]

mod durable;
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
    let mut words = machine.arguments();
    if words.next() == Some("log") {
        let count = words.next().map_or(1000, |count| count.parse().expect("a number"));
        return end(durable::run(machine, count));
    }
    let rt = machine.runtime().build().expect("a worker on each core");
    println!("a worker on each of {} cores after {:?}", rt.workers(), machine.uptime());
    let engine = Engine::builder().process_memory(move || Some(taken()));
    end(play::play(&rt, engine, |line| println!("{line}")));
    println!("all replies are those of Redis; {} MiB are taken", taken() >> 20);
}

/// Ends the machine if something is wrong.
fn end(result: Result<(), String>) {
    if let Err(wrong) = result {
        println!("WRONG: {wrong}");
        xkernel::exit(ExitStatus::Failure);
    }
}
