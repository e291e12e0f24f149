//! A queue that all workers share: no task in it is lost, and no worker falls asleep while tasks
//! are in it.

use crate::platform::{builder, on_threads, wait_a_little};
use crate::schedules::explore;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{QueuePolicy, Runtime, Shutdown, queues::RankOrder};

/// Returns a runtime with an exact or a relaxed queue.
fn runtime(workers: usize, kind: usize) -> Runtime {
    let ranking = [RankOrder::Exact, RankOrder::Relaxed][kind];
    builder(workers).pool(QueuePolicy::Ranked(ranking)).build().expect("a runtime of a few workers")
}

#[test]
fn queued_tasks_of_threads_and_tasks_run_once() {
    explore(|mut random| {
        let rt = Arc::new(runtime(2, random.below(2)));
        let runs: Arc<[AtomicUsize; 12]> = Arc::default();
        let (spawner, counted) = (rt.clone(), runs.clone());
        on_threads(2, move |thread| {
            for task in 0..3 {
                let runs = counted.clone();
                let number = (thread * 3 + task) * 2;
                spawner.task(()).rank(task as u16).spawn(move |(), cx| {
                    runs[number].fetch_add(1, Relaxed);
                    cx.task(()).spawn(move |(), _| _ = runs[number + 1].fetch_add(1, Relaxed));
                });
            }
        });
        Arc::into_inner(rt).expect("the threads are gone").shutdown(Shutdown::Drain);
        assert!(runs.iter().all(|runs| runs.load(Relaxed) == 1), "{runs:?}");
    });
}

#[test]
fn a_worker_that_falls_asleep_comes_for_a_ranked_task() {
    explore(|mut random| {
        let rt = runtime(random.below(2) + 1, random.below(2));
        for number in 0..3 {
            wait_a_little(&mut random, 100);
            assert_eq!(rt.task(()).rank(number).submit(move |(), _| number).join().unwrap(), number);
        }
    });
}
