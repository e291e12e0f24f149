//! Defines the operations of an index that takes part, and runs a plan on it with plain threads.

use crate::ycsb::contender::Contender;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_ycsb::plan::{Audit, Plan, Request, WriteOrder};

/// An ordered index from u64 to u64 that threads share.
pub trait ConcurrentMap: Sync {
    /// Returns the value of a key.
    fn get(&self, key: u64) -> Option<u64>;

    /// Adds a key. Returns false if it exists already.
    fn insert(&self, key: u64, value: u64) -> bool;

    /// Overwrites the value of a key. Returns false if the key is missing.
    fn update(&self, key: u64, value: u64) -> bool;

    /// Appends the first `limit` entries from `from` on, in ascending order.
    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>);

    /// Returns the number of keys. Called while no operation is in progress.
    fn count(&self) -> u64;
}

/// Runs a plan on a [`ConcurrentMap`], with one pinned thread for each worker.
pub struct OnThreads<M>(M);

impl<M: ConcurrentMap> OnThreads<M> {
    /// Wraps an empty map.
    pub fn new(map: M) -> Self {
        Self(map)
    }

    /// Returns the map.
    pub fn map(&self) -> &M {
        &self.0
    }

    /// Runs the trace of one worker.
    fn work(map: &M, plan: &Plan, worker: usize) -> Result<(), Wrong> {
        let mut entries = Vec::new();
        for index in 0..plan.length(worker) {
            let result = match plan.request(worker, index) {
                Request::Read { key } => plan.check_read(key, map.get(key)),
                Request::Update { key, value } => plan.check_update(key, map.update(key, value)),
                Request::Insert { key, value } => plan.check_insert(key, map.insert(key, value)),
                Request::Scan { from, length } => {
                    entries.clear();
                    map.scan(from, length, &mut entries);
                    plan.scan_check(worker, index).all(plan, &entries)
                }
                Request::ReadModifyWrite { key, value } => plan
                    .check_read(key, map.get(key))
                    .and_then(|()| plan.check_update(key, map.update(key, value))),
            };
            result.map_err(|wrong| wrong.at(worker, index))?;
        }
        Ok(())
    }
}

impl<M: ConcurrentMap> Contender for OnThreads<M> {
    fn run(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        run_on_threads(plan.workers(), |worker| Self::work(&self.0, plan, worker))
    }

    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong> {
        let map = &self.0;
        Audit::new(plan, WriteOrder::Trace)
            .walk(map.count(), |from, limit, entries| map.scan(from, limit, entries))
    }
}

/// Calls `work` for each worker on a plain thread of its own, on a core of its own if there are
/// enough. Returns the time from the first begin to the last end.
///
/// # Errors
///
/// The first failure of `work`, or that it panicked.
pub fn run_on_threads(
    workers: usize,
    work: impl Fn(usize) -> Result<(), Wrong> + Sync,
) -> Result<Duration, Wrong> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let begin = Barrier::new(workers);
    let spans = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                // The operating system schedules threads that share a core.
                let core = (workers <= cores.len()).then(|| cores[worker]);
                let (begin, work) = (&begin, &work);
                scope.spawn(move || {
                    if let Some(core) = core {
                        core_affinity::set_for_current(core);
                    }
                    begin.wait();
                    let start = Instant::now();
                    work(worker).map(|()| (start, Instant::now()))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(span) => span,
                Err(panic) => Err(Wrong::new(format!("a worker thread panicked: {}", message(&*panic)))),
            })
            .collect::<Result<Vec<_>, _>>()
    })?;
    let start = spans.iter().map(|(start, _)| *start).min();
    let end = spans.iter().map(|(_, end)| *end).max();
    Ok(start.zip(end).map_or(Duration::ZERO, |(start, end)| end - start))
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
