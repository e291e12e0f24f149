//! A queue that all workers share: no task in it is lost, and no worker falls asleep while tasks
//! are in it.

use crate::platform::{assert_each_runs_once, builder, wait_a_little};
use crate::schedules::explore;
use xtasking::{QueuePolicy, Runtime, queues::RankOrder};

/// Returns a runtime with an exact or a relaxed queue.
fn runtime(workers: usize, kind: usize) -> Runtime {
    let ranking = [RankOrder::Exact, RankOrder::Relaxed][kind];
    builder(workers).pool(QueuePolicy::Ranked(ranking)).build().expect("a runtime of a few workers")
}

#[test]
fn queued_tasks_of_threads_and_tasks_run_once() {
    explore(|mut random| {
        let rt = runtime(2, random.below(2));
        assert_each_runs_once(rt, |rt, task, first, second| {
            rt.task(()).rank(task).spawn(move |(), cx| {
                first();
                cx.task(()).spawn(move |(), _| second());
            });
        });
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
