//! Tasks that panic fail alone: on each core some panic and others do not, round after round, and
//! no memory is lost. It takes the number of rounds, and needs `--unwind`.

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;
// For its panics.
extern crate std;

use alloc::boxed::Box;
use alloc::vec::Vec;
use std::panic::{panic_any, set_hook};
use xkernel::{ExitStatus, Machine, println};
use xtasking::primitive::SpinLatch;
use xtasking::{JoinError, Runtime};

xkernel::program!(run);

/// Rounds if the command line has no number.
const ROUNDS: usize = 1000;
/// Rounds before memory is looked at: by then each core has what it keeps for later tasks.
const FIRST_ROUNDS: usize = 100;
/// Bytes by which free memory may shrink all the same: what the heap takes at once for small
/// blocks. The default number of rounds loses more on one core if each panic loses its box.
const SLACK: u64 = 64 << 10;

fn run(machine: &'static Machine) {
    let rounds = machine.arguments().next().map_or(Ok(ROUNDS), str::parse);
    let rounds = rounds.unwrap_or_else(|_| fail("the argument is to be a number of rounds"));
    let rt = machine.runtime().build().expect("a worker on each core");
    // The console has the first panic, and not the others.
    let first = rt.task(()).name("first").submit(|(), _cx| panic!("as the test wants")).join();
    println!("error: {}", first.expect_err("it panics"));
    set_hook(Box::new(|_| ()));
    (0..FIRST_ROUNDS).for_each(|_| round(&rt));
    let (_, before) = machine.memory();
    (0..rounds).for_each(|_| round(&rt));
    let (_, after) = machine.memory();
    if after + SLACK < before {
        fail(&alloc::format!("{} bytes of memory are lost", before - after));
    }
    let (cores, lost) = (rt.workers(), before.saturating_sub(after));
    println!(
        "{} panics on {cores} cores, each of its task alone; {lost} bytes fewer are free",
        2 * rounds * cores
    );
}

fn fail(why: &str) -> ! {
    println!("WRONG: {why}");
    xkernel::exit(ExitStatus::Failure)
}

/// Runs tasks on each core: the panic of one reaches its handle with its value, that of another
/// poisons what it writes, and the others have results.
fn round(rt: &Runtime) {
    let cores = 0..rt.workers() as u16;
    let written = cores.clone().map(|_| rt.plain(0u16).pin(SpinLatch).build()).collect::<Vec<_>>();
    let task = |core| rt.task(()).core(core);
    let panicking = cores.clone().map(|core| task(core).submit(move |(), _cx| panic_any(core)));
    let panicking = panicking.collect::<Vec<_>>();
    let writing = written.iter().zip(cores.clone()).map(|(object, core)| {
        rt.task(object.write()).core(core).submit(|object, _cx| {
            *object += 1;
            assert!(*object == 0, "provoked");
        })
    });
    let writing = writing.collect::<Vec<_>>();
    let sound = cores.clone().map(|core| task(core).submit(move |(), _cx| core)).collect::<Vec<_>>();
    for (core, handle) in cores.clone().zip(panicking) {
        let value = match handle.join() {
            Err(JoinError::Panicked(panic)) => panic.into_inner().downcast::<u16>().ok(),
            _ => None,
        };
        if value.as_deref() != Some(&core) {
            fail("a panic does not reach its handle with its value");
        }
    }
    let fails = writing.into_iter().all(|handle| matches!(handle.join(), Err(JoinError::Panicked(_))));
    if !fails || !written.iter().all(|object| object.is_poisoned()) {
        fail("what a task wrote that panicked is not poisoned");
    }
    if !sound.into_iter().map(|handle| handle.join().ok()).eq(cores.map(Some)) {
        fail("a task that does not panic has no result");
    }
}
