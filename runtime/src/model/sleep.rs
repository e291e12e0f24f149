//! A worker that falls asleep is woken by everything that comes at that moment, and the end of a
//! runtime is reached.

use super::platform::running;
use super::{Watched, model};
use crate::sync::global::AtomicU64;
use crate::sync::{Relaxed, yield_now};
use crate::{JoinError, Shutdown};
use loom::thread;
use std::sync::Arc;

#[test]
fn a_task_pushed_beside_a_worker_that_falls_asleep_is_run() {
    model(2, || {
        let runtime = running(1);
        // If the push were missed, both threads would wait for ever, which loom reports.
        let handle = runtime.task(()).submit(|(), _cx| Watched::new(7));
        assert_eq!(handle.join().unwrap().get(), 7);
    });
}

#[test]
fn a_worker_that_was_woken_is_woken_again() {
    model(1, || {
        let runtime = running(1);
        for number in 0..2 {
            let handle = runtime.task(()).submit(move |(), _cx| number);
            assert_eq!(handle.join().unwrap(), number);
        }
    });
}

#[test]
fn tasks_from_two_threads_are_all_run() {
    model(1, || {
        let runtime = Arc::new(running(1));
        let there = runtime.clone();
        let other = thread::spawn(move || there.task(()).submit(|(), _cx| 1).join().unwrap());
        assert_eq!(runtime.task(()).submit(|(), _cx| 2).join().unwrap(), 2);
        assert_eq!(other.join().unwrap(), 1);
    });
}

#[test]
fn an_object_dropped_beside_workers_that_fall_asleep_is_freed() {
    struct Counted(Arc<AtomicU64>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    model(2, || {
        let runtime = running(1);
        let freed = Arc::new(AtomicU64::new(0));
        drop(runtime.plain(Counted(freed.clone())).build());
        // It is freed though no thread spawns a task any more; otherwise this would loop for ever.
        while freed.load(Relaxed) == 0 {
            yield_now();
        }
    });
}

#[test]
fn a_shutdown_runs_what_was_spawned() {
    model(2, || {
        let runtime = running(1);
        let ran = Arc::new(AtomicU64::new(0));
        let running = ran.clone();
        runtime.task(()).spawn(move |(), cx| {
            cx.task(()).spawn(move |(), _cx| _ = running.fetch_add(1, Relaxed));
        });
        runtime.shutdown(Shutdown::Drain);
        assert_eq!(ran.load(Relaxed), 1);
    });
}

#[test]
fn a_shutdown_that_cancels_resolves_every_handle() {
    model(2, || {
        let runtime = running(1);
        let handle = runtime.task(()).submit(|(), _cx| 7);
        runtime.shutdown(Shutdown::Cancel);
        assert!(handle.is_finished());
    });
}

#[test]
fn a_task_spawned_by_a_handle_beside_a_shutdown_runs_or_is_refused() {
    model(1, || {
        let runtime = running(1);
        let handle = runtime.handle();
        let ending = thread::spawn(move || drop(runtime));
        // If the task were lost, this thread would wait for ever, which loom reports.
        let result = handle.task(()).submit(|(), _cx| 7).join();
        assert!(matches!(result, Ok(7) | Err(JoinError::ShutDown)));
        ending.join().unwrap();
    });
}
