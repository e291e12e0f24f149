//! Halves of joins beside thieves: each is run once, sees what was written before it, and its
//! result is seen. An owner that sleeps until then is woken, and so is a worker that sleeps for
//! lack of work. All with a barrier and without.

use super::platform::standing_with;
use super::{Watched, model};
use crate::sync::{Acquire, AtomicBool, Release, yield_now};
use crate::{Fork, Handle, QueuePolicy, platform::Driver};
use loom::sync::Notify;
use loom::thread;
use std::sync::Arc;

/// Checks a model with a barrier and without.
fn on_both(preemptions: usize, run: impl Fn(bool) + Copy + Send + Sync + 'static) {
    model(preemptions, move || run(true));
    model(preemptions, move || run(false));
}

/// Runs a task on the first worker, beside a second one that `steal` drives. Returns the task's
/// result.
fn beside<R: Send + 'static>(
    has_barrier: bool,
    steal: impl FnOnce(&mut Driver) + Send + 'static,
    body: impl FnOnce(Fork<'_>) -> R + Send + 'static,
) -> R {
    let (runtime, drivers) = standing_with(2, has_barrier, QueuePolicy::Local);
    let [mut owner, mut thief]: [Driver; 2] = drivers.try_into().ok().unwrap();
    let handle: Handle<R> = runtime.task(()).core(0).submit(move |(), cx| body(cx.fork()));
    let other = thread::spawn(move || {
        steal(&mut thief);
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

/// Runs a task beside a worker that makes `steps` steps.
fn beside_a_thief<R: Send + 'static>(
    has_barrier: bool,
    steps: usize,
    body: impl FnOnce(Fork<'_>) -> R + Send + 'static,
) -> R {
    beside(has_barrier, move |thief| (0..steps).for_each(|_| _ = thief.step(8)), body)
}

#[test]
fn a_half_is_run_once_by_its_owner_or_a_thief() {
    on_both(3, |has_barrier| {
        let (before, during) = (Arc::new(Watched::new(0)), Arc::new(Watched::new(0)));
        let there = (before.clone(), during.clone());
        let result = beside_a_thief(has_barrier, 3, move |mut cx| {
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
    on_both(1, |has_barrier| {
        let parts = Arc::new([Watched::new(0), Watched::new(0), Watched::new(0)]);
        let sum = beside_a_thief(has_barrier, 3, move |mut cx| {
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
    on_both(2, |has_barrier| {
        let result = beside_a_thief(has_barrier, 3, |mut cx| {
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
    on_both(1, |has_barrier| {
        let done = Arc::new([Watched::new(0), Watched::new(0)]);
        let sum = beside_a_thief(has_barrier, 3, move |mut cx| {
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

/// The thief has nothing to give when it first sees the request, and later waits until its part has
/// run.
#[test]
fn an_owner_that_sleeps_until_a_half_is_done_runs_the_part_that_its_thief_needs() {
    on_both(2, |has_barrier| {
        let (helped, ran) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        beside_a_thief(has_barrier, 3, move |mut cx| {
            let owner = cx.worker();
            let part = |_: Fork<'_>| {
                ran.store(true, Release);
                helped.notify();
            };
            let half = |mut cx: Fork<'_>| {
                if cx.worker() != owner {
                    cx.scope(|scope| scope.spawn(|_| ()));
                    take_long();
                    cx.join(|_| wait_for(&helped, &ran), part);
                }
            };
            cx.join(|_| (), half);
        });
    });
}

/// Waits until a flag is set; loom's waits may return early.
fn wait_for(notify: &Notify, flag: &AtomicBool) {
    for _ in 0..2 {
        if !flag.load(Acquire) {
            notify.wait();
        }
    }
}

/// The first half waits for the second, so that a thief has to run it.
#[test]
fn a_worker_that_falls_asleep_beside_a_join_steals_its_half() {
    on_both(2, |has_barrier| {
        let (stolen, seen) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let there = seen.clone();
        let steal = |thief: &mut Driver| {
            thief.sleep();
            // Once it is woken it finds the job; a private one only after it has asked for it.
            (0..3).for_each(|_| _ = thief.step(8));
        };
        beside(has_barrier, steal, move |mut cx| {
            cx.join(
                |_| wait_for(&stolen, &there),
                |_| {
                    there.store(true, Release);
                    stolen.notify();
                },
            );
        });
        assert!(seen.load(Acquire));
    });
}
