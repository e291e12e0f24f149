//! What a runtime tells of itself in numbers.

use super::{Counter, Histogram, Observer, Record, Snapshot};
use crate::sync::{AtomicU64, Relaxed};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// What a runtime has done since it began; see [`Runtime::statistics`](crate::Runtime::statistics).
///
/// Counted are tasks of the application; a task with several objects is one, whatever messages it takes. Its text is a
/// summary for people.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Statistics {
    /// How long the runtime has been there.
    pub elapsed: Duration,
    /// How many workers are to run at the moment: the pools of others are looked after by these.
    pub size: usize,
    /// Tasks that were spawned, from wherever.
    pub spawned: u64,
    /// Tasks that have finished: run, cancelled or failed.
    pub finished: u64,
    /// From the spawn of a task to the beginning of its first run.
    pub waiting: Histogram,
    /// From the beginning of each run of a task to the end of that run.
    pub running: Histogram,
    /// From the spawn of a task to its end.
    pub completion: Histogram,
    /// Each worker, with its pool.
    pub workers: Vec<WorkerStatistics>,
    /// What is counted besides, messages of the runtime's own included.
    pub counters: Snapshot,
}

/// What one worker has done, and what has become of the tasks in its pool.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct WorkerStatistics {
    /// How long it was at work: in tasks, on its way from one to the next, and in halves of joins that it took from others.
    pub busy: Duration,
    /// How long it slept.
    pub asleep: Duration,
    /// Tasks that it has spawned.
    pub spawned: u64,
    /// How often a task has come into its pool. One that is put back to be run again, or goes from worker to worker, comes
    /// several times.
    pub queued: u64,
    /// Tasks of its pool that other workers took over.
    pub given: u64,
    /// How often it has run a task from its pool, or dropped one that was cancelled.
    pub runs: u64,
    /// Tasks that have finished here.
    pub finished: u64,
    /// Halves of joins that it took from others because it had nothing to do.
    pub steals: u64,
    /// Times that it went to sleep.
    pub sleeps: u64,
    /// As for all: of tasks that ran here first.
    pub waiting: Histogram,
    /// As for all: of runs here.
    pub running: Histogram,
    /// As for all: of tasks that ended here.
    pub completion: Histogram,
}

impl Statistics {
    /// Tasks that wait or run.
    pub fn occupancy(&self) -> u64 {
        self.spawned.saturating_sub(self.finished)
    }

    /// λ: by how much the busiest worker was busier than all are in the mean. 0 if all were equally busy; with `n` workers
    /// of which one did everything, `n` less 1.
    pub fn imbalance(&self) -> f64 {
        let busy = || self.workers.iter().map(|worker| worker.busy.as_secs_f64());
        let (sum, most) = (busy().sum::<f64>(), busy().fold(0.0, f64::max));
        if sum > 0.0 { most * self.workers.len() as f64 / sum - 1.0 } else { 0.0 }
    }
}

impl WorkerStatistics {
    /// Tasks in its pool, with the one that runs.
    pub fn occupancy(&self) -> u64 {
        self.queued.saturating_sub(self.runs + self.given)
    }
}

impl Observer {
    /// What was noted so far. `size` is how many workers are to run, `others` are counters of each: steals and sleeps.
    pub fn statistics(
        &self,
        size: usize,
        counters: Snapshot,
        others: impl Iterator<Item = (u64, u64)>,
    ) -> Statistics {
        let scale = self.clock.scale();
        let ticks = self.clock.now().saturating_sub(self.clock.began());
        let elapsed = Duration::from_nanos((ticks as f64 * scale) as u64);
        let mut all = Statistics { elapsed, size, counters, ..Statistics::default() };
        let both = self.records.iter().zip(others);
        all.workers = both
            .map(|(record, (steals, sleeps))| WorkerStatistics {
                busy: self.time(&record.0.busy, &record.0.busy_since, scale).min(elapsed),
                asleep: self.time(&record.0.asleep, &record.0.asleep_since, scale).min(elapsed),
                steals,
                sleeps,
                ..record.0.statistics(scale)
            })
            .collect();
        for worker in &all.workers {
            all.finished += worker.finished;
            all.waiting.merge(&worker.waiting);
            all.running.merge(&worker.running);
            all.completion.merge(&worker.completion);
        }
        // After the ends: of a task that has ended the spawn is seen, too, as a rule.
        let spawned = self.records.iter().map(|record| record.0.spawned.get());
        all.spawned = self.spawned_outside.load(Relaxed) + spawned.sum::<u64>();
        all
    }

    /// Time that has been counted, and what has passed since the moment that is named, if any is.
    fn time(&self, counted: &Counter, since: &AtomicU64, scale: f64) -> Duration {
        let counted = counted.get();
        let now_at = match since.load(Relaxed) {
            0 => 0,
            since => self.clock.now().saturating_sub(since),
        };
        Duration::from_nanos(((counted + now_at) as f64 * scale) as u64)
    }
}

impl Record {
    fn statistics(&self, scale: f64) -> WorkerStatistics {
        // In this order: what has ended has run before, and what has run has come before.
        let completion = self.completion.read(scale);
        let running = self.running.read(scale);
        WorkerStatistics {
            spawned: self.spawned.get(),
            queued: self.queued.get(),
            given: self.given.load(Relaxed),
            runs: running.count(),
            finished: completion.count(),
            waiting: self.waiting.read(scale),
            running,
            completion,
            ..WorkerStatistics::default()
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elapsed, spawned, finished, counters, .. } = self;
        writeln!(f, "{finished} of {spawned} tasks finished in {elapsed:.1?}; λ = {:.2}", self.imbalance())?;
        writeln!(f, "  waiting:    {}", self.waiting)?;
        writeln!(f, "  running:    {}", self.running)?;
        writeln!(f, "  completion: {}", self.completion)?;
        let retries = counters.snapshot_retries + counters.versioned_retries;
        write!(f, "  {retries} optimistic reads tried again, {} waits at latches", counters.latch_waits)?;
        for (index, worker) in self.workers.iter().enumerate() {
            let share =
                |part: Duration| 100.0 * part.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
            let WorkerStatistics { finished, steals, sleeps, .. } = worker;
            write!(f, "\n  worker {index}: {finished} tasks, busy {:.1}%, ", share(worker.busy))?;
            write!(f, "asleep {:.1}%, in its pool {}; ", share(worker.asleep), worker.occupancy())?;
            write!(f, "{steals} steals, {sleeps} sleeps")?;
        }
        Ok(())
    }
}
