//! Handles, promises, cancellation and failures.

mod common;

use common::{
    Dropped, Flag, Gate, Pair, Setting, eventually, on_all, on_each, silence_tasks, watchdog, watchdog_of,
};
use std::future::Future;
use std::panic::panic_any;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context as PollContext, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use xtasking::{
    Handle, JoinError, OptimisticLatched, OptimisticSequenced, Promise, Runtime, Sequencing, Shutdown,
    SpinLatch,
};

fn threads(workers: usize) -> Runtime {
    Setting::Threads { workers }.build()
}

/// Keeps a worker busy until the flag is set.
fn occupy(rt: &Runtime, core: u16) -> Flag {
    let (inside, go) = (Flag::default(), Flag::default());
    let (i, g) = (inside.clone(), go.clone());
    rt.task(()).core(core).spawn(move |(), _| {
        i.set();
        g.wait();
    });
    inside.wait();
    go
}

#[test]
fn results_of_many_tasks_are_joined() {
    on_all(|setting| {
        let rt = setting.build();
        let tasks: Vec<_> =
            (0..300u64).map(|number| rt.task(()).submit(move |(), _| number * number)).collect();
        for (number, task) in (0..300).zip(tasks) {
            assert_eq!(task.join().unwrap(), number * number);
        }
    });
}

#[test]
fn handles_are_joined_on_other_threads() {
    let _watched = watchdog();
    let rt = threads(2);
    let joins: Vec<_> = (0..20u64)
        .map(|number| {
            let task = rt.task(()).submit(move |(), _| number);
            thread::spawn(move || task.join().unwrap())
        })
        .collect();
    let sum: u64 = joins.into_iter().map(|join| join.join().unwrap()).sum();
    assert_eq!(sum, 190);
}

async fn spawn_and_await(rt: &Runtime) {
    for round in 0..50 {
        let object = rt.plain(round).build();
        let tasks: Vec<_> = (0..20).map(|_| rt.task(object.write()).submit(|value, _| *value += 1)).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(rt.task(object.read()).submit(|value, _| *value).await.unwrap(), round + 20);
    }
    silence_tasks();
    let failed = rt.task(()).submit(|(), _| -> u8 { panic!("provoked: awaited") }).await;
    assert!(matches!(failed, Err(JoinError::Panicked(payload)) if payload.message() == "provoked: awaited"));
}

#[test]
fn handles_are_awaited_in_tokio_on_one_thread() {
    let _watched = watchdog();
    for workers in [1, 2, 4] {
        let rt = threads(workers);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(spawn_and_await(&rt));
    }
}

