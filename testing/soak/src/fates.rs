//! Records what happens to each task of a round: it runs once or not at all, and what it captured
//! is dropped once.
//!
//! A fate is some bits of a table that outlives all tasks, so that a body that is dropped twice is
//! seen. Of a task without a handle it also says which failures its options allow.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::SeqCst};

/// The body has begun.
pub(super) const BEGAN: u16 = 1;
/// The body has ended without a panic.
pub(super) const RETURNED: u16 = 2;
/// The body is about to panic as intended.
pub(super) const PANICKED: u16 = 4;
/// What the body captured was dropped.
pub(super) const DROPPED: u16 = 8;
/// No handle receives the outcome: the hook does.
pub(super) const DETACHED: u16 = 16;
/// An object of the detached task may be poisoned.
pub(super) const MAY_BE_POISONED: u16 = 32;
/// The detached task has a deadline.
pub(super) const HAS_DEADLINE: u16 = 64;
/// The deadline of the detached task has passed at its spawn.
pub(super) const IS_LATE: u16 = 128;
/// There was no room for the detached task.
pub(super) const REFUSED: u16 = 256;

/// Tasks whose fates are in one block.
const BLOCK: usize = 1 << 14;
/// Blocks of a round: several times more than the tasks of the longest one.
const BLOCKS: usize = 1 << 9;

/// The number of a task in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskNumber(usize);

/// The fates of all tasks of a round.
pub(super) struct Fates {
    next: AtomicUsize,
    blocks: Box<[OnceLock<Box<[AtomicU16]>>]>,
}

impl Default for Fates {
    fn default() -> Self {
        Self { next: AtomicUsize::new(0), blocks: (0..BLOCKS).map(|_| OnceLock::new()).collect() }
    }
}

impl Fates {
    /// Adds a task.
    pub(super) fn add(&self) -> TaskNumber {
        let number = self.next.fetch_add(1, SeqCst);
        assert!(number < BLOCK * BLOCKS, "a round has at most {} tasks", BLOCK * BLOCKS);
        self.blocks[number / BLOCK].get_or_init(|| (0..BLOCK).map(|_| AtomicU16::new(0)).collect());
        TaskNumber(number)
    }

    fn bits(&self, TaskNumber(number): TaskNumber) -> &AtomicU16 {
        let block = self.blocks[number / BLOCK].get().expect("a task adds its block");
        &block[number % BLOCK]
    }

    /// Returns what has happened to a task so far.
    pub(super) fn of(&self, task: TaskNumber) -> u16 {
        self.bits(task).load(SeqCst)
    }

    /// Records an event. Returns false if it has happened before.
    pub(super) fn note(&self, task: TaskNumber, event: u16) -> bool {
        self.bits(task).fetch_or(event, SeqCst) & event == 0
    }

    /// Returns the number of tasks.
    pub(super) fn count(&self) -> usize {
        self.next.load(SeqCst)
    }

    /// Returns the number of tasks whose bits include all of these.
    pub(super) fn count_with(&self, bits: u16) -> usize {
        self.all().filter(|&(_, of)| of & bits == bits).count()
    }

    /// Returns the number of detached tasks that have not begun.
    pub(super) fn count_unrun(&self) -> usize {
        let is_unrun = |bits: u16| bits & (DETACHED | BEGAN) == DETACHED;
        self.all().filter(|&(_, bits)| is_unrun(bits)).count()
    }

    fn all(&self) -> impl Iterator<Item = (TaskNumber, u16)> {
        (0..self.count()).map(TaskNumber).map(|task| (task, self.of(task)))
    }

    /// Returns a task that is not dropped, or has begun and neither returned nor panicked.
    pub(super) fn unfinished(&self) -> Option<(TaskNumber, u16)> {
        let is_over =
            |bits: u16| bits & DROPPED != 0 && (bits & BEGAN == 0) == (bits & (RETURNED | PANICKED) == 0);
        self.all().find(|&(_, bits)| !is_over(bits))
    }

    /// Returns a detached task that ran though it was late or refused, or did not run for no reason
    /// that its options give. A runtime that `cancels` its tasks is a reason.
    pub(super) fn unexplained(&self, cancels: bool) -> Option<(TaskNumber, u16)> {
        let is_explained = |bits: u16| {
            if bits & DETACHED == 0 {
                true
            } else if bits & BEGAN != 0 {
                bits & (IS_LATE | REFUSED) == 0
            } else {
                cancels || bits & (MAY_BE_POISONED | HAS_DEADLINE | REFUSED) != 0
            }
        };
        self.all().find(|&(_, bits)| !is_explained(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_of_a_task_is_new_once() {
        let fates = Fates::default();
        let tasks: Vec<_> = (0..BLOCK + 2).map(|_| fates.add()).collect();
        for &task in &tasks {
            assert!(fates.note(task, BEGAN) && fates.note(task, RETURNED) && fates.note(task, DROPPED));
        }
        assert_eq!(fates.unfinished(), None);
        assert!(!fates.note(tasks[BLOCK], DROPPED), "it was dropped before");
        assert_eq!(fates.count_with(BEGAN | DROPPED), BLOCK + 2);
    }

    #[test]
    fn a_task_that_is_not_over_is_found() {
        let fates = Fates::default();
        let (kept, cut_off) = (fates.add(), fates.add());
        assert_eq!(fates.unfinished(), Some((kept, 0)));
        fates.note(kept, DROPPED);
        fates.note(cut_off, BEGAN);
        fates.note(cut_off, DROPPED);
        assert_eq!(fates.unfinished(), Some((cut_off, BEGAN | DROPPED)));
    }

    #[test]
    fn a_detached_task_that_does_not_run_needs_a_reason() {
        let fates = Fates::default();
        for (events, is_explained) in [
            (BEGAN | RETURNED | DETACHED, true),
            (DETACHED | HAS_DEADLINE, true),
            (DETACHED | MAY_BE_POISONED, true),
            (DETACHED | REFUSED, true),
            (0, true),
            (BEGAN | DETACHED | HAS_DEADLINE | IS_LATE, false),
            (BEGAN | DETACHED | REFUSED, false),
            (DETACHED, false),
        ] {
            let task = fates.add();
            fates.note(task, events | DROPPED);
            let expected = (!is_explained).then_some((task, events | DROPPED));
            assert_eq!(fates.unexplained(false), expected, "{events:#b}");
            if expected.is_some() {
                // The next call is to find another one.
                fates.bits(task).store(0, SeqCst);
            }
        }
        assert_eq!(fates.count_unrun(), 3);
        assert_eq!(fates.unexplained(true), None);
    }
}
