//! Workers as threads of the operating system, pinned where the system can do that.

use super::os::{self, OsPages};
use super::parking::{park_until, park_until_time};
use super::runtime_wait::registry::{WorkerId, wait_of};
use super::spare_threads::SparePool;
use super::{CpuTopology, Placement, Platform, PlatformError, RuntimeWait, WorkerThread, WouldBlock};
#[cfg(feature = "io")]
use crate::events::EventQueues;
use crate::memory::PageSource;
use crate::scheduler::Driver;
use crate::sync::{AtomicU64, Relaxed, SpinMutex, forks, global, probes};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::cell::Cell;
use core::task::Waker;
use std::io;
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

#[cfg(feature = "io")]
mod event_polls;
mod handed_out;
mod running;
mod start;
#[cfg(test)]
mod tests;

use handed_out::HandedOut;
pub(super) use handed_out::OneHandedOut;
use running::{Running, RunningWorkers};

std::thread_local! {
    /// The number of the platform whose worker this thread is, and the worker's index; 0 if none.
    static WORKER_OF: Cell<WorkerId> = const { Cell::new(NO_WORKER) };
}

const NO_WORKER: WorkerId = (0, 0);

/// The next platform's number; 0 means none.
static NEXT_NUMBER: global::AtomicU64 = global::AtomicU64::new(1);

/// A platform with one thread a worker.
pub struct Threads {
    number: u64,
    topology: CpuTopology,
    /// The number of workers that can run at once.
    suggested: usize,
    workers: usize,
    /// The thread of each worker that has been started.
    threads: Arc<[SpinMutex<Option<Thread>>]>,
    /// The spare threads of each worker. A new one inherits the worker's core.
    spares: SparePool,
    /// The workers that run now, and their watchers.
    running: Arc<RunningWorkers>,
    join_handles: SpinMutex<Vec<JoinHandle<()>>>,
    /// Starts the threads of workers, if the program does that.
    spawn_handler: Option<Box<SpawnHandler>>,
    /// The threads that `spawn_handler` was given.
    handed_out: Arc<HandedOut>,
    /// The queues of events, in which workers with sources sleep.
    #[cfg(feature = "io")]
    events: event_polls::EventPolls,
    pin: bool,
    stack_bytes: usize,
    began: Instant,
    /// The number of [`forks`] when the first worker was started; [`NOT_STARTED`] before.
    started_after: AtomicU64,
}

/// No worker was started.
const NOT_STARTED: u64 = u64::MAX;

type SpawnHandler = dyn Fn(WorkerThread) -> io::Result<()> + Send + Sync;

impl Threads {
    /// Creates a platform for up to `workers` workers; more than
    /// [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS) count as that. Each is pinned to a
    /// core of its own; if there are more workers than cores, none is pinned.
    pub fn new(workers: usize) -> Self {
        let workers = workers.min(crate::Builder::MAX_WORKERS);
        let topology = os::topology();
        os::watch_forks();
        let threads: Arc<[_]> = (0..workers).map(|_| SpinMutex::new(None)).collect();
        Self {
            number: NEXT_NUMBER.fetch_add(1, Relaxed),
            pin: os::CAN_PIN && workers <= topology.cores.len(),
            suggested: os::suggested_workers(),
            stack_bytes: DEFAULT_STACK_BYTES,
            workers,
            #[cfg(feature = "io")]
            events: event_polls::EventPolls::new(threads.clone()),
            threads,
            spares: SparePool::new(workers),
            running: Arc::default(),
            join_handles: SpinMutex::new(Vec::new()),
            spawn_handler: None,
            handed_out: Arc::default(),
            began: Instant::now(),
            started_after: AtomicU64::new(NOT_STARTED),
            topology,
        }
    }

    /// Leaves the placement of threads to the operating system, unless the runtime has an explicit
    /// [placement](crate::Builder::placement).
    #[must_use]
    pub fn unpinned(mut self) -> Self {
        self.pin = false;
        self
    }