#[test]
fn handles_are_awaited_in_tokio_on_several_threads() {
    let _watched = watchdog();
    let rt = Arc::new(threads(2));
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    tokio.block_on(async {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let rt = rt.clone();
                tokio::spawn(async move { spawn_and_await(&rt).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_dropped_handle_detaches_its_task() {
    on_all(|setting| {
        let rt = setting.build();
        let (gate, all) = Gate::new(&rt, 100);
        for _ in 0..100 {
            let gate = gate.clone();
            drop(rt.task(()).submit(move |(), _| gate.pass()));
        }
        all.join().unwrap();
    });
}

#[test]
fn is_finished_tells_when_the_result_is_there() {
    let _watched = watchdog();
    let rt = threads(1);
    let go = occupy(&rt, 0);
    let task = rt.task(()).submit(|(), _| 5);
    assert!(!task.is_finished());
    go.set();
    eventually("finished", || task.is_finished());
    assert_eq!(task.join().unwrap(), 5);
}

/// Of a cancellation and the start, exactly one wins, and the handle says which.
#[test]
fn a_task_is_cancelled_before_its_start_or_not_at_all() {
    on_all(|setting| {
        let rt = setting.build();
        let ran = Arc::new(AtomicUsize::new(0));
        let mut cancelled = 0;
        for round in 0..200 {
            let seen = ran.clone();
            let task = rt.task(()).submit(move |(), _| _ = seen.fetch_add(1, SeqCst));
            (0..round % 10).for_each(|_| thread::yield_now());
            let in_time = task.cancel();
            cancelled += usize::from(in_time);
            assert_eq!(matches!(task.join(), Err(JoinError::Cancelled)), in_time);
        }
        assert_eq!(ran.load(SeqCst), 200 - cancelled);
        // In a simulation nothing runs before somebody waits.
        assert!(matches!(setting, Setting::Threads { .. }) || cancelled == 200);
    });
}

#[test]
fn every_kind_of_task_can_be_cancelled() {
    on_all(|setting| {
        let rt = setting.build();
        let (a, b) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(SpinLatch).build());
        let (c, d) = (
            rt.snapshot(0u64).pin(OptimisticSequenced).build(),
            rt.versioned(Pair::default()).pin(OptimisticLatched).build(),
        );
        let run: fn() = || unreachable!("it was cancelled");
        let go: Vec<_> = match setting {
            Setting::Threads { workers } => (0..workers).map(|core| occupy(&rt, core as u16)).collect(),
            Setting::Simulation { .. } => Vec::new(),
        };
        let tasks = [
            rt.task(a.write()).submit(move |_, _| run()),
            rt.task(b.read()).submit(move |_, _| run()),
            rt.task(c.read()).submit(move |_, _| run()),
            rt.task(d.read()).submit_read(|pair| pair.0.get(), move |_, _| run()),
            rt.task((a.write(), b.write(), c.write(), d.write())).submit(move |_, _| run()),
        ];
        assert!(tasks.iter().all(Handle::cancel));
        go.iter().for_each(Flag::set);
        for (task, what) in tasks.into_iter().zip(["sequenced", "latched", "copied", "read", "several"]) {
            assert!(matches!(task.join(), Err(JoinError::Cancelled)), "{what}");
        }
        // The objects are free again.
        let last = rt.task((a.write(), b.write(), c.write(), d.write())).submit(|_, _| 1);
        assert_eq!(last.join().unwrap(), 1);
    });
}

#[test]
fn a_cancellation_that_comes_too_late_says_so() {
    let _watched = watchdog();
    let rt = threads(1);
    let (inside, go) = (Flag::default(), Flag::default());
    let (i, g) = (inside.clone(), go.clone());
    let task = rt.task(()).submit(move |(), _| {
        i.set();
        g.wait();
        7
    });
    inside.wait();
    assert!(!task.cancel());
    go.set();
    assert_eq!(task.join().unwrap(), 7);
    let task = rt.task(()).submit(|(), _| 8);
    eventually("finished", || task.is_finished());
    assert!(!task.cancel());
    assert_eq!(task.join().unwrap(), 8);
}

#[test]
fn a_worker_does_not_wait_for_its_own_runtime() {
    on_all(|setting| {
        let rt = setting.build();
        let inner = rt.task(()).submit(|(), _| 1);
        let outer = rt.task(()).submit(move |(), _| matches!(inner.join(), Err(JoinError::WouldBlock)));
        assert!(outer.join().unwrap());
    });
    // Another runtime's worker may.
    let _watched = watchdog();
    let (one, two) = (threads(1), threads(1));
    let inner = two.task(()).submit(|(), _| 3);
    assert_eq!(one.task(()).submit(move |(), _| inner.join().unwrap()).join().unwrap(), 3);
}

/// Counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let _watched = watchdog();
    let rt = threads(1);
    let go = occupy(&rt, 0);
    let mut task = pin!(rt.task(()).submit(|(), _| 9));
    let bells: Vec<Arc<Bell>> = (0..3).map(|_| Arc::default()).collect();
    for bell in &bells {
        let waker = Waker::from(bell.clone());
        for _ in 0..3 {
            assert!(task.as_mut().poll(&mut PollContext::from_waker(&waker)).is_pending());
        }
    }
    go.set();
    eventually("woken", || bells[2].0.load(SeqCst) == 1);
    assert_eq!(bells.iter().map(|bell| bell.0.load(SeqCst)).collect::<Vec<_>>(), [0, 0, 1]);
    let ready = task.as_mut().poll(&mut PollContext::from_waker(Waker::noop()));
    assert!(matches!(ready, Poll::Ready(Ok(9))));
    // All wakers have been given back.
    assert!(bells.iter().all(|bell| Arc::strong_count(bell) == 1));
}

/// Polls with ever new wakers race with the completion: the last waker is woken, or the result is there.
#[test]
fn no_wake_up_is_lost_while_wakers_are_replaced() {
    let _watched = watchdog();
    let rt = threads(2);
    for _ in 0..2000 {
        let mut task = pin!(rt.task(()).submit(|(), _| 1));
        loop {
            let bell: Arc<Bell> = Arc::default();
            let waker = Waker::from(bell.clone());
            if task.as_mut().poll(&mut PollContext::from_waker(&waker)).is_ready() {
                break;
            }
            if task.is_finished() {
                eventually("the last waker is woken", || bell.0.load(SeqCst) == 1);
            }
        }
    }
}

#[test]
fn a_panic_comes_with_its_payload() {
    silence_tasks();
    on_each(
        [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }].into_iter(),
        |setting| {
            let rt = setting.build();
            let text = rt.task(()).submit(|(), _| panic!("provoked: {}", 42));
            let fixed = rt.task(()).submit(|(), _| panic!("provoked"));
            // No message of its own for a payload that is no text.
            let number = rt.task(()).submit(|(), _| std::panic::resume_unwind(Box::new(42u64)));
            let payload = |task: Handle<()>| match task.join() {
                Err(JoinError::Panicked(payload)) => payload,
                other => panic!("{other:?}"),
            };
            assert_eq!(payload(text).message(), "provoked: 42");
            assert_eq!(payload(fixed).message(), "provoked");
            let number = payload(number);
            assert_eq!(number.message(), "(a payload that is no text)");
            assert_eq!(*number.into_inner().downcast::<u64>().unwrap(), 42);
            fn is_send_and_sync<T: Send + Sync>() {}
            is_send_and_sync::<JoinError>();
        },
    );
}

#[test]
fn failures_that_nobody_waits_for_reach_the_hook() {
    silence_tasks();
    on_all(|setting| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = heard.clone();
        let rt = setting.builder().on_failure(move |failure| {
            let mut heard = hear.lock().unwrap();
            heard.push(failure.error.to_string());
            assert!(failure.worker < 16);
            drop(heard);
            panic!("provoked: by the hook itself");
        });
        let rt = rt.build().unwrap();
        let object = rt.plain(0).pin(Sequencing).build();
        rt.task(object.write()).spawn(|_, _| panic!("provoked: one"));
        rt.task(object.write()).spawn(|_, _| unreachable!("poisoned"));
        // A handle is told itself, also if it is gone.
        drop(rt.task(()).submit(|(), _| panic!("provoked: two")));
        assert!(rt.task(object.read()).submit(|_, _| ()).join().is_err());
        rt.shutdown(Shutdown::Drain);
        let heard = heard.lock().unwrap();
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(heard[0].contains("provoked: one") && heard[1].contains("poisoned"), "{heard:?}");
    });
}

#[test]
fn follow_ups_spawned_before_a_panic_run() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let (gate, all) = Gate::new(&rt, 50);
        for _ in 0..50 {
            let gate = gate.clone();
            let task = rt.task(()).submit(move |(), cx| {
                cx.task(()).spawn(move |(), _| gate.pass());
                panic!("provoked");
            });
            drop::<Handle<()>>(task);
        }
        all.join().unwrap();
    });
}

