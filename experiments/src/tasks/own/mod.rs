//! The cases on this runtime.
//!
//! | module | what it holds |
//! |---|---|
//! | `spawning` | tasks without objects |
//! | `objects` | tasks with one object, for every primitive |
//! | `several` | tasks with two objects |
//! | `lookups` | single lookups, which need no task |

pub(super) mod lookups;
pub(super) mod objects;
pub(super) mod several;
pub(super) mod spawning;

use super::stage::Stage;
use super::tally;
use crate::completion::Completion;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use xtasking::{Context, Handle, JoinError, Runtime};
use xtasking_harness::failure::Wrong;

/// Tasks that a spawner puts into a run queue before it lets them run: a queue that stays in the
/// cache.
const CHUNK: u64 = 128;

/// A barrier of tasks at the end of a run. The last task to pass records the time.
pub(super) struct Gate {
    origin: Instant,
    /// When the first spawner began, in nanoseconds after the origin.
    began: AtomicU64,
    tally: AtomicU64,
    completion: Completion<u64>,
}

/// The result of a run.
pub(super) struct GateResult {
    /// When the first spawner began.
    pub began: Instant,
    /// The time from then until the last task passed the gate.
    pub time: Duration,
    /// The sum of all that tasks added to the tally.
    pub tally: u64,
}

impl Gate {
    /// Creates a gate for a number of tasks, and the handle that waits for the last one.
    fn new(rt: &Runtime, tasks: usize) -> (Arc<Self>, Handle<u64>) {
        let (promise, handle) = rt.promise();
        let gate = Self {
            origin: Instant::now(),
            began: AtomicU64::new(u64::MAX),
            tally: AtomicU64::new(0),
            completion: Completion::new(tasks as u64, promise),
        };
        (Arc::new(gate), handle)
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn begin(&self) {
        self.began.fetch_min(self.now(), Ordering::Relaxed);
    }

    /// Spawns a task on every worker that passes the gate after all tasks that this spawner has
    /// sent there.
    fn close(self: &Arc<Self>, mut spawn: impl FnMut(u16, Arc<Self>), workers: usize) {
        (0..workers).for_each(|worker| spawn(worker as u16, self.clone()));
    }

    fn pass(&self, cx: &Context) {
        self.tally.fetch_add(tally::take(cx.worker()), Ordering::Relaxed);
        if let Some(promise) = self.completion.end_one() {
            promise.fulfil(self.now());
        }
    }

    fn wait(&self, handle: Handle<u64>) -> Result<GateResult, Wrong> {
        let ended = handle.join().map_err(failed)?;
        let began = self.began.load(Ordering::Relaxed);
        Ok(GateResult {
            began: self.origin + Duration::from_nanos(began),
            time: Duration::from_nanos(ended.saturating_sub(began)),
            tally: self.tally.load(Ordering::Relaxed),
        })
    }
}

fn failed(error: JoinError) -> Wrong {
    Wrong::new(error.to_string())
}

/// A task that spawns a chunk of tasks, and then itself after them.
struct Spawner<S> {
    gate: Arc<Gate>,
    spawn: S,
    next: u64,
    end: u64,
    chunk: u64,
}

impl<S: Fn(&mut Context, u64) + Send + 'static> Spawner<S> {
    fn spawn_chunk(mut self: Box<Self>, cx: &mut Context) {
        let until = self.end.min(self.next + self.chunk);
        for index in self.next..until {
            (self.spawn)(cx, index);
        }
        self.next = until;
        if until < self.end {
            return cx.task(()).spawn(move |(), cx| self.spawn_chunk(cx));
        }
        let workers = cx.workers();
        self.gate.close(|worker, gate| cx.task(()).core(worker).spawn(move |(), cx| gate.pass(cx)), workers);
    }
}

/// Spawns tasks on `spawners` workers, each its share, `chunk` at a time, and waits for all. Run
/// queues are FIFO, so all tasks have run when every gate task has passed. Only tasks with several
/// objects may run later.
pub(super) fn drive<S>(
    rt: &Runtime,
    spawners: usize,
    tasks: u64,
    chunk: u64,
    spawn: S,
) -> Result<GateResult, Wrong>
where
    S: Fn(&mut Context, u64) + Clone + Send + 'static,
{
    let (gate, handle) = Gate::new(rt, spawners * rt.workers());
    let border = |spawner: usize| tasks * spawner as u64 / spawners as u64;
    for spawner in 0..spawners {
        let (next, end) = (border(spawner), border(spawner + 1));
        let spawner_task = Box::new(Spawner { gate: gate.clone(), spawn: spawn.clone(), next, end, chunk });
        rt.task(()).core(spawner as u16).spawn(move |(), cx| {
            spawner_task.gate.begin();
            spawner_task.spawn_chunk(cx);
        });
    }
    gate.wait(handle)
}

/// Runs local tasks with counters, and describes where their descriptors were allocated.
pub(super) fn descriptors(tasks: u64) -> Result<String, Wrong> {
    let rt = Runtime::builder().workers(1).counters(true).build();
    let rt = rt.map_err(|error| Wrong::new(error.to_string()))?;
    let mut lines = Vec::new();
    let mut before = xtasking::metrics::Allocation::default();
    for (name, chunk) in [("spawn-run local", CHUNK), ("spawn-run local deep", tasks)] {
        drive(&rt, 1, tasks, chunk, |cx, _| spawning::empty(cx))?;
        let after = rt.counters().expect("the runtime was built with counters").allocations;
        lines.push(format!(
            "descriptors of {name}, {tasks} tasks: {} from the core's heap, which fetched {} batches from \
            the node's heap; {} from the node's heap directly; {} KiB of new pages",
            after.core - before.core,
            after.node_batches - before.node_batches,
            after.node_single - before.node_single,
            (after.page_bytes - before.page_bytes) >> 10
        ));
        before = after;
    }
    Ok(lines.join("\n"))
}
