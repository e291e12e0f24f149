//! Sets of functions: the guarantees of a thread pool, and the faults of GeckoDB's.

use crate::common::{
    Dropped, Flag, Setting, build_counting_failures, eventually, lock, on_all, on_each, side_by_side,
    silence_tasks, watchdog,
};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use xtasking::{
    JoinError, Runtime, Shutdown,
    managed::{Managed, SetError, SetId},
};

fn threads(workers: usize) -> Runtime {
    Setting::Threads { workers }.build()
}

/// Functions that count their runs.
fn counting(count: &Arc<AtomicUsize>, many: usize) -> impl Iterator<Item = impl FnOnce() + Send + 'static> {
    (0..many).map({
        let count = count.clone();
        move |_| {
            let count = count.clone();
            move || _ = count.fetch_add(1, SeqCst)
        }
    })
}

/// Keeps every worker busy until the flag is set. Returns once all are busy.
fn occupy(rt: &Runtime) -> Flag {
    let go = Flag::default();
    let inside = Arc::new(AtomicUsize::new(0));
    for core in 0..rt.workers() {
        let (go, inside) = (go.clone(), inside.clone());
        rt.task(()).core(core as u16).spawn(move |(), _| {
            inside.fetch_add(1, SeqCst);
            go.wait();
        });
    }
    eventually("busy", || inside.load(SeqCst) == rt.workers());
    go
}

#[test]
fn every_function_of_a_set_runs_once() {
    on_all(|setting| {
        let rt = setting.build();
        let pool = Managed::new(&rt);
        for many in [0, 1, 2, 7, 500] {
            let count = Arc::new(AtomicUsize::new(0));
            let set = pool.enqueue_many(counting(&count, many));
            if many % 2 == 1 {
                // Some functions may run before a thread waits.
                rt.task(()).submit(|(), _| ()).join().unwrap();
            }
            pool.wait(set).unwrap();
            assert_eq!(count.load(SeqCst), many);
            pool.enqueue_and_wait(counting(&count, many)).unwrap();
            assert_eq!(count.load(SeqCst), 2 * many);
        }
        let count = Arc::new(AtomicUsize::new(0));
        let one = counting(&count, 1).next().unwrap();
        let one = pool.enqueue(one);
        eventually("over", || {
            rt.task(()).submit(|(), _| ()).join().unwrap();
            pool.is_over(one).unwrap()
        });
        assert_eq!(count.load(SeqCst), 1);
        pool.wait(one).unwrap();
        assert_eq!(format!("{pool:?}"), "Managed { sets: 0, .. }");
    });
}

#[test]
fn workers_run_sets_without_a_waiter() {
    on_all(|setting| {
        let rt = setting.build();
        let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let pool = Managed::new(&rt);
        for round in 0..20 {
            let set = pool.enqueue_many(counting(&ran, 10));
            if round % 2 == 0 {
                pool.forget(set).unwrap();
                assert!(matches!(pool.wait(set), Err(SetError::Stale)));
            }
            let owned = Dropped(dropped.clone());
            pool.enqueue(move || drop(owned));
        }
        drop(pool);
        rt.shutdown(Shutdown::Drain);
        assert_eq!((ran.load(SeqCst), dropped.load(SeqCst)), (200, 20));
    });
}

/// In GeckoDB's pool, a waiting caller ran exactly one function.
#[test]
fn a_waiter_runs_all_that_the_workers_do_not() {
    let _watched = watchdog();
    for workers in [1, 2] {
        let rt = threads(workers);
        let pool = Managed::new(&rt);
        let go = occupy(&rt);
        let count = Arc::new(AtomicUsize::new(0));
        let (first, second) = (pool.enqueue_many(counting(&count, 100)), pool.enqueue(|| ()));
        let here = thread::current().id();
        let there = Arc::new(Mutex::new(HashSet::new()));
        let seen = there.clone();
        let where_it_runs = move |_| {
            let seen = seen.clone();
            move || _ = lock(&seen).insert(thread::current().id())
        };
        // All workers are busy all the time.
        pool.enqueue_and_wait((0..50).map(where_it_runs)).unwrap();
        assert_eq!(*lock(&there), HashSet::from([here]));
        assert_eq!(count.load(SeqCst), 0, "only what it waits for");
        pool.wait(first).unwrap();
        assert_eq!(count.load(SeqCst), 100);
        assert!(!pool.is_over(second).unwrap());
        pool.wait_all().unwrap();
        go.set();
    }
}

