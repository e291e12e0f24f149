//! Tests that a core whose task waits is blocked, and continues at the time of the event.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use xtasking::platform::{Platform as _, VirtualTime as _};
use xtasking::primitive::ReaderWriterLatch;

/// Runs a task of 1000 ns on each core under a lock, with the given acquire and release.
fn take_turns(
    cores: u16,
    take: impl Fn(&AtomicBool) + Send + Sync + 'static,
    give_back: impl Fn() + Send + Sync + 'static,
    (rt, clocks): (Runtime, Clocks),
) {
    let (held, tools) = (Arc::new(AtomicBool::new(false)), Arc::new((take, give_back)));
    for core in 0..cores {
        let (held, tools, clocks) = (held.clone(), tools.clone(), clocks.clone());
        rt.task(()).core(core).spawn(move |(), _| {
            tools.0(&held);
            clocks.spend(1000);
            held.store(false, Relaxed);
            tools.1();
        });
    }
    drop(rt);
    let makespan = u64::from(cores) * 1000 + 10;
    assert_eq!(clocks.makespan(), makespan);
    let mut times = clocks.cores();
    times.sort_by_key(|core| core.blocked);
    let expected = (0..u64::from(cores)).map(|before| before * 1000);
    let expected: Vec<_> = expected.map(|blocked| time(1010, blocked, makespan - 1010 - blocked)).collect();
    assert_eq!(times, expected);
}

#[test]
fn a_core_that_waits_for_a_lock_is_blocked() {
    for seed in 0..10 {
        let begun = begin(4, seed);
        let clocks = begun.1.clone();
        take_turns(
            4,
            move |held| {
                while held.swap(true, Relaxed) {
                    clocks.wait()
                }
            },
            || (),
            begun,
        );
        let begun = begin(4, seed);
        let clocks = begun.1.clone();
        take_turns(4, move |held| clocks.wait_until(|| !held.swap(true, Relaxed)), || (), begun);
    }
}

#[test]
fn a_task_that_waits_in_a_queue_is_called() {
    for seed in 0..10 {
        let begun = begin(16, seed);
        let queue = Arc::new(begun.1.queue());
        let theirs = queue.clone();
        take_turns(
            16,
            move |held| {
                while held.swap(true, Relaxed) {
                    theirs.wait()
                }
            },
            move || _ = queue.call_one(),
            begun,
        );
    }
}

#[test]
fn the_platform_lets_a_task_wait() {
    let (platform, clocks) = VirtualTime::new(2, 1, COSTS);
    let platform = Arc::new(platform);
    assert_eq!((platform.now(), clocks.now(), platform.topology().cores.len()), (0, 0, 2));
    assert!(!platform.yield_to_others(false), "no other core is behind");
    // Statistics of the runtime use the same clock.
    let (platform, clocks) = VirtualTime::new(2, 1, COSTS);
    let rt = Runtime::builder().platform(platform).statistics(true).build().unwrap();
    let theirs = clocks.clone();
    rt.task(()).submit(move |(), _| theirs.spend(1_000_000)).join().unwrap();
    let statistics = rt.statistics().unwrap().to_string();
    drop(rt);
    assert!(statistics.contains("1.0ms"), "{statistics}");
}

#[test]
fn a_waiter_never_continues_before_its_event() {
    let (rt, clocks) = begin(3, 1);
    let happened = Arc::new(AtomicU64::new(0));
    let (theirs, flag) = (clocks.clone(), happened.clone());
    rt.task(()).core(0).spawn(move |(), _| {
        for step in 1..=10 {
            theirs.spend(100);
            flag.store(step, Relaxed);
        }
        theirs.spend(5000);
    });
    for core in [1, 2] {
        let (theirs, flag) = (clocks.clone(), happened.clone());
        rt.task(()).core(core).spawn(move |(), _| {
            for step in [3, 4, 9] {
                theirs.wait_until(|| flag.load(Relaxed) >= step);
                assert_eq!(theirs.now(), step * 100);
            }
        });
    }
    drop(rt);
    let waited = time(10, 900, 6010 - 910);
    assert_eq!(clocks.cores(), [time(6010, 0, 0), waited, waited]);
}

#[test]
fn a_deadlock_is_reported() {
    for looks in [true, false] {
        let (rt, clocks) = begin(4, 1);
        let handles: Vec<_> = (0..3)
            .map(|core| {
                let clocks = clocks.clone();
                rt.task(()).core(core).submit(move |(), _| {
                    clocks.spend(100);
                    if looks { clocks.wait_until(|| false) } else { clocks.queue().wait() }
                })
            })
            .collect();
        let failures: Vec<_> =
            handles.into_iter().map(|handle| handle.join().unwrap_err().to_string()).collect();
        assert_eq!(failures.len(), 3);
        let message = &failures[0];
        let blocked = if looks { "looks for an event" } else { "waits in a queue" };
        assert!(
            message.contains("deadlock in virtual time: all participants wait for each other: "),
            "{message}"
        );
        assert!(message.contains(&format!("core 2 {blocked}, inside a task (100 ns)")), "{message}");
        assert!(message.contains("core 3 is idle (0 ns)"), "{message}");
        drop(rt);
        // One after the other fails.
        assert_eq!(clocks.cores(), [time(110, 0, 20), time(110, 10, 10), time(110, 20, 0), time(0, 0, 130)]);
    }
}

/// A reader that arrives while a writer is inside waits in place, at the latch.
#[test]
fn a_core_that_waits_at_a_latch_is_blocked() {
    for seed in 0..10 {
        let (rt, clocks) = begin(3, seed);
        let latched = rt.shared_reads(0u64).pin(ReaderWriterLatch).build();
        let theirs = clocks.clone();
        rt.task(latched.write()).core(0).spawn(move |count, _| {
            theirs.spend(1000);
            *count += 1;
        });
        // The writer is inside.
        clocks.spend(100);
        for core in [1, 2] {
            let theirs = clocks.clone();
            rt.task(latched.read()).core(core).spawn(move |count, _| {
                assert_eq!((*count, theirs.now()), (1, 1000));
                theirs.spend(500);
            });
        }
        drop(rt);
        assert_eq!(clocks.cores(), [time(1010, 0, 500), time(510, 900, 100), time(510, 900, 100)]);
    }
}
