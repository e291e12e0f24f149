//! How a runtime distributes unbound tasks.

use super::{Ranked, kautz};
use alloc::vec::Vec;

/// How unbound tasks are distributed to workers; set by [`Builder::pool`](crate::Builder::pool).
///
/// An unbound task has no objects, place or priority of its own. All other tasks go where their
/// annotations say, under every policy, and stay there: running where an object is at home, or was
/// fetched to, is worth more than an even load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueuePolicy {
    /// Tasks run on the worker that spawned them, in FIFO order. Nothing is moved, so there is no
    /// cost for that; a task runs elsewhere only if its annotations say so.
    #[default]
    Local,
    /// Tasks run on the worker that spawned them, in LIFO order, unless an idle worker steals the
    /// oldest. A worker has up to 32 in a batch that another worker can steal as a whole; while it
    /// is in a long task the others are stolen as well, which takes longer. Unbound tasks from
    /// outside go to the worker that can begin first. Where there are more run queues than workers,
    /// an idle worker also takes over parked run queues, with all objects that are at home there.
    WorkStealing,
    /// Tasks are dealt out round-robin as they are spawned: to the spawning worker and the workers
    /// that it is linked to. Each link is an SPSC ring without atomic read-modify-write
    /// instructions. If a ring is full, the task runs at once, within the spawn. (Within a join,
    /// and where too many tasks are nested, it goes to the spawning worker's own queue, which is
    /// unbounded.)
    ///
    /// After XQueue, the queues of XTask.
    XQueue(Topology),
    /// Tasks go into one queue shared by all workers. A worker without other tasks takes the most
    /// urgent one, by [rank](crate::TaskBuilder::rank); a task without a rank has
    /// [`RankOrder::MIDDLE`].
    ///
    /// Ranks are strict: no task runs while there are more urgent ones, so an endless supply of
    /// urgent tasks starves the others in the queue. The queue as a whole and a worker's other
    /// tasks do not starve each other, whatever their ranks and priorities are.
    Ranked(RankOrder),
}

/// How strictly [`QueuePolicy::Ranked`] obeys the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RankOrder {
    /// A worker takes the most urgent task, and the oldest of equals. There is one heap with one
    /// lock: fast enough for tasks of some microseconds on some tens of workers.
    Exact,
    /// A worker takes one of the most urgent tasks. There are two heaps for each worker. A task
    /// goes into a random heap, and a worker takes the better of the first tasks of two random
    /// heaps.
    ///
    /// So more urgent tasks, or older ones of the same rank, are passed over: on average less than
    /// one for each heap, and rarely more than ten for each, however many tasks there are.
    /// (Measured with one worker at a time: 0.3 to 0.8 for each heap on average, with 4 to 64
    /// heaps; two heaps keep the exact order.) No task starves unless more urgent ones keep coming.
    ///
    /// After MultiQueues (Rihani, Sanders, Dementiev 2015).
    Relaxed,
}

impl RankOrder {
    /// The rank of tasks without an explicit rank.
    pub const MIDDLE: u16 = 1 << (Ranked::RANK_BITS - 1);
    /// The least urgent rank.
    pub const LAST: u16 = (1 << Ranked::RANK_BITS) - 1;
}

/// Which workers a worker deals tasks to, besides itself, under [`QueuePolicy::XQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topology {
    /// The next worker: XQueue's first version.
    Next,
    /// The next and the previous worker: version 2.
    Neighbours,
    /// All workers: version N. There are as many rings as pairs of workers.
    All,
    /// log₂ N of N workers (rounded up), so that there are N·log₂ N rings. The links form a Kautz
    /// graph: every worker has as many incoming as outgoing links, and is few steps from every
    /// other: at most three for 192 workers. (A hypercube with as many links takes log₂ N steps,
    /// and is uneven where N is not a power of two.)
    ///
    /// After Imase and Itoh (1981), who generalised the graph to any number of nodes.
    Kautz,
}

impl Topology {
    /// Returns the targets of a worker, among `workers` workers.
    pub(crate) fn from(self, worker: usize, workers: usize) -> Vec<usize> {
        let next = (worker + 1) % workers;
        let previous = (worker + workers - 1) % workers;
        let mut targets: Vec<usize> = match self {
            Self::Next => [next].into(),
            Self::Neighbours => [next, previous].into(),
            // From the next worker on, so that the workers do not all begin with the same target.
            Self::All => (1..workers).map(|distance| (worker + distance) % workers).collect(),
            Self::Kautz => kautz::from(worker, workers),
        };
        targets.dedup();
        targets.retain(|&target| target != worker);
        targets
    }

    /// Returns the workers that have `worker` as a target.
    pub(crate) fn to(self, worker: usize, workers: usize) -> Vec<usize> {
        (0..workers).filter(|&other| self.from(other, workers).contains(&worker)).collect()
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_distinct_targets_other_than_itself() {
        for workers in 1..20 {
            for links in [Topology::Next, Topology::Neighbours, Topology::All, Topology::Kautz] {
                for worker in 0..workers {
                    let targets = links.from(worker, workers);
                    assert!(targets.iter().all(|&target| target != worker && target < workers));
                    let mut once = targets.clone();
                    once.sort_unstable();
                    once.dedup();
                    assert_eq!(once.len(), targets.len(), "{links:?}, {worker} of {workers}");
                    assert!(targets.iter().all(|&target| links.to(target, workers).contains(&worker)));
                }
            }
        }
    }

    /// Otherwise there would be workers that never receive work.
    #[test]
    fn every_worker_is_reachable_by_links() {
        for workers in 1..20 {
            for links in [Topology::Next, Topology::Neighbours, Topology::All, Topology::Kautz] {
                let mut reached = alloc::vec![false; workers];
                let mut open = alloc::vec![0];
                while let Some(worker) = open.pop() {
                    if !core::mem::replace(&mut reached[worker], true) {
                        open.extend(links.from(worker, workers));
                    }
                }
                assert!(reached.iter().all(|&reached| reached), "{links:?} of {workers}");
            }
        }
        assert_eq!(Topology::Next.from(7, 8), [0]);
        assert_eq!(Topology::Neighbours.from(0, 2), [1]);
        assert_eq!(Topology::All.from(2, 4), [3, 0, 1]);
    }

    /// A worker with more incoming links would have more to do.
    #[test]
    fn every_worker_has_as_many_incoming_as_outgoing_links() {
        for workers in (2..130).chain([192, 200, 384]) {
            for links in [Topology::Next, Topology::Neighbours, Topology::All, Topology::Kautz] {
                let from: Vec<_> = (0..workers).map(|worker| links.from(worker, workers)).collect();
                let mut to = alloc::vec![0; workers];
                from.iter().flatten().for_each(|&target| to[target] += 1);
                let expected = match links {
                    Topology::Next => 1,
                    Topology::Neighbours => 2.min(workers - 1),
                    Topology::All => workers - 1,
                    Topology::Kautz => workers.next_power_of_two().ilog2() as usize,
                };
                assert!(from.iter().all(|from| from.len() == expected), "{links:?} of {workers}");
                assert!(to.iter().all(|&to| to == expected), "{links:?} of {workers}");
            }
        }
    }
}
