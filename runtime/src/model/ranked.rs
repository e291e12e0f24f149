//! The queue that all workers share: nothing is lost, the first comes first, and nobody sleeps while there is anything in it.

use super::inbox::{number, numbered};
use super::model;
use super::platform::running_with;
use crate::pool::Ranked;
use crate::sync::yield_now;
use crate::{Pool, Ranking};
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

/// Of one heap and of two, beside one who puts tasks into it.
#[test]
fn what_two_take_came_once() {
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

/// Who knows that a task was put into the queue before finds it, and finds the most urgent one.
#[test]
fn who_knows_of_a_task_finds_it() {
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
        let runtime = running_with(1, Pool::Ranked(Ranking::Exact));
        // Were it not seen, both threads would wait for ever, which loom reports.
        let handle = runtime.task(()).rank(0).submit(|(), _cx| 7);
        assert_eq!(handle.join().unwrap(), 7);
    });
}

/// The first of two waits for the second, which came when one worker was seen to look for work and the other one slept.
#[test]
fn who_has_taken_a_task_has_the_next_one_taken() {
    model(0, || {
        let runtime = running_with(2, Pool::Ranked(Ranking::Exact));
        let (promise, handle) = runtime.promise();
        let first = runtime.task(()).rank(0).submit(|(), _cx| handle.join().unwrap());
        runtime.task(()).rank(1).spawn(|(), _cx| promise.fulfil(7));
        assert_eq!(first.join().unwrap(), 7);
    });
}