/// GeckoDB's pool of one thread deadlocks.
#[test]
fn a_task_may_wait_for_a_set() {
    on_all(|setting| {
        let rt = Arc::new(setting.build());
        let pool = Arc::new(Managed::new(rt.clone()));
        let count = Arc::new(AtomicUsize::new(0));
        let (there, counted) = (pool.clone(), count.clone());
        let waited = rt.task(()).submit(move |(), _| {
            // No other thread knows of this set, so the task waits for none.
            there.enqueue_and_wait(counting(&counted, 50)).unwrap();
            let set = there.enqueue_many(counting(&counted, 50));
            match there.wait(set) {
                Ok(()) => {}
                Err(SetError::WouldBlock) => return Some(set),
                Err(other) => panic!("{other}"),
            }
            None
        });
        if let Some(set) = waited.join().unwrap() {
            assert!(rt.workers() > 1, "no other worker runs the set");
            pool.wait(set).unwrap();
        }
        assert_eq!(count.load(SeqCst), 100);
        // A function of a set may wait, too, and so may the functions of the inner set.
        let (there, counted) = (pool.clone(), count.clone());
        pool.enqueue_and_wait([move || {
            let again = there.clone();
            let nested = move || match again.enqueue_and_wait(counting(&counted, 5)) {
                Ok(()) => {}
                other => panic!("{other:?}"),
            };
            there.enqueue_and_wait([nested]).unwrap();
        }])
        .unwrap();
        assert_eq!(count.load(SeqCst), 105);
    });
}

/// A task never waits for itself.
#[test]
fn a_function_that_waits_for_its_own_set_gets_an_error() {
    on_all(|setting| {
        let rt = Arc::new(setting.build());
        let pool = Arc::new(Managed::new(rt.clone()));
        let told = Arc::new(AtomicUsize::new(0));
        let id = Arc::new(Mutex::new(None::<SetId>));
        let wait = || {
            let (pool, id, told) = (pool.clone(), id.clone(), told.clone());
            move || {
                let outcomes = [pool.wait_all().err(), lock(&id).and_then(|id| pool.wait(id).err())];
                let refused = |error: &SetError| matches!(error, SetError::WouldBlock | SetError::Stale);
                assert!(outcomes.iter().flatten().all(refused), "{outcomes:?}");
                told.fetch_add(usize::from(matches!(outcomes[0], Some(SetError::WouldBlock))), SeqCst);
            }
        };
        // On a plain thread, and on a worker.
        pool.enqueue_and_wait([wait()]).unwrap();
        assert_eq!(told.load(SeqCst), 1);
        let set = pool.enqueue(wait());
        *lock(&id) = Some(set);
        eventually("over", || {
            rt.task(()).submit(|(), _| ()).join().unwrap();
            pool.is_over(set).unwrap()
        });
        assert_eq!(told.load(SeqCst), 2);
        pool.wait(set).unwrap();
    });
}

/// GeckoDB's enqueuers take one slot twice, and spin for ever when 4,097 are in use.
#[test]
fn ids_are_never_mixed_up() {
    let _watched = watchdog();
    let rt = threads(2);
    let pool = Managed::new(&rt);
    let total = Arc::new(AtomicUsize::new(0));
    let use_sets = || {
        let mut seen = HashSet::new();
        for round in 0..10 {
            let counts: Vec<Arc<AtomicUsize>> = (0..20).map(|_| Arc::default()).collect();
            let sets: Vec<_> = counts.iter().map(|count| pool.enqueue_many(counting(count, 3))).collect();
            for (number, (&set, count)) in sets.iter().zip(&counts).enumerate() {
                assert!(seen.insert(set.to_bits()), "an id comes again");
                if number % 5 == round % 5 {
                    pool.forget(set).unwrap();
                } else {
                    pool.wait(set).unwrap();
                    assert_eq!(count.load(SeqCst), 3);
                }
                assert!(matches!(pool.wait(SetId::from_bits(set.to_bits())), Err(SetError::Stale)));
                assert!(matches!(pool.is_over(set), Err(SetError::Stale)));
                assert!(matches!(pool.forget(set), Err(SetError::Stale)));
            }
            total.fetch_add(20, SeqCst);
        }
    };
    side_by_side([use_sets; 3]);
    assert_eq!(total.load(SeqCst), 600);
    // More sets at once than GeckoDB has slots.
    let count = Arc::new(AtomicUsize::new(0));
    let sets: Vec<_> = (0..5000).map(|_| pool.enqueue_many(counting(&count, 1))).collect();
    let ids: HashSet<_> = sets.iter().collect();
    assert_eq!(ids.len(), 5000);
    pool.wait_all().unwrap();
    assert_eq!(count.load(SeqCst), 5000);
    assert!(sets.iter().all(|&set| matches!(pool.wait(set), Err(SetError::Stale))));
    assert!(matches!(pool.wait(SetId::from_bits(0)), Err(SetError::Stale)));
}

#[test]
fn one_set_is_waited_for_once() {
    let _watched = watchdog();
    let rt = threads(1);
    let pool = Managed::new(&rt);
    let (inside, go, waiting) = (Flag::default(), Flag::default(), Flag::default());
    let blocked = || {
        let (inside, go, waiting) = (inside.clone(), go.clone(), waiting.clone());
        move || {
            // One runs on the worker, and the other on the waiting thread.
            if inside.is_set() {
                return waiting.set();
            }
            inside.set();
            go.wait();
        }
    };
    let set = pool.enqueue_many([blocked(), blocked()]);
    inside.wait();
    thread::scope(|scope| {
        let one = scope.spawn(|| pool.wait(set));
        waiting.wait();
        assert!(matches!(pool.forget(set), Err(SetError::Stale)));
        assert!(matches!(pool.wait(set), Err(SetError::Stale)));
        assert!(!pool.is_over(set).unwrap());
        // `wait_all` waits for the set for which another thread already waits.
        let all = scope.spawn(|| pool.wait_all());
        assert!(!all.is_finished());
        go.set();
        one.join().unwrap().unwrap();
        all.join().unwrap().unwrap();
    });
}

