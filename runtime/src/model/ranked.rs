//! The shared queue: nothing is lost, the most urgent task comes first, and no worker sleeps while
//! there are tasks in it.

use super::inbox::{number, numbered};
use super::model;
use super::platform::running_with;
use crate::pool::Ranked;
use crate::sync::yield_now;
use crate::{QueuePolicy, queues::RankOrder};
use loom::thread;
use std::sync::Arc;

fn pop(queue: &Ranked, random: &mut u64) -> u64 {
    loop {
        match queue.pop(random) {
            Some((task, _)) => return number(task),
            None => yield_now(),
        }
    }
}

/// With one heap and with two, beside a thread that pushes.
#[test]
fn two_takers_get_each_task_once() {
    for make in [Ranked::exact as fn() -> Ranked, || Ranked::relaxed(1)] {
        model(2, move || {
            let queue = Arc::new(make());
            let there = queue.clone();
            let other = thread::spawn(move || {
                there.push(numbered(2), 1);
                pop(&there, &mut 1)
            });
            queue.push(numbered(1), 0);
            let own = pop(&queue, &mut 0);
            let other = other.join().unwrap();
            assert_eq!((own.min(other), own.max(other)), (1, 2));
            assert!(queue.pop(&mut 2).is_none() && !queue.has_tasks());
        });
    }
}

/// A thread that knows of a push finds that task, or a more urgent one.
#[test]
fn a_thread_that_knows_of_a_task_finds_it() {
    for make in [Ranked::exact as fn() -> Ranked, || Ranked::relaxed(1)] {
        model(2, move || {
            let queue = Arc::new(make());
            queue.push(numbered(1), 1);
            let there = queue.clone();
            let other = thread::spawn(move || there.push(numbered(2), 0));
            let first = queue.pop(&mut 0).map(|(task, _)| number(task));
            assert!(first.is_some());
            other.join().unwrap();
            let second = queue.pop(&mut 0).map(|(task, _)| number(task));
            assert_eq!(first.unwrap() + second.unwrap(), 3);
        });
    }
}

#[test]
fn a_ranked_task_put_beside_a_worker_that_falls_asleep_is_run() {
    model(2, || {
        let runtime = running_with(1, QueuePolicy::Ranked(RankOrder::Exact));
        // If the push were missed, both threads would wait for ever, which loom reports.
        let handle = runtime.task(()).rank(0).submit(|(), _cx| 7);
        assert_eq!(handle.join().unwrap(), 7);
    });
}

/// The first of two tasks waits for the second, which came when one worker was searching and the
/// other one slept.
#[test]
fn a_worker_that_takes_a_task_wakes_another_for_the_next() {
    model(0, || {
        let runtime = running_with(2, QueuePolicy::Ranked(RankOrder::Exact));
        let (promise, handle) = runtime.promise();
        let first = runtime.task(()).rank(0).submit(|(), _cx| handle.join().unwrap());
        runtime.task(()).rank(1).spawn(|(), _cx| promise.fulfil(7));
        assert_eq!(first.join().unwrap(), 7);
    });
}
