//! Which pool a runtime has.

use super::{Ranked, kautz};
use alloc::vec::Vec;

/// How tasks that are bound to nothing find a worker; chosen by [`Builder::pool`](crate::Builder::pool).
///
/// These are tasks without objects, place, or priority of their own. All others go where their annotations say, on every
/// pool, and stay there: where an object is at home, or where it was fetched to, is worth more than an even load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pool {
    /// They run where they were spawned, first in, first out. Nothing is moved, so nothing is paid for it; whoever wants
    /// them elsewhere says so.
    #[default]
    Local,
    /// They run where they were spawned, last in, first out, unless a worker with nothing to do takes the oldest of them. A
    /// worker keeps most of them in a deque that nobody else sees, and a few in a place from where they can be taken, all
    /// at once. A worker with nothing to do also takes over whole pools that wait for their turn (where there are more
    /// pools than workers), with all objects that are at home there.
    WorkStealing,
    /// They are dealt out as they are spawned: to the spawning worker and those that it is linked to, in turn, by rings
    /// between two workers each, without any atomic read-modify-write instruction. Where a ring is full the task runs at
    /// once, within the spawn. (In the midst of a join, and where too many tasks run within each other, it goes to the
    /// spawning worker's own queue, which has no bound.)
    ///
    /// After XQueue, the queues of XTask.
    XQueue(Links),
    /// They lie in one queue that all workers share, and whoever has nothing else to do takes the most urgent of them, by
    /// its [rank](crate::TaskBuilder::rank); one without a rank has [`Ranking::MIDDLE`].
    ///
    /// A rank is obeyed to the letter: as long as there are more urgent tasks, one does not run. Who spawns urgent ones
    /// without end starves the others in the queue. But the queue as a whole and a worker's other tasks do not starve each
    /// other, whatever their ranks and priorities are.
    Ranked(Ranking),
}

/// How exactly [`Pool::Ranked`] obeys the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ranking {
    /// Whoever takes a task takes the most urgent one that is there, and the oldest of those. There is one heap, under one
    /// lock: fast enough for tasks of some microseconds on some tens of workers.
    Exact,
    /// Whoever takes a task takes one of the most urgent. There are two heaps for each worker; a task goes into any of
    /// them, and who takes one takes the better of the first tasks of two. So more urgent tasks, or older ones that are as
    /// urgent, are passed over: less than one for each heap in the mean, and seldom more than ten for each, however many
    /// tasks there are. (Measured with one worker at a time at the queue: 0.3 to 0.8 in the mean, with 4 to 64 heaps; two
    /// heaps keep the exact order.) None is passed over for ever, as long as those that are more urgent come to an end.
    ///
    /// After MultiQueues (Rihani, Sanders, Dementiev 2015).
    Relaxed,
}

impl Ranking {
    /// The rank of tasks that are told of none.
    pub const MIDDLE: u16 = 1 << (Ranked::RANK_BITS - 1);
    /// The least urgent rank.
    pub const LAST: u16 = (1 << Ranked::RANK_BITS) - 1;
}

/// Who deals out tasks to whom, besides to themselves, in [`Pool::XQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Links {
    /// To the next worker: XQueue's first version.
    Next,
    /// To the next one and the one before: version 2.
    Neighbours,
    /// To all: version N. There are as many rings as pairs of workers.
    All,
    /// To log₂ N of N workers (rounded up), so that there are N·log₂ N rings. They are the links of Kautz's graph, in which
    /// as many lead to each as from each, and it takes few steps from each to each: three for 192 workers. (A hypercube, which
    /// has as many links, takes log₂ N, and is uneven where N is no power of two.)
    ///
    /// After Imase and Itoh (1981), who have made the graph for any number.
    Kautz,
}

impl Links {
    /// Whom a worker deals out to, of so many.
    pub(crate) fn from(self, worker: usize, workers: usize) -> Vec<usize> {
        let next = (worker + 1) % workers;
        let previous = (worker + workers - 1) % workers;
        let mut targets: Vec<usize> = match self {
            Self::Next => [next].into(),
            Self::Neighbours => [next, previous].into(),
            // From the next one on, so that not all begin with the same.
            Self::All => (1..workers).map(|distance| (worker + distance) % workers).collect(),
            Self::Kautz => kautz::from(worker, workers),
        };
        targets.dedup();
        targets.retain(|&target| target != worker);
        targets
    }

    /// Who deals out to a worker.
    pub(crate) fn to(self, worker: usize, workers: usize) -> Vec<usize> {
        (0..workers).filter(|&other| self.from(other, workers).contains(&worker)).collect()
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_others_once_each() {
        for workers in 1..20 {
            for links in [Links::Next, Links::Neighbours, Links::All, Links::Kautz] {
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

    /// A task can get from each to each, or there would be workers that nobody helps.
    #[test]
    fn all_workers_are_reached() {
        for workers in 1..20 {
            for links in [Links::Next, Links::Neighbours, Links::All, Links::Kautz] {
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
        assert_eq!(Links::Next.from(7, 8), [0]);
        assert_eq!(Links::Neighbours.from(0, 2), [1]);
        assert_eq!(Links::All.from(2, 4), [3, 0, 1]);
    }

    /// Who is dealt to by more than others has more to do.
    #[test]
    fn all_workers_have_as_many_links_as_lead_to_them() {
        for workers in (2..130).chain([192, 200, 384]) {
            for links in [Links::Next, Links::Neighbours, Links::All, Links::Kautz] {
                let from: Vec<_> = (0..workers).map(|worker| links.from(worker, workers)).collect();
                let mut to = alloc::vec![0; workers];
                from.iter().flatten().for_each(|&target| to[target] += 1);
                let expected = match links {
                    Links::Next => 1,
                    Links::Neighbours => 2.min(workers - 1),
                    Links::All => workers - 1,
                    Links::Kautz => workers.next_power_of_two().ilog2() as usize,
                };
                assert!(from.iter().all(|from| from.len() == expected), "{links:?} of {workers}");
                assert!(to.iter().all(|&to| to == expected), "{links:?} of {workers}");
            }
        }
    }
}
