//! Sets of one function, which no thread has to wait for.

use crate::common::{
    Dropped, Flag, Setting, build_counting_failures, eventually, lock, on_all, set_at_end, side_by_side,
    silence_tasks, watchdog,
};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use xtasking::{
    JoinError, QueuePolicy, Runtime, Shutdown,
    managed::{Managed, SetError},
    queues::RankOrder,
};

/// A function that counts its run.
fn counting(count: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
    let count = count.clone();
    move || _ = count.fetch_add(1, SeqCst)
}

/// Waits for these runs. In a simulation the workers run meanwhile. The pool may not yet know that
/// the last ones are over.
fn until(rt: &Runtime, count: &AtomicUsize, runs: usize) {
    eventually("all have run", || {
        rt.task(()).submit(|(), _| ()).join().unwrap();
        count.load(SeqCst) == runs
    });
}

#[test]
fn requests_of_several_threads_run_once() {
    const EACH: usize = 3000;
    on_all(|setting| {
        let rt = setting.build();
        let (pool, count) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
        let threads = if setting.is_simulation() { 1 } else { 3 };
        side_by_side((0..threads).map(|_| {
            || {
                for number in 0..EACH {
                    let id = pool.enqueue(counting(&count));
                    match number % 7 {
                        0 => pool.wait(id).unwrap(),
                        1 => pool.forget(id).unwrap(),
                        2 => _ = pool.is_over(id).unwrap(),
                        _ => {}
                    }
                }
            }
        }));
        until(&rt, &count, threads * EACH);
        pool.wait_all().unwrap();
        assert_eq!(count.load(SeqCst), threads * EACH);
        assert_eq!(format!("{pool:?}"), "Managed { sets: 0, .. }");
    });
}

/// An id needs no memory, and is still good for one wait.
#[test]
fn an_id_is_good_for_one_wait_long_after_the_end() {
    on_all(|setting| {
        let rt = setting.build();
        let (pool, count) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
        let ids: Vec<_> = (0..2000).map(|_| pool.enqueue(counting(&count))).collect();
        until(&rt, &count, ids.len());
        for (number, &id) in ids.iter().enumerate() {
            eventually("an end", || pool.is_over(id).unwrap());
            match number % 3 {
                0 => pool.forget(id).unwrap(),
                1 => pool.wait(id).unwrap(),
                _ => continue,
            }
            assert!(matches!(pool.wait(id), Err(SetError::Stale)));
            assert!(matches!(pool.is_over(id), Err(SetError::Stale)));
        }
        pool.wait_all().unwrap();
        assert!(ids.iter().all(|&id| matches!(pool.wait(id), Err(SetError::Stale))));
        assert_eq!(count.load(SeqCst), ids.len());
    });
}

#[test]
fn the_failure_of_a_request_is_kept_for_its_waiter() {
    silence_tasks();
    on_all(|setting| {
        let (rt, heard) = build_counting_failures(setting.builder());
        let (pool, count) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
        let ids: Vec<_> = (0..1000)
            .map(|number| {
                let run = counting(&count);
                pool.enqueue(move || {
                    run();
                    assert!(number % 100 != 5, "provoked");
                })
            })
            .collect();
        until(&rt, &count, ids.len());
        let is_told = |outcome| matches!(outcome, Err(SetError::Failed(JoinError::Panicked(_))));
        assert!(is_told(pool.wait(ids[5])));
        assert!(matches!(pool.wait(ids[5]), Err(SetError::Stale)));
        assert_eq!(heard.load(SeqCst), 0);
        pool.forget(ids[105]).unwrap();
        eventually("the hook hears it", || heard.load(SeqCst) == 1);
        // The first of the others is returned, and the hook hears the rest.
        assert!(is_told(pool.wait_all()));
        assert_eq!(heard.load(SeqCst), 8);
        pool.wait_all().unwrap();
        pool.enqueue(|| panic!("provoked"));
        drop(pool);
        rt.shutdown(Shutdown::Drain);
        assert_eq!(heard.load(SeqCst), 9);
    });
}

