//! Panics: how they are reported, and that everything else continues.

use crate::common::{
    Dropped, Flag, Gate, Pair, Setting, eventually, lock, on_all, on_each, silence_tasks, watchdog,
    watchdog_of,
};
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use xtasking::{
    Handle, JoinError, Runtime, Shutdown,
    arena::{Arena, Step},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};

fn threads(workers: usize) -> Runtime {
    Setting::Threads { workers }.build()
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
            // A payload that is not text has no message.
            let number = rt.task(()).submit(|(), _| std::panic::resume_unwind(Box::new(42u64)));
            let payload = |task: Handle<()>| match task.join() {
                Err(JoinError::Panicked(payload)) => payload,
                other => panic!("{other:?}"),
            };
            assert_eq!(payload(text).message(), "provoked: 42");
            assert_eq!(payload(fixed).message(), "provoked");
            let number = payload(number);
            assert_eq!(number.message(), "(the payload is not a string)");
            assert_eq!(*number.into_inner().downcast::<u64>().unwrap(), 42);
            fn is_send_and_sync<T: Send + Sync>() {}
            is_send_and_sync::<JoinError>();
        },
    );
}

#[test]
fn failures_of_detached_tasks_reach_the_hook() {
    silence_tasks();
    on_all(|setting| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = heard.clone();
        let rt = setting.builder().on_failure(move |failure| {
            let mut heard = lock(&hear);
            heard.push(failure.error.to_string());
            assert!(failure.worker.is_some_and(|worker| worker < 16));
            drop(heard);
            panic!("provoked: by the hook itself");
        });
        let rt = rt.build().unwrap();
        let object = rt.plain(0).pin(Sequencing).build();
        rt.task(object.write()).spawn(|_, _| panic!("provoked: one"));
        rt.task(object.write()).spawn(|_, _| unreachable!("poisoned"));
        // A task with a handle reports its failure to the handle alone, even if the handle was
        // dropped.
        drop(rt.task(()).submit(|(), _| panic!("provoked: two")));
        assert!(rt.task(object.read()).submit(|_, _| ()).join().is_err());
        rt.shutdown(Shutdown::Drain);
        let heard = lock(&heard);
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

/// A disturbed reader saw an invalid state, so its panic is ignored.
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
    // A panic of an undisturbed read counts.
    let read = rt.task(object.read()).submit_read(|pair| assert_eq!(pair.0.get(), 0, "provoked"), |(), _| ());
    assert!(matches!(read.join(), Err(JoinError::Panicked(_))));
    assert!(!object.is_poisoned());
}

/// A reader that panics has left its objects: a writer gets them, and finds them as they were.
#[test]
fn a_reader_that_panics_keeps_no_latch() {
    silence_tasks();
    let _watched = watchdog();
    let rt = threads(2);
    let objects =
        [rt.shared_reads(0).pin(ReaderWriterLatch).build(), rt.shared_reads(0).pin(SpinLatch).build()];
    for object in &objects {
        let read = rt.task(object.read()).submit(|_, _| panic!("provoked"));
        assert!(matches!(Handle::<()>::join(read), Err(JoinError::Panicked(_))));
        assert_eq!(rt.task(object.write()).submit(|count, _| *count).join().unwrap(), 0);
    }
    let [one, other] = &objects;
    let read = rt.task((one.read(), other.read())).submit(|_, _| panic!("provoked"));
    assert!(matches!(Handle::<()>::join(read), Err(JoinError::Panicked(_))));
    for object in &objects {
        assert_eq!(rt.task(object.write()).submit(|count, _| *count).join().unwrap(), 0);
    }
}

/// What a cancelled read has read is dropped on the worker; a panic there must not keep the task
/// from being counted as finished, or a shutdown would wait for it for ever.
#[test]
fn a_cancelled_read_finishes_though_its_output_panics_when_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("provoked: in a destructor");
        }
    }
    silence_tasks();
    let _watched = watchdog_of(Duration::from_secs(20));
    let rt = threads(1);
    let object = rt.versioned(Pair::default()).pin(OptimisticLatched).build();
    let (release, blocked) = channel::<()>();
    let blocker = rt.task(()).submit(move |(), _| blocked.recv().unwrap());
    let read = rt.task(object.read()).submit_read(|_| Bomb, |bomb, _| std::mem::forget(bomb));
    assert!(read.cancel());
    release.send(()).unwrap();
    blocker.join().unwrap();
    assert!(matches!(read.join(), Err(JoinError::Cancelled)));
    rt.shutdown(Shutdown::Drain);
}

