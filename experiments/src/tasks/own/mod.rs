//! The cases on this runtime.

pub(super) mod objects;
pub(super) mod several;
pub(super) mod spawning;

use super::stage::Stage;
use super::tally;
use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use xtasking::{Context, Handle, JoinError, Promise, Runtime};

/// Tasks that a spawner puts into a pool before it lets them run: a queue that stays in the cache.
const CHUNK: u64 = 128;

/// Where everybody passes at the end; the last one tells when that was.
pub(super) struct Gate {
    origin: Instant,
    /// When the first spawner began, in nanoseconds after the origin.
    began: AtomicU64,
    missing: AtomicUsize,
    tally: AtomicU64,
    promise: Mutex<Option<Promise<u64>>>,
}

/// What came out of a run.
pub(super) struct Outcome {
    /// When the first spawner began.
    pub began: Instant,
    /// From then to the last one through the gate.
    pub time: Duration,
    /// What all tasks have added to the tally.
    pub tally: u64,
}

impl Gate {
    /// A gate for so many, and the handle that waits for the last.
    fn new(rt: &Runtime, passing: usize) -> (Arc<Self>, Handle<u64>) {
        let (promise, handle) = rt.promise();
        let gate = Self {
            origin: Instant::now(),
            began: AtomicU64::new(u64::MAX),
            missing: AtomicUsize::new(passing),
            tally: AtomicU64::new(0),
            promise: Mutex::new(Some(promise)),
        };
        (Arc::new(gate), handle)
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn begin(&self) {
        self.began.fetch_min(self.now(), Ordering::Relaxed);
    }

    /// Spawns a task on every worker that passes the gate behind all that this spawner has sent there before.
    fn close(self: &Arc<Self>, mut spawn: impl FnMut(u16, Arc<Self>), workers: usize) {
        (0..workers).for_each(|worker| spawn(worker as u16, self.clone()));
    }

    fn pass(&self, cx: &Context) {
        self.tally.fetch_add(tally::take(cx.worker()), Ordering::Relaxed);
        // AcqRel: the last one comes after what all the others have added.
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            let promise = self.promise.lock().unwrap_or_else(PoisonError::into_inner).take();
            promise.expect("one is the last").fulfil(self.now());
        }
    }

    fn wait(&self, handle: Handle<u64>) -> Result<Outcome, Wrong> {
        let ended = handle.join().map_err(failed)?;
        let began = self.began.load(Ordering::Relaxed);
        Ok(Outcome {
            began: self.origin + Duration::from_nanos(began),
            time: Duration::from_nanos(ended.saturating_sub(began)),
            tally: self.tally.load(Ordering::Relaxed),
        })
    }
}

fn failed(error: JoinError) -> Wrong {
    Wrong::new(error.to_string())
}

/// A task that spawns others, a chunk at a time, and itself again behind them.
struct Spawning<S> {
    gate: Arc<Gate>,
    spawn: S,
    next: u64,
    end: u64,
    chunk: u64,
}

impl<S: Fn(&mut Context, u64) + Send + 'static> Spawning<S> {
    fn go_on(mut self: Box<Self>, cx: &mut Context) {
        let until = self.end.min(self.next + self.chunk);
        for index in self.next..until {
            (self.spawn)(cx, index);
        }
        self.next = until;
        if until < self.end {
            return cx.task(()).spawn(move |(), cx| self.go_on(cx));
        }
        let workers = cx.workers();
        self.gate.close(|worker, gate| cx.task(()).core(worker).spawn(move |(), cx| gate.pass(cx)), workers);
    }
}

/// Has some workers spawn tasks, each its share of them, `chunk` at a time, and waits for all. Tasks go through pools in
/// order, so that all have run when everybody has passed the gate; those with several objects may be later.
pub(super) fn drive<S>(
    rt: &Runtime,
    spawners: usize,
    tasks: u64,
    chunk: u64,
    spawn: S,
) -> Result<Outcome, Wrong>
where
    S: Fn(&mut Context, u64) + Clone + Send + 'static,
{
    let (gate, handle) = Gate::new(rt, spawners * rt.workers());
    let border = |spawner: usize| tasks * spawner as u64 / spawners as u64;
    for spawner in 0..spawners {
        let (next, end) = (border(spawner), border(spawner + 1));
        let spawning = Box::new(Spawning { gate: gate.clone(), spawn: spawn.clone(), next, end, chunk });
        rt.task(()).core(spawner as u16).spawn(move |(), cx| {
            spawning.gate.begin();
            spawning.go_on(cx);
        });
    }
    gate.wait(handle)
}

/// Runs local tasks while counting, and says where their descriptors came from.
pub(super) fn descriptors(tasks: u64) -> Result<String, Wrong> {
    let rt = Runtime::builder().workers(1).counters(true).build();
    let rt = rt.map_err(|error| Wrong::new(error.to_string()))?;
    let mut lines = Vec::new();
    let mut before = xtasking::Allocation::default();
    for (name, chunk) in [("spawn-run local", CHUNK), ("spawn-run local deep", tasks)] {
        drive(&rt, 1, tasks, chunk, |cx, _| spawning::empty(cx))?;
        let after = rt.counters().expect("counting was asked for").allocations;
        lines.push(format!(
            "descriptors of {name}, {tasks} tasks: {} from the core's heap, which fetched {} batches from the node's; {} from \
             the node's directly; {} KiB of new pages",
            after.core - before.core,
            after.node_batches - before.node_batches,
            after.node_single - before.node_single,
            (after.page_bytes - before.page_bytes) >> 10
        ));
        before = after;
    }
    Ok(lines.join("\n"))
}
