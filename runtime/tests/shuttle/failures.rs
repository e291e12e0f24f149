//! Panics and cancellations: held objects are released, every handle is resolved, and the workers
//! continue.

use crate::common::Dropped;
use crate::platform::{builder, on_threads, pause, runtime, unwind};
use crate::schedules::explore;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use xtasking::{
    JoinError,
    primitive::{OptimisticLatched, Sequencing, SpinLatch},
};

#[test]
fn a_panic_poisons_what_was_written_and_nothing_else() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        let held = rt.plain(0).pin(Sequencing).build();
        let latched = rt.plain(0).pin(SpinLatch).build();
        let copied = rt.snapshot([7u64; 2]).pin(OptimisticLatched).build();
        let access = (held.write(), latched.write(), copied.write());
        let failed = rt.task(access).submit(|(_, _, copied), _| {
            *copied = [8; 2];
            pause();
            unwind()
        });
        // These are queued behind it, or arrive while it runs or before it.
        let behind = rt.task(held.write()).submit(|_, _| ());
        let beside = rt.task(latched.write()).submit(|_, _| ());
        let copy = rt.task(copied.read()).submit(|copied, _| *copied);
        let failed: Result<(), JoinError> = failed.join();
        assert!(matches!(failed, Err(JoinError::Panicked(_))));
        assert!(matches!(behind.join(), Err(JoinError::Poisoned)));
        assert!(matches!(beside.join(), Ok(()) | Err(JoinError::Poisoned)));
        assert_eq!(copy.join().unwrap(), [7; 2]);
        assert!(held.is_poisoned() && latched.is_poisoned() && !copied.is_poisoned());
        for object in [&held, &latched] {
            object.clear_poison();
            rt.task(object.write()).submit(|_, _| ()).join().unwrap();
        }
        rt.task(copied.write()).submit(|copied, _| *copied = [9; 2]).join().unwrap();
    });
}

#[test]
fn workers_go_on_after_panics() {
    explore(|_| {
        let told = Arc::new(AtomicUsize::new(0));
        let seen = told.clone();
        let count = move |_| _ = seen.fetch_add(1, Relaxed);
        let rt = Arc::new(builder(2).on_failure(count).build().unwrap());
        let spawner = rt.clone();
        on_threads(2, move |thread| {
            for _ in 0..2 {
                spawner.task(()).core(thread as u16).spawn(|(), _| unwind());
                let good = spawner.task(()).core(thread as u16).submit(|(), _| 5);
                let bad = spawner.task(()).submit(|(), cx| {
                    cx.task(()).spawn(|(), _| pause());
                    unwind()
                });
                assert_eq!(good.join().unwrap(), 5);
                let bad: Result<(), JoinError> = bad.join();
                assert!(matches!(bad, Err(JoinError::Panicked(_))));
            }
        });
        drop(Arc::into_inner(rt).expect("the threads are gone"));
        assert_eq!(told.load(Relaxed), 4);
    });
}

#[test]
fn a_task_is_cancelled_in_time_or_runs() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        let (one, other) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(Sequencing).build());
        let spawner = rt.clone();
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = dropped.clone();
        on_threads(2, move |thread| {
            let ran: Arc<[AtomicBool; 3]> = Arc::default();
            let note = |number: usize| {
                let (ran, dropped) = (ran.clone(), Dropped(counted.clone()));
                move || {
                    let _dropped = &dropped;
                    ran[number].store(true, Relaxed);
                }
            };
            let (first, second, third) = (note(0), note(1), note(2));
            let handles = [
                spawner.task(()).core(thread as u16).submit(move |(), _| first()),
                spawner.task(one.write()).submit(move |_, _| second()),
                spawner.task((one.write(), other.write())).submit(move |_, _| third()),
            ];
            pause();
            for (number, handle) in handles.into_iter().enumerate() {
                let in_time = handle.cancel();
                match handle.join() {
                    Ok(()) => assert!(!in_time && ran[number].load(Relaxed)),
                    Err(JoinError::Cancelled) => assert!(in_time && !ran[number].load(Relaxed)),
                    Err(other) => panic!("{other}"),
                }
            }
        });
        // The objects have been released.
        drop(Arc::into_inner(rt).expect("the threads are gone"));
        assert_eq!(dropped.load(Relaxed), 6);
    });
}
