//! A lane between two workers: in order, nothing lost, and nobody sleeps while something comes for him.

use super::inbox::{number, numbered};
use super::model;
use super::platform::running_with;
use crate::pool::{Entry, Exit, Lane};
use crate::sync::yield_now;
use crate::{Links, Pool};
use loom::thread;

/// Through two places, so that the third task waits for the first to be taken.
#[test]
fn what_goes_in_comes_out_in_order() {
    model(3, || {
        let lane = Lane::one_of(1);
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

/// The first task of a worker goes to the other one, who falls asleep at that moment or sleeps.
#[test]
fn who_falls_asleep_is_woken_for_what_comes_by_a_lane() {
    model(1, || {
        let runtime = running_with(2, Pool::XQueue(Links::All));
        let (promise, handle) = runtime.promise();
        runtime.task(()).core(0).spawn(move |(), cx| {
            cx.task(()).spawn(move |(), cx| promise.fulfil(cx.worker()));
        });
        assert_eq!(handle.join().unwrap(), 1);
    });
}
