//! Spawning on this runtime.
//!
//! A *lane* spawns a batch of tasks and then itself after them, so it continues when they have run,
//! and no run queue ever holds many tasks. If the tasks go to another worker, the lane follows them
//! there and then returns. Each pair of workers has two such lanes, so that the target runs the
//! tasks of one while the other travels.

use super::records::{Record, Records, least, parts};
use crate::completion::Completion;
use std::slice::Chunks;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::{Context, JoinError, Runtime, TaskBuilder};

/// Tasks that a lane spawns at a time: a run queue that stays in the cache.
pub(super) const BATCH: usize = 128;

/// The minimum that a worker has found, on cache lines of its own.
#[repr(align(128))]
struct Minimum(AtomicU64);

/// The minimum of each possible worker. All are `u64::MAX` between turns.
static MINIMA: [Minimum; 256] = [const { Minimum(AtomicU64::new(u64::MAX)) }; 256];

/// Records a value that a worker has found. Only that worker may call this, as the update is not
/// atomic.
#[inline(always)]
pub(super) fn record_value(worker: usize, value: u64) {
    let found = &MINIMA[worker % MINIMA.len()].0;
    if value < found.load(Ordering::Relaxed) {
        found.store(value, Ordering::Relaxed);
    }
}

/// Returns the minimum over all workers, which must be idle, and resets it.
pub(super) fn take_least() -> u64 {
    MINIMA.iter().map(|found| found.0.swap(u64::MAX, Ordering::Relaxed)).min().unwrap_or(u64::MAX)
}

/// A task that spawns batches of tasks.
struct SpawnLane {
    tasks: Chunks<'static, Record>,
    home: usize,
    /// The worker that runs its tasks; `None` for its home.
    target: Option<usize>,
    completion: Arc<Completion<()>>,
}

impl SpawnLane {
    fn task(cx: &mut Context, target: Option<usize>) -> TaskBuilder<&mut Context, ()> {
        match target {
            None => cx.task(()),
            Some(core) => cx.task(()).core(core as u16),
        }
    }

    /// Spawns the next batch, and then the lane itself; without a batch, ends the lane.
    fn spawn_batch(mut self: Box<Self>, cx: &mut Context) {
        let mut spawned = 0;
        for records in self.tasks.by_ref().take(BATCH) {
            Self::task(cx, self.target).spawn(move |(), cx| record_value(cx.worker(), least(records)));
            spawned += 1;
        }
        if spawned > 0 {
            Self::task(cx, self.target).spawn(move |(), cx| self.return_home(cx));
        } else if let Some(promise) = self.completion.end_one() {
            promise.fulfil(());
        }
    }

    /// Returns home after the tasks of a batch, and continues.
    fn return_home(self: Box<Self>, cx: &mut Context) {
        match self.target {
            None => self.spawn_batch(cx),
            Some(_) => cx.task(()).core(self.home as u16).spawn(move |(), cx| self.spawn_batch(cx)),
        }
    }
}

/// The home of a lane, and the worker that runs its tasks; `None` for its home.
pub(super) type Route = (usize, Option<usize>);

/// Returns the routes of workers that spawn tasks for themselves.
pub(super) fn local(workers: usize) -> Vec<Route> {
    (0..workers).map(|worker| (worker, None)).collect()
}

/// Returns the routes of workers that spawn tasks for all others; a single worker spawns them for
/// itself.
pub(super) fn remote(workers: usize) -> Vec<Route> {
    if workers == 1 {
        return local(1);
    }
    let others = |home| (1..workers).map(move |distance| (home, Some((home + distance) % workers)));
    let once = || (0..workers).flat_map(others);
    once().chain(once()).collect()
}

/// Finds the minimum of records, with a task for each `grain` of them, in lanes on these routes.
pub(super) fn aggregate(
    rt: &Runtime,
    routes: &[Route],
    records: Records,
    grain: usize,
) -> Result<u64, JoinError> {
    let (promise, all) = rt.promise();
    let completion = Arc::new(Completion::new(routes.len() as u64, promise));
    for (part, &(home, target)) in parts(records, grain, routes.len()).zip(routes) {
        let completion = completion.clone();
        let lane = Box::new(SpawnLane { tasks: part.chunks(grain), home, target, completion });
        rt.task(()).core(home as u16).spawn(move |(), cx| lane.spawn_batch(cx));
    }
    all.join()?;
    Ok(take_least())
}
