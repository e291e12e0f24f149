//! Tasks and threads that wait for room: their order, and the end of their waits.

use super::{Waiter, is_unused};
use crate::common::{Setting, eventually, on_all, watchdog};
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use xtasking::Shutdown;
use xtasking::limit::LimitError;

#[test]
fn waiters_are_served_in_order_and_each_is_woken_once() {
    let rt = Setting::Threads { workers: 1 }.build();
    let limit = rt.limit(2);
    let (first, second) = (limit.try_acquire().unwrap(), limit.try_acquire().unwrap());
    let mut waiters: Vec<_> = (0..5).map(|_| Waiter::new(limit.acquire())).collect();
    assert!(waiters.iter_mut().all(|waiter| waiter.poll().is_none()));
    let woken = |waiters: &[Waiter<_>]| waiters.iter().map(Waiter::is_woken).collect::<Vec<_>>();
    assert_eq!(limit.waiting(), 5);
    drop(first);
    assert_eq!(woken(&waiters), [true, false, false, false, false]);
    assert_eq!(limit.try_acquire().err(), Some(LimitError::Full), "no newcomer overtakes");
    assert!(waiters[1..].iter_mut().all(|waiter| waiter.poll().is_none()));
    let served = waiters[0].poll().unwrap().unwrap();
    drop(served);
    assert_eq!(woken(&waiters)[..3], [true, true, false]);
    // One that was served and goes away passes its room on; one that waits leaves the queue.
    drop(waiters.remove(2));
    drop(waiters.remove(1));
    assert_eq!(woken(&waiters), [true, true, false], "the one behind both is served");
    drop(second);
    assert_eq!((limit.used(), limit.waiting()), (2, 0));
    assert!(waiters[1..].iter_mut().all(|waiter| waiter.poll().is_some_and(|permit| permit.is_ok())));
    assert_eq!(limit.used(), 0);
    assert!(limit.try_acquire().is_ok());
}

/// The last waiter of the queue goes away unserved: then newcomers may take what is there.
#[test]
fn a_queue_that_was_left_lets_newcomers_in() {
    let rt = Setting::Threads { workers: 1 }.build();
    let limit = rt.limit(1);
    let permit = limit.try_acquire().unwrap();
    let mut waiter = Waiter::new(limit.acquire());
    assert!(waiter.poll().is_none());
    drop(waiter);
    drop(permit);
    assert!(limit.try_acquire().is_ok());
}

#[test]
fn the_last_waker_is_woken() {
    let rt = Setting::Threads { workers: 1 }.build();
    let limit = rt.limit(1);
    let permit = limit.try_acquire().unwrap();
    let mut waiter = Waiter::new(limit.acquire());
    assert!(waiter.poll().is_none());
    let before = std::mem::take(&mut waiter.wakes);
    assert!(waiter.poll().is_none());
    drop(permit);
    assert_eq!((before.0.load(SeqCst), waiter.wakes.0.load(SeqCst)), (0, 1));
    assert!(waiter.poll().is_some());
}

#[test]
fn a_task_takes_its_permits_in_one_order() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.builder().most_tasks(2).build().unwrap();
    let [a, b] = [0, 1].map(|number| rt.shared_reads(number).most_tasks(1).build());
    // Named twice, it is one task.
    let twice = rt.task((a.read(), a.read())).try_submit(|(one, other), _| one + other);
    assert_eq!(twice.unwrap().join().unwrap(), 0);
    // A task that waits for room at an object takes none of the runtime.
    let inside = rt.task(a.write()).try_reserve().unwrap();
    let mut waiter = Waiter::new(rt.task((b.read(), a.read())).reserve());
    assert!(waiter.poll().is_none());
    rt.task(()).try_submit(|(), _| ()).unwrap().join().unwrap();
    drop(inside);
    assert!(waiter.is_woken());
    let task = waiter.poll().unwrap().unwrap();
    assert_eq!(task.submit(|(b, a), _| a + b).join().unwrap(), 1);
    // A list of objects counts for each.
    let list = rt.task(vec![a.read(), b.read()]).try_reserve().unwrap();
    assert_eq!([&a, &b].map(|object| object.task_limit().unwrap().used()), [1, 1]);
    drop(list);
    assert!(is_unused(rt.task_limit()) && is_unused(a.task_limit()) && is_unused(b.task_limit()));
}

#[test]
fn waiters_for_two_objects_in_opposite_orders_do_not_deadlock() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let [a, b] = [0, 0].map(|number| rt.plain(number).most_tasks(1).build());
    thread::scope(|scope| {
        let threads = [false, true, false, true].map(|turned| {
            let (rt, one, other) = if turned { (&rt, &a, &b) } else { (&rt, &b, &a) };
            scope.spawn(move || {
                for _ in 0..300 {
                    let task = rt.task((one.write(), other.write())).reserve_blocking().unwrap();
                    task.spawn(|(one, other), _| {
                        *one += 1;
                        *other += 1;
                    });
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let sum = rt.task((a.read(), b.read())).submit(|(a, b), _| a + b);
    assert_eq!(sum.join().unwrap(), 2400);
}

#[test]
fn a_worker_tries_and_does_not_block() {
    on_all(|setting| {
        let rt = setting.builder().most_tasks(2).build().unwrap();
        let limit = rt.limit(1);
        let asked = limit.clone();
        let task = rt.task(()).try_submit(move |(), cx| {
            let blocked = asked.acquire_blocking().err();
            let first = cx.task(()).try_spawn(|(), _| ()).is_ok();
            // Without room: over the bound, and not refused.
            (0..5).for_each(|_| cx.task(()).spawn(|(), _| ()));
            (blocked, first)
        });
        let (blocked, first) = task.unwrap().join().unwrap();
        assert_eq!(blocked, Some(LimitError::WouldBlock));
        assert!(first);
        assert!(is_unused(Some(&limit)));
        let bound = rt.task_limit().cloned();
        rt.shutdown(Shutdown::Drain);
        assert!(is_unused(bound.as_ref()));
    });
}

#[test]
fn a_shutdown_ends_all_waits() {
    for how in [Shutdown::Drain, Shutdown::Cancel] {
        let _watched = watchdog();
        let rt = Setting::Threads { workers: 1 }.builder().most_tasks(1).build().unwrap();
        let object = rt.plain(0).most_tasks(1).build();
        let group = rt.group().most_tasks(1);
        let limits = [
            rt.limit(1),
            rt.task_limit().unwrap().clone(),
            object.task_limit().unwrap().clone(),
            group.task_limit().unwrap().clone(),
        ];
        // Many limits come and go meanwhile.
        (0..1000).for_each(|_| drop(rt.limit(1)));
        let permits = limits.each_ref().map(|limit| limit.try_acquire().unwrap());
        let mut waiters = limits.each_ref().map(|limit| Waiter::new(limit.acquire()));
        assert!(waiters.iter_mut().all(|waiter| waiter.poll().is_none()));
        let limit = limits[0].clone();
        let blocked = thread::spawn(move || limit.acquire_blocking().err());
        eventually("blocked", || limits[0].waiting() == 2);
        rt.shutdown(how);
        assert_eq!(blocked.join().unwrap(), Some(LimitError::ShutDown));
        for waiter in &mut waiters {
            assert!(waiter.is_woken());
            assert_eq!(waiter.poll().unwrap().err(), Some(LimitError::ShutDown));
        }
        drop(permits);
        assert!(limits.iter().all(|limit| is_unused(Some(limit))));
        assert!(limits.iter().all(|limit| limit.try_acquire().err() == Some(LimitError::ShutDown)));
    }
}