/// A function without an id runs once, is waited for with all others, and its panic goes to the
/// hook.
#[test]
fn functions_without_an_id_run_and_report_their_failures() {
    silence_tasks();
    on_all(|setting| {
        let (rt, heard) = build_counting_failures(setting.builder());
        let (pool, count) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
        for number in 0..1000 {
            let run = counting(&count);
            pool.spawn(move || {
                run();
                assert!(number % 100 != 5, "provoked");
            });
            if number % 10 == 3 {
                pool.enqueue(counting(&count));
            }
        }
        pool.wait_all().unwrap();
        assert_eq!((count.load(SeqCst), heard.load(SeqCst)), (1100, 10));
        let captured = Arc::new(());
        let held = captured.clone();
        pool.spawn(move || drop(held));
        drop(pool);
        rt.shutdown(Shutdown::Drain);
        assert_eq!((Arc::strong_count(&captured), heard.load(SeqCst)), (1, 10));
    });
}

/// A runner that has taken several brief requests must not hold back the next.
#[test]
fn two_requests_that_wait_for_each_other_meet() {
    let _watched = watchdog();
    for policy in [QueuePolicy::Local, QueuePolicy::WorkStealing, QueuePolicy::Ranked(RankOrder::Exact)] {
        let rt = Runtime::builder().workers(2).pool(policy).build().unwrap();
        let (pool, count) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
        for round in 0..300 {
            let both = Arc::new(Barrier::new(2));
            for _ in 0..round % 50 {
                pool.enqueue(counting(&count));
            }
            for _ in 0..2 {
                let (both, run) = (both.clone(), counting(&count));
                pool.enqueue(move || {
                    both.wait();
                    run();
                });
            }
            let runs = (0..=round).map(|round| round % 50 + 2).sum();
            eventually("both have met", || count.load(SeqCst) == runs);
        }
    }
}

/// Where tasks can move, a request does not wait for a worker that is busy while another is idle.
#[test]
fn a_request_does_not_wait_for_a_busy_worker() {
    let _watched = watchdog();
    for policy in [QueuePolicy::WorkStealing, QueuePolicy::Ranked(RankOrder::Exact)] {
        for run_queues in [2, 5] {
            let builder = Runtime::builder().workers(2).most_workers(run_queues);
            let rt = builder.pool(policy).build().unwrap();
            let (pool, count) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
            let (go, inside) = (Flag::default(), Flag::default());
            let (waits, enters) = (go.clone(), inside.clone());
            rt.task(()).spawn(move |(), _| {
                enters.set();
                waits.wait();
            });
            inside.wait();
            for number in 1..=100 {
                pool.enqueue(counting(&count));
                eventually("the other worker runs it", || count.load(SeqCst) == number);
            }
            go.set();
        }
    }
}

#[test]
fn a_cancelled_runtime_drops_requests() {
    let _watched = watchdog();
    let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (go, inside) = (Flag::default(), Flag::default());
    let rt = Setting::Threads { workers: 1 }.build();
    let pool = rt.managed();
    let (waits, enters) = (go.clone(), inside.clone());
    pool.enqueue(move || {
        enters.set();
        waits.wait();
    });
    inside.wait();
    for _ in 0..500 {
        let (run, owned) = (counting(&ran), Dropped(dropped.clone()));
        pool.enqueue(move || {
            let _owned = owned;
            run();
        });
    }
    drop(pool);
    let ending = set_at_end(&rt, go);
    rt.shutdown(Shutdown::Cancel);
    ending.join().unwrap();
    assert_eq!(dropped.load(SeqCst), 500);
    // A worker learns of the end between two bursts of 32 tasks.
    assert!(ran.load(SeqCst) <= 32, "{ran:?} have run");
}

