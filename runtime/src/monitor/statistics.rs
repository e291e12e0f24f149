//! The numbers that a runtime reports about itself.

use super::{Counter, Counters, Histogram, Observer, Record};
use crate::sync::{AtomicU64, Relaxed};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// What a runtime has done since it began; see [`Runtime::statistics`](crate::Runtime::statistics).
///
/// Counts tasks of the application; a task with several objects is one, whatever messages it takes.
/// `Display` writes a summary for people.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Statistics {
    /// The age of the runtime.
    pub elapsed: Duration,
    /// The number of workers that are to run at the moment. They also own the run queues of the
    /// others.
    pub size: usize,
    /// Tasks that were spawned, from anywhere.
    pub spawned: u64,
    /// Tasks that have finished: run, cancelled or failed.
    pub finished: u64,
    /// From the spawn of a task to the beginning of its first run.
    pub waiting: Histogram,
    /// From the beginning of each run of a task to the end of that run.
    pub running: Histogram,
    /// From the spawn of a task to its end.
    pub completion: Histogram,
    /// Each worker, with its run queue.
    pub workers: Vec<WorkerStatistics>,
    /// Further counters, which include the runtime's own messages.
    pub counters: Counters,
}

/// What one worker has done, and what became of the tasks in its run queue.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct WorkerStatistics {
    /// Time at work: in tasks, between them, and in halves of joins that it took from others.
    pub busy: Duration,
    /// Time asleep.
    pub asleep: Duration,
    /// Tasks that it has spawned.
    pub spawned: u64,
    /// How often a task came into its run queue. A task that is put back to run again, or moves
    /// between workers, counts several times.
    pub queued: u64,
    /// Tasks of its run queue that other workers took over.
    pub given: u64,
    /// How often it has run a task from its run queue, or dropped a cancelled one.
    pub runs: u64,
    /// Tasks that have finished here.
    pub finished: u64,
    /// Halves of joins that it took from others while idle.
    pub steals: u64,
    /// Times that it went to sleep.
    pub sleeps: u64,
    /// As for the runtime: of tasks that ran here first.
    pub waiting: Histogram,
    /// As for the runtime: of runs here.
    pub running: Histogram,
    /// As for the runtime: of tasks that ended here.
    pub completion: Histogram,
}

impl Statistics {
    /// Returns the number of tasks that wait or run.
    pub fn occupancy(&self) -> u64 {
        self.spawned.saturating_sub(self.finished)
    }

    /// Returns λ: how much busier the busiest worker was than the average worker, as a fraction of
    /// the average. It is 0 if all were equally busy, and `n` − 1 if one of `n` workers did
    /// everything.
    pub fn imbalance(&self) -> f64 {
        let busy = || self.workers.iter().map(|worker| worker.busy.as_secs_f64());
        let (sum, most) = (busy().sum::<f64>(), busy().fold(0.0, f64::max));
        if sum > 0.0 { most * self.workers.len() as f64 / sum - 1.0 } else { 0.0 }
    }
}

impl WorkerStatistics {
    /// Returns the number of tasks in its run queue, including the one that runs.
    pub fn occupancy(&self) -> u64 {
        self.queued.saturating_sub(self.runs + self.given)
    }
}

impl Observer {
    /// Returns the statistics so far. `size` is the number of workers that are to run; `others` are
    /// steals and sleeps of each worker.
    pub fn statistics(
        &self,
        size: usize,
        counters: Counters,
        others: impl Iterator<Item = (u64, u64)>,
    ) -> Statistics {
        let scale = self.clock.scale();
        let now = self.clock.now();
        let ticks = now.saturating_sub(self.clock.began());
        let elapsed = Duration::from_nanos((ticks as f64 * scale) as u64);
        let mut all = Statistics { elapsed, size, counters, ..Statistics::default() };
        let both = self.records.iter().zip(others);
        all.workers = both
            .map(|(record, (steals, sleeps))| WorkerStatistics {
                busy: self.time(&record.0.busy, &record.0.busy_since, now, scale).min(elapsed),
                asleep: self.time(&record.0.asleep, &record.0.asleep_since, now, scale).min(elapsed),
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
        // Read after the ends, so that for a task whose end is seen the spawn is usually seen, too.
        let spawned = self.records.iter().map(|record| record.0.spawned.get());
        all.spawned = self.spawned_outside.load(Relaxed) + spawned.sum::<u64>();
        all
    }

    /// Returns the time that was counted, plus the time until `now` from the tick before `since`,
    /// unless that is 0.
    pub(super) fn time(&self, counted: &Counter, since: &AtomicU64, now: u64, scale: f64) -> Duration {
        let counted = counted.get();
        let now_at = match since.load(Relaxed) {
            0 => 0,
            since => now.saturating_sub(since - 1),
        };
        Duration::from_nanos(((counted + now_at) as f64 * scale) as u64)
    }
}

impl Record {
    fn statistics(&self, scale: f64) -> WorkerStatistics {
        // In this order: what has ended has run before, and what has run was queued before.
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
        write!(f, "  {retries} optimistic reads retried, {} waits at latches", counters.latch_waits)?;
        for (index, worker) in self.workers.iter().enumerate() {
            let share =
                |part: Duration| 100.0 * part.as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
            let WorkerStatistics { finished, steals, sleeps, .. } = worker;
            write!(f, "\n  worker {index}: {finished} tasks, busy {:.1}%, ", share(worker.busy))?;
            write!(f, "asleep {:.1}%, in its run queue {}; ", share(worker.asleep), worker.occupancy())?;
            write!(f, "{steals} steals, {sleeps} sleeps")?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use crate::platform::Simulation;
    use crate::{Runtime, Shutdown, primitive::Sequencing};

    #[test]
    fn a_cancelled_task_counts_as_finished() {
        for seed in 0..10 {
            let builder = Runtime::builder().platform(Simulation::new(3, seed)).timeline(10);
            let rt = builder.build().unwrap();
            let objects = [(); 3].map(|()| rt.plain(0u64).pin(Sequencing).build());
            for index in 0..90 {
                let [a, b, c] = [0, 1, 2].map(|next| &objects[(index + next) % 3]);
                rt.task((a.write(), b.write())).spawn(|_, _| ());
                let c = c.clone();
                rt.task(()).spawn(move |(), cx| cx.task(c.write()).spawn(|_, _| ()));
                if index == 45 {
                    rt.task(()).submit(|(), _| ()).join().unwrap();
                }
            }
            // The shutdown consumes the runtime.
            let shared = rt.shared().clone();
            rt.shutdown(Shutdown::Cancel);
            let statistics = shared.statistics().unwrap();
            let finished = statistics.finished;
            assert!((182..271).contains(&finished) && statistics.spawned == finished, "{statistics}");
            assert_eq!((statistics.waiting.count(), statistics.occupancy()), (finished, 0));
            let queued = |worker: &crate::metrics::WorkerStatistics| worker.occupancy();
            assert_eq!(statistics.workers.iter().map(queued).sum::<u64>(), 0);
        }
    }
}
