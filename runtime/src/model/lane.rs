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

/// A ring that was full is filled again once half of it is empty. The target has emptied the next
/// slot before that one, but the source may see the two in the other order.
#[test]
fn a_ring_that_was_full_is_filled_from_its_next_slot_on() {
    const SLOTS: u64 = 4;
    model(2, || {
        let lane = SpscRing::with_slots(SLOTS as usize);
        let (mut entry, mut exit) = (Entry::new(lane.clone(), 1), Exit::new(lane));
        (0..SLOTS).for_each(|count| assert!(entry.push(numbered(count))));
        assert!(!entry.has_room());
        // The source is the spawned thread: loom may give it old values of what the other stores.
        let source = thread::spawn(move || {
            let more = numbered(SLOTS);
            let is_pushed = (0..2).any(|_| entry.push(more));
            (entry, more, is_pushed)
        });
        (0..SLOTS / 2).for_each(|count| assert_eq!(exit.pop().map(number), Some(count)));
        let (mut entry, more, is_pushed) = source.join().unwrap();
        assert!(is_pushed || entry.push(more));
        (SLOTS / 2..=SLOTS).for_each(|count| assert_eq!(exit.pop().map(number), Some(count)));
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
