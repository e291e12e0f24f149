//! How tasks are spawned on this runtime.
//!
//! A *lane* spawns a batch of tasks and then, behind them, itself: so it goes on when they have run, and no pool ever holds
//! many tasks. On its way to another worker it goes there behind its tasks and comes back. Two lanes take turns then, so that
//! a worker has the tasks of one while the other one is on its way.

use super::records::{Record, Records, least, parts};
use std::slice::Chunks;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::{Context, JoinError, Promise, Runtime, TaskBuilder};

/// Tasks that a lane spawns at a time: a queue that stays in the cache.
pub(super) const BATCH: usize = 128;

/// What a worker has found, on cache lines of its own.
#[repr(align(128))]
struct Found(AtomicU64);

/// One for each worker that there can be. A turn leaves no trace here.
static FOUND: [Found; 256] = [const { Found(AtomicU64::new(u64::MAX)) }; 256];

/// Notes a value that a worker has found, which alone does so.
#[inline(always)]
pub(super) fn note(worker: usize, value: u64) {
    let found = &FOUND[worker % FOUND.len()].0;
    if value < found.load(Ordering::Relaxed) {
        found.store(value, Ordering::Relaxed);
    }
}

/// The least value that any worker has noted; all of them are done.
pub(super) fn take_least() -> u64 {
    FOUND.iter().map(|found| found.0.swap(u64::MAX, Ordering::Relaxed)).min().unwrap_or(u64::MAX)
}

/// Lanes that are not at their end; the last one says so.
struct Open {
    lanes: AtomicUsize,
    promise: Mutex<Option<Promise<()>>>,
}

struct Lane {
    tasks: Chunks<'static, Record>,
    home: usize,
    /// Where its tasks run, unless that is at home.
    target: Option<usize>,
    open: Arc<Open>,
}

impl Lane {
    fn task(cx: &mut Context, target: Option<usize>) -> TaskBuilder<&mut Context, ()> {
        match target {
            None => cx.task(()),
            Some(core) => cx.task(()).core(core as u16),
        }
    }

    fn go_on(mut self: Box<Self>, cx: &mut Context) {
        let mut spawned = 0;
        for records in self.tasks.by_ref().take(BATCH) {
            Self::task(cx, self.target).spawn(move |(), cx| note(cx.worker(), least(records)));
            spawned += 1;
        }
        if spawned > 0 {
            Self::task(cx, self.target).spawn(move |(), cx| self.come_back(cx));
        // AcqRel: the last one comes after what all the others have found.
        } else if self.open.lanes.fetch_sub(1, Ordering::AcqRel) == 1 {
            let promise = self.open.promise.lock().unwrap_or_else(PoisonError::into_inner).take();
            promise.expect("one is the last").fulfil(());
        }
    }

    /// Behind its tasks.
    fn come_back(self: Box<Self>, cx: &mut Context) {
        match self.target {
            None => self.go_on(cx),
            Some(_) => cx.task(()).core(self.home as u16).spawn(move |(), cx| self.go_on(cx)),
        }
    }
}

/// The worker that a lane begins at, and the one that its tasks go to, if that is another one.
pub(super) type Way = (usize, Option<usize>);

/// Every worker spawns its own tasks.
pub(super) fn local(workers: usize) -> Vec<Way> {
    (0..workers).map(|worker| (worker, None)).collect()
}

/// Every worker spawns tasks for all others; a single one has nobody else.
pub(super) fn remote(workers: usize) -> Vec<Way> {
    if workers == 1 {
        return local(1);
    }
    let others = |home| (1..workers).map(move |distance| (home, Some((home + distance) % workers)));
    let once = || (0..workers).flat_map(others);
    once().chain(once()).collect()
}

/// Aggregates records, a task for each `grain` of them, in lanes that go these ways.
pub(super) fn aggregate(
    rt: &Runtime,
    ways: &[Way],
    records: Records,
    grain: usize,
) -> Result<u64, JoinError> {
    let (promise, all) = rt.promise();
    let open = Arc::new(Open { lanes: AtomicUsize::new(ways.len()), promise: Mutex::new(Some(promise)) });
    for (part, &(home, target)) in parts(records, grain, ways.len()).zip(ways) {
        let lane = Box::new(Lane { tasks: part.chunks(grain), home, target, open: open.clone() });
        rt.task(()).core(home as u16).spawn(move |(), cx| lane.go_on(cx));
    }
    all.join()?;
    Ok(take_least())
}