    /// Sets the stack size of each worker in bytes: 8 MiB by default, of which only the touched
    /// part uses memory. It bounds the depth of recursion in tasks; a stack overflow ends the
    /// process. (A [join](crate::Fork::join) needs no more stack than two plain calls.)
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Lets the program start the thread of each worker: `handler` makes one, or takes one that it
    /// has, and calls [`WorkerThread::run`] there. It may do so after it has returned, unless the
    /// runtime has an explicit [placement](crate::Builder::placement): building it then waits until
    /// the worker has run. A worker that is dropped instead never runs. A handler that panics has
    /// failed to start the thread.
    ///
    /// ```
    /// use xtasking::{Runtime, platform::Threads};
    ///
    /// let threads = Threads::new(2).spawn_handler(|worker| {
    ///     let name = format!("db-{}", worker.worker());
    ///     std::thread::Builder::new().name(name).spawn(|| worker.run()).map(|_| ())
    /// });
    /// let rt = Runtime::builder().platform(threads).workers(2).build()?;
    /// let is_named = |name| std::thread::current().name() == Some(name);
    /// assert!(rt.task(()).core(1).submit(move |(), _| is_named("db-1")).join()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn spawn_handler(
        mut self,
        handler: impl Fn(WorkerThread) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.spawn_handler = Some(Box::new(handler));
        self
    }

    /// Returns the number of workers that can run at once: one for each core that this process may
    /// use, or fewer where a quota grants less.
    pub fn suggested_workers() -> usize {
        os::suggested_workers()
    }

    /// Suspends the calling worker until it is woken, at most for `limit`.
    fn sleep(&self, worker: usize, limit: Option<Duration>) {
        #[cfg(feature = "io")]
        if self.events.park(worker, limit) {
            return;
        }
        _ = worker;
        match limit {
            None => std::thread::park(),
            Some(limit) => std::thread::park_timeout(limit),
        }
    }

    /// Returns where workers are pinned by default, with the reason for their number and place.
    pub(super) fn default_placement(&self) -> Placement {
        let cpus = |count: usize| alloc::format!("{count} {}", if count == 1 { "CPU" } else { "CPUs" });
        let usable = self.topology.cores.len();
        let why = if self.workers != self.suggested {
            alloc::format!("asked for, of {} that this process may run on", cpus(usable))
        } else if self.suggested < usable {
            let worth = cpus(self.suggested);
            alloc::format!("a quota leaves {worth} of the {usable} that this process may run on")
        } else {
            alloc::format!("{} that this process may run on", cpus(usable))
        };
        Placement::new(self.topology.cores.iter().take(self.workers).map(|core| core.os_id as u32), why)
    }
}

/// The common stack size of a process's first thread, in bytes.
const DEFAULT_STACK_BYTES: usize = 8 << 20;

/// Probes of an idle worker's own sources before it searches elsewhere: some microseconds, in
/// which a task or an answer from another worker is likely to come.
const OWN_QUEUE_PROBES: u32 = probes(256) as u32;

impl Platform for Threads {
    fn topology(&self) -> CpuTopology {
        self.topology.clone()
    }

    fn node_of_number(&self, number: u32) -> Option<u16> {
        os::node_of_number(number)
    }

    fn placement(&self) -> Option<Placement> {
        self.pin.then(|| self.default_placement())
    }

    fn start(&self, driver: Driver) -> Result<(), PlatformError> {
        let worker = driver.worker();
        if worker >= self.workers {
            let (room, needed) = (self.workers, worker + 1);
            let what = alloc::format!(
                "the platform has room for {room} workers; pass {needed} or more to `Threads::new`"
            );
            return Err(what.into());
        }
        // Relaxed: it orders nothing. Only the first worker counts.
        _ = self.started_after.compare_exchange(NOT_STARTED, forks(), Relaxed, Relaxed);
        let number = self.number;
        let explicit_core = driver.core();
        let core = explicit_core
            .or_else(|| self.pin.then(|| self.topology.cores[worker % self.topology.cores.len()].os_id));
        // A worker with an explicit core reports whether it could be pinned there.
        let (pinning, reports) = (Arc::new(SpinMutex::new(None)), Arc::new(HandedOut::default()));
        let report = explicit_core.map(|_| (pinning.clone(), reports.hand_out()));
        let threads = self.threads.clone();
        let running = Running::new(&self.running);
        let body = move || {
            WORKER_OF.set((number, worker));
            *threads[worker].lock() = Some(std::thread::current());
            // Without an explicit core, a failure to pin is ignored: the system's scheduler places
            // the thread.
            let pinned = core.map_or(Ok(()), os::pin_current_thread);
            // The driver of a worker that could not be pinned is dropped before the failure is
            // reported.
            let driver = (pinned.is_ok() || explicit_core.is_none()).then_some(driver);
            if let Some((pinning, _end)) = report {
                *pinning.lock() = Some(pinned);
            }
            if let Some(driver) = driver {
                driver.run();
            }
            drop(running);
            // The thread may be the program's own.
            WORKER_OF.set(NO_WORKER);
        };
        self.spawn_worker(worker, body)?;
        let Some(core) = explicit_core else { return Ok(()) };
        reports.wait();
        let pinned = pinning.lock().take();
        pinned.unwrap_or_else(|| Err(io::Error::other("its thread has ended"))).map_err(|cause| {
            let what = alloc::format!(
                "cannot pin worker {worker} to CPU {core}; choose another CPU in `Builder::placement`"
            );
            PlatformError::with_cause(what, cause)
        })
    }

