//! Members of a group beside each other and a waiting thread: the end comes once, after all
//! members, and sees what they wrote.

use super::platform::standing;
use super::{Watched, model};
use crate::sync::Relaxed;
use crate::sync::global::AtomicU64;
use crate::{Group, Runtime, platform::Driver};
use loom::thread;
use std::sync::Arc;

/// What members and continuations write, and how often the end came.
#[derive(Default)]
struct Seen {
    parts: [Watched; 3],
    ends: AtomicU64,
}

impl Seen {
    fn sum(&self) -> u64 {
        self.parts.iter().map(Watched::get).sum()
    }
}

/// Runs two workers beside `close`, which gets a group that was filled by `fill`.
fn beside_two_workers<R>(
    fill: impl FnOnce(&Runtime, &Group, &Arc<Seen>),
    close: impl FnOnce(&Runtime, Group, &Arc<Seen>) -> R,
) -> (R, Arc<Seen>) {
    let (runtime, drivers) = standing(2);
    let seen = Arc::new(Seen::default());
    let group = runtime.group();
    fill(&runtime, &group, &seen);
    let workers: Vec<_> = drivers
        .into_iter()
        .map(|mut driver: Driver| {
            thread::spawn(move || {
                driver.step(8);
                driver
            })
        })
        .collect();
    let closed = close(&runtime, group, &seen);
    let mut drivers: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    for _ in 0..4 {
        drivers.iter_mut().for_each(|driver| _ = driver.step(8));
    }
    (closed, seen)
}

/// Spawns one member on each worker.
fn a_member_on_each(runtime: &Runtime, group: &Group, seen: &Arc<Seen>) {
    for core in 0..2 {
        let seen = seen.clone();
        runtime.task(()).core(core).of(group).spawn(move |(), _cx| seen.parts[usize::from(core)].set(1));
    }
}

#[test]
fn a_continuation_comes_once_and_sees_what_members_did() {
    model(3, || {
        let ((), seen) = beside_two_workers(a_member_on_each, |runtime, group, seen| {
            let seen = seen.clone();
            group.then(runtime, move |outcome, _cx| {
                outcome.unwrap();
                assert_eq!(seen.sum(), 2, "the members are over");
                seen.ends.fetch_add(1, Relaxed);
            });
        });
        assert_eq!(seen.ends.load(Relaxed), 1);
    });
}

#[test]
fn a_waiter_sees_what_members_did() {
    model(3, || {
        let (handle, seen) = beside_two_workers(a_member_on_each, |_, group, seen| {
            let handle = group.handle();
            if handle.is_finished() {
                // Takes the result first, as every waiter does.
                handle.join().unwrap();
                assert_eq!(seen.sum(), 2, "the members are over");
                return None;
            }
            Some(handle)
        });
        if let Some(handle) = handle {
            assert!(handle.is_finished());
            handle.join().unwrap();
            assert_eq!(seen.sum(), 2);
        }
    });
}

#[test]
fn members_that_members_spawn_on_another_worker_are_waited_for() {
    model(3, || {
        let fill = |runtime: &Runtime, group: &Group, seen: &Arc<Seen>| {
            let seen = seen.clone();
            runtime.task(()).core(0).of(group).spawn(move |(), cx| {
                seen.parts[0].set(1);
                let there = seen.clone();
                cx.task(()).core(1).as_sibling().spawn(move |(), _cx| there.parts[1].set(1));
                cx.task(()).as_sibling().spawn(move |(), _cx| seen.parts[2].set(1));
            });
        };
        let ((), seen) = beside_two_workers(fill, |runtime, group, seen| {
            let seen = seen.clone();
            group.then(runtime, move |_, _cx| {
                assert_eq!(seen.sum(), 3, "the members are over");
                seen.ends.fetch_add(1, Relaxed);
            });
        });
        assert_eq!(seen.ends.load(Relaxed), 1);
    });
}

#[test]
fn a_worker_that_goes_from_group_to_group_ends_both() {
    model(3, || {
        let other = Arc::new(Watched::default());
        let ends = Arc::new(AtomicU64::new(0));
        let (there, ended) = (other.clone(), ends.clone());
        let fill = move |runtime: &Runtime, group: &Group, seen: &Arc<Seen>| {
            a_member_on_each(runtime, group, seen);
            let second = runtime.group();
            for core in 0..2 {
                let there = there.clone();
                runtime.task(()).core(core).of(&second).spawn(move |(), _cx| {
                    if core == 0 {
                        there.set(1);
                    }
                });
            }
            second.then(runtime, move |_, _cx| {
                assert_eq!(other.get(), 1, "the members are over");
                ended.fetch_add(1, Relaxed);
            });
        };
        let ((), _) = beside_two_workers(fill, |_, group, _| drop(group));
        assert_eq!(ends.load(Relaxed), 1);
    });
}
