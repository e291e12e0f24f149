//! The homes of granules: the worker where tasks that claim a granule should run, as the granule's
//! data are probably in its caches.
//!
//! Homes are independent of which tasks may run at the same time, so they can change at any time.
//! Each worker is the home of one stretch of the granules, and all stretches had about as many
//! recent visits. (Toggle's buckets decide both, so they cannot move.)

use super::rights::Rights;
use crate::sync::{AtomicU32, Padded, Relaxed, SpinMutex};
use alloc::boxed::Box;

/// The map from granules to workers. All of it is a hint: nothing is ordered by it, hence Relaxed.
pub(super) struct Affinity {
    homes: Box<[AtomicU32]>,
    /// How often each granule was visited; halved at each rebalancing.
    visits: Box<[AtomicU32]>,
    loads: Box<[Load]>,
    /// Visits of one granule, since the last rebalancing, that cause the next one.
    visits_needed: AtomicU32,
    /// Held by the worker that rebalances.
    rebalancing: SpinMutex<()>,
}

/// How many tasks were sent to a worker, and how many of those are over. Different threads write
/// the two counts, so that a spawner does not wait for the cache line of the worker.
#[derive(Default)]
struct Load {
    sent: Padded<AtomicU32>,
    finished: Padded<AtomicU32>,
}

impl Load {
    fn get(&self) -> u32 {
        // A task may come and go between the two loads, which makes the difference negative.
        (self.sent.0.load(Relaxed).wrapping_sub(self.finished.0.load(Relaxed)) as i32).max(0) as u32
    }
}

/// Bounds of `visits_needed`: it doubles with each rebalancing that moves few granules.
const MIN_VISITS_NEEDED: u32 = 64;
const MAX_VISITS_NEEDED: u32 = 1 << 16;
/// About how many granules of a task are sampled to find the least loaded home.
const SAMPLED_GRANULES: usize = 8;

impl Affinity {
    pub fn new(granules: usize, workers: usize) -> Self {
        let homes = (0..granules).map(|granule| (granule * workers / granules) as u32);
        Self {
            homes: homes.map(AtomicU32::new).collect(),
            visits: (0..granules).map(|_| AtomicU32::new(0)).collect(),
            loads: (0..workers).map(|_| Load::default()).collect(),
            visits_needed: AtomicU32::new(Self::fewest_visits(granules)),
            rebalancing: SpinMutex::new(()),
        }
    }

    fn fewest_visits(granules: usize) -> u32 {
        (granules as u32 / 8).clamp(MIN_VISITS_NEEDED, MAX_VISITS_NEEDED)
    }

    /// Returns some granules of a task, evenly spread over its ranges.
    fn sample(rights: &Rights) -> impl Iterator<Item = usize> + '_ {
        let ranges = rights.iter().len();
        let of_each = (SAMPLED_GRANULES / ranges.max(1)).max(1);
        rights.iter().step_by(ranges.div_ceil(SAMPLED_GRANULES).max(1)).flat_map(move |(range, _)| {
            let step = range.len().div_ceil(of_each);
            range.clone().step_by(step).map(|granule| granule as usize)
        })
    }

    /// Returns the worker for a task with these granules: the least loaded of their homes. Counts
    /// the visit.
    pub fn visit(&self, rights: &Rights) -> usize {
        let home = |granule: usize| {
            // Only sampled granules count a visit, so a task with many weighs little more.
            let counted = &self.visits[granule];
            let visits = counted.load(Relaxed).saturating_add(1);
            counted.store(visits, Relaxed);
            if visits >= MIN_VISITS_NEEDED
                && visits >= self.visits_needed.load(Relaxed)
                && self.loads.len() > 1
            {
                self.rebalance();
            }
            self.homes[granule].load(Relaxed) as usize
        };
        if let Some((granule, _)) = rights.single() {
            return home(granule as usize);
        }
        let mut chosen: Option<(u32, usize)> = None;
        for worker in Self::sample(rights).map(home) {
            if chosen.is_none_or(|(_, before)| before != worker) {
                let load = self.loads[worker].get();
                chosen = chosen.filter(|&(least, _)| least <= load).or(Some((load, worker)));
            }
        }
        chosen.map_or(0, |(_, worker)| worker)
    }

    /// Counts a task as load of its home, to which it is sent.
    pub fn task_sent(&self, worker: usize) {
        self.loads[worker].sent.0.fetch_add(1, Relaxed);
    }

    /// Ends what [`task_sent`](Self::task_sent) has counted.
    pub fn task_finished(&self, worker: usize) {
        self.loads[worker].finished.0.fetch_add(1, Relaxed);
    }

    /// Divides the granules anew, and sets when to do so again. Does nothing if another worker is
    /// at it.
    #[cold]
    fn rebalance(&self) {
        if let Some(_guard) = self.rebalancing.try_lock() {
            let moved = self.partition();
            // A thirty-second is noise.
            let visits_needed = if moved > self.homes.len() / 32 {
                Self::fewest_visits(self.homes.len())
            } else {
                (self.visits_needed.load(Relaxed) * 2).min(MAX_VISITS_NEEDED)
            };
            self.visits_needed.store(visits_needed, Relaxed);
        }
    }

    /// Gives each worker a stretch with as many visits, and halves all counts. Returns the number
    /// of granules whose home has changed.
    fn partition(&self) -> usize {
        let visits = self.visits.iter().map(|visits| u64::from(visits.load(Relaxed)));
        let (sum, workers) = (visits.sum::<u64>().max(1), self.loads.len() as u64);
        let (mut before, mut moved) = (0, 0);
        for (home, visits) in self.homes.iter().zip(&self.visits) {
            let here = u64::from(visits.load(Relaxed));
            // The middle of the granule's visits decides.
            let worker = ((2 * before + here) * workers / (2 * sum)).min(workers - 1) as u32;
            moved += usize::from(home.load(Relaxed) != worker);
            if !planted!("homes-fixed") {
                home.store(worker, Relaxed);
            }
            visits.store(here as u32 / 2, Relaxed);
            before += here;
        }
        moved
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::rights::Ranges;
    use super::*;
    use alloc::vec::Vec;

    fn homes(affinity: &Affinity) -> Vec<u32> {
        affinity.homes.iter().map(|home| home.load(Relaxed)).collect()
    }

    fn rights(range: core::ops::Range<u32>) -> Rights {
        let mut ranges = Ranges::default();
        ranges.add(range, true);
        ranges.rights()
    }

    #[test]
    fn stretches_follow_the_visits() {
        let affinity = Affinity::new(8, 2);
        assert_eq!(homes(&affinity), [0, 0, 0, 0, 1, 1, 1, 1]);
        for round in 0..200 {
            let rights = rights(round % 2..round % 2 + 1);
            let worker = affinity.visit(&rights);
            affinity.task_sent(worker);
            affinity.task_finished(worker);
        }
        assert_eq!(homes(&affinity)[..2], [0, 1]);
        assert_eq!(homes(&affinity)[7], 1);
    }

    #[test]
    fn the_least_loaded_home_is_chosen() {
        let affinity = Affinity::new(4, 2);
        let both = rights(0..4);
        let visit = || {
            let worker = affinity.visit(&both);
            affinity.task_sent(worker);
            worker
        };
        let chosen: Vec<usize> = (0..6).map(|_| visit()).collect();
        assert_eq!(chosen.iter().sum::<usize>(), 3);
        chosen.into_iter().for_each(|worker| affinity.task_finished(worker));
        assert!(affinity.loads.iter().all(|load| load.get() == 0));
    }
}
