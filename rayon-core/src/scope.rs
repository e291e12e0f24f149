//! Jobs that end before their scope does.

use crate::broadcast::BroadcastContext;
use crate::global::with_current_pool;
use crate::latch::Latch;
use crate::panics::{Payload, catch, discard};
use crate::queues::{Job, take};
use crate::registry::{Registry, erase};
use crate::worker::Worker;
use crossbeam_deque::Injector;
use std::fmt;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};
use std::sync::{Arc, Mutex, PoisonError};

/// What any scope consists of: its jobs, counted, and the first panic.
pub(crate) struct ScopeState {
    registry: Arc<Registry>,
    /// Jobs that are not over, and the scope's own function.
    pending: AtomicUsize,
    /// Set when nothing is pending.
    ended: Latch,
    panic: Mutex<Option<Payload>>,
}

/// Something that is pending, until it is dropped.
struct Pending<'a>(&'a ScopeState);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let ended = &raw const self.0.ended;
        // AcqRel: the last one to end sees what the others have done, and passes it to the waiter.
        if self.0.pending.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: the scope waits for the latch, which only the last one sets.
            unsafe { Latch::set(ended) };
        }
    }
}

impl ScopeState {
    /// Begins a scope that the calling thread will wait for.
    ///
    /// # Panics
    ///
    /// Panics if it must not wait.
    pub fn new(registry: &Arc<Registry>) -> Self {
        registry.check_wait();
        Self {
            registry: registry.clone(),
            pending: AtomicUsize::new(1),
            ended: Latch::new(),
            panic: Mutex::new(None),
        }
    }

    fn panic(&self) -> std::sync::MutexGuard<'_, Option<Payload>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function, and keeps the payload of the scope's first panic.
    fn call<R>(&self, body: impl FnOnce() -> R) -> Option<R> {
        catch(body).map_err(|payload| self.keep(payload)).ok()
    }

    fn keep(&self, payload: Payload) {
        let mut first = self.panic();
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first);
            discard(payload);
        }
    }

    /// Makes a job of this scope.
    ///
    /// # Safety
    ///
    /// The scope is [completed](Self::complete) before what the job borrows ends.
    pub unsafe fn job<'a>(&'a self, body: impl FnOnce() + Send + 'a) -> Job {
        // Relaxed: something is pending, so that the latch is not set meanwhile.
        self.pending.fetch_add(1, Relaxed);
        let pending = Pending(self);
        let job = Box::new(move || {
            let pending = pending;
            pending.0.call(body);
        });
        // SAFETY: `complete` waits until the job has dropped `pending`, which it does last, whether
        // it runs or not.
        unsafe { erase(job) }
    }

    /// Calls the scope's own function, and waits for its jobs.
    pub fn complete<R>(&self, body: impl FnOnce() -> R) -> R {
        let own = Pending(self);
        let result = self.call(body);
        drop(own);
        Worker::with_current(|worker| match worker {
            Some(worker) => worker.wait_until(&self.ended),
            None => self.ended.wait(),
        });
        let panic = self.panic().take();
        match (result, panic) {
            (Some(result), None) => result,
            (_, Some(payload)) => resume_unwind(payload),
            (None, None) => unreachable!("without a result there is a panic"),
        }
    }

    fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }
}

/// Spawns jobs that may borrow from outside the scope: see [`scope()`].
pub struct Scope<'scope> {
    state: ScopeState,
    marker: Invariant<'scope>,
}

/// Spawns jobs that may borrow from outside the scope: see [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    state: ScopeState,
    /// The jobs of each worker. For each there is another one in the worker's queue, which takes
    /// one from here.
    fifos: Box<[Injector<Job>]>,
    marker: Invariant<'scope>,
}

/// Jobs may borrow for this long, and neither longer nor shorter.
type Invariant<'scope> = PhantomData<fn(&'scope ()) -> &'scope ()>;

impl<'scope> Scope<'scope> {
    fn new(registry: &Arc<Registry>) -> Self {
        Self { state: ScopeState::new(registry), marker: PhantomData }
    }

