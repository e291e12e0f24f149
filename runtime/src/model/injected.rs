//! Tasks from outside for any worker: none is missed by workers that fall asleep or are busy.

use super::model;
use super::platform::{one_asleep, running_with};
use crate::QueuePolicy;
use crate::platform::Progress;
use crate::sync::yield_now;
use loom::thread;

#[test]
fn a_task_injected_beside_a_worker_that_falls_asleep_is_run() {
    model(1, || {
        let runtime = running_with(2, QueuePolicy::WorkStealing);
        // If the push were missed, both threads would wait for ever, which loom reports.
        let handle = runtime.task(()).submit(|(), _cx| 7);
        assert_eq!(handle.join().unwrap(), 7);
    });
}

/// The idle worker takes another task at that moment, and may be busy with it for long.
#[test]
fn a_task_left_to_an_idle_worker_that_becomes_busy_wakes_a_sleeper() {
    // Two threads at a time have something to do, and old values alone show the faults.
    model(0, || {
        let (runtime, mut idle) = one_asleep(QueuePolicy::WorkStealing);
        assert_eq!(idle.step(8), Progress::Idle);
        runtime.task(()).core(1).spawn(|(), _cx| ());
        let working = thread::spawn(move || {
            assert!(matches!(idle.step(8), Progress::Ran(1..)));
            idle
        });
        let handle = runtime.task(()).submit(|(), _cx| 7);
        let mut idle = working.join().unwrap();
        // The driven worker goes on with something else now.
        assert_eq!(handle.join().unwrap(), 7);
        let ending = thread::spawn(move || drop(runtime));
        while idle.step(8) != Progress::Stopped {
            yield_now();
        }
        drop(idle);
        ending.join().unwrap();
    });
}