#[test]
fn a_runtime_works_on_after_thousands_of_panics() {
    silence_tasks();
    on_each(Setting::threads().take(3).chain([Setting::Simulation { cores: 4, seed: 1 }]), |setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let object = rt.snapshot(0u64).build();
        let other = rt.snapshot(0u64).pin(OptimisticSequenced).build();
        let tasks: Vec<Handle<()>> = (0..2000)
            .map(|round| {
                let captured = Dropped(drops.clone());
                match round % 4 {
                    0 => rt.task(()).submit(move |(), _| panic!("provoked {}", captured.0.load(SeqCst))),
                    1 => rt.task(object.write()).submit(move |value, _| {
                        *value += 1;
                        panic!("provoked {}", captured.0.load(SeqCst))
                    }),
                    2 => rt.task((object.write(), other.write())).submit(move |(value, other), _| {
                        (*value, *other) = (1, 1);
                        panic!("provoked {}", captured.0.load(SeqCst))
                    }),
                    _ => rt
                        .task(other.read())
                        .submit(move |_, _| panic_any(format!("provoked {}", captured.0.load(SeqCst)))),
                }
            })
            .collect();
        assert!(tasks.into_iter().all(|task| matches!(task.join(), Err(JoinError::Panicked(_)))));
        assert_eq!(
            rt.task((object.read(), other.read())).submit(|(a, b), _| (*a, *b)).join().unwrap(),
            (0, 0)
        );
        drop(rt);
        assert_eq!(drops.load(SeqCst), 2000);
    });
}

