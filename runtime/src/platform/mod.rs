//! What the runtime asks of whatever is below it: cores and nodes, workers, sleep, pages, a clock.
//!
//! Two platforms come with the runtime: [`Threads`] of the operating system, and a [`Simulation`] of virtual cores in
//! one thread, whose interleaving comes from a seed.

mod clock;
#[cfg(feature = "std")]
mod os;
mod placement;
mod simulation;
#[cfg(feature = "std")]
mod threads;
mod topology;

pub(crate) use clock::Clock;
pub use placement::{Misplaced, Placement, Site};
pub(crate) use simulation::this_thread;
pub use simulation::{Clocks, CoreTime, Costs, Simulation};
#[cfg(feature = "std")]
pub use threads::Threads;
pub use topology::{CoreInfo, Topology};

use crate::memory::PageSource;
use crate::scheduler::Driver;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::task::Waker;
use core::time::Duration;

/// A platform for one runtime.
pub trait Platform: Send + Sync + 'static {
    /// The cores that workers may run on, and their nodes.
    fn topology(&self) -> Topology;

    /// Index in the [topology](Self::topology) of the node that the platform itself gives that number.
    fn node_of_number(&self, number: u32) -> Option<u16> {
        u16::try_from(number).ok().filter(|&node| usize::from(node) < self.topology().nodes)
    }

    /// Where workers run that were not [placed](crate::Builder::placement) otherwise, and why; `None` if anywhere.
    fn placement(&self) -> Option<Placement> {
        None
    }

    /// Starts a worker: something has to drive it from now on, until it stops; on the [core](Driver::core) that it was told,
    /// if it was told any.
    ///
    /// # Errors
    ///
    /// If that is not possible; the text says why.
    fn start(&self, worker: Driver) -> Result<(), &'static str>;

    /// Puts the calling worker to sleep until [`wake`](Self::wake), which may have come already; may return early. Called by
    /// a worker that has nothing to do, and in the midst of a task where that waits for [work](crate::Fork::join) which
    /// another worker has taken.
    fn park(&self, worker: usize);

    /// Wakes a worker, or keeps it from going to sleep.
    fn wake(&self, worker: usize);

    /// Waits for all workers to return, which have been told to stop, and for the watchers.
    fn join(&self);

    /// In place of [`join`](Self::join) where a runtime is dropped by one of its own tasks, which cannot wait: the workers
    /// stop when nothing is left to run. A platform that drives its workers itself goes on until then.
    fn leave(&self) {}

    /// Calls `look` about once in each span of time, beside the workers, until it returns false or
    /// [`join`](Self::join) is called. Asked for at the start, and only by those who want a
    /// [watchdog](crate::Builder::watchdog), or a runtime that [resizes itself](crate::Builder::follow_advice) and so may
    /// start workers in such a call; once for each.
    ///
    /// # Errors
    ///
    /// If that is not possible; the text says why. So says a platform that does not implement this.
    fn watch(&self, every: Duration, look: Box<dyn FnMut() -> bool + Send>) -> Result<(), &'static str> {
        let _ = (every, look);
        Err("this platform has no watchers")
    }

    /// Whether workers run only while somebody [blocks](Self::block), who drives them meanwhile.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Blocks the caller until `ready` returns true: looks again when the waker it passes is woken.
    ///
    /// # Errors
    ///
    /// On a worker of this platform, which cannot wait for its own work.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock>;

    /// Where memory comes from.
    fn pages(&self) -> Arc<dyn PageSource>;

    /// How many bytes of memory this process may use, if the platform knows. Unless told otherwise, a runtime takes up
    /// to half of that for tasks ([`Builder::memory_limit`](crate::Builder::memory_limit)).
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Nanoseconds since some fixed moment.
    fn now(&self) -> u64;

    /// Whether [`now`](Self::now) is the time of the machine, so that a counter of the processor's may stand in for it where
    /// it is read often.
    fn is_real_time(&self) -> bool {
        false
    }

    /// Lets another worker go on, in the midst of a task, where workers go on only one at a time, as those of a simulation do
    /// that share the caller's thread. If `waiting`, the caller has nothing else to do: it waits for a part of its work, or to
    /// enter an object. Returns whether any did.
    fn interleave(&self, waiting: bool) -> bool {
        let _ = waiting;
        false
    }

    /// The calling worker has run a part of another one's task, which that one will [get back](Self::got_back). Until then
    /// the number names the part. Of use to platforms on which each worker has a clock of its own.
    fn ran_for_another(&self, part: usize) {
        let _ = part;
    }

    /// The calling worker goes on with a part of its task that it had offered to others: one of them has
    /// [run](Self::ran_for_another) it, or none has taken it.
    fn got_back(&self, part: usize) {
        let _ = part;
    }

    /// The calling worker has run a task within a step of its own, in which it goes on to another one: of this annotated cost.
    /// Of use to platforms on which each worker has a clock of its own.
    fn ran_within(&self, cost: u64) {
        let _ = cost;
    }

    /// The calling worker has put a task into the queue that all share ([`Pool::Ranked`](crate::Pool::Ranked)), into the
    /// heap of that number. Of use to platforms on which each worker has a clock of its own.
    fn put_into_queue(&self, heap: usize) {
        let _ = heap;
    }

    /// The same of one that it has taken out.
    fn took_from_queue(&self, heap: usize) {
        let _ = heap;
    }

    /// How often an idle worker looks into its own pool before it looks for work that others have.
    fn patience(&self) -> u32 {
        0
    }

    /// Whether there are more workers than cores, so that an idle worker had better sleep at once.
    fn is_oversubscribed(&self) -> bool {
        false
    }
}

/// A worker was asked to wait for work of its own runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WouldBlock;
