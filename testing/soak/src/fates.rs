//! Records what happens to each task of a round: it runs once or not at all, and what it captured
//! is dropped once.
//!
//! A fate is some bits of a table that outlives all tasks, so that a body that is dropped twice is
//! seen.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};

/// The body has begun.
pub(super) const BEGAN: u8 = 1;
/// The body has ended without a panic.
pub(super) const RETURNED: u8 = 2;
/// The body is about to panic as intended.
pub(super) const PANICKED: u8 = 4;
/// What the body captured was dropped.
pub(super) const DROPPED: u8 = 8;
/// No handle receives the outcome: the hook does.
pub(super) const DETACHED: u8 = 16;

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
    blocks: Box<[OnceLock<Box<[AtomicU8]>>]>,
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
        self.blocks[number / BLOCK].get_or_init(|| (0..BLOCK).map(|_| AtomicU8::new(0)).collect());
        TaskNumber(number)
    }

    fn bits(&self, TaskNumber(number): TaskNumber) -> &AtomicU8 {
        let block = self.blocks[number / BLOCK].get().expect("a task adds its block");
        &block[number % BLOCK]
    }

    /// Returns what has happened to a task so far.
    pub(super) fn of(&self, task: TaskNumber) -> u8 {
        self.bits(task).load(SeqCst)
    }

    /// Records an event. Returns false if it has happened before.
    pub(super) fn note(&self, task: TaskNumber, event: u8) -> bool {
        self.bits(task).fetch_or(event, SeqCst) & event == 0
    }

    /// Returns the number of tasks.
    pub(super) fn count(&self) -> usize {
        self.next.load(SeqCst)
    }

    /// Returns the number of tasks whose bits include all of these.
    pub(super) fn count_with(&self, bits: u8) -> usize {
        (0..self.count()).filter(|&number| self.of(TaskNumber(number)) & bits == bits).count()
    }

    /// Returns a task that is not dropped, or has begun and neither returned nor panicked.
    pub(super) fn unfinished(&self) -> Option<(TaskNumber, u8)> {
        let is_over =
            |bits: u8| bits & DROPPED != 0 && (bits & BEGAN == 0) == (bits & (RETURNED | PANICKED) == 0);
        (0..self.count()).map(TaskNumber).map(|task| (task, self.of(task))).find(|&(_, bits)| !is_over(bits))
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
}
