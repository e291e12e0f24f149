//! A ring of tasks beside thieves: each task is taken once, with what was written before its push.

use super::inbox::{number, numbered};
use super::model;
use crate::pool::TaskRing;
use crate::sync::{SeqCst, fence};
use core::ptr::NonNull;
use loom::thread;
use std::sync::Arc;
use std::vec::Vec;

fn numbers(tasks: Vec<NonNull<crate::task::Task>>) -> Vec<u64> {
    tasks.into_iter().map(number).collect()
}

fn barrier() -> bool {
    fence(SeqCst);
    true
}

/// Pushes tasks 1 to `tasks` and pops until there is none, beside thieves that steal once each.
fn beside_thieves(has_barrier: bool, tasks: u64, thieves: usize) {
    let ring = Arc::new(TaskRing::new(has_barrier));
    let thieves: Vec<_> = (0..thieves)
        .map(|_| {
            let ring = ring.clone();
            thread::spawn(move || {
                let mut stolen = Vec::new();
                ring.steal(barrier, &mut stolen);
                let stolen = numbers(stolen);
                assert!(stolen.is_sorted(), "the oldest comes first");
                stolen
            })
        })
        .collect();
    (1..=tasks).for_each(|task| ring.push(numbered(task)));
    let mut taken: Vec<_> = core::iter::from_fn(|| ring.pop()).map(number).collect();
    taken.extend(thieves.into_iter().flat_map(|thief| thief.join().unwrap()));
    taken.sort_unstable();
    assert!(taken.into_iter().eq(1..=tasks), "each task is taken once");
}

#[test]
fn the_last_task_is_taken_once() {
    model(4, || beside_thieves(true, 1, 1));
    model(4, || beside_thieves(false, 1, 1));
}

#[test]
fn tasks_are_taken_once_beside_two_thieves() {
    model(2, || beside_thieves(true, 2, 2));
}

/// The ring has four slots, and two of them stay vacant.
#[test]
fn a_ring_that_grows_beside_a_thief_keeps_its_tasks() {
    model(2, || beside_thieves(true, 4, 1));
}

#[test]
fn tasks_put_before_the_oldest_are_taken_once() {
    model(3, || {
        let ring = Arc::new(TaskRing::new(true));
        let there = ring.clone();
        let thief = thread::spawn(move || {
            let mut stolen = Vec::new();
            there.steal(barrier, &mut stolen);
            numbers(stolen)
        });
        ring.push(numbered(2));
        ring.push_oldest(&[numbered(1)]);
        let mut taken = Vec::new();
        ring.take_oldest(|_| 1, &mut taken);
        let mut taken = numbers(taken);
        taken.extend(core::iter::from_fn(|| ring.pop()).map(number));
        taken.extend(thief.join().unwrap());
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn a_thief_whose_barrier_fails_takes_nothing() {
    model(4, || {
        let ring = Arc::new(TaskRing::new(true));
        let there = ring.clone();
        let thief = thread::spawn(move || {
            let mut stolen = Vec::new();
            there.steal(|| false, &mut stolen);
            assert!(stolen.is_empty());
        });
        ring.push(numbered(1));
        assert_eq!(ring.pop().map(number), Some(1));
        thief.join().unwrap();
    });
}
