//! Simulations replay and report errors; builders reject invalid configurations.

use crate::common::{Pair, Random, Setting, lock, side_by_side, watchdog};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use xtasking::platform::{Platform, Simulation, Threads};
use xtasking::{
    BuildError, Context, JoinError, Runtime, Shutdown,
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
};

type Trace = Arc<Mutex<Vec<(usize, usize)>>>;

/// Runs a program of all kinds of tasks, or of all but those with several sequenced objects.
/// Returns in order which task ran on which core.
fn trace(cores: usize, seed: u64, several: bool, shutdown: Shutdown) -> Vec<(usize, usize)> {
    let trace = Trace::default();
    let rt = Setting::Simulation { cores, seed }.build();
    let plain: Vec<_> = (0..6).map(|_| rt.plain(0).pin(Sequencing).build()).collect();
    let latched = rt.plain(0).pin(SpinLatch).build();
    let versioned = rt.versioned(Pair::default()).pin(OptimisticSequenced).build();
    let copied = rt.snapshot(0u64).pin(OptimisticLatched).build();
    let mut random = Random::new(99);
    for number in 0..200 {
        let log = trace.clone();
        let note = move |cx: &mut Context| {
            lock(&log).push((number, cx.worker()));
            let log = log.clone();
            cx.task(()).core(number as u16 / 3).spawn(move |(), cx| {
                lock(&log).push((number + 1000, cx.worker()));
            });
        };
        let (a, b) = (random.below(6), 1 + random.below(5));
        let (a, b) = (&plain[a], &plain[(a + b) % 6]);
        match random.below(6) {
            0 => rt.task(()).spawn(move |(), cx| note(cx)),
            1 => rt.task(a.write()).spawn(move |_, cx| note(cx)),
            2 | 3 if several => rt.task((a.write(), b.write())).spawn(move |_, cx| note(cx)),
            4 => rt.task(versioned.read()).read_then(|pair| pair.0.get(), move |_, cx| note(cx)),
            _ => rt.task((latched.write(), versioned.read(), copied.write())).spawn(move |_, cx| note(cx)),
        }
    }
    rt.task(plain[0].read()).submit(|_, _| ()).join().unwrap();
    rt.shutdown(shutdown);
    drop((plain, latched, versioned, copied));
    Arc::into_inner(trace).unwrap().into_inner().unwrap()
}

fn assert_replays(several: bool) {
    let mut clutter = Vec::new();
    for cores in [1, 2, 4, 16] {
        for seed in [0, 1, 7, u64::MAX] {
            let first = trace(cores, seed, several, Shutdown::Drain);
            assert_eq!(first.len(), 400);
            for round in 0..5 {
                // Different addresses change nothing.
                let mut blocks: Vec<_> = (0..50).map(|size| vec![0u8; 16 * (size + round)]).collect();
                (0..25).for_each(|index| drop(blocks.swap_remove(index * 7 % (50 - index))));
                clutter.push(blocks);
                let next = trace(cores, seed, several, Shutdown::Drain);
                let differs = first.iter().zip(&next).position(|(one, other)| one != other);
                assert_eq!(differs, None, "{cores} cores, seed {seed}");
            }
            let cancelled = || trace(cores, seed, several, Shutdown::Cancel);
            assert!(cancelled() == cancelled());
        }
    }
}

#[test]
fn a_seed_replays_its_schedule() {
    assert_replays(false);
}

#[test]
fn a_seed_replays_its_schedule_with_several_objects() {
    assert_replays(true);
}

#[test]
fn other_seeds_make_other_schedules() {
    for cores in [2, 4, 16] {
        let mut traces: Vec<_> = (0..20).map(|seed| trace(cores, seed, true, Shutdown::Drain)).collect();
        traces.sort();
        traces.dedup();
        assert_eq!(traces.len(), 20, "{cores} cores");
    }
}

