//! The jobs of a pool that no worker has begun.

use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};

/// A piece of work. It catches its own panics.
///
/// A job that borrows was made to look `'static`: see the places that make one.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The jobs that are bound to workers: a queue for each.
pub(crate) struct BoundJobs(Box<[Injector<Job>]>);

/// The jobs that any worker may run.
pub(crate) struct Queues {
    workers: Box<[WorkerQueue]>,
    /// Jobs from threads that are no workers of this pool.
    injected: Injector<Job>,
}

struct WorkerQueue {
    /// Used by the worker alone.
    deque: Deque<Job>,
    stealer: Stealer<Job>,
    /// The jobs of `spawn_fifo`, oldest first. For each there is a job in the deque that takes one
    /// from here.
    fifo: Injector<Job>,
}

// SAFETY: jobs are `Send`. The deque is used by its worker alone, as `push` and `pop` demand.
unsafe impl Sync for Queues {}

/// Takes the oldest job.
pub(crate) fn take(queue: &Injector<Job>) -> Option<Job> {
    if queue.is_empty() { None } else { repeat(|| queue.steal()) }
}

/// Tries until the queue is empty or a job is found.
fn repeat(mut steal: impl FnMut() -> Steal<Job>) -> Option<Job> {
    loop {
        match steal() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

impl BoundJobs {
    pub fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| Injector::new()).collect())
    }

    pub fn push(&self, worker: usize, job: Job) {
        self.0[worker].push(job);
    }

    pub fn has_some(&self, worker: usize) -> bool {
        !self.0[worker].is_empty()
    }

    pub fn take(&self, worker: usize) -> Option<Job> {
        take(&self.0[worker])
    }
}

impl Queues {
    /// Makes queues without jobs. A worker takes its own youngest job first, or its oldest.
    pub fn new(workers: usize, oldest_first: bool) -> Self {
        let queue = |_| {
            let deque = if oldest_first { Deque::new_fifo() } else { Deque::new_lifo() };
            WorkerQueue { stealer: deque.stealer(), deque, fifo: Injector::new() }
        };
        Self { workers: (0..workers).map(queue).collect(), injected: Injector::new() }
    }

    /// Adds a job of a worker.
    ///
    /// # Safety
    ///
    /// The calling thread drives that worker.
    pub unsafe fn push(&self, worker: usize, job: Job) {
        self.workers[worker].deque.push(job);
    }

    /// Adds a job from outside.
    pub fn inject(&self, job: Job) {
        self.injected.push(job);
    }

    /// Returns the queue for jobs of `spawn_fifo` on a worker.
    pub fn fifo(&self, worker: usize) -> &Injector<Job> {
        &self.workers[worker].fifo
    }

    /// Takes a job of this worker.
    ///
    /// # Safety
    ///
    /// The calling thread drives that worker.
    pub unsafe fn pop(&self, worker: usize) -> Option<Job> {
        self.workers[worker].deque.pop()
    }

    /// Takes a job of another worker, or one from outside.
    pub fn steal(&self, worker: usize) -> Option<Job> {
        let (before, from) = self.workers.split_at(worker);
        let mut others = from.iter().skip(1).chain(before);
        others.find_map(|other| repeat(|| other.stealer.steal())).or_else(|| take(&self.injected))
    }

    /// Returns true if a worker has jobs of its own.
    pub fn has_own(&self, worker: usize) -> bool {
        !self.workers[worker].stealer.is_empty()
    }

    /// Returns true if there is a job.
    pub fn has_some(&self) -> bool {
        !self.injected.is_empty() || self.workers.iter().any(|worker| !worker.stealer.is_empty())
    }
}
