//! The tasks of the runtime that run jobs.
//!
//! There is at most one runner for each worker. A thread that pushes a job starts another one if
//! there are fewer. A runner that finds no job ends. This schedule must not happen:
//!
//! ```text
//! runner: sees no job
//! pusher: pushes a job, sees that all runners are at work
//! runner: ends                                      -> the job waits for the next push
//! ```
//!
//! So a runner that ends counts itself out, passes a fence, and looks once more; a pusher pushes,
//! passes a fence, and reads the count. At least one of the two sees what the other wrote.

use crate::registry::Registry;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
    fence,
};
use xtasking::{Context, Fork};

/// Jobs that a runner runs before other tasks of its worker have a turn.
const MOST_IN_TURN: usize = 64;
/// Probes of a runner that finds nothing, before it ends: the next job often comes soon, and a new
/// runner costs more.
const PROBES: usize = 64;

/// Counts the runners of a pool.
pub(crate) struct Runners {
    running: AtomicUsize,
    most: usize,
}

impl Runners {
    pub fn new(most: usize) -> Self {
        Self { running: AtomicUsize::new(0), most }
    }

    /// Counts one more. Returns false if there are enough.
    #[inline]
    fn claim(&self) -> bool {
        let more = |running| (running < self.most).then_some(running + 1);
        // Relaxed: the fences of the callers order this with the jobs.
        self.running.load(Relaxed) < self.most && self.running.try_update(Relaxed, Relaxed, more).is_ok()
    }
}

/// A runner's part in the count. It is dropped if its task does not run.
struct Claimed(Arc<Registry>);

impl Drop for Claimed {
    fn drop(&mut self) {
        self.0.runners.running.fetch_sub(1, Relaxed);
    }
}

impl Registry {
    /// Starts a runner. Returns false if all are at work.
    #[inline]
    pub fn start_runner(self: &Arc<Self>) -> bool {
        let is_new = self.runners.claim();
        if is_new {
            self.spawn_runner();
        }
        is_new
    }

    #[cold]
    fn spawn_runner(self: &Arc<Self>) {
        let claimed = Claimed(self.clone());
        self.runtime().task(()).spawn(move |(), cx| claimed.run(cx));
    }

    /// Starts a task that runs the jobs that are bound to a worker.
    pub fn start_bound(self: &Arc<Self>, worker: usize) {
        let registry = self.clone();
        self.runtime().task(()).core(worker as u16).spawn(move |(), cx| registry.run_bound(cx.fork()));
    }

    /// Runs the jobs that are bound to a worker.
    pub fn run_bound(self: &Arc<Self>, fork: Fork<'_>) {
        Worker::enter(self, fork, |worker| {
            while let Some(job) = self.bound.take(worker.index()) {
                job();
            }
        });
    }
}

impl Claimed {
    /// Runs jobs, and goes on in a new task if there are more.
    fn run(self, cx: &mut Context) {
        if Worker::enter(&self.0, cx.fork(), run_jobs) {
            return cx.task(()).spawn(move |(), cx| self.run(cx));
        }
        let registry = self.0.clone();
        drop(self);
        // Pairs with the fence of `Registry::announce`.
        fence(SeqCst);
        if registry.queues.has_some() {
            registry.start_runner();
        }
    }
}

/// Runs jobs until there are none, or until the turn ends. Returns true if there are more.
fn run_jobs(worker: &Worker<'_>) -> bool {
    let mut probes = 0;
    for _ in 0..MOST_IN_TURN {
        while !worker.run_one() {
            probes += 1;
            if probes > PROBES {
                return false;
            }
            std::hint::spin_loop();
        }
        probes = 0;
    }
    true
}
