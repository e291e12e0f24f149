//! An inbox with many pushers and one taker. Nothing is lost or duplicated, and each pusher's order
//! is kept. That includes the full ring (of two slots), where tasks go into the backlog.

use super::{Watched, model};
use crate::Priority;
use crate::object::Fetch;
use crate::pool::{Backlog, Inbox};
use crate::scheduler::Worker;
use crate::sync::{Acquire, AtomicBool, AtomicPtr, Release, yield_now};
use crate::task::{Meta, Task, VTable, describe_nothing, locate_nothing};
use core::ptr::{NonNull, null_mut};
use loom::thread;
use std::sync::Arc;

/// A task with a number that its pusher writes into plain memory.
#[repr(C)]
struct Numbered {
    task: Task,
    number: Watched,
}

unsafe fn never(_: NonNull<Task>, _: &mut Worker) {
    unreachable!("models take tasks but do not run them");
}

pub(super) fn numbered(number: u64) -> NonNull<Task> {
    let vtable = &VTable { run: never, locate: locate_nothing, cancel: never, describe: describe_nothing };
    let meta = Meta::new(0, Priority::Normal, 0);
    let task = Task { vtable, next: AtomicPtr::new(null_mut()), fetch: Fetch::NONE, meta };
    let node = Box::new(Numbered { task, number: Watched::new(0) });
    node.number.set(number);
    NonNull::from(Box::leak(node)).cast()
}

/// Returns the number of a taken task, and frees the task.
pub(super) fn number(task: NonNull<Task>) -> u64 {
    // SAFETY: `numbered` made the task, and the thread that has taken it owns it.
    let node = unsafe { Box::from_raw(task.cast::<Numbered>().as_ptr()) };
    node.number.get()
}

fn push(inbox: &Inbox, number: u64) {
    // SAFETY: a fresh task.
    unsafe { inbox.push(numbered(number)) };
}

/// Takes tasks until there are `count`. Called by one thread of a model only.
fn take(inbox: &Inbox, count: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    while taken.len() < count {
        // SAFETY: one thread takes.
        match unsafe { inbox.take() } {
            Some(task) => taken.push(number(task)),
            None => yield_now(),
        }
    }
    taken
}

/// Tries `attempts` times to take a task, beside the pushers.
fn try_to_take(inbox: &Inbox, attempts: usize) -> Vec<u64> {
    // SAFETY: one thread takes.
    (0..attempts).filter_map(|_| unsafe { inbox.take() }.map(number)).collect()
}

fn is_empty(inbox: &Inbox) -> bool {
    // SAFETY: one thread takes, and checks.
    unsafe { inbox.take().is_none() && !inbox.may_have_tasks() }
}

/// Asserts that the numbers of each pusher (by tens) come in order.
fn assert_in_order(taken: &[u64]) {
    for pusher in 0..3 {
        let own: Vec<_> = taken.iter().filter(|number| **number / 10 == pusher).collect();
        assert!(own.is_sorted(), "the order of one pusher was not kept: {taken:?}");
    }
}

#[test]
fn one_pushers_tasks_keep_their_order_through_the_backlog() {
    model(3, || {
        let inbox = Arc::new(Inbox::new(None));
        let there = inbox.clone();
        // Two find a slot in the ring; the third may or may not.
        let pusher = thread::spawn(move || (0..4).for_each(|number| push(&there, number)));
        assert_eq!(take(&inbox, 4), [0, 1, 2, 3]);
        pusher.join().unwrap();
        assert!(is_empty(&inbox));
    });
}

#[test]
fn two_pushers_beside_the_taker_lose_nothing_and_keep_their_order() {
    model(2, || {
        let inbox = Arc::new(Inbox::new(None));
        let pushers = [0, 1].map(|pusher| {
            let there = inbox.clone();
            thread::spawn(move || (0..2).for_each(|number| push(&there, pusher * 10 + number)))
        });
        let mut taken = try_to_take(&inbox, 3);
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        taken.extend(take(&inbox, 4 - taken.len()));
        assert_in_order(&taken);
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 10, 11]);
        assert!(is_empty(&inbox));
    });
}

#[test]
fn a_push_comes_after_the_pushes_that_its_pusher_knows_of() {
    model(2, || {
        let inbox = Arc::new(Inbox::new(None));
        // The ring is full: the next tasks go into the backlog, or into slots that are free by
        // then.
        (0..2).for_each(|number| push(&inbox, number));
        let told = Arc::new(AtomicBool::new(false));
        let (there, tell) = (inbox.clone(), told.clone());
        let first = thread::spawn(move || {
            push(&there, 2);
            tell.store(true, Release);
        });
        let there = inbox.clone();
        let second = thread::spawn(move || {
            let knows = told.load(Acquire);
            if knows {
                push(&there, 3);
            }
            knows
        });
        let mut taken = try_to_take(&inbox, 3);
        first.join().unwrap();
        let count = if second.join().unwrap() { 4 } else { 3 };
        taken.extend(take(&inbox, count - taken.len()));
        assert_eq!(taken, [0, 1, 2, 3][..count]);
        assert!(is_empty(&inbox));
    });
}

#[test]
fn an_inbox_that_was_pushed_to_does_not_look_empty() {
    model(3, || {
        let inbox = Arc::new(Inbox::new(None));
        let told = Arc::new(AtomicBool::new(false));
        let (there, tell) = (inbox.clone(), told.clone());
        let pusher = thread::spawn(move || {
            (0..3).for_each(|number| push(&there, number));
            tell.store(true, Release);
        });
        let mut taken = 0;
        while taken < 3 {
            if told.load(Acquire) {
                // SAFETY: one thread takes, and checks.
                assert!(unsafe { inbox.may_have_tasks() });
            }
            taken += take(&inbox, 1).len();
        }
        pusher.join().unwrap();
        assert!(is_empty(&inbox));
    });
}

#[test]
fn a_backlog_alone_loses_nothing_and_keeps_each_pushers_order() {
    model(2, || {
        let backlog = Arc::new(Backlog::new());
        let pushers = [0, 1].map(|pusher| {
            let there = backlog.clone();
            // SAFETY: fresh tasks.
            thread::spawn(move || (0..2).for_each(|at| unsafe { there.push(numbered(pusher * 10 + at)) }))
        });
        // SAFETY: one thread takes.
        let take = || unsafe { backlog.take() }.map(number);
        let mut taken: Vec<_> = (0..3).filter_map(|_| take()).collect();
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        taken.extend(core::iter::from_fn(take));
        assert_in_order(&taken);
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 10, 11]);
    });
}
