//! What tasks and objects say about themselves.

mod part;

pub use part::{LINE, Part};

/// How urgent a task is. A follow-up is as urgent as its parent unless it says otherwise.
///
/// Higher priorities run first; ageing lets one task of a lower priority through now and then, so that none
/// starves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Priority {
    /// Before all others.
    High,
    /// The default.
    #[default]
    Normal,
    /// When nothing else is to do.
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
    /// On the worker of that index (modulo the number of workers).
    Core(u16),
    /// On the least loaded worker of that NUMA node (modulo the number of nodes).
    Node(u16),
}

/// How often an object is expected to be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Frequency {
    /// So seldom that tasks hardly ever meet at it.
    Low,
    /// Now and then: it has to be fetched from memory.
    #[default]
    Normal,
    /// So often that it stays in the cache, like the upper levels of a tree: nothing is fetched, and an
    /// optimistic read of it is carried on at once instead of waiting for its turn.
    High,
}
