//! Shows that all is up: every core runs tasks, and they share objects.

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use xkernel::{Machine, println};
use xtasking::primitive::SpinLatch;

xkernel::program!(run);

/// Tasks of each core.
const TASKS: usize = 1000;

fn run(machine: &'static Machine) {
    let topology = machine.topology();
    let (all, free) = machine.memory();
    println!(
        "{} cores, {} nodes, {} of {} MiB free",
        topology.cores.len(),
        topology.nodes,
        free >> 20,
        all >> 20
    );
    let rt = machine.runtime().build().expect("a worker on each core");
    println!("first runtime after {:?}", machine.uptime());

    // One object that all cores write, and one for each core that it alone writes.
    let total = rt.plain(0usize).pin(SpinLatch).name("total").build();
    let own: Vec<_> = topology.cores.iter().map(|_| rt.plain(0usize).build()).collect();
    for _ in 0..TASKS {
        for (core, own) in own.iter().enumerate() {
            rt.task(total.write()).core(core as u16).spawn(|total, _cx| *total += 1);
            rt.task(own.write()).core(core as u16).spawn(|own, _cx| *own += 1);
        }
    }
    for (core, own) in own.iter().enumerate() {
        let greet = move |(), cx: &mut xtasking::Context| (core, cx.worker());
        let (core, worker) = rt.task(()).core(core as u16).submit(greet).join().expect("no panic");
        let count = rt.task(own.read()).submit(|own, _cx| *own).join().expect("no panic");
        println!("core {core} of node {}: worker {worker} ran {count} tasks", topology.cores[core].node);
    }
    drop(own);
    let sum = rt.task(total.read()).submit(|total, _cx| *total).join().expect("no panic");
    assert_eq!(sum, TASKS * topology.cores.len(), "tasks are lost");
    println!("total {sum}");
}
