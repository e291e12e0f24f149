//! Starts the runtime of a turn, in real or in virtual time, and records latencies and load of its
//! tasks.

use super::turn::Times;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;
use xtasking::{Failure as Unnoticed, QueuePolicy, Runtime};
use xtasking_harness::controls::Isolation;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::page;
use xtasking_virtual_time::{Clocks, Spread, VirtualTime, costs};
use xtasking_virtual_time::{imbalance, least_busiest};

/// How the tasks of a turn run.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnSettings {
    pub isolation: Isolation,
    pub workers: usize,
    /// Whether idle workers steal tasks.
    pub stealing: bool,
    pub times: Option<Times>,
    /// Maximal number of tasks in flight.
    pub in_flight: Option<usize>,
    /// Whether latencies and busy times are recorded. This takes time itself, unless time is
    /// virtual.
    pub is_recorded: bool,
}

/// Statistics of all tasks of a turn.
#[derive(Clone, Debug)]
pub(super) struct RunStatistics {
    pub spread: Spread,
    /// Median and 99th percentile of the latencies, in nanoseconds from the spawn of a task to the
    /// end of its body.
    pub latency: [u64; 2],
    /// Nanoseconds that each worker was in bodies of tasks; in virtual time, in tasks.
    pub busy: Vec<u64>,
    /// In virtual time, what the busiest worker's time divided by the mean is at least, however the
    /// tasks are assigned to workers.
    pub least_load: Option<f64>,
}

/// A runtime and its clock.
pub(super) struct Testbed {
    pub rt: Runtime,
    recorder: Option<Arc<Recorder>>,
    began: Instant,
    /// Makespan of the virtual clock at the begin of the turn, in nanoseconds.
    virtual_begin: u64,
}

/// Charges virtual time to tasks, and records when they run.
pub(super) struct Recorder {
    clock: Clock,
    /// Costs in virtual time.
    times: Option<Times>,
    /// Nanoseconds from spawn to end, by task.
    latencies: Box<[AtomicU64]>,
    /// Nanoseconds in the body, by task.
    durations: Box<[AtomicU64]>,
    /// Nanoseconds in bodies of tasks, by worker.
    busy: Box<[AtomicU64]>,
}

enum Clock {
    Real(Instant),
    Virtual(Clocks),
}

impl Testbed {
    /// Starts a runtime for `tasks` tasks.
    pub fn new(settings: &TurnSettings, tasks: usize, on_failure: fn(Unnoticed)) -> Result<Self, Failure> {
        let TurnSettings { workers, stealing, times, is_recorded, .. } = *settings;
        let pool = if stealing { QueuePolicy::WorkStealing } else { QueuePolicy::Local };
        let builder = Runtime::builder().pool(pool).on_failure(on_failure);
        let (builder, clock) = match times {
            None => (builder.workers(workers).statistics(is_recorded), Clock::Real(Instant::now())),
            Some(Times { seed, .. }) => {
                let (platform, clocks) = VirtualTime::new(workers, seed, costs());
                (builder.platform(platform), Clock::Virtual(clocks))
            }
        };
        let rt = if times.is_none() { page::start(builder) } else { builder.build() };
        let rt = rt.map_err(|error| cannot_start("xtasking", workers, &error))?;
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        let recorder = (is_recorded || times.is_some()).then(|| {
            let (latencies, durations, busy) = (zeros(tasks), zeros(tasks), zeros(workers));
            Arc::new(Recorder { clock, times, latencies, durations, busy })
        });
        Ok(Self { rt, recorder, began: Instant::now(), virtual_begin: 0 })
    }

    /// Begins the turn.
    pub fn begin(&mut self) {
        self.virtual_begin = self.clocks().map_or(0, Clocks::makespan);
        self.began = Instant::now();
    }

    fn clocks(&self) -> Option<&Clocks> {
        match &self.recorder.as_ref()?.clock {
            Clock::Virtual(clocks) => Some(clocks),
            Clock::Real(_) => None,
        }
    }

