//! The cost of a task in its simplest forms: `tasks [COUNT]`.

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use xkernel::{Cores, Machine, println};
use xtasking::primitive::{Sequencing, SpinLatch};
use xtasking::{Context, Object, Plain, Runtime};

xkernel::program!(run);

/// Tasks of a case unless the command line has another number.
const DEFAULT: usize = 100_000;

fn run(machine: &'static Machine) {
    let count = machine.arguments().next().map_or(DEFAULT, |count| count.parse().expect("a number of tasks"));
    // Nothing is noted of single tasks, as this is measured.
    let rt = Runtime::builder().platform(Cores::new(machine)).build().expect("a worker on each core");
    let workers = rt.workers();
    let own: Vec<_> = (0..workers).map(|_| rt.plain(0usize).pin(Sequencing).build()).collect();
    let shared = rt.plain(0usize).pin(SpinLatch).build();
    let measure = |name: &str, case: &dyn Fn()| {
        let began = machine.uptime();
        case();
        let nanoseconds = (machine.uptime() - began).as_nanos() as f64;
        println!("{name} on {workers} workers: {:.1} ns a task", nanoseconds / count as f64);
    };
    measure("from outside", &|| {
        (0..count).for_each(|number| add(&rt, &own[number % workers]));
        own.iter().for_each(|object| _ = sum(&rt, object));
    });
    measure("a chain", &|| {
        let (promise, handle) = rt.promise();
        let object = own[workers - 1].clone();
        rt.task(()).core(workers as u16 - 1).spawn(move |(), cx| chain(cx, object, count, promise));
        handle.join().expect("the chain ends");
    });
    measure("a latch", &|| {
        (0..count).for_each(|number| {
            rt.task(shared.write()).core((number % workers) as u16).spawn(|shared, _cx| *shared += 1);
        });
        while sum(&rt, &shared) < count {}
    });
    let total: usize = own.iter().chain([&shared]).map(|object| sum(&rt, object)).sum();
    assert_eq!(total, 3 * count, "tasks are lost");
    println!("total {total}");
}

fn add(rt: &Runtime, object: &Object<Plain<usize>>) {
    rt.task(object.write()).spawn(|value, _cx| *value += 1);
}

fn sum(rt: &Runtime, object: &Object<Plain<usize>>) -> usize {
    rt.task(object.read()).submit(|value, _cx| *value).join().expect("it does not panic")
}

/// A task that spawns the next, until none is left.
fn chain(cx: &mut Context, object: Object<Plain<usize>>, left: usize, end: xtasking::Promise<()>) {
    if left == 0 {
        return end.fulfil(());
    }
    let next = object.clone();
    cx.task(object.write()).spawn(move |value, cx| {
        *value += 1;
        chain(cx, next, left - 1, end);
    });
}
