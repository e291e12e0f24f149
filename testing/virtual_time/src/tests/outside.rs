//! Tests threads outside of the runtime: they join, submit, and have clocks of their own.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[test]
fn a_joining_thread_continues_when_the_task_ends() {
    let (rt, clocks) = begin(2, 1);
    let theirs = clocks.clone();
    let handle = rt.task(()).core(1).submit(move |(), _| {
        theirs.spend(700);
        theirs.now()
    });
    assert_eq!(handle.join().unwrap(), 700);
    assert_eq!(clocks.now(), 700);
    clocks.spend(300);
    let theirs = clocks.clone();
    assert_eq!(rt.task(()).core(0).submit(move |(), _| theirs.now()).join().unwrap(), 1000);
    drop(rt);
    assert_eq!(clocks.cores(), [time(10, 0, 1000), time(710, 0, 300)]);
    assert_eq!(clocks.now(), 1010);
}

/// Each client has one request in flight, and thinks between requests.
#[test]
fn a_closed_loop_is_as_fast_as_its_server() {
    for (clients, thinks, seed) in [(1, 500, 1), (3, 500, 2), (2, 5000, 3)] {
        let (rt, clocks) = begin(1, seed);
        let rt = Arc::new(rt);
        let submitters: Vec<_> = (0..clients)
            .map(|_| {
                let (rt, clocks, starter) = (rt.clone(), clocks.clone(), &clocks);
                let body = move || {
                    let mut waited = 0;
                    for _ in 0..100 {
                        let (began, theirs) = (clocks.now(), clocks.clone());
                        rt.task(()).submit(move |(), _| theirs.spend(990)).join().unwrap();
                        waited += clocks.now() - began;
                        clocks.spend(thinks);
                    }
                    waited
                };
                starter.submitter(body).unwrap()
            })
            .collect();
        let waited: u64 = submitters.into_iter().map(|submitter| submitter.join().unwrap()).sum();
        let (now, served) = (clocks.now(), clients * 100);
        drop(rt);
        match (clients, thinks) {
            // The handle is completed before the step's own 10 ns are over.
            (1, _) => assert_eq!((now, waited), (100 * (990 + 500), 100 * 990)),
            // The server is never idle.
            (3, _) => assert!((served * 1000..served * 1000 + 3000).contains(&now), "{now}"),
            // The clients rarely collide.
            _ => assert!((100 * 5990..100 * 5990 + 2000).contains(&now), "{now}"),
        }
        assert_eq!(clocks.cores()[0].busy, served * 1000);
    }
}

/// The client does not wait, so requests pile up.
#[test]
fn an_open_loop_submits_at_its_own_times() {
    let (rt, clocks) = begin(2, 1);
    let ends = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..10 {
        clocks.spend(100);
        let (theirs, ends, came) = (clocks.clone(), ends.clone(), clocks.now());
        rt.task(()).spawn(move |(), _| {
            theirs.spend(390);
            lock(&ends).push((came, theirs.now()));
        });
    }
    assert_eq!(clocks.now(), 1000);
    drop(rt);
    let ends = lock(&ends);
    // Each core gets a request every 200 ns and takes 400 ns for it.
    assert_eq!(ends[0], (100, 490));
    assert_eq!(ends[9], (1000, 200 + 5 * 400 - 10));
}

#[test]
fn a_submitter_that_panics_is_joined() {
    let (rt, clocks) = begin(1, 1);
    let theirs = clocks.clone();
    let submitter = clocks.submitter(move || {
        theirs.spend(100);
        assert!(theirs.now() == 0, "as it should");
    });
    assert!(submitter.unwrap().join().is_err());
    assert_eq!(clocks.now(), 100);
    assert_eq!(clocks.submitter(|| 7).unwrap().join().unwrap(), 7);
    drop(rt);
}

#[test]
fn a_promise_that_is_never_fulfilled_is_reported() {
    let (rt, clocks) = begin(2, 1);
    let (promise, handle) = rt.promise::<()>();
    let panic = catch_unwind(AssertUnwindSafe(|| handle.join())).unwrap_err();
    assert!(panic.downcast::<String>().unwrap().contains("the first thread sleeps until it is woken"));
    drop(promise);
    // Everything else continues.
    rt.task(()).submit(|(), _| ()).join().unwrap();
    drop(rt);
    assert_eq!(clocks.makespan(), 10);
}

#[test]
fn a_thread_that_does_not_participate_panics() {
    let (rt, clocks) = begin(1, 1);
    let (promise, handle) = rt.promise::<()>();
    let (waits, spends) = std::thread::scope(|scope| {
        let waits = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| handle.join())).is_err());
        let spends = scope.spawn(|| catch_unwind(|| clocks.spend(1)).is_err());
        (waits.join().unwrap(), spends.join().unwrap())
    });
    assert!(waits && spends);
    drop(promise);
}
