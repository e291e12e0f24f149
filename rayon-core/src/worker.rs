//! The calling thread as a worker of a pool.

use crate::latch::Latch;
use crate::panics::{AbortIfPanic, Payload, catch};
use crate::queues::Job;
use crate::registry::Registry;
use std::cell::{Cell, UnsafeCell};
use std::mem::forget;
use std::ptr::null;
use std::sync::Arc;
use std::{hint, thread};
use xtasking::Fork;

/// The calling thread in a job or a half of a join. It is in a frame of [`Worker::enter`].
pub(crate) struct Worker<'a> {
    registry: &'a Arc<Registry>,
    index: usize,
    /// Borrowed only while the thread's `CURRENT` is null.
    fork: UnsafeCell<Fork<'a>>,
}

thread_local! {
    static CURRENT: Cell<*const Worker<'static>> = const { Cell::new(null()) };
}

/// Sets the current worker until it is dropped.
struct Entered(*const Worker<'static>);

impl Entered {
    #[inline(always)]
    fn new(worker: *const Worker<'_>) -> Self {
        Self(CURRENT.replace(worker.cast()))
    }
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Probes that find nothing before a waiting worker sleeps: more than it takes until halves of
/// joins are stolen from a worker that runs a long piece.
const SPINS: u32 = 400;
/// Probes between two moments at which another thread may have the core.
const YIELD_INTERVAL: u32 = 32;

impl<'a> Worker<'a> {
    #[inline(always)]
    fn new(registry: &'a Arc<Registry>, fork: Fork<'a>) -> Self {
        Self { registry, index: fork.worker(), fork: UnsafeCell::new(fork) }
    }

    /// Calls a function as a worker of the pool, whose runtime runs the task of the fork.
    #[inline(always)]
    pub fn enter<R>(registry: &'a Arc<Registry>, fork: Fork<'a>, body: impl FnOnce(&Worker<'_>) -> R) -> R {
        let worker = Self::new(registry, fork);
        let _entered = Entered::new(&worker);
        body(&worker)
    }

    /// Enters as [`enter`](Self::enter) does, and returns the payload of a panic.
    #[inline(always)]
    pub fn enter_and_catch<R>(
        registry: &'a Arc<Registry>,
        fork: Fork<'a>,
        body: impl FnOnce(&Worker<'_>) -> R,
    ) -> Result<R, Payload> {
        let worker = Self::new(registry, fork);
        // No guard: `catch` does not unwind, and joins are short.
        let outer = CURRENT.replace((&raw const worker).cast());
        let result = catch(|| body(&worker));
        CURRENT.set(outer);
        result
    }

    /// Calls a function with the current worker, if the thread is one.
    #[inline(always)]
    pub fn with_current<R>(body: impl FnOnce(Option<&Worker<'_>>) -> R) -> R {
        // SAFETY: a worker that is current is in a frame further down on this stack, from which
        // `Entered` removes it. Its lifetime is not known to `body`.
        body(unsafe { CURRENT.get().as_ref() })
    }

    #[inline(always)]
    pub fn registry(&self) -> &'a Arc<Registry> {
        self.registry
    }

    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Lends the fork. Meanwhile the thread has no current worker: halves that the fork runs enter
    /// one of their own.
    #[inline(always)]
    pub fn with_fork<R>(&self, body: impl FnOnce(&mut Fork<'a>) -> R) -> R {
        debug_assert!(CURRENT.get() == std::ptr::from_ref(self).cast(), "the fork is lent");
        let _lent = Entered::new(null());
        // SAFETY: the fork is borrowed nowhere else: `self` was current, and is not now, so that no
        // code on this thread reaches it before `body` returns. Workers are not shared with other
        // threads.
        body(unsafe { &mut *self.fork.get() })
    }

    /// Adds a job to this worker's queue.
    pub fn push(&self, job: Job) {
        // SAFETY: this thread drives the worker.
        unsafe { self.registry.queues.push(self.index, job) };
        self.registry.announce();
    }

    /// Takes a job of this worker.
    pub fn pop(&self) -> Option<Job> {
        // SAFETY: this thread drives the worker.
        unsafe { self.registry.queues.pop(self.index) }
    }

    /// Takes any job that this worker may run.
    fn find(&self) -> Option<Job> {
        let registry = self.registry;
        registry.bound.take(self.index).or_else(|| self.pop()).or_else(|| registry.queues.steal(self.index))
    }

    /// Runs a job, or a half of a join that another worker has not begun. Returns true if there was
    /// one.
    pub fn run_one(&self) -> bool {
        match self.find() {
            Some(job) => job(),
            None => return self.with_fork(Fork::help),
        }
        true
    }

    /// Waits for an event, and runs what it finds meanwhile.
    pub fn wait_until(&self, latch: &Latch) {
        // A job that unwound here would leave its scope while others run.
        let abort = AbortIfPanic;
        let mut spins = 0;
        while !latch.is_set() {
            if self.run_one() {
                spins = 0;
            } else if spins < SPINS {
                spins += 1;
                hint::spin_loop();
                if spins.is_multiple_of(YIELD_INTERVAL) {
                    thread::yield_now();
                }
            } else if latch.fall_asleep() {
                self.registry.sleep(self.index);
            }
        }
        forget(abort);
    }
}
