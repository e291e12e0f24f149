//! Which tasks are done, and in which order.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xtasking_hierarchy::Node;

/// A task, by its number; 0 for none.
pub(super) type TaskNumber = u32;

/// Tasks have numbers from 1 on.
pub(super) struct Ledger {
    last: AtomicU64,
    /// By task; 0 if it is not done.
    serials: Box<[AtomicU64]>,
}

/// What a task has found or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// The sum of what was counted.
    Read(u64),
    /// So many nodes.
    Counted(u64),
    /// These, in this order.
    Inserted(Vec<Node>),
    /// A node, and so many with it.
    Removed(Option<(Node, usize)>),
    Linked(Linked),
    /// From under which parent, if there was another one.
    Unlinked(Option<Node>),
}

/// What has become of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    New,
    /// It was there.
    Twice,
    /// There would be a cycle.
    Cycle,
}

impl Ledger {
    pub fn new(tasks: usize) -> Self {
        Self { last: AtomicU64::new(0), serials: (0..=tasks).map(|_| AtomicU64::new(0)).collect() }
    }

    /// A task is done. Whoever says so has all that the task has touched: so any two that meet are noted in their order.
    pub fn note(&self, task: TaskNumber) {
        self.serials[task as usize].store(self.last.fetch_add(1, Relaxed) + 1, Relaxed);
    }

    /// Whether a task is done. The caller has something that it touched.
    pub fn is_done(&self, task: TaskNumber) -> bool {
        self.serial(task) > 0
    }

    /// When it was done; 0 if it was not.
    pub fn serial(&self, task: TaskNumber) -> u64 {
        self.serials[task as usize].load(Relaxed)
    }
}
