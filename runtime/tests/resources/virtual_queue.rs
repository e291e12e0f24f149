//! The queue that all virtual cores share, with its locks: the clocks agree with a computation by
//! hand.

use crate::common::lock;
use std::sync::{Arc, Mutex};
use xtasking::platform::{Clocks, Costs, Simulation};
use xtasking::{QueuePolicy, Runtime, queues::RankOrder};

const QUEUE: u64 = 50;
/// Time of a task apart from its time at the queue.
const TASK: u64 = 10 + 1;
const PUSH: u64 = 7;
/// An idle core sees new tasks at once.
const COSTS: Costs = Costs {
    task: 10,
    unit: 1,
    local_push: PUSH,
    remote_push: 1_000,
    steal: 10_000,
    miss: 0,
    poll: 1,
    retry: 0,
    queue: QUEUE,
};

fn simulate(cores: usize, seed: u64, ranking: RankOrder) -> (Runtime, Clocks) {
    let (simulation, clocks) = Simulation::with_costs(cores, 1, seed, COSTS);
    (Runtime::builder().platform(simulation).pool(QueuePolicy::Ranked(ranking)).build().unwrap(), clocks)
}

/// The time and the core at which each task began.
type Begun = Arc<Mutex<Vec<(u64, usize)>>>;

/// Spawns a task that records its start.
fn note(begun: &Begun, clocks: &Clocks) -> impl FnOnce((), &mut xtasking::Context) + Send + use<> {
    let (begun, clocks) = (begun.clone(), clocks.clone());
    move |(), cx| lock(&begun).push((clocks.now(), cx.worker()))
}

#[test]
fn small_tasks_come_one_at_a_time_from_one_heap() {
    for (cores, seed) in [(4, 1), (16, 2)] {
        let (rt, clocks) = simulate(cores, seed, RankOrder::Exact);
        let begun = Begun::default();
        for rank in 0..100 {
            rt.task(()).rank(rank).spawn(note(&begun, &clocks));
        }
        drop(rt);
        let moments: Vec<_> = lock(&begun).iter().map(|&(moment, _)| moment).collect();
        assert_eq!(moments, (1..=100).map(|number| number * QUEUE).collect::<Vec<_>>());
        assert_eq!(clocks.makespan(), 100 * QUEUE + TASK);
    }
}

#[test]
fn with_many_heaps_cores_do_not_wait_for_one_lock() {
    let makespan = |ranking| {
        let (rt, clocks) = simulate(16, 1, ranking);
        for rank in 0..1000 {
            rt.task(()).rank(rank).spawn(|(), _| ());
        }
        drop(rt);
        clocks.makespan()
    };
    let (exact, relaxed) = (makespan(RankOrder::Exact), makespan(RankOrder::Relaxed));
    let without_waiting = 1000 * (QUEUE + TASK) / 16;
    assert!(relaxed >= without_waiting && exact > 4 * relaxed, "{exact}, {relaxed}, {without_waiting}");
}

#[test]
fn the_spawner_pays_for_the_queue() {
    let (rt, clocks) = simulate(1, 1, RankOrder::Exact);
    rt.task(()).spawn(|(), cx| {
        (0..10).for_each(|rank| cx.task(()).rank(rank).spawn(|(), _| ()));
    });
    drop(rt);
    assert_eq!(clocks.makespan(), 11 * (QUEUE + TASK) + 10 * (QUEUE + PUSH));
}

/// Idle cores arrive when a task is there, and each task costs one wait for the lock.
#[test]
fn idle_cores_come_for_what_another_one_has_put_there() {
    for seed in 0..10 {
        let (rt, clocks) = simulate(4, seed, RankOrder::Exact);
        let begun = Begun::default();
        let (noted, reads) = (begun.clone(), clocks.clone());
        let first = rt.task(()).submit(move |(), cx| {
            reads.spend(1_000);
            (0..3).for_each(|_| cx.task(()).spawn(note(&noted, &reads)));
            lock(&noted).push((reads.now(), cx.worker()));
        });
        first.join().unwrap();
        drop(rt);
        let begun = lock(&begun);
        let over = begun[0].0 + TASK + 3 * PUSH;
        assert_eq!(begun[0].0, QUEUE + 1_000 + 3 * QUEUE);
        let moments: Vec<_> = begun[1..].iter().map(|&(moment, _)| moment - over).collect();
        assert_eq!(moments, [QUEUE, 2 * QUEUE, 3 * QUEUE], "{begun:?}");
    }
}

/// Tasks that an outside thread spawns arrive after the end of the task for which the thread
/// waited.
#[test]
fn idle_cores_do_not_come_before_there_is_anything() {
    for seed in 0..10 {
        let (rt, clocks) = simulate(4, seed, RankOrder::Relaxed);
        let mut before = 0;
        for _ in 0..20 {
            let reads = clocks.clone();
            let began = rt.task(()).submit(move |(), _| {
                let began = reads.now();
                reads.spend(1_000);
                began
            });
            let began = began.join().unwrap();
            assert!(began >= before + QUEUE, "{began} is too early, {before}");
            before = began + 1_000;
        }
    }
}
