//! A runtime is resized beside those who spawn, sleep and end it.

use crate::platform::{builder, pause, wait_a_little};
use crate::schedules::explore;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{JoinError, Runtime, Sequencing};

const MOST: usize = 3;

fn runtime(workers: usize) -> Runtime {
    builder(MOST).workers(workers).most_workers(MOST).build().expect("a runtime of a few workers")
}

#[test]
fn a_runtime_of_any_size_runs_everything() {
    explore(|mut random| {
        let rt = Arc::new(runtime(random.below(MOST) + 1));
        let object = rt.plain(Vec::new()).pin(Sequencing).build();
        let sizes: Vec<_> = (0..3).map(|_| random.below(MOST) + 1).collect();
        let resized = rt.clone();
        let resizer = thread::spawn(move || sizes.iter().for_each(|&size| resized.resize(size).unwrap()));
        let ran = Arc::new(AtomicUsize::new(0));
        for number in 0..4 {
            let ran = ran.clone();
            rt.task(object.write()).spawn(move |numbers, cx| {
                numbers.push(number);
                cx.task(()).core(number).spawn(move |(), _| _ = ran.fetch_add(1, Relaxed));
            });
            wait_a_little(&mut random, 100);
            // Any pool, whoever has it now.
            let core = random.below(MOST) as u16;
            let worker = rt.task(()).core(core).submit(|(), cx| cx.worker()).join();
            assert_eq!(worker.unwrap(), usize::from(core));
        }
        let numbers = rt.task(object.read()).submit(|numbers, _| numbers.clone()).join().unwrap();
        assert_eq!(numbers, [0, 1, 2, 3], "the order of spawning is kept");
        resizer.join().unwrap();
        drop(rt);
        assert_eq!(ran.load(Relaxed), 4);
    });
}

/// One who falls asleep with a pool that he has just been given is woken for it.
#[test]
fn a_pool_that_was_handed_on_is_woken() {
    explore(|_| {
        const POOLS: u16 = 5;
        let rt = Arc::new(builder(POOLS.into()).build().unwrap());
        let resized = rt.clone();
        // Awake, so that they notice by themselves.
        (1..POOLS).for_each(|core| rt.task(()).core(core).spawn(|(), _| pause()));
        let resizer = thread::spawn(move || resized.resize(1).unwrap());
        (1..POOLS).for_each(|core| rt.task(()).core(core).spawn(|(), _| pause()));
        resizer.join().unwrap();
        let tasks: Vec<_> = (1..POOLS).map(|core| rt.task(()).core(core).submit(|(), _| ())).collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

/// Nor does he fall asleep with the tasks that are still in it.
#[test]
fn the_tasks_of_a_pool_that_was_handed_on_are_run() {
    explore(|_| {
        let rt = Arc::new(builder(2).build().unwrap());
        let resized = rt.clone();
        let (promise, all) = rt.promise::<()>();
        let promise = Arc::new(promise);
        rt.task(()).core(1).spawn(move |(), cx| {
            // More than a worker runs before it looks whether it has to go.
            for _ in 0..40 {
                let promise = promise.clone();
                cx.task(()).spawn(move |(), _| drop(promise));
            }
        });
        let resizer = thread::spawn(move || resized.resize(1).unwrap());
        // The last of them drops it.
        assert!(matches!(all.join(), Err(JoinError::Abandoned)));
        resizer.join().unwrap();
    });
}

#[test]
fn two_who_resize_at_once_agree_in_the_end() {
    explore(|mut random| {
        let rt = Arc::new(runtime(1));
        let others = [2, 3].map(|size| {
            let rt = rt.clone();
            thread::spawn(move || {
                rt.resize(size).unwrap();
                rt.task(()).core(size as u16 - 1).submit(|(), _| ()).join().unwrap();
                rt.resize(1).unwrap();
            })
        });
        wait_a_little(&mut random, 100);
        others.into_iter().for_each(|other| other.join().unwrap());
        // Those that are too many leave when they see it; nothing depends on when.
        while rt.running_workers() > 1 {
            thread::yield_now();
        }
        assert_eq!(rt.task(()).core(2).submit(|(), cx| cx.worker()).join().unwrap(), 2);
    });
}