/// Writers invalidate the read, which panics each time, until it locks them out. Then the
/// continuation panics.
#[test]
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
    eventually("the handle is resolved", || read.is_finished());
    let Err(JoinError::Panicked(payload)) = read.join() else { panic!("the continuation panics") };
    assert_eq!(payload.message(), "provoked: afterwards");
}

#[test]
fn links_of_another_runtime_are_refused() {
    silence_tasks();
    on_all(|setting| {
        let (home, other) = (setting.build(), setting.build());
        let arenas = [
            Arena::<Pair>::with_primitive(&home, OptimisticSequenced),
            Arena::with_primitive(&home, Sequencing),
            Arena::with_primitive(&home, OptimisticLatched),
        ];
        let [sequenced, in_turn, latched] =
            arenas.each_ref().map(|arena| arena.alloc_outside(Pair::default()));
        let refused =
            |result: Result<(), JoinError>| assert!(matches!(result, Err(JoinError::Foreign)), "{result:?}");
        refused(other.task(sequenced.write()).submit(|_, _| ()).join());
        refused(other.task(in_turn.write()).submit(|_, _| ()).join());
        refused(other.task(in_turn.read()).submit_read(|_| (), |(), _| ()).join());
        refused(other.task(latched.write()).submit(|_, _| ()).join());
        refused(other.task(sequenced.read()).submit_read(|_| (), |(), _| ()).join());
        refused(other.task(latched.read()).submit_read(|_| (), |(), _| ()).join());
        refused(other.task((latched.write(), sequenced.write())).submit(|_, _| ()).join());
        refused(other.task((latched.read(), in_turn.read())).submit(|_, _| ()).join());
        let walk = other.reader().walk(latched, |_, _: &Pair| Step::End(()));
        refused(walk);
        // In the runtime of the arena the link is accepted.
        for link in [sequenced, in_turn, latched] {
            home.task(link.write()).submit(|pair, _| pair.0.set(2, pair.token())).join().unwrap();
        }
        home.task((sequenced.write(), in_turn.write())).submit(|_, _| ()).join().unwrap();
        drop((home, other));
        drop(arenas);
    });
}

#[test]
fn each_failure_says_what_happened() {
    silence_tasks();
    let rt = Setting::Simulation { cores: 1, seed: 1 }.build();
    let panicked = rt.task(()).submit(|(), _| panic!("provoked")).join();
    let says = |result: Result<(), JoinError>, text: &str| {
        let error = result.expect_err(text);
        assert_eq!(error.to_string(), text);
        assert_eq!(format!("{error:?}"), text);
    };
    says(panicked, "the task panicked: provoked");
    says(Err(JoinError::Cancelled), "the task was cancelled before it started");
    says(Err(JoinError::Poisoned), "an object of the task is poisoned by an earlier panic");
    says(Err(JoinError::Foreign), "an object of the task belongs to another runtime");
    says(Err(JoinError::Freed), "an object of the task was freed with its arena or array");
    says(Err(JoinError::NamedTwice), "the task names the same object twice, and writes it");
    says(Err(JoinError::Abandoned), "the task's result was never delivered");
    says(Err(JoinError::WouldBlock), "a worker cannot wait for a task of its own runtime");
}
