//! Halves of joins beside thieves: each is run once, sees what was written before it, and its
//! result is seen. An owner that sleeps until then is woken.

use super::platform::standing;
use super::{Watched, model};
use crate::sync::yield_now;
use crate::{Fork, Handle, platform::Driver};
use loom::thread;
use std::sync::Arc;

/// Runs a task on the first worker, beside a second one that makes `steps` steps. Returns the
/// task's result.
fn beside_a_thief<R: Send + 'static>(steps: usize, body: impl FnOnce(Fork<'_>) -> R + Send + 'static) -> R {
    let (runtime, drivers) = standing(2);
    let [mut owner, mut thief]: [Driver; 2] = drivers.try_into().ok().unwrap();
    // The thief has sent a steal request, so that the join offers its second half.
    thief.step(8);
    let handle: Handle<R> = runtime.task(()).core(0).submit(move |(), cx| body(cx.fork()));
    let other = thread::spawn(move || {
        (0..steps).for_each(|_| _ = thief.step(8));
        thief
    });
    owner.step(8);
    let mut thief = other.join().unwrap();
    // Ends the runtime with both of its workers.
    for _ in 0..4 {
        owner.step(8);
        thief.step(8);
    }
    assert!(handle.is_finished());
    handle.join().unwrap()
}

#[test]
fn a_half_is_run_once_by_its_owner_or_a_thief() {
    model(3, || {
        let (before, during) = (Arc::new(Watched::new(0)), Arc::new(Watched::new(0)));
        let there = (before.clone(), during.clone());
        let result = beside_a_thief(2, move |mut cx| {
            before.set(1);
            let ((), seen) = cx.join(
                |_| (),
                |_| {
                    during.add(1);
                    before.get()
                },
            );
            (seen, during.get())
        });
        assert_eq!(result, (1, 1));
        assert_eq!((there.0.get(), there.1.get()), (1, 1));
    });
}

#[test]
fn an_owner_that_waits_for_a_half_takes_a_part_of_it() {
    model(2, || {
        let parts = Arc::new([Watched::new(0), Watched::new(0), Watched::new(0)]);
        let sum = beside_a_thief(2, move |mut cx| {
            let count = |index: usize| parts[index].add(1);
            cx.join(
                |_| count(0),
                |mut cx: Fork<'_>| {
                    cx.join(|mut cx| _ = cx.join(|_| count(1), |_| ()), |_| count(2));
                },
            );
            parts.iter().map(Watched::get).sum::<u64>()
        });
        assert_eq!(sum, 3);
    });
}

/// Takes long enough for the waiting owner to ask for a part, and to fall asleep: loom lets it go
/// on where others yield.
fn take_long() {
    (0..3).for_each(|_| yield_now());
}

#[test]
fn an_owner_that_sleeps_until_a_half_is_done_is_woken() {
    model(3, || {
        let result = beside_a_thief(2, |mut cx| {
            let ((), done) = cx.join(
                |_| (),
                |_| {
                    take_long();
                    Watched::new(7)
                },
            );
            done.get()
        });
        // If the end were missed, the owner would sleep for ever, which loom reports.
        assert_eq!(result, 7);
    });
}

#[test]
fn an_owner_that_sleeps_until_a_half_is_done_is_given_a_part() {
    model(2, || {
        let done = Arc::new([Watched::new(0), Watched::new(0)]);
        let sum = beside_a_thief(2, move |mut cx| {
            cx.join(
                |_| (),
                |mut cx: Fork<'_>| {
                    take_long();
                    cx.join(|_| done[0].add(1), |_| done[1].add(1));
                },
            );
            done.iter().map(Watched::get).sum::<u64>()
        });
        assert_eq!(sum, 2);
    });
}
