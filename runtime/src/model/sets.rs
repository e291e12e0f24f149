//! A set of functions beside a waiting thread: each is run once, and the worker that runs the last
//! wakes the waiter.

use super::platform::{running, standing};
use super::{Watched, model};
use crate::managed::Managed;
use loom::thread;
use std::sync::Arc;

fn watched<const N: usize>() -> Arc<[Watched; N]> {
    Arc::new([(); N].map(|()| Watched::default()))
}

/// Functions that count, each in a number of its own.
fn counting<const N: usize>(
    places: &Arc<[Watched; N]>,
) -> impl Iterator<Item = impl FnOnce() + Send + 'static> {
    let places = places.clone();
    (0..N).map(move |at| {
        let places = places.clone();
        move || places[at].add(1)
    })
}

#[test]
fn a_function_is_run_once_by_a_worker_or_the_waiter() {
    model(3, || {
        let (runtime, drivers) = standing(1);
        let pool = Managed::new(&runtime);
        let places = watched::<2>();
        let set = pool.enqueue_many(counting(&places));
        let worker = drivers.into_iter().next().map(|mut driver| {
            thread::spawn(move || {
                // Enough steps for all of it, so that the waiter does not wait for ever.
                (0..4).for_each(|_| _ = driver.step(8));
                driver
            })
        });
        pool.wait(set).unwrap();
        assert_eq!(places.each_ref().map(Watched::get), [1, 1]);
        let mut driver = worker.unwrap().join().unwrap();
        (0..4).for_each(|_| _ = driver.step(8));
        drop(driver);
    });
}

#[test]
fn a_waiter_is_woken_by_the_last_function() {
    model(2, || {
        let runtime = running(1);
        let pool = Managed::new(&runtime);
        let places = watched::<1>();
        // If the wake-up were lost, this would wait for ever, which loom reports.
        pool.enqueue_and_wait(counting(&places)).unwrap();
        assert_eq!(places[0].get(), 1);
    });
}

/// Of the requests of a pool, each is run by a worker or by the thread that waits for it.
#[test]
fn a_request_is_run_once_by_a_worker_or_the_waiter() {
    model(3, || {
        let (runtime, drivers) = standing(1);
        let pool = Managed::new(&runtime);
        let places = watched::<2>();
        let [one, two] = [0, 1].map(|at| {
            let places = places.clone();
            pool.enqueue(move || places[at].add(1))
        });
        let worker = drivers.into_iter().next().map(|mut driver| {
            thread::spawn(move || {
                (0..4).for_each(|_| _ = driver.step(8));
                driver
            })
        });
        pool.wait(two).unwrap();
        assert_eq!(places[1].get(), 1);
        pool.wait(one).unwrap();
        assert_eq!(places[0].get(), 1);
        let mut driver = worker.unwrap().join().unwrap();
        (0..4).for_each(|_| _ = driver.step(8));
        drop(driver);
    });
}

/// A runner that becomes idle sees a request, or the thread that enqueues it sees that the runner
/// is idle.
#[test]
fn a_request_beside_a_runner_that_becomes_idle_is_run() {
    model(3, || {
        let (runtime, drivers) = standing(1);
        let pool = Managed::new(&runtime);
        let places = watched::<2>();
        let request = |at: usize| {
            let places = places.clone();
            move || places[at].add(1)
        };
        pool.enqueue(request(0));
        let worker = drivers.into_iter().next().map(|mut driver| {
            thread::spawn(move || {
                (0..2).for_each(|_| _ = driver.step(8));
                driver
            })
        });
        pool.enqueue(request(1));
        let mut driver = worker.unwrap().join().unwrap();
        (0..4).for_each(|_| _ = driver.step(8));
        assert_eq!(places.each_ref().map(Watched::get), [1, 1]);
        drop(driver);
    });
}

#[test]
fn a_waiter_is_woken_by_the_end_of_a_request() {
    model(2, || {
        let runtime = running(1);
        let pool = Managed::new(&runtime);
        let places = watched::<1>();
        let counted = places.clone();
        let request = pool.enqueue(move || counted[0].add(1));
        // If the wake-up were lost, this would wait for ever, which loom reports.
        pool.wait(request).unwrap();
        assert_eq!(places[0].get(), 1);
    });
}