    /// Spawns a job. It may spawn further ones into this scope.
    ///
    /// Of the jobs that a worker spawns, it runs the youngest first.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        // SAFETY: the function that has made the scope completes it. The body borrows for `'scope`,
        // which is longer.
        let job = unsafe { self.state.job(move || body(self)) };
        self.state.registry().push(job);
    }

    /// Spawns a job on every worker of the scope's pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let body = Arc::new(body);
        self.state.registry().push_bound(|| {
            let body = body.clone();
            // SAFETY: as for `spawn`.
            unsafe { self.state.job(move || BroadcastContext::with(|cx| body(self, cx))) }
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn new(registry: &Arc<Registry>) -> Self {
        let fifos = (0..registry.num_threads()).map(|_| Injector::new()).collect();
        Self { state: ScopeState::new(registry), fifos, marker: PhantomData }
    }

    /// Spawns a job. It may spawn further ones into this scope.
    ///
    /// Of the jobs that a worker spawns, the oldest runs first.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        // SAFETY: the function that has made the scope completes it. The body borrows for `'scope`,
        // which is longer.
        let job = unsafe { self.state.job(move || body(self)) };
        let registry = self.state.registry();
        let Some(index) = registry.current_index() else { return registry.push(job) };
        let fifo = &self.fifos[index];
        fifo.push(job);
        let run_oldest = move || {
            if let Some(job) = take(fifo) {
                job();
            }
        };
        // SAFETY: the function that has made the scope, and with it the queue, completes it.
        registry.push(unsafe { self.state.job(run_oldest) });
    }

    /// Spawns a job on every worker of the scope's pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let body = Arc::new(body);
        self.state.registry().push_bound(|| {
            let body = body.clone();
            // SAFETY: as for `spawn_fifo`.
            unsafe { self.state.job(move || BroadcastContext::with(|cx| body(self, cx))) }
        });
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.debug(f, "Scope")
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.debug(f, "ScopeFifo")
    }
}

impl ScopeState {
    fn debug(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name).field("pending", &self.pending.load(Relaxed)).finish_non_exhaustive()
    }
}

/// Calls a function that spawns jobs, on a worker of the calling thread's pool, or else of the
/// global one. Returns when all jobs are over.
///
/// ```
/// let (mut small, mut large) = (vec![3, 1, 2], (0..1000).rev().collect::<Vec<_>>());
/// rayon_core::scope(|scope| {
///     scope.spawn(|_| small.sort());
///     scope.spawn(|_| large.sort());
/// });
/// assert!(small.is_sorted() && large.is_sorted());
/// ```
///
/// What a job borrows must outlive the scope:
///
/// ```compile_fail,E0373
/// rayon_core::scope(|scope| {
///     let local = 1;
///     scope.spawn(|_| _ = local + 1);
/// });
/// ```
///
/// # Panics
///
/// Panics with the first payload if the function or a job does, after all jobs are over.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    with_current_pool(|pool| scope_in(pool, op))
}

/// Calls a function as [`scope()`] does. Of the jobs that a worker spawns, the oldest runs first.
///
/// # Panics
///
/// Panics as [`scope()`] does.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    with_current_pool(|pool| scope_fifo_in(pool, op))
}

/// Calls a function as [`scope()`] does, but on the calling thread, which then waits for the jobs.
///
/// # Panics
///
/// Panics as [`scope()`] does.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current_pool(|pool| in_place_scope_in(pool, op))
}

/// Calls a function as [`scope_fifo`] does, but on the calling thread, which then waits for the
/// jobs.
///
/// # Panics
///
/// Panics as [`scope()`] does.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current_pool(|pool| in_place_scope_fifo_in(pool, op))
}

/// [`scope()`] in a pool.
pub(crate) fn scope_in<'scope, OP, R>(pool: &Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    pool.in_worker(|worker, _| in_place_scope_in(worker.registry(), op))
}

/// [`scope_fifo`] in a pool.
pub(crate) fn scope_fifo_in<'scope, OP, R>(pool: &Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    pool.in_worker(|worker, _| in_place_scope_fifo_in(worker.registry(), op))
}

/// [`in_place_scope`] in a pool.
pub(crate) fn in_place_scope_in<'scope, OP, R>(pool: &Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    let scope = Scope::new(pool);
    scope.state.complete(|| op(&scope))
}

/// [`in_place_scope_fifo`] in a pool.
pub(crate) fn in_place_scope_fifo_in<'scope, OP, R>(pool: &Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let scope = ScopeFifo::new(pool);
    scope.state.complete(|| op(&scope))
}