#[test]
fn a_simulation_that_waits_for_the_impossible_panics() {
    let rt = Setting::Simulation { cores: 2, seed: 1 }.build();
    let (promise, handle) = rt.promise::<()>();
    let error = catch_unwind(AssertUnwindSafe(|| handle.join())).unwrap_err();
    let text = error.downcast_ref::<&str>().expect("a text");
    assert!(text.contains("waits for something that no task will do"), "{text}");
    drop(promise);
    // The simulation stays usable.
    assert_eq!(rt.task(()).submit(|(), _| 5).join().unwrap(), 5);
}

#[test]
fn a_task_of_a_simulation_cannot_wait() {
    let rt = Setting::Simulation { cores: 2, seed: 1 }.build();
    let (_promise, handle) = rt.promise::<()>();
    let task = rt.task(()).submit(move |(), _| matches!(handle.join(), Err(JoinError::WouldBlock)));
    assert!(task.join().unwrap());
}

#[test]
fn a_simulation_runs_only_while_a_thread_waits() {
    let simulation = Simulation::new(4, 1);
    assert_eq!((simulation.now(), simulation.topology().cores.len()), (0, 4));
    let rt = Runtime::builder().platform(simulation).build().unwrap();
    let task = rt.task(()).submit(|(), _| ());
    assert!(!task.is_finished());
    task.join().unwrap();
}

#[test]
fn a_simulation_may_have_more_workers_than_cores() {
    let rt = Runtime::builder().platform(Simulation::with_nodes(2, 2, 1)).workers(5).build().unwrap();
    let workers: Vec<_> = (0..5).map(|core| rt.task(()).core(core).submit(|(), cx| cx.worker())).collect();
    assert!(workers.into_iter().map(|worker| worker.join().unwrap()).eq(0..5));
    assert_eq!(rt.task(()).node(1).submit(|(), cx| cx.worker() % 2).join().unwrap(), 1);
}

#[test]
fn an_invalid_runtime_is_an_error() {
    let build = |workers| Runtime::builder().workers(workers).build().unwrap_err();
    assert_eq!(build(0), BuildError::NoWorkers);
    assert_eq!(build(5000), BuildError::TooManyWorkers(5000));
    assert!(build(5000).to_string().contains("5000") && build(0).to_string().contains("at least one"));
    let simulated = |workers| Runtime::builder().platform(Simulation::new(2, 1)).workers(workers).build();
    assert_eq!(simulated(0).unwrap_err(), BuildError::NoWorkers);
    let fewer = Runtime::builder().platform(Threads::new(1)).workers(2).build().unwrap_err();
    assert!(
        matches!(fewer, BuildError::Platform(ref why) if why.what().contains("room for 1 workers")),
        "{fewer}"
    );
    // Its first worker has ended; another platform works.
    assert!(Runtime::builder().platform(Threads::new(2).unpinned()).workers(2).build().is_ok());
}

#[test]
#[cfg_attr(
    any(sanitizer = "address", sanitizer = "thread"),
    ignore = "a sanitizer is slow with so many stacks"
)]
fn a_simulation_has_at_most_4096_workers() {
    let simulated = |workers| Runtime::builder().platform(Simulation::new(2, 1)).workers(workers).build();
    assert!(simulated(4096).is_ok());
    assert_eq!(simulated(4097).unwrap_err(), BuildError::TooManyWorkers(4097));
}

/// Threads that wait for the same virtual cores take turns in driving them.
#[test]
fn several_threads_may_wait_at_once() {
    let _watched = watchdog();
    for seed in 0..20 {
        let rt = Setting::Simulation { cores: 4, seed }.build();
        let sum = rt.plain(0u64).build();
        side_by_side((0..4u64).map(|number| {
            let (rt, sum) = (&rt, &sum);
            move || {
                for _ in 0..200 {
                    let task = rt.task(sum.write()).submit(move |sum, cx| {
                        *sum += 1;
                        cx.task(()).spawn(|(), _| ());
                        number
                    });
                    assert_eq!(task.join().unwrap(), number);
                }
            }
        }));
        assert_eq!(rt.task(sum.read()).submit(|sum, _| *sum).join().unwrap(), 800);
    }
}
