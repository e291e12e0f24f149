//! A runtime is resized concurrently with threads that spawn, sleep and end it.

use crate::platform::{builder, pause, wait_a_little};
use crate::schedules::explore;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{JoinError, Runtime, primitive::Sequencing};

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
            // Any run queue, whichever worker owns it now.
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

/// A worker that falls asleep with a run queue that it has just received is woken for its tasks.
#[test]
fn a_run_queue_with_a_new_owner_is_woken() {
    explore(|_| {
        const POOLS: u16 = 5;
        let rt = Arc::new(builder(POOLS.into()).build().unwrap());
        let resized = rt.clone();
        // The workers are awake, so that they notice by themselves.
        (1..POOLS).for_each(|core| rt.task(()).core(core).spawn(|(), _| pause()));
        let resizer = thread::spawn(move || resized.resize(1).unwrap());
        (1..POOLS).for_each(|core| rt.task(()).core(core).spawn(|(), _| pause()));
        resizer.join().unwrap();
        let tasks: Vec<_> = (1..POOLS).map(|core| rt.task(()).core(core).submit(|(), _| ())).collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

/// The worker does not fall asleep while tasks are in the run queue.
#[test]
fn tasks_of_a_run_queue_with_a_new_owner_run() {
    explore(|_| {
        let rt = Arc::new(builder(2).build().unwrap());
        let resized = rt.clone();
        let (promise, all) = rt.promise::<()>();
        let promise = Arc::new(promise);
        rt.task(()).core(1).spawn(move |(), cx| {
            // More tasks than a worker runs between two checks for the end.
            for _ in 0..40 {
                let promise = promise.clone();
                cx.task(()).spawn(move |(), _| drop(promise));
            }
        });
        let resizer = thread::spawn(move || resized.resize(1).unwrap());
        // The last of them drops the runtime.
        assert!(matches!(all.join(), Err(JoinError::Abandoned)));
        resizer.join().unwrap();
    });
}

#[test]
fn two_concurrent_resizes_agree_in_the_end() {
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
        // Excess workers end when they notice; nothing depends on the moment.
        while rt.running_workers() > 1 {
            thread::yield_now();
        }
        assert_eq!(rt.task(()).core(2).submit(|(), cx| cx.worker()).join().unwrap(), 2);
    });
}