/// What a disturbed reader saw was never there, so its panic counts for nothing.
#[test]
fn a_panic_in_a_reading_counts_only_if_it_was_not_disturbed() {
    silence_tasks();
    let _watched = watchdog();
    let rt = threads(2);
    let object = rt.versioned(Pair::default()).pin(OptimisticSequenced).build();
    let elsewhere = (object.home() as u16 + 1) % 2;
    let (first, second) = (Flag::default(), Flag::default());
    let (f, s) = (first.clone(), second.clone());
    let read = rt.task(object.read()).core(elsewhere).submit_read(
        move |pair| {
            let before = pair.0.get();
            f.set();
            s.wait();
            assert_eq!(before, pair.1.get(), "provoked: torn");
            before
        },
        |value, _| value,
    );
    first.wait();
    let write = rt.task(object.write()).submit(|pair, _| {
        pair.0.set(1, pair.token());
        pair.1.set(1, pair.token());
    });
    write.join().unwrap();
    second.set();
    assert_eq!(read.join().unwrap(), 1);
    // One that was not disturbed counts.
    let read = rt.task(object.read()).submit_read(|pair| assert_eq!(pair.0.get(), 0, "provoked"), |(), _| ());
    assert!(matches!(read.join(), Err(JoinError::Panicked(_))));
    assert!(!object.is_poisoned());
}

#[test]
fn promises_are_kept_or_broken() {
    on_all(|setting| {
        let rt = setting.build();
        let (promise, handle) = rt.promise();
        fn pass_on(promise: Promise<u32>, left: u32, cx: &mut xtasking::Context) {
            if left == 0 {
                return promise.fulfil(77);
            }
            cx.task(()).core(left as u16).spawn(move |(), cx| pass_on(promise, left - 1, cx));
        }
        rt.task(()).spawn(move |(), cx| pass_on(promise, 20, cx));
        assert_eq!(handle.join().unwrap(), 77);
        let (promise, handle) = rt.promise::<u32>();
        rt.task(()).spawn(move |(), _| drop(promise));
        assert!(matches!(handle.join(), Err(JoinError::Abandoned)));
        // A promise knows no start: it is cancelled until it is fulfilled.
        let (promise, handle) = rt.promise();
        assert!(handle.cancel());
        promise.fulfil(1);
        assert!(!handle.cancel() && handle.is_finished());
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    });
}

/// The reading is disturbed until it keeps writers out, having panicked each time; then what follows it panics.
#[test]
#[ignore = "hangs: the driver does not run what the guard leaves behind when a panic's aftermath panics itself"]
fn a_panic_after_a_reading_that_panicked_reaches_the_handle() {
    silence_tasks();
    let _watched = watchdog_of(Duration::from_secs(20));
    let rt = threads(2);
    let object = rt.versioned(Pair::default()).pin(OptimisticLatched).build();
    let (reads, writes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (r, w) = (reads.clone(), writes.clone());
    let read = rt.task(object.read()).core(0).submit_read(
        move |_| {
            let attempt = r.fetch_add(1, SeqCst);
            if attempt < 4 {
                while w.load(SeqCst) <= attempt {
                    thread::yield_now();
                }
                panic!("provoked: disturbed");
            }
        },
        |(), _| -> u8 { panic!("provoked: afterwards") },
    );
    for write in 0..4 {
        eventually("the next reading", || reads.load(SeqCst) > write);
        let write = rt.task(object.write()).core(1).submit(|pair, _| pair.0.set(1, pair.token()));
        write.join().unwrap();
        writes.fetch_add(1, SeqCst);
    }
    eventually("the handle is told", || read.is_finished());
    assert!(
        matches!(read.join(), Err(JoinError::Panicked(payload)) if payload.message() == "provoked: afterwards")
    );
}
