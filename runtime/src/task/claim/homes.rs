//! The workers where granules are at home: tasks that claim a granule should run where the last one ran that did.
//!
//! Who is at home where has nothing to do with who may run beside whom, so that it can change any time: each worker has a
//! stretch of the granules that was visited as often as those of the others, lately. (What Toggle calls buckets holds both
//! meanings, so that its buckets cannot move.)

use super::rights::Rights;
use crate::sync::{AtomicU32, Padded, Relaxed, SpinMutex};
use alloc::boxed::Box;

/// See the module's documentation. All is advice: nothing is ordered by it.
pub(super) struct Homes {
    of: Box<[AtomicU32]>,
    /// How often each granule was visited, of late.
    visits: Box<[AtomicU32]>,
    loads: Box<[Load]>,
    /// So many visits of one granule, since the stretches were last looked at, give cause to look at them again.
    patience: AtomicU32,
    /// Whoever has it looks.
    looking: SpinMutex<()>,
}

/// How many tasks were sent to a worker, and how many of those are over. (Two counts, as those who write them are not the same: who
/// spawns tasks need not wait for what the worker has written last.)
#[derive(Default)]
struct Load {
    sent: Padded<AtomicU32>,
    over: Padded<AtomicU32>,
}

impl Load {
    fn get(&self) -> u32 {
        // Between these two looks a task may have come and gone.
        (self.sent.0.load(Relaxed).wrapping_sub(self.over.0.load(Relaxed)) as i32).max(0) as u32
    }
}

/// Stretches that are right are looked at less and less often, down to this.
const MOST_PATIENCE: u32 = 1 << 16;
const LEAST_PATIENCE: u32 = 64;
/// As many of a task's granules are asked, or a few more, how loaded their workers are.
const CANDIDATES: usize = 8;

impl Homes {
    pub fn new(granules: usize, workers: usize) -> Self {
        let homes = (0..granules).map(|granule| (granule * workers / granules) as u32);
        Self {
            of: homes.map(AtomicU32::new).collect(),
            visits: (0..granules).map(|_| AtomicU32::new(0)).collect(),
            loads: (0..workers).map(|_| Load::default()).collect(),
            patience: AtomicU32::new(Self::impatient(granules)),
            looking: SpinMutex::new(()),
        }
    }

    fn impatient(granules: usize) -> u32 {
        (granules as u32 / 8).clamp(LEAST_PATIENCE, MOST_PATIENCE)
    }

    /// Some of a task's granules, evenly spread over its ranges.
    fn some(rights: &Rights) -> impl Iterator<Item = usize> + '_ {
        let ranges = rights.iter().len();
        let of_each = (CANDIDATES / ranges.max(1)).max(1);
        rights.iter().step_by(ranges.div_ceil(CANDIDATES).max(1)).flat_map(move |(range, _)| {
            let step = range.len().div_ceil(of_each);
            range.clone().step_by(step).map(|granule| granule as usize)
        })
    }

    /// The worker for a task with these granules: of those where they are at home the one with the fewest tasks. Counts the
    /// visit.
    pub fn visit(&self, rights: &Rights) -> usize {
        let home = |granule: usize| {
            // A visit of many granules is one to each that was asked for, so that it weighs no more than others.
            let counted = &self.visits[granule];
            let visits = counted.load(Relaxed).saturating_add(1);
            counted.store(visits, Relaxed);
            if visits >= LEAST_PATIENCE && visits >= self.patience.load(Relaxed) && self.loads.len() > 1 {
                self.look_again();
            }
            self.of[granule].load(Relaxed) as usize
        };
        if let Some((granule, _)) = rights.only() {
            return home(granule as usize);
        }
        let mut chosen: Option<(u32, usize)> = None;
        for worker in Self::some(rights).map(home) {
            if chosen.is_none_or(|(_, before)| before != worker) {
                let load = self.loads[worker].get();
                chosen = chosen.filter(|&(least, _)| least <= load).or(Some((load, worker)));
            }
        }
        chosen.map_or(0, |(_, worker)| worker)
    }

    /// A task is sent to that worker, or stays elsewhere for now instead.
    pub fn begin(&self, worker: usize) {
        self.loads[worker].sent.0.fetch_add(1, Relaxed);
    }

    /// Such a task is over.
    pub fn over(&self, worker: usize) {
        self.loads[worker].over.0.fetch_add(1, Relaxed);
    }

    #[cold]
    fn look_again(&self) {
        if let Some(_looking) = self.looking.try_lock() {
            let moved = self.split();
            // A thirty-second is noise.
            let patience = if moved > self.of.len() / 32 {
                Self::impatient(self.of.len())
            } else {
                (self.patience.load(Relaxed) * 2).min(MOST_PATIENCE)
            };
            self.patience.store(patience, Relaxed);
        }
    }

    /// Gives each worker a stretch with as many visits, and forgets half of them. Returns how many granules have moved.
    fn split(&self) -> usize {
        let visits = self.visits.iter().map(|visits| u64::from(visits.load(Relaxed)));
        let (sum, workers) = (visits.sum::<u64>().max(1), self.loads.len() as u64);
        let (mut before, mut moved) = (0, 0);
        for (home, visits) in self.of.iter().zip(&self.visits) {
            let here = u64::from(visits.load(Relaxed));
            // By the middle of the granule.
            let worker = ((2 * before + here) * workers / (2 * sum)).min(workers - 1) as u32;
            moved += usize::from(home.load(Relaxed) != worker);
            if !planted!("homes-stay") {
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

    fn homes(homes: &Homes) -> Vec<u32> {
        homes.of.iter().map(|home| home.load(Relaxed)).collect()
    }

    fn rights(range: core::ops::Range<u32>) -> Rights {
        let mut ranges = Ranges::default();
        ranges.add(range, true);
        ranges.rights()
    }

    #[test]
    fn stretches_follow_the_visits() {
        let map = Homes::new(8, 2);
        assert_eq!(homes(&map), [0, 0, 0, 0, 1, 1, 1, 1]);
        for round in 0..200 {
            let rights = rights(round % 2..round % 2 + 1);
            let worker = map.visit(&rights);
            map.begin(worker);
            map.over(worker);
        }
        assert_eq!(homes(&map)[..2], [0, 1]);
        assert_eq!(homes(&map)[7], 1);
    }

    #[test]
    fn the_least_loaded_home_is_chosen() {
        let map = Homes::new(4, 2);
        let both = rights(0..4);
        let visit = || {
            let worker = map.visit(&both);
            map.begin(worker);
            worker
        };
        let chosen: Vec<usize> = (0..6).map(|_| visit()).collect();
        assert_eq!(chosen.iter().sum::<usize>(), 3);
        chosen.into_iter().for_each(|worker| map.over(worker));
        assert!(map.loads.iter().all(|load| load.get() == 0));
    }
}
