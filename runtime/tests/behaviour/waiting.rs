//! What a task does that waits: it helps others, is interrupted in a join, and runs on threads that
//! the program has started.

use crate::common::{Flag, Setting, on_all, silence_tasks, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, yield_now};
use xtasking::platform::Threads;
use xtasking::{Context, Fork, Runtime};

/// The only free worker waits in the midst of a task, and helps.
#[test]
fn a_waiting_task_runs_the_pieces_of_another_one() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    for pieces in [1, 7, 300] {
        let (begun, done) = (Flag::default(), Arc::new(AtomicUsize::new(0)));
        let (helping, helped, worked) = (begun.clone(), done.clone(), done.clone());
        let helper = rt.task(()).core(0).submit(move |(), cx| {
            helping.set();
            let (mut fork, mut ran) = (cx.fork(), 0);
            while helped.load(SeqCst) < pieces {
                ran += usize::from(fork.help());
            }
            ran
        });
        let owner = rt.task(()).core(1).submit(move |(), cx| {
            // Before, the other worker may be idle and steal pieces.
            begun.wait();
            cx.fork().scope(|scope| {
                (0..pieces).for_each(|_| scope.spawn(|_| _ = worked.fetch_add(1, SeqCst)));
                // Does not come to its pieces before others have run them all.
                while worked.load(SeqCst) < pieces {
                    yield_now();
                }
            });
        });
        assert_eq!(helper.join().unwrap(), pieces);
        owner.join().unwrap();
    }
}

/// The worker keeps tickets of the group, to spawn more members: they do not keep it open while the
/// task waits for its end.
#[test]
fn a_waiting_task_sees_that_a_group_of_its_follow_ups_is_over() {
    let waits: [fn(&mut Context, &Flag); 2] = [
        |cx, over| {
            while !over.is_set() {
                cx.fork().help();
            }
        },
        |cx, over| cx.block_in_place(|| over.wait()),
    ];
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    for wait in waits {
        for _ in 0..20 {
            let (group, over) = (rt.group(), Flag::default());
            let sets = over.clone();
            let waiting = rt.task(()).core(0).submit(move |(), cx| {
                cx.task(()).of(&group).core(1).spawn(|(), _| ());
                cx.task(()).after(group).core(1).spawn(move |(), _| sets.set());
                wait(cx, &over);
            });
            waiting.join().unwrap();
        }
    }
}

/// What is stolen within a join's second half may itself divide its work, and panic.
#[test]
fn a_waiting_half_helps_and_is_joined() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let count = Arc::new(AtomicUsize::new(0));
        let pieces = |count: Arc<AtomicUsize>| {
            move |mut cx: Fork<'_>| {
                cx.scope(|scope| {
                    for piece in 0..20 {
                        let count = &count;
                        scope.spawn(move |mut cx| {
                            cx.join(|_| count.fetch_add(1, SeqCst), |_| count.fetch_add(1, SeqCst));
                            assert!(piece != 7, "provoked");
                        });
                    }
                });
            }
        };
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (body, count) = (pieces(count.clone()), count.clone());
                rt.task(()).submit(move |(), cx| {
                    let mut fork = cx.fork();
                    fork.join(body, |mut cx| {
                        for _ in 0..100 {
                            cx.help();
                        }
                        count.fetch_add(1, SeqCst)
                    });
                })
            })
            .collect();
        assert!(tasks.into_iter().all(|task| task.join().is_err()));
        // The second half of a join is not begun if the first has panicked before.
        let count = count.load(SeqCst);
        assert!((4 * 40..=4 * 41).contains(&count), "{count}");
    });
}