#[test]
fn the_first_panic_goes_to_the_waiter_and_the_others_to_the_hook() {
    silence_tasks();
    on_all(|setting| {
        let heard = Arc::new(AtomicUsize::new(0));
        let hear = heard.clone();
        let rt = setting.builder().on_failure(move |failure| {
            assert!(failure.error.to_string().contains("provoked"));
            hear.fetch_add(1, SeqCst);
        });
        let rt = rt.build().unwrap();
        let pool = Managed::new(&rt);
        let ran = Arc::new(AtomicUsize::new(0));
        let bodies = |fail: usize| {
            let ran = ran.clone();
            (0..10).map(move |number| {
                let ran = ran.clone();
                move || {
                    ran.fetch_add(1, SeqCst);
                    assert!(number >= fail, "provoked");
                }
            })
        };
        let is_told = |outcome| matches!(outcome, Err(SetError::Failed(JoinError::Panicked(_))));
        let set = pool.enqueue_many(bodies(3));
        assert!(is_told(pool.wait(set)));
        assert!(is_told(pool.enqueue_and_wait(bodies(2))));
        assert_eq!((ran.load(SeqCst), heard.load(SeqCst)), (20, 2 + 1));
        pool.enqueue_many(bodies(1));
        pool.enqueue_many(bodies(1));
        assert!(is_told(pool.wait_all()));
        assert_eq!((ran.load(SeqCst), heard.load(SeqCst)), (40, 3 + 1));
        let forgotten = pool.enqueue_many(bodies(1));
        pool.forget(forgotten).unwrap();
        drop(pool);
        rt.shutdown(Shutdown::Drain);
        assert_eq!((ran.load(SeqCst), heard.load(SeqCst)), (50, 4 + 1));
    });
}

#[test]
fn a_cancelled_runtime_drops_what_has_not_begun() {
    on_all(|setting| {
        let rt = setting.build();
        let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let pool = Managed::new(&rt);
        let sets = [0, 1, 100].map(|many| {
            pool.enqueue_many((0..many).map(|_| {
                let (ran, owned) = (ran.clone(), Dropped(dropped.clone()));
                move || {
                    let _owned = owned;
                    ran.fetch_add(1, SeqCst);
                }
            }))
        });
        assert_eq!(sets.len(), 3);
        drop(pool);
        rt.shutdown(Shutdown::Cancel);
        assert_eq!(dropped.load(SeqCst), 101);
        assert!(ran.load(SeqCst) <= 101);
    });
}

#[test]
fn a_set_without_memory_returns_an_error_or_runs() {
    on_each(
        [Setting::Simulation { cores: 2, seed: 1 }, Setting::Threads { workers: 2 }].into_iter(),
        |setting| {
            let (rt, refused) = build_counting_failures(setting.builder().memory_limit(1 << 20));
            let rt = Arc::new(rt);
            let pool = Arc::new(Managed::new(rt.clone()));
            let (count, later) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let before = pool.enqueue_many(counting(&later, 100));
            let (there, counted) = (pool.clone(), count.clone());
            let outcomes = rt.task(()).core(0).submit(move |(), cx| {
                // Uses up all memory.
                while refused.load(SeqCst) == 0 {
                    cx.task(()).core(0).spawn(|(), _| ());
                }
                let sets: Vec<_> = (0..10_000).map(|_| there.enqueue_many(counting(&counted, 2))).collect();
                sets.into_iter().map(|set| there.wait(set)).collect::<Vec<_>>()
            });
            let failed = outcomes.join().unwrap().into_iter().filter(|outcome| match outcome {
                Ok(()) | Err(SetError::WouldBlock) => false,
                Err(SetError::Failed(JoinError::OutOfMemory)) => true,
                Err(other) => panic!("{other}"),
            });
            let failed = failed.count();
            pool.wait(before).unwrap();
            pool.wait_all().unwrap();
            assert!(failed > 0, "there was memory enough");
            assert_eq!((count.load(SeqCst), later.load(SeqCst)), (2 * (10_000 - failed), 100));
        },
    );
}

#[test]
fn errors_say_what_they_are() {
    assert_eq!(SetError::Stale.to_string(), "no set with this id can be waited for");
    assert!(SetError::WouldBlock.to_string().contains("still running"));
    let failed = SetError::Failed(JoinError::Cancelled);
    assert_eq!(failed.to_string(), JoinError::Cancelled.to_string());
    assert_eq!(format!("{:?}", SetId::from_bits(0x1_0000_0007)), "SetId(0x100000007)");
}
