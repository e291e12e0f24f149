//! Records which tasks are done, and in which order.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xtasking_hierarchy::Node;

/// The number of a task; 0 stands for none.
pub(super) type TaskNumber = u32;

/// The ledger of tasks, which are numbered from 1.
pub(super) struct Ledger {
    last: AtomicU64,
    /// Serial numbers by task; 0 if the task is not done.
    serials: Box<[AtomicU64]>,
}

/// The result of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChangeResult {
    /// The sum of the counts.
    Read(u64),
    /// The number of counted nodes.
    Counted(u64),
    /// The new nodes, in order.
    Inserted(Vec<Node>),
    /// The root of the removed sub-tree, and its number of nodes.
    Removed(Option<(Node, usize)>),
    Linked(LinkResult),
    /// The former parent; `None` if there was only one.
    Unlinked(Option<Node>),
}

/// The result of a link operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkResult {
    New,
    /// The link existed.
    Duplicate,
    /// Refused, as the link would close a cycle.
    Cycle,
}

impl Ledger {
    pub fn new(tasks: usize) -> Self {
        Self { last: AtomicU64::new(0), serials: (0..=tasks).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Notes that a task is done. The caller holds everything that the task touched, so conflicting
    /// tasks are noted in their order.
    pub fn note(&self, task: TaskNumber) {
        self.serials[task as usize].store(self.last.fetch_add(1, Relaxed) + 1, Relaxed);
    }

    /// Returns true if the task is done. The caller holds something that it touched.
    pub fn is_done(&self, task: TaskNumber) -> bool {
        self.serial(task) > 0
    }

    /// Returns the serial number of the task; 0 if it is not done.
    pub fn serial(&self, task: TaskNumber) -> u64 {
        self.serials[task as usize].load(Relaxed)
    }
}