#[test]
fn a_request_without_memory_fails_and_later_ones_run() {
    let _watched = watchdog();
    let builder = Setting::Threads { workers: 1 }.builder().memory_limit(1 << 20);
    let (rt, refused) = build_counting_failures(builder);
    let rt = Arc::new(rt);
    let pool = Arc::new(Managed::new(rt.clone()));
    let count = Arc::new(AtomicUsize::new(0));
    let (there, counted) = (pool.clone(), count.clone());
    let ids = rt.task(()).submit(move |(), cx| {
        // Uses up all memory, by tasks that no queue policy runs at once.
        while refused.load(SeqCst) == 0 {
            cx.task(()).core(0).spawn(|(), _| ());
        }
        (0..100).map(|_| there.enqueue(counting(&counted))).collect::<Vec<_>>()
    });
    let failed = ids.join().unwrap().into_iter().filter(|&id| match pool.wait(id) {
        Ok(()) => false,
        Err(SetError::Failed(JoinError::OutOfMemory)) => true,
        Err(other) => panic!("{other}"),
    });
    let failed = failed.count();
    assert_eq!((count.load(SeqCst), failed > 0), (100 - failed, true));
    eventually("the runner works again", || {
        let id = pool.enqueue(counting(&count));
        eventually("an end", || pool.is_over(id).unwrap());
        pool.wait(id).is_ok()
    });
}

/// With statistics, each request is a task.
#[test]
fn requests_count_as_tasks() {
    on_all(|setting| {
        let rt = setting.builder().statistics(true).build().unwrap();
        let (pool, count) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
        (0..500).for_each(|_| _ = pool.enqueue(counting(&count)));
        until(&rt, &count, 500);
        assert!(rt.statistics().unwrap().spawned >= 500);
    });
}

/// Sets of several ranks, enqueued while the only worker is busy, in the order in which they ran.
fn order_of_sets(default_rank: Option<u16>, has_statistics: bool) -> Vec<&'static str> {
    let _watched = watchdog();
    let builder = Runtime::builder().workers(1).pool(QueuePolicy::Ranked(RankOrder::Exact));
    let rt = builder.statistics(has_statistics).build().unwrap();
    let pool = rt.managed();
    let pool = match default_rank {
        Some(rank) => pool.with_default_rank(rank),
        None => pool,
    };
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name| {
        let order = order.clone();
        move || lock(&order).push(name)
    };
    let (both, worker) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (meets, leaves) = (both.clone(), worker.clone());
    pool.enqueue(move || {
        meets.wait();
        leaves.wait();
    });
    both.wait();
    (0..3).for_each(|_| _ = pool.enqueue(note("request")));
    pool.enqueue_many([note("many"), note("many")]);
    pool.enqueue_ranked(RankOrder::LAST - 1, [note("late")]);
    pool.enqueue_ranked(0, [note("first"), note("first")]);
    worker.wait();
    eventually("all have run", || lock(&order).len() == 8);
    std::mem::take(&mut *lock(&order))
}

#[test]
fn requests_have_the_middle_rank() {
    let expected = ["first", "first", "request", "request", "request", "many", "many", "late"];
    for has_statistics in [false, true] {
        let mut order = order_of_sets(None, has_statistics);
        // A runner that took the request before them is behind the set that came first.
        order[2..7].sort_unstable_by_key(|&name| name == "many");
        assert_eq!(order, expected);
    }
}

/// A request without a rank goes behind all sets that have one.
#[test]
fn requests_without_a_rank_come_last_if_asked_for() {
    for has_statistics in [false, true] {
        let mut order = order_of_sets(Some(RankOrder::LAST), has_statistics);
        order[3..].sort_unstable_by_key(|&name| name == "many");
        let expected = ["first", "first", "late", "request", "request", "request", "many", "many"];
        assert_eq!(order, expected);
        // And before them with the most urgent one.
        let order = order_of_sets(Some(0), has_statistics);
        assert_eq!(order[7], "late", "{order:?}");
    }
}
