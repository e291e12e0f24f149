//! Tests tasks that fail, and runtimes that end.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{JoinError, Shutdown};

#[test]
fn a_panic_takes_the_time_up_to_it_and_releases_claims() {
    let (rt, clocks) = begin(2, 1);
    let granules = rt.granules(1);
    let (ours, theirs) = (clocks.clone(), clocks.clone());
    let fails = rt.task(()).core(0).claim(granules.write(0..1)).submit(move |(), _| {
        ours.spend(500);
        assert!(ours.now() == 0, "as it should");
        ours.spend(500);
    });
    let follows = rt.task(()).core(1).claim(granules.write(0..1)).submit(move |(), _| theirs.now());
    assert!(matches!(fails.join(), Err(JoinError::Panicked(_))));
    assert_eq!(follows.join().unwrap(), 500);
    drop(rt);
}

/// Runs tasks in line for one granule, at handles and in inboxes, and ends the runtime.
fn end(cores: usize, seed: u64, pool: QueuePolicy, how: Shutdown) -> (usize, usize, u64) {
    let (rt, clocks) = begin_with(cores, seed, pool);
    let (granules, ran) = (rt.granules(1), Arc::new(AtomicUsize::new(0)));
    let handles: Vec<_> = (0..20)
        .map(|number| {
            let (clocks, ran) = (clocks.clone(), ran.clone());
            let body = move || {
                clocks.spend(1000);
                ran.fetch_add(1, Relaxed);
            };
            if number % 2 == 0 {
                rt.task(()).claim(granules.write(0..1)).submit(move |(), _| body())
            } else {
                rt.task(()).submit(move |(), _| body())
            }
        })
        .collect();
    clocks.spend(1500);
    rt.shutdown(how);
    let done = handles.into_iter().map(|handle| handle.join());
    let cancelled = done.filter(|done| matches!(done, Err(JoinError::Cancelled))).count();
    (ran.load(Relaxed), cancelled, clocks.makespan())
}

#[test]
fn a_draining_runtime_runs_all_waiting_tasks() {
    for pool in QUEUE_POLICIES {
        let (ran, cancelled, makespan) = end(4, 1, pool, Shutdown::Drain);
        assert_eq!((ran, cancelled), (20, 0), "{pool:?}");
        // At worst the core of the granule also has three of the other tasks.
        assert!((10_000..13_500).contains(&makespan), "{pool:?}: {makespan}");
    }
}

#[test]
fn a_cancelling_runtime_ends_after_the_running_tasks() {
    for pool in QUEUE_POLICIES {
        let (ran, cancelled, makespan) = end(4, 1, pool, Shutdown::Cancel);
        assert!(ran + cancelled == 20 && ran < 10, "{pool:?}: {ran} and {cancelled}");
        assert!((2_000..2_500).contains(&makespan), "{pool:?}: {makespan}");
    }
}

#[test]
fn a_runtime_dropped_by_its_last_task_ends() {
    let (rt, clocks) = begin(2, 1);
    let rt = Arc::new(rt);
    let (last, theirs) = (rt.clone(), clocks.clone());
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = ran.clone();
    let handle = rt.task(()).submit(move |(), cx| {
        theirs.spend(1000);
        for core in 0..10 {
            let (clocks, ran) = (theirs.clone(), counter.clone());
            cx.task(()).core(core % 2).spawn(move |(), _| {
                clocks.spend(1000);
                ran.fetch_add(1, Relaxed);
            });
        }
        drop(last);
    });
    drop(rt);
    handle.join().unwrap();
    clocks.settle();
    assert_eq!(ran.load(Relaxed), 10);
}

#[test]
fn a_runtime_without_tasks_ends_at_once() {
    let (rt, clocks) = begin(16, 1);
    assert!(rt.is_simulated() && rt.may_block());
    drop(rt);
    assert_eq!((clocks.makespan(), clocks.imbalance()), (0, 0.0));
    assert_eq!(clocks.cores(), [CoreTime::default(); 16]);
    assert_eq!(format!("{clocks:?} {:?}", clocks.queue()), "Clocks { makespan: 0, .. } Queue { len: 0, .. }");
}
