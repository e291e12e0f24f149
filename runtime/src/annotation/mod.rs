//! Annotations of tasks and objects.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | priority, place, frequency |
//! | `part` | the cache lines of an object that a task will touch |
//! | `lines` | cache lines anywhere in memory |

mod lines;
mod part;

pub use lines::Lines;
pub use part::{CACHE_LINE, Part};

/// The urgency of a task. A follow-up has its parent's priority by default.
///
/// Higher priorities run first. Ageing lets one task of a lower priority through from time to time,
/// so that none starves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Priority {
    /// Before all other tasks.
    High,
    /// The default.
    #[default]
    Normal,
    /// When there is nothing more urgent to run.
    Low,
}

impl Priority {
    /// Number of priorities.
    pub const COUNT: usize = 3;
}

/// Where a task asks to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Place {
    /// On the worker that spawns it; from outside the runtime, on the workers in turn.
    #[default]
    Here,
    /// On the worker with this index, modulo the number of workers.
    Core(u16),
    /// On the least loaded worker of this NUMA node, modulo the number of nodes.
    Node(u16),
}

/// How often an object is expected to be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Frequency {
    /// Rarely: tasks hardly ever contend for it.
    Low,
    /// Now and then: it has to be fetched from memory.
    #[default]
    Normal,
    /// Often enough that it stays in the cache, like the upper levels of a tree. Nothing is
    /// prefetched, and an optimistic read of it continues at once instead of being queued.
    High,
}