/// A half that can still be stolen inherits the group of its own task, whatever its owner does
/// meanwhile: it runs nothing of a task that is in no group.
#[test]
fn a_task_with_untaken_work_does_not_help() {
    let _watched = watchdog();
    // At most two of them wait in the other task.
    let rt = Setting::Threads { workers: 4 }.build();
    for _ in 0..100 {
        let (begun, joining) = (Flag::default(), Flag::default());
        let (group, inside) = (rt.group(), (begun.clone(), joining.clone()));
        rt.task(()).of(&group).core(0).spawn(move |(), cx| {
            let (begun, joining) = &inside;
            let first = |mut cx: Fork<'_>| {
                joining.set();
                while !begun.is_set() {
                    cx.help();
                }
            };
            let second = |mut cx: Fork<'_>| {
                begun.set();
                cx.task(()).as_sibling().spawn(|(), _| ());
            };
            cx.fork().join(first, second);
        });
        let other = rt.task(()).core(1).submit(move |(), cx| {
            joining.wait();
            cx.fork().scope(|scope| {
                scope.spawn(|_| begun.wait());
                begun.wait();
            });
        });
        other.join().unwrap();
        group.wait().unwrap();
    }
}

/// The owner of a stolen half has to do something before the half can end.
#[test]
fn a_worker_that_waits_in_a_join_is_interrupted() {
    silence_tasks();
    let _watched = watchdog();
    let (wanted, served) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (asked, serves) = (wanted.clone(), served.clone());
    let builder = Setting::Threads { workers: 2 }.builder().while_waiting(move |mut cx| {
        let is_asked = asked.load(SeqCst) > serves.load(SeqCst);
        if is_asked {
            let (a, b) = cx.join(|_| 1, |_| 2);
            serves.fetch_add(b - a, SeqCst);
            assert!(asked.load(SeqCst) != 2, "provoked");
        }
        is_asked
    });
    let rt = builder.build().unwrap();
    for round in 1..=4 {
        let stolen = Flag::default();
        rt.run(|mut cx| {
            let second = |_: Fork<'_>| {
                stolen.set();
                if round > 2 {
                    // The owner sleeps by now.
                    thread::sleep(std::time::Duration::from_millis(20));
                }
                wanted.store(round, SeqCst);
                rt.interrupt_waits();
                while served.load(SeqCst) < round {
                    yield_now();
                }
            };
            cx.join(|_| stolen.wait(), second);
        })
        .unwrap();
        assert_eq!(served.load(SeqCst), round);
    }
}

#[test]
fn workers_run_on_threads_of_the_program() {
    let _watched = watchdog();
    let (waiting, handles) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let waits = waiting.clone();
    let threads = Threads::new(2).stack_size(1 << 20).spawn_handler(move |worker| {
        assert_eq!((worker.stack_size(), worker.name().contains("xtasking")), (1 << 20, true));
        waits.lock().unwrap().push(worker);
        Ok(())
    });
    let rt = Runtime::builder().workers(2).platform(threads).build().unwrap();
    // The threads may start later.
    for worker in waiting.lock().unwrap().drain(..) {
        let run = move || {
            let name = format!("worker {}", worker.worker());
            worker.run();
            name
        };
        handles.lock().unwrap().push(thread::spawn(run));
    }
    assert_eq!(rt.task(()).core(1).submit(|(), cx| cx.worker()).join().unwrap(), 1);
    drop(rt);
    let names = handles.lock().unwrap().drain(..).map(|thread| thread.join().unwrap()).collect::<Vec<_>>();
    assert_eq!(names, ["worker 0", "worker 1"]);
}

#[test]
fn a_runtime_whose_threads_do_not_start_is_not_built() {
    let _watched = watchdog();
    let refuses = |first: usize| {
        Threads::new(3).spawn_handler(move |worker| {
            if worker.worker() >= first {
                return Err(std::io::Error::other("no threads left"));
            }
            thread::spawn(|| worker.run());
            Ok(())
        })
    };
    for first in 0..3 {
        let failed = Runtime::builder().workers(3).platform(refuses(first)).build();
        let message = with_causes(&failed.unwrap_err());
        assert!(message.contains("no threads left"), "{message}");
    }
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
fn a_worker_without_a_thread_does_not_keep_the_runtime_from_ending() {
    let _watched = watchdog();
    let threads = Threads::new(2).spawn_handler(|worker| {
        if worker.worker() == 0 {
            thread::spawn(|| worker.run());
        }
        Ok(())
    });
    let rt = Runtime::builder().workers(2).platform(threads).build().unwrap();
    assert_eq!(rt.task(()).core(0).submit(|(), cx| cx.worker()).join().unwrap(), 0);
}
