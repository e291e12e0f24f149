//! An SPSC ring between two workers: FIFO, nothing lost, and its target does not sleep while it has
//! tasks.

use super::inbox::{number, numbered};
use super::model;
use super::platform::running_with;
use crate::pool::{Entry, Exit, SpscRing};
use crate::sync::yield_now;
use crate::{QueuePolicy, queues::Topology};
use loom::thread;

/// The ring has two slots, so that the third task waits for the first to be taken.
#[test]
fn a_ring_is_fifo() {
    model(3, || {
        let lane = SpscRing::one_of(1);
        let (mut entry, mut exit) = (Entry::new(lane.clone(), 1), Exit::new(lane));
        let pusher = thread::spawn(move || {
            for count in 1..=3 {
                let task = numbered(count);
                while !entry.push(task) {
                    yield_now();
                }
            }
        });
        let mut next = 1;
        while next <= 3 {
            match exit.pop() {
                Some(task) => {
                    assert_eq!(number(task), next);
                    next += 1;
                }
                None => yield_now(),
            }
        }
        assert!(exit.pop().is_none());
        pusher.join().unwrap();
    });
}

/// The first task of a worker is dealt to the other one, which is falling asleep at that moment, or
/// sleeps.
#[test]
fn a_worker_that_falls_asleep_is_woken_for_a_task_in_a_ring() {
    model(1, || {
        let runtime = running_with(2, QueuePolicy::XQueue(Topology::All));
        let (promise, handle) = runtime.promise();
        runtime.task(()).core(0).spawn(move |(), cx| {
            cx.task(()).spawn(move |(), cx| promise.fulfil(cx.worker()));
        });
        assert_eq!(handle.join().unwrap(), 1);
    });
}