    /// Returns the recorder for tasks; `None` if nothing is recorded.
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.recorder.clone()
    }

    /// Ends the turn. Returns its length in seconds, and the statistics if they were recorded.
    pub fn end(&self) -> (f64, Option<RunStatistics>) {
        let time = match self.clocks() {
            None => self.began.elapsed().as_secs_f64(),
            Some(clocks) => (clocks.makespan() - self.virtual_begin) as f64 / 1e9,
        };
        (time, self.recorder.as_ref().map(|recorder| self.statistics(recorder, time)))
    }

    fn statistics(&self, recorder: &Recorder, time: f64) -> RunStatistics {
        let load =
            |times: &[AtomicU64]| -> Vec<u64> { times.iter().map(|time| time.load(Relaxed)).collect() };
        let mut least_load = None;
        let (spread, busy) = match &recorder.clock {
            Clock::Virtual(clocks) => {
                let busy: Vec<u64> = clocks.cores().iter().map(|core| core.busy).collect();
                let least = least_busiest(&load(&recorder.durations), busy.len()) as f64;
                let mean = busy.iter().sum::<u64>() as f64 / busy.len() as f64;
                least_load = (mean > 0.0).then(|| (least / mean).max(1.0));
                (Spread::of(clocks), busy)
            }
            Clock::Real(_) => {
                let busy = load(&recorder.busy);
                let statistics = self.rt.statistics().expect("statistics are on if the turn is recorded");
                let at_work = statistics.workers.iter().map(|worker| worker.busy.as_secs_f64()).sum::<f64>();
                let outside_bodies = at_work - busy.iter().sum::<u64>() as f64 / 1e9;
                let blocked = (outside_bodies / (time * busy.len() as f64)).clamp(0.0, 1.0);
                (Spread { imbalance: imbalance(&busy), blocked }, busy)
            }
        };
        let mut latencies = load(&recorder.latencies);
        // A task that did not run because of poisoned data has latency 0.
        latencies.retain(|&time| time > 0);
        latencies.sort_unstable();
        let at = |percent: usize| {
            let rank = (latencies.len() * percent).div_ceil(100).max(1);
            latencies.get(rank - 1).copied().unwrap_or(0)
        };
        RunStatistics { spread, latency: [at(50), at(99)], busy, least_load }
    }
}

impl Recorder {
    fn now(&self) -> u64 {
        match &self.clock {
            Clock::Real(origin) => origin.elapsed().as_nanos() as u64,
            Clock::Virtual(clocks) => clocks.now(),
        }
    }

    /// Returns the time of a spawn, or 0 if nothing is recorded.
    pub fn spawned(recorder: &Option<Arc<Self>>) -> u64 {
        recorder.as_ref().map_or(0, |recorder| recorder.now())
    }

    /// Notes that the body of `task` begins on `worker`.
    pub fn begin(&self, task: usize, spawned: u64, worker: usize) -> RunningBody<'_> {
        RunningBody { recorder: self, task, spawned, worker, begun: self.now() }
    }

    /// Spends the virtual time of a task that visited `nodes` nodes.
    pub fn spend(&self, nodes: u64) {
        if let (Clock::Virtual(clocks), Some(times)) = (&self.clock, self.times) {
            clocks.spend(u64::from(times.task) + nodes * times.node);
        }
    }
}

/// The body of a task that runs. Records its latency and busy time when dropped, also during a
/// panic.
pub(super) struct RunningBody<'p> {
    recorder: &'p Recorder,
    task: usize,
    spawned: u64,
    worker: usize,
    begun: u64,
}

impl Drop for RunningBody<'_> {
    fn drop(&mut self) {
        let now = self.recorder.now();
        self.recorder.latencies[self.task].store((now - self.spawned).max(1), Relaxed);
        self.recorder.durations[self.task].store(now - self.begun, Relaxed);
        self.recorder.busy[self.worker].fetch_add(now - self.begun, Relaxed);
    }
}
