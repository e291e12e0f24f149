//! A pool as its workers see it: its runtime, its jobs, and the tasks that run them.

use crate::latch::Latch;
use crate::panics::{PanicHandler, Payload, catch};
use crate::queues::{BoundJobs, Job, Queues, take};
use crate::runner::Runners;
use crate::sleepers::Sleepers;
use crate::worker::Worker;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};
use xtasking::Runtime;

pub(crate) struct Registry {
    runtime: ManuallyDrop<Runtime>,
    pub queues: Queues,
    /// Shared with the function that the runtime calls in a waiting join.
    pub bound: Arc<BoundJobs>,
    pub runners: Runners,
    sleepers: Sleepers,
    pub panic_handler: Option<Arc<PanicHandler>>,
}

impl Registry {
    pub fn new(
        runtime: Runtime,
        queues: Queues,
        bound: Arc<BoundJobs>,
        panic_handler: Option<Arc<PanicHandler>>,
    ) -> Self {
        let (runners, sleepers) = (Runners::new(runtime.workers()), Sleepers::default());
        Self { runtime: ManuallyDrop::new(runtime), queues, bound, runners, sleepers, panic_handler }
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub fn num_threads(&self) -> usize {
        self.runtime.workers()
    }

    /// Adds a job: to the queue of the calling worker, if it is one of this pool.
    pub fn push(self: &Arc<Self>, job: Job) {
        Worker::with_current(|worker| match worker.filter(|worker| Arc::ptr_eq(worker.registry(), self)) {
            Some(worker) => worker.push(job),
            None => {
                self.queues.inject(job);
                self.announce();
            }
        });
    }

    /// Adds a job as [`push`](Self::push) does. Of jobs that the same worker adds so, the oldest
    /// runs first.
    pub fn push_fifo(self: &Arc<Self>, job: Job) {
        let Some(index) = self.current_index() else { return self.push(job) };
        self.queues.fifo(index).push(job);
        // Weak: a queued job must not keep its own pool alive. The runner that runs it does.
        let registry = Arc::downgrade(self);
        self.push(Box::new(move || {
            if let Some(job) = registry.upgrade().and_then(|registry| take(registry.queues.fifo(index))) {
                job();
            }
        }));
    }

    /// Returns the index of the calling thread, if it is a worker of this pool.
    pub fn current_index(self: &Arc<Self>) -> Option<usize> {
        Worker::with_current(|worker| {
            worker.filter(|worker| Arc::ptr_eq(worker.registry(), self)).map(Worker::index)
        })
    }

    /// Checks that the calling thread may wait for this pool.
    ///
    /// # Panics
    ///
    /// Panics if it is in a task of the pool's runtime, and not
    /// [`within`](crate::ThreadPool::within) its fork.
    pub fn check_wait(&self) {
        assert!(
            Worker::with_current(|worker| worker.is_some()) || self.runtime.may_block(),
            "a task called rayon, and would wait for its own worker; use `ThreadPool::within`"
        );
    }

    /// Adds a job for each worker.
    pub fn push_bound(self: &Arc<Self>, job: impl Fn() -> Job) {
        for worker in 0..self.num_threads() {
            self.bound.push(worker, job());
            self.start_bound(worker);
        }
        // Pairs with the fence of a worker that is about to sleep.
        fence(SeqCst);
        self.sleepers.wake_all();
        self.runtime.interrupt_waits();
    }

    /// Makes sure that a worker runs a job that was just pushed.
    #[inline]
    pub fn announce(self: &Arc<Self>) {
        // Pairs with the fences of a runner that ends and of a worker that is about to sleep:
        // either they see the job, or this thread sees them.
        fence(SeqCst);
        if !self.start_runner() {
            self.sleepers.wake_one();
        }
    }

    /// Lets the calling worker, which waits, sleep for a while.
    pub fn sleep(&self, worker: usize) {
        self.sleepers.sleep(|| self.bound.has_some(worker) || self.queues.has_some());
    }

    /// Calls a function on a worker of this pool. The function learns whether it was sent to
    /// another thread.
    ///
    /// # Panics
    ///
    /// Panics if the function does, or if the calling thread is in a task of the pool's runtime and
    /// not [`within`](crate::ThreadPool::within) its fork.
    pub fn in_worker<R: Send>(self: &Arc<Self>, body: impl FnOnce(&Worker<'_>, bool) -> R + Send) -> R {
        Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), self) => body(worker, false),
            other => self.send(other, body),
        })
    }

    /// Sends a function to a worker of this pool, and waits for its result. `waiter` is the calling
    /// thread, if it is a worker of another pool.
    #[cold]
    fn send<R: Send>(
        self: &Arc<Self>,
        waiter: Option<&Worker<'_>>,
        body: impl FnOnce(&Worker<'_>, bool) -> R + Send,
    ) -> R {
        self.check_wait();
        let (latch, mut result) = (Latch::new(), None);
        let sets = SetLatch(&latch);
        let place = &mut result;
        let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
            let _sets = sets;
            *place = Some(catch(|| {
                Worker::with_current(|worker| match worker {
                    Some(worker) => body(worker, true),
                    None => unreachable!("jobs run on workers"),
                })
            }));
        });
        // SAFETY: this thread waits until the latch is set. The job sets it last, whether it runs
        // or not.
        self.queues.inject(unsafe { erase(job) });
        self.announce();
        match waiter {
            Some(worker) => worker.wait_until(&latch),
            None => latch.wait(),
        }
        unwrap_or_resume(result.unwrap_or_else(|| Err(Box::new("the pool has ended"))))
    }
}

/// Makes a job that borrows into one that can be queued.
///
/// # Safety
///
/// The caller waits, before what the job borrows ends, until the job has run or was dropped.
pub(crate) unsafe fn erase<'a>(job: Box<dyn FnOnce() + Send + 'a>) -> Job {
    // SAFETY: only the lifetime changes, and the job is gone before it ends.
    unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'a>, Job>(job) }
}

/// Returns a result, or continues the panic that took its place.
fn unwrap_or_resume<R>(result: Result<R, Payload>) -> R {
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

/// Sets a latch when it is dropped: its job has run, or never will.
struct SetLatch<'a>(&'a Latch);

impl Drop for SetLatch<'_> {
    fn drop(&mut self) {
        // SAFETY: the waiter keeps the latch until it is set, which happens here only.
        unsafe { Latch::set(self.0) };
    }
}

impl Drop for Registry {
    /// Ends the runtime without waiting for it, as other threads may have to go on first.
    fn drop(&mut self) {
        // SAFETY: the runtime is not used afterwards.
        let runtime = unsafe { ManuallyDrop::take(&mut self.runtime) };
        if runtime.may_block() {
            let reaper = std::thread::Builder::new().name("rayon-reaper".into());
            // Without a thread the runtime ends here, with the function that is not called.
            _ = reaper.spawn(move || drop(runtime));
        }
    }
}
