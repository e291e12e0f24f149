//! Tests how work is spread over cores.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::queues::{RankOrder, Topology};

#[test]
fn equal_tasks_take_equal_shares() {
    for placed in [true, false] {
        let (rt, clocks) = begin(64, 1);
        for number in 0..6400 {
            let clocks = clocks.clone();
            let task = rt.task(());
            let task = if placed { task.core(number % 64) } else { task };
            task.spawn(move |(), _| clocks.spend(10_000));
        }
        drop(rt);
        assert_eq!(clocks.makespan(), 100 * 10_010);
        assert_eq!(clocks.cores(), [time(100 * 10_010, 0, 0); 64]);
        assert_eq!(clocks.imbalance(), 0.0);
    }
}

#[test]
fn pinned_tasks_run_on_one_core_while_others_are_idle() {
    let (rt, clocks) = begin(4, 1);
    for core in [0, 1, 0, 0] {
        let clocks = clocks.clone();
        rt.task(()).core(core).spawn(move |(), _| clocks.spend(90));
    }
    drop(rt);
    assert_eq!(clocks.cores(), [time(300, 0, 0), time(100, 0, 200), time(0, 0, 300), time(0, 0, 300)]);
    assert_eq!((clocks.makespan(), clocks.imbalance()), (300, 2.0));
}

/// One task spawns all others, which run wherever the queues allow.
#[test]
fn every_queue_policy_works() {
    for pool in QUEUE_POLICIES {
        for seed in 0..3 {
            let (rt, clocks) = begin_with(8, seed, pool);
            let ran = Arc::new(AtomicUsize::new(0));
            let (theirs, counter) = (clocks.clone(), ran.clone());
            rt.task(()).spawn(move |(), cx| {
                for _ in 0..800 {
                    let (clocks, ran) = (theirs.clone(), counter.clone());
                    cx.task(()).spawn(move |(), _| {
                        clocks.spend(990);
                        ran.fetch_add(1, Relaxed);
                    });
                }
            });
            drop(rt);
            assert_eq!(ran.load(Relaxed), 800, "{pool:?}");
            assert_eq!(clocks.cores().iter().map(|core| core.busy).sum::<u64>(), 800 * 1000 + 10, "{pool:?}");
            let reached = match pool {
                QueuePolicy::Local => 1,
                // Those that it links to and no farther, as no task spawns there.
                QueuePolicy::XQueue(Topology::Next) => 2,
                QueuePolicy::XQueue(Topology::Neighbours) => 3,
                QueuePolicy::XQueue(Topology::Kautz) => 4,
                _ => 8,
            };
            let ideal = 800 * 1000 / reached + 10;
            assert!((ideal..ideal + 4000).contains(&clocks.makespan()), "{pool:?}: {}", clocks.makespan());
        }
    }
}

#[test]
fn a_chain_across_cores_takes_the_sum_of_its_tasks() {
    fn pass_on(left: u64, clocks: Clocks, cx: &mut xtasking::Context) {
        clocks.spend(100);
        if left > 0 {
            let next = (cx.worker() + 1) % cx.workers();
            cx.task(()).core(next as u16).spawn(move |(), cx| pass_on(left - 1, clocks, cx));
        }
    }
    for (seed, latency) in [(1, 0), (2, 0), (3, 5000)] {
        let (platform, clocks) = VirtualTime::new(4, seed, COSTS);
        let rt = Runtime::builder().platform(platform.latency(latency)).build().unwrap();
        // All cores are asleep.
        clocks.settle();
        let theirs = clocks.clone();
        rt.task(()).core(0).spawn(move |(), cx| pass_on(1000, theirs, cx));
        drop(rt);
        assert_eq!(clocks.makespan(), 1001 * (100 + latency) + 10);
    }
}

#[test]
fn a_resized_runtime_starts_and_stops_workers() {
    let (platform, clocks) = VirtualTime::new(8, 1, COSTS);
    let rt = Runtime::builder().platform(platform).workers(1).most_workers(8).build().unwrap();
    let mut handles = Vec::new();
    for size in [1, 8, 3, 5, 1, 8] {
        rt.resize(size).unwrap();
        for core in 0..80 {
            let clocks = clocks.clone();
            handles.push(rt.task(()).core(core % 8).submit(move |(), _| clocks.spend(90)));
        }
        // Some are still in flight when the next ones are spawned.
        handles.drain(40..).for_each(|handle| handle.join().unwrap());
    }
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    drop(rt);
    assert_eq!(clocks.cores().iter().map(|core| core.busy).sum::<u64>(), 480 * 100);
    assert!((480 * 100 / 8..480 * 100).contains(&clocks.makespan()));
}

/// The lock of the shared queue is held for 100 ns by each core that takes a task; waiting for it
/// keeps a core busy.
#[test]
fn taking_from_the_shared_queue_waits_for_its_lock() {
    let (platform, clocks) = VirtualTime::new(8, 1, Costs { queue: 100, ..COSTS });
    let rt =
        Runtime::builder().platform(platform).pool(QueuePolicy::Ranked(RankOrder::Exact)).build().unwrap();
    for _ in 0..800 {
        let clocks = clocks.clone();
        rt.task(()).spawn(move |(), _| clocks.spend(90));
    }
    drop(rt);
    // The last one is taken after all others.
    assert_eq!(clocks.makespan(), 800 * 100 + 100);
    assert!(clocks.cores().iter().all(|core| core.busy >= 800 * 100 - 800), "{:?}", clocks.cores());
}
