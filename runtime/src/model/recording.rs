//! Recording on demand: the times of tasks, and the beginning of a session beside workers.

use super::model;
use crate::monitor::{Sessions, Stamp, Stamps};
use crate::sync::{Acquire, AtomicU64, Relaxed, Release};
use loom::thread;
use std::sync::Arc;

/// Descriptors that share the words of the table, with different tags.
fn neighbours() -> [usize; 2] {
    let first = 0x1000;
    let other = (1..).map(|number| first + number * 64).find(|&task| Stamps::share_words(first, task));
    [first, other.expect("some address collides")]
}

fn stamp(ticks: u64) -> Stamp {
    Stamp { ticks, by: 1, again: false }
}

/// A thread that gets a task finds the task's own time, whatever others keep beside it.
#[test]
fn a_task_takes_its_own_time_beside_others() {
    model(3, || {
        let stamps = Arc::new(Stamps::default());
        stamps.reset();
        let [first, second] = neighbours();
        let pushers = [(first, 64), (second, 128)].map(|(task, ticks)| {
            let stamps = stamps.clone();
            thread::spawn(move || assert!(stamps.put(task, stamp(ticks))))
        });
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        let taker = {
            let stamps = stamps.clone();
            thread::spawn(move || stamps.take(second, 640))
        };
        assert_eq!(stamps.take(first, 640), Some(stamp(64)));
        assert_eq!(taker.join().unwrap(), Some(stamp(128)));
        assert_eq!((stamps.take(first, 640), stamps.take(second, 640)), (None, None));
    });
}

/// A worker that gets a task which was pushed in a session learns of the session before it runs the
/// task.
#[test]
fn a_worker_knows_the_session_of_a_task_that_it_gets() {
    model(3, || {
        let sessions = Arc::new(Sessions::default());
        let (signals, inbox) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let recorder = {
            let (sessions, signals) = (sessions.clone(), signals.clone());
            thread::spawn(move || sessions.begin(1, |number| signals.store(number.into(), Relaxed)))
        };
        let pusher = {
            let (sessions, inbox) = (sessions.clone(), inbox.clone());
            thread::spawn(move || inbox.store(1 + u64::from(sessions.current()), Release))
        };
        let pushed_in = inbox.load(Acquire).saturating_sub(1);
        assert!(signals.load(Relaxed) >= pushed_in, "the worker has not learned of the session");
        recorder.join().unwrap();
        pusher.join().unwrap();
    });
}
