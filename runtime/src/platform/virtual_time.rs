//! The trait of platforms whose clock is computed.

use super::Platform;

/// The virtual time of a [`Platform`] on which workers take turns, and possibly have a clock each.
/// A port to a real machine has no use for it.
///
/// A platform returns itself from [`Platform::virtual_time`]. Its [`Platform::now`] then need not
/// follow real time, and the runtime does not read the processor's counter in its place.
///
/// The runtime reports by `record_*` what takes time besides tasks, so that the platform can charge
/// it to the calling worker's clock. Each method is called by the thread that drives the worker, in
/// the midst of a task or between two. Every method has a default that does nothing, right for a
/// platform whose workers have no clocks.
pub trait VirtualTime: Platform {
    /// Lets other workers run in the midst of the caller's task. Returns true if another worker ran
    /// something.
    ///
    /// With `is_waiting` the caller can do nothing else: it waits for a half of a join, or to enter
    /// an object. A thread outside the runtime also calls it so, for a task that borrows from it.
    /// If it returns false, such a caller backs off and calls again.
    ///
    /// # Panics
    ///
    /// May panic on a thread outside the runtime, if no worker can ever run again.
    fn yield_to_others(&self, is_waiting: bool) -> bool {
        let _ = is_waiting;
        false
    }

    /// Returns true if the calling worker may steal a half of a join from worker `victim` now. A
    /// platform whose workers have clocks may rule out those whose time is another one.
    fn may_steal_from(&self, victim: usize) -> bool {
        let _ = victim;
        true
    }

    /// Records that the calling worker has made a half of a join that other workers may steal.
    /// `job` identifies the half until the worker [joins](Self::record_join) it.
    fn record_fork(&self, job: usize) {
        let _ = job;
    }

    /// Records that the calling worker has run a half of a join that it stole. `job` identifies the
    /// half until its owner [joins](Self::record_join) it.
    fn record_steal(&self, job: usize) {
        let _ = job;
    }

    /// Records that the calling worker continues after a half of a join. Either a thief has
    /// [run](Self::record_steal) it, or no worker has stolen it.
    fn record_join(&self, job: usize) {
        let _ = job;
    }

    /// Records that the calling worker has run a further task within one step. `cost` is the
    /// annotated [cost](crate::TaskBuilder::cost), in multiples of a small task.
    fn record_task(&self, cost: u64) {
        let _ = cost;
    }

    /// Records that the calling worker runs a body in place, inside objects with latches
    /// ([`try_call`](crate::TaskBuilder::try_call)). Returns true if it may; else the body has to
    /// be a task, as is the default.
    ///
    /// `objects` has the address of each and whether it is written. `cost` is the annotated
    /// [cost](crate::TaskBuilder::cost), in multiples of a small task.
    fn record_call(&self, objects: &[(usize, bool)], cost: u64) -> bool {
        let _ = (objects, cost);
        false
    }

    /// Records that the calling worker has pushed a task into heap `heap` of the shared queue
    /// ([`QueuePolicy::Ranked`](crate::QueuePolicy::Ranked)). Heaps are numbered from 0.
    fn record_push(&self, heap: usize) {
        let _ = heap;
    }

    /// Records that the calling worker has popped a task from heap `heap` of the shared queue.
    fn record_pop(&self, heap: usize) {
        let _ = heap;
    }
}
