//! Groups and sets: whichever member is last, the group ends once, after all members, and wakes the
//! waiters.

use crate::common::Dropped;
use crate::platform::{on_threads, pause, runtime, unwind, wait_a_little};
use crate::schedules::explore;
use shuttle::future::block_on;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{
    Context, Group, Handle, JoinError, Runtime, Shutdown,
    managed::{Managed, SetError},
};

/// A tree of members: each spawns two more on other workers, to a given depth.
fn grow(levels: u16, ran: Arc<AtomicUsize>, cx: &mut Context) {
    for branch in 0..if levels == 0 { 0 } else { 2 } {
        let ran = ran.clone();
        cx.task(()).core(levels + branch).as_sibling().spawn(move |(), cx| grow(levels - 1, ran, cx));
    }
    pause();
    ran.fetch_add(1, Relaxed);
}

fn plant(rt: &Runtime, group: &Group, levels: u16) -> Arc<AtomicUsize> {
    let ran = Arc::new(AtomicUsize::new(0));
    let first = ran.clone();
    rt.task(()).of(group).spawn(move |(), cx| grow(levels, first, cx));
    ran
}

#[test]
fn a_group_is_waited_for_in_every_way() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        on_threads(2, {
            let rt = rt.clone();
            move |way| {
                let group = rt.group();
                let ran = plant(&rt, &group, 2);
                match way {
                    0 => group.wait().unwrap(),
                    _ => block_on(group.into_future()).unwrap(),
                }
                assert_eq!(ran.load(Relaxed), 7);
            }
        });
    });
}

#[test]
fn a_continuation_comes_once_after_all_members() {
    explore(|_| {
        let rt = runtime(2);
        let ends = Arc::new(AtomicUsize::new(0));
        let (one, two) = (rt.group(), rt.group());
        let (first, second) = (plant(&rt, &one, 2), plant(&rt, &two, 1));
        let (ended, members) = (ends.clone(), first.clone());
        rt.task(()).core(1).after(one).of(&two).spawn(move |(), _| {
            assert_eq!(members.load(Relaxed), 7);
            ended.fetch_add(1, Relaxed);
        });
        let (promise, all) = rt.promise();
        let ended = ends.clone();
        two.then(&rt, move |outcome, _| {
            outcome.unwrap();
            assert_eq!((second.load(Relaxed), ended.load(Relaxed)), (3, 1));
            promise.fulfil(());
        });
        all.join().unwrap();
        drop(rt);
        assert_eq!(ends.load(Relaxed), 1);
    });
}

#[test]
fn a_drain_waits_for_what_waits() {
    explore(|mut random| {
        let rt = runtime(2);
        let ends = Arc::new(AtomicUsize::new(0));
        let group = rt.group();
        plant(&rt, &group, 1);
        let ended = ends.clone();
        // Perhaps on a worker that is otherwise idle.
        rt.task(()).core(1).after(group).then(move |_, cx| {
            ended.fetch_add(1, Relaxed);
            let last = cx.group();
            cx.task(()).of(&last).spawn(|(), _| pause());
            cx.task(()).core(0).after(last).then(move |_, _| _ = ended.fetch_add(1, Relaxed));
        });
        wait_a_little(&mut random, 100);
        rt.shutdown(Shutdown::Drain);
        assert_eq!(ends.load(Relaxed), 2);
    });
}

#[test]
fn a_cancelled_runtime_ends_every_group() {
    explore(|mut random| {
        let rt = runtime(2);
        let dropped = Arc::new(AtomicUsize::new(0));
        let [one, two, three] = std::array::from_fn(|_| rt.group());
        plant(&rt, &one, 2);
        plant(&rt, &two, 1);
        let body = Dropped(dropped.clone());
        let next = rt.task(()).after(one).of(&two).submit(|(), _| ());
        rt.task(()).after(two).of(&three).then(move |_, _| drop(body));
        let all = three.handle();
        wait_a_little(&mut random, 200);
        rt.shutdown(Shutdown::Cancel);
        assert!(next.is_finished() && all.is_finished());
        assert_eq!(dropped.load(Relaxed), 1);
        for handle in [next, all] {
            assert!(matches!(Handle::join(handle), Ok(()) | Err(JoinError::Cancelled)));
        }
    });
}

#[test]
fn a_member_that_fails_is_over() {
    explore(|_| {
        let rt = runtime(2);
        let group = rt.group();
        rt.task(()).core(0).of(&group).spawn(|(), _| unwind());
        rt.task(()).core(1).of(&group).spawn(|(), _| pause());
        assert!(matches!(group.wait(), Err(JoinError::Panicked(_))));
    });
}

#[test]
fn every_function_of_a_set_runs_once_on_any_thread() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        let pool = Arc::new(Managed::new(rt.clone()));
        on_threads(2, {
            let pool = pool.clone();
            move |_| {
                let ran = Arc::new(AtomicUsize::new(0));
                let count = |_| {
                    let ran = ran.clone();
                    move || {
                        pause();
                        ran.fetch_add(1, Relaxed);
                    }
                };
                let set = pool.enqueue_many((0..3).map(count));
                pool.enqueue_and_wait((0..2).map(count)).unwrap();
                pool.wait(set).unwrap();
                assert_eq!(ran.load(Relaxed), 5);
            }
        });
    });
}

#[test]
fn a_task_that_waits_for_a_set_goes_on() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        let pool = Arc::new(Managed::new(rt.clone()));
        let ran = Arc::new(AtomicUsize::new(0));
        let (there, counted) = (pool.clone(), ran.clone());
        let task = rt.task(()).submit(move |(), _| {
            let set = there.enqueue_many((0..3).map(|_| {
                let ran = counted.clone();
                move || _ = ran.fetch_add(1, Relaxed)
            }));
            match there.wait(set) {
                Err(SetError::WouldBlock) => Some(set),
                outcome => {
                    outcome.unwrap();
                    None
                }
            }
        });
        if let Some(set) = task.join().unwrap() {
            pool.wait(set).unwrap();
        }
        assert_eq!(ran.load(Relaxed), 3);
    });
}
