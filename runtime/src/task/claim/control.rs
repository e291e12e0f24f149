//! How granules are kept from tasks that must not meet there: by lines, or by what came before that.

use super::pool::Pool;
use super::toggle::Toggle;
use crate::scheduler::Shared;
use alloc::boxed::Box;

/// How granules are kept from tasks that must not meet there, and which workers the tasks go to.
///
/// [`Lines`](Self::Lines) is what there is good reason to use. The others are for comparison: with them a worker whose task has
/// to wait does nothing else meanwhile, and tasks that may run anywhere go to the workers in turn, or wait for one. (What tasks
/// may count on is the same, but for the order of those that meet: it is that in which they are begun.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Control {
    /// Each granule has a line of its own, in which tasks stand before they go anywhere. See [`Granules`](super::Granules).
    #[default]
    Lines,
    /// One lock for all granules, with readers beside each other.
    Coarse,
    /// A lock of each granule, with readers beside each other: taken one after the other, in the order of their numbers.
    InOrder,
    /// A lock of one interval from the first to the last granule of a task. (Kalikar, Nasre, "DomLock: A New
    /// Multi-Granularity Locking Technique for Hierarchies", PPoPP 2016.)
    DomLock,
    /// The same of as many intervals as are worth their while: that depends on what it takes to lock one more, which is measured
    /// when the granules are made, and on how long tasks have held theirs. (Kalikar, Nasre, "NumLock: Towards Optimal
    /// Multi-Granularity Locking in Hierarchies", ICPP 2018.)
    NumLock,
    /// Each worker hosts a bucket: an equal stretch of the granules. A task waits in the lowest one that it covers, for the host
    /// to run it: alone, with all buckets locked that it covers; or, if it fits one of the smaller buckets that each is cut
    /// into, in a phase in which the host and others who have nothing to do run these side by side. (Kalikar, Nasre, "Toggle:
    /// Contention-Aware Task Scheduler for Concurrent Hierarchical Operations", Euro-Par 2019, with a lock and a wait that it
    /// needs to be right.)
    ///
    /// Readers do not run beside each other in a bucket. Priorities and ranks play no part while tasks wait. Tasks with objects,
    /// or bound to a place, wait on their worker for the buckets that they cover.
    Toggle,
}

impl Control {
    /// The pool of locks that it needs.
    pub(super) fn pool(self, shared: &Shared, granules: u32) -> Option<Pool> {
        let has_pool = !matches!(self, Self::Lines | Self::Toggle);
        has_pool.then(|| Pool::new(self, shared, granules))
    }

    /// The buckets that it needs.
    pub(super) fn toggle(self, shared: &Shared, granules: u32) -> Option<Box<Toggle>> {
        (self == Self::Toggle).then(|| Box::new(Toggle::new(shared, granules)))
    }
}