    fn stand_in(&self, worker: usize, body: Box<dyn FnOnce() + Send>) -> Result<(), PlatformError> {
        self.spares.run(worker, body, |body| self.spawn(alloc::format!("xtasking-{worker}-spare"), body))
    }

    fn suspend(&self) {
        WORKER_OF.set(NO_WORKER);
    }

    fn resume(&self, worker: usize, ready: &mut dyn FnMut(&Waker) -> bool) {
        park_until(ready);
        WORKER_OF.set((self.number, worker));
        *self.threads[worker].lock() = Some(std::thread::current());
    }

    fn park(&self, worker: usize) {
        self.sleep(worker, None);
    }

    fn park_until(&self, worker: usize, until: u64) {
        let left = until.saturating_sub(self.now());
        if left > 0 {
            self.sleep(worker, Some(Duration::from_nanos(left)));
        }
    }

    #[cfg(feature = "io")]
    fn events(&self) -> Option<&dyn EventQueues> {
        Some(&self.events)
    }

    fn wake(&self, worker: usize) {
        #[cfg(feature = "io")]
        if self.events.wake(worker) {
            return;
        }
        // A thread that has not started yet has not looked for tasks yet either; one that could not
        // be started never will.
        let thread = self.threads.get(worker).and_then(|thread| thread.lock().clone());
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    fn join(&self) {
        self.running.stop_watchers();
        self.spares.close();
        self.handed_out.wait();
        loop {
            let threads = core::mem::take(&mut *self.join_handles.lock());
            if threads.is_empty() {
                return;
            }
            for thread in threads {
                thread.thread().unpark();
                // A worker never unwinds, as the panic of each body is caught. The last handle of a
                // runtime may be dropped on one of its own threads, which cannot wait for itself.
                if thread.thread().id() != std::thread::current().id() {
                    let _ = thread.join();
                }
            }
            // A watcher may have started workers meanwhile. Once all watchers have returned, none
            // are started.
        }
    }

    fn leave(&self) {
        self.running.leave();
    }

    fn watch(&self, every: Duration, mut look: Box<dyn FnMut() -> bool + Send>) -> Result<(), PlatformError> {
        let running = self.running.clone();
        self.spawn("xtasking-watch".into(), move || {
            let mut slept_since = Instant::now();
            running.add_watcher(std::thread::current());
            while running.is_watched() {
                let left = every.saturating_sub(slept_since.elapsed());
                if !left.is_zero() {
                    // May return early.
                    std::thread::park_timeout(left);
                } else if look() {
                    slept_since = Instant::now();
                } else {
                    return;
                }
            }
        })
    }

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        self.block_while(ready, |ready| {
            park_until(ready);
            true
        })
        .map(drop)
    }

    fn block_until(&self, until: u64, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<bool, WouldBlock> {
        self.block_while(ready, |ready| park_until_time(until, || self.now(), ready))
    }

    fn runtime_wait(&self, worker: usize) -> Option<RuntimeWait> {
        wait_of((self.number, worker))
    }

    fn has_lost_workers(&self) -> bool {
        let started_after = self.started_after.load(Relaxed);
        started_after != forks() && started_after != NOT_STARTED
    }

    fn may_block(&self) -> bool {
        WORKER_OF.get().0 != self.number
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(OsPages)
    }

    fn memory(&self) -> Option<u64> {
        os::memory()
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn spin_limit(&self) -> u32 {
        if self.workers > self.topology.cores.len() { 0 } else { OWN_QUEUE_PROBES }
    }

    fn current_cpu(&self) -> Option<u32> {
        os::current_cpu()
    }

    fn barrier(&self) -> bool {
        os::barrier()
    }

    fn is_oversubscribed(&self) -> bool {
        self.running.count() > self.topology.cores.len()
    }
}
