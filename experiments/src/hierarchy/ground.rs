//! What all turns have in common: a runtime in real or in virtual time, and what is seen of its tasks.

use super::turn::Times;
use crate::failure::Failure;
use crate::lineup::cannot_start;
use crate::pools::imbalance;
use crate::virtual_time::{Clocks, Spread, VirtualTime, costs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use xtasking::{Control, Failure as Unnoticed, Pool, Runtime};

/// How the tasks of a turn are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub control: Control,
    pub workers: usize,
    /// Workers with nothing to do take tasks of others.
    pub stealing: bool,
    pub times: Option<Times>,
    /// So many tasks are on their way at most.
    pub in_flight: Option<usize>,
    /// It is seen how long tasks take, and who runs them; which takes time itself, unless time is virtual.
    pub is_watched: bool,
}

/// What was seen of all tasks.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub spread: Spread,
    /// Nanoseconds from the spawn of a task to the end of its body that half of them did not exceed, and 99 of a hundred.
    pub latency: [u64; 2],
    /// Nanoseconds that each worker was in bodies of tasks; in virtual time, in tasks.
    pub busy: Vec<u64>,
}

/// A runtime, and its time.
pub(super) struct Ground {
    pub rt: Runtime,
    pace: Option<Arc<Pace>>,
    began: Instant,
    /// Where the virtual clock stood then.
    virtually: u64,
}

/// The time that tasks take, and that is seen of them.
pub(super) struct Pace {
    clock: Clock,
    /// In virtual time.
    times: Option<Times>,
    /// By task, from its spawn to its end.
    latencies: Box<[AtomicU64]>,
    /// By worker, in bodies of tasks.
    busy: Box<[AtomicU64]>,
}

enum Clock {
    Real(Instant),
    Virtual(Clocks),
}

impl Ground {
    /// For so many tasks.
    pub fn new(setting: &Setting, tasks: usize, on_failure: fn(Unnoticed)) -> Result<Self, Failure> {
        let Setting { workers, stealing, times, is_watched, .. } = *setting;
        let pool = if stealing { Pool::WorkStealing } else { Pool::Local };
        let builder = Runtime::builder().pool(pool).on_failure(on_failure);
        let (builder, clock) = match times {
            None => (builder.workers(workers).statistics(is_watched), Clock::Real(Instant::now())),
            Some(Times { seed, .. }) => {
                let (platform, clocks) = VirtualTime::new(workers, seed, costs());
                (builder.platform(platform), Clock::Virtual(clocks))
            }
        };
        let rt = builder.build().map_err(|error| cannot_start("xtasking", workers, &error))?;
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        let pace = (is_watched || times.is_some())
            .then(|| Arc::new(Pace { clock, times, latencies: zeros(tasks), busy: zeros(workers) }));
        Ok(Self { rt, pace, began: Instant::now(), virtually: 0 })
    }

    /// The turn begins now.
    pub fn begin(&mut self) {
        self.virtually = self.clocks().map_or(0, Clocks::makespan);
        self.began = Instant::now();
    }

    fn clocks(&self) -> Option<&Clocks> {
        match &self.pace.as_ref()?.clock {
            Clock::Virtual(clocks) => Some(clocks),
            Clock::Real(_) => None,
        }
    }

    /// For tasks; `None` if nobody asks how long they take.
    pub fn pace(&self) -> Option<Arc<Pace>> {
        self.pace.clone()
    }

    /// The turn is over. Returns how many seconds it took, and what was seen.
    pub fn end(&self) -> (f64, Option<Seen>) {
        let time = match self.clocks() {
            None => self.began.elapsed().as_secs_f64(),
            Some(clocks) => (clocks.makespan() - self.virtually) as f64 / 1e9,
        };
        (time, self.pace.as_ref().map(|pace| self.seen(pace, time)))
    }

    fn seen(&self, pace: &Pace, time: f64) -> Seen {
        let (spread, busy) = match &pace.clock {
            Clock::Virtual(clocks) => {
                (Spread::of(clocks), clocks.cores().iter().map(|core| core.busy).collect())
            }
            Clock::Real(_) => {
                let busy: Vec<u64> = pace.busy.iter().map(|busy| busy.load(Relaxed)).collect();
                let statistics = self.rt.statistics().expect("statistics are kept of what is watched");
                let at_work = statistics.workers.iter().map(|worker| worker.busy.as_secs_f64()).sum::<f64>();
                let besides = at_work - busy.iter().sum::<u64>() as f64 / 1e9;
                let blocked = (besides / (time * busy.len() as f64)).clamp(0.0, 1.0);
                (Spread { imbalance: imbalance(&busy), blocked }, busy)
            }
        };
        let mut latencies: Vec<u64> = pace.latencies.iter().map(|time| time.load(Relaxed)).collect();
        // Those that have not run, as what they claimed was poisoned.
        latencies.retain(|&time| time > 0);
        latencies.sort_unstable();
        let at = |percent: usize| {
            let rank = (latencies.len() * percent).div_ceil(100).max(1);
            latencies.get(rank - 1).copied().unwrap_or(0)
        };
        Seen { spread, latency: [at(50), at(99)], busy }
    }
}

impl Pace {
    fn now(&self) -> u64 {
        match &self.clock {
            Clock::Real(origin) => origin.elapsed().as_nanos() as u64,
            Clock::Virtual(clocks) => clocks.now(),
        }
    }

    /// A task is spawned now.
    pub fn spawned(pace: &Option<Arc<Self>>) -> u64 {
        pace.as_ref().map_or(0, |pace| pace.now())
    }

    /// The body of a task begins, on that worker.
    pub fn begin(&self, task: usize, spawned: u64, worker: usize) -> Begun<'_> {
        Begun { pace: self, task, spawned, worker, begun: self.now() }
    }

    /// The calling task takes as long as it does for so many nodes.
    pub fn spend(&self, nodes: u64) {
        if let (Clock::Virtual(clocks), Some(times)) = (&self.clock, self.times) {
            clocks.spend(u64::from(times.task) + nodes * times.node);
        }
    }
}

/// The body of a task, until it ends, be it by a panic.
pub(super) struct Begun<'p> {
    pace: &'p Pace,
    task: usize,
    spawned: u64,
    worker: usize,
    begun: u64,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let now = self.pace.now();
        self.pace.latencies[self.task].store((now - self.spawned).max(1), Relaxed);
        self.pace.busy[self.worker].fetch_add(now - self.begun, Relaxed);
    }
}
