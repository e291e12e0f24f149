//! Scopes of tasks with objects: what tasks may borrow, and what the waiting thread learns.

use crate::common::{Setting, eventually, on_all, on_each, silence_tasks};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use xtasking::JoinError;
use xtasking::fork::{Divide, zip};

#[test]
fn a_scope_waits_for_tasks_that_borrow() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let objects: Vec<_> = (0..4).map(|_| rt.plain(0u64).build()).collect();
        let numbers: Vec<u64> = (1..=100).collect();
        let sum = rt.task_scope(|scope| {
            for (at, number) in numbers.iter().enumerate() {
                scope.task(objects[at % 4].write()).spawn(move |object, _| *object += number);
            }
            numbers.len()
        });
        assert_eq!(sum.unwrap(), 100);
        let total = |object: &xtasking::Object<xtasking::Plain<u64>>| {
            rt.task(object.read()).submit(|value, _| *value).join()
        };
        assert_eq!(objects.iter().map(|object| total(object).unwrap()).sum::<u64>(), 5050);
        // The first failure is that of the scope, and the other tasks run nonetheless.
        let count = AtomicUsize::new(0);
        let failed = rt.task_scope(|scope| {
            for at in 0..10 {
                let count = &count;
                scope.task(()).spawn(move |(), _| {
                    count.fetch_add(1, SeqCst);
                    assert_ne!(at, 3, "provoked");
                });
            }
        });
        assert!(matches!(failed, Err(JoinError::Panicked(_))) && count.load(SeqCst) == 10);
        // A panic of the scope's function waits for the tasks as well.
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            rt.task_scope(|scope| {
                for _ in 0..10 {
                    scope.task(()).spawn(|(), _| _ = count.fetch_add(1, SeqCst));
                }
                panic!("provoked");
            })
        }));
        assert!(panicked.is_err() && count.load(SeqCst) == 20);
    });
}

#[test]
fn a_worker_cannot_wait_for_a_scope_of_its_own_runtime() {
    on_each(Setting::threads(), |setting| {
        let rt = Arc::new(setting.build());
        let within = rt.clone();
        let refused = rt.task(()).submit(move |(), _| {
            let outcome = within.task_scope(|_| panic!("not called"));
            matches!(outcome, Err::<(), _>(JoinError::WouldBlock))
        });
        assert!(refused.join().unwrap());
        eventually("the task has dropped its runtime", || Arc::strong_count(&rt) == 1);
    });
}

#[test]
fn shares_are_even_and_in_order() {
    on_all(|setting| {
        let rt = setting.build();
        for length in [0, 1, 2, 3, 7, 1000] {
            let (mut places, mut shares) = (vec![None; length], 0);
            rt.task_scope(|scope| {
                for (task, share) in scope.shares(zip(0..length, &mut places[..])) {
                    let least = length / rt.workers().min(length);
                    assert!((least..=least + 1).contains(&share.count()));
                    shares += 1;
                    task.spawn(|(), cx| {
                        let worker = cx.worker();
                        share.into_iter().for_each(|(number, place)| *place = Some((number, worker)));
                    });
                }
            })
            .unwrap();
            assert_eq!(shares, rt.workers().min(length));
            assert!(
                places
                    .iter()
                    .enumerate()
                    .all(|(index, place)| place.is_some_and(|(number, _)| number == index))
            );
            assert!(places.is_sorted_by_key(|place| place.map(|(_, worker)| worker)));
        }
    });
}

#[test]
fn portions_are_taken_once_each_by_workers_that_get_to_them() {
    on_all(|setting| {
        let rt = setting.build();
        for (length, size) in [(0, 1), (1, 1), (7, 3), (7, 0), (1000, 64), (50, usize::MAX)] {
            let (mut taken, tasks) = (vec![0; length], AtomicUsize::new(0));
            rt.task_scope(|scope| {
                for (task, items) in scope.portions(zip(0..length, &mut taken[..]), size) {
                    let tasks = &tasks;
                    task.spawn(move |(), _| {
                        tasks.fetch_add(1, SeqCst);
                        items.for_each(|(number, place)| *place += number + 1);
                    });
                }
            })
            .unwrap();
            assert_eq!(tasks.load(SeqCst), rt.workers().min(length.div_ceil(size.max(1))));
            assert!(taken.into_iter().eq(1..=length));
        }
    });
}

#[test]
fn a_worker_that_is_slow_takes_fewer_portions() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        if rt.workers() == 1 {
            return;
        }
        let (rest, slow) = (AtomicUsize::new(1000), AtomicUsize::new(0));
        rt.task_scope(|scope| {
            for (number, (task, items)) in scope.portions(0..1000, 10).enumerate() {
                let (rest, slow) = (&rest, &slow);
                task.spawn(move |(), _| {
                    for _ in items {
                        rest.fetch_sub(1, SeqCst);
                        // Has taken one portion; the others take all that is left.
                        if number == 0 && slow.fetch_add(1, SeqCst) == 0 {
                            eventually("the other workers go on", || rest.load(SeqCst) <= 9);
                        }
                    }
                });
            }
        })
        .unwrap();
        assert!(rest.load(SeqCst) == 0 && slow.load(SeqCst) <= 10);
    });
}

#[test]
fn portions_of_a_task_that_panics_go_to_the_others() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let seen = AtomicUsize::new(0);
        let outcome = rt.task_scope(|scope| {
            for (number, (task, items)) in scope.portions(0..100, 10).enumerate() {
                let (seen, is_first) = (&seen, number == 0);
                task.spawn(move |(), _| {
                    items.for_each(|_| _ = seen.fetch_add(1, SeqCst));
                    assert!(!is_first, "provoked");
                });
            }
        });
        assert!(matches!(outcome, Err(JoinError::Panicked(_))) && seen.load(SeqCst) == 100);
    });
}
