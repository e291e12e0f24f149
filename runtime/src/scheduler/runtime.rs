//! The runtime, as programs hold it.

#[cfg(feature = "std")]
use super::worker_thread;
use super::{BuildError, Builder, RuntimeState};
use crate::limit::Limit;
use crate::monitor::{Allocation, Counters, Statistics, Timeline};
use crate::object::{ObjectBuilder, Plain, Shared, Snapshot, SnapshotData, Version, Versioned};
use crate::platform::{CpuTopology, Placement};
use crate::pool::QueuePolicy;
use crate::task::{Handle, Promise, TaskBuilder, pair};
use alloc::sync::Arc;
use core::fmt;

/// A runtime: its workers with their run queues, and what they share.
///
/// ```
/// use xtasking::Runtime;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let counter = rt.plain(0u64).build();
/// for _ in 0..1000 {
///     rt.task(counter.write()).spawn(|count, _| *count += 1);
/// }
/// let total = rt.task(counter.read()).submit(|count, _| *count).join()?;
/// assert_eq!(total, 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Dropping the runtime waits until all tasks have run, as [`shutdown`](Self::shutdown) with
/// [`Shutdown::Drain`](super::Shutdown::Drain) does.
pub struct Runtime {
    pub(super) shared: Arc<RuntimeState>,
    /// Ends the runtime when it is dropped. False inside a [handle](super::RuntimeHandle), and once
    /// the shutdown has begun.
    pub(super) is_owner: bool,
}

impl Runtime {
    /// Starts a runtime with one worker for each core that this process may use, or that the
    /// [default platform](crate::platform::set_default) has.
    ///
    /// # Errors
    ///
    /// As for [`Builder::build`].
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// Begins the options of a runtime.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Begins a task, with the objects that it accesses: `()`, one access, a tuple or a list
    /// of them.
    pub fn task<A>(&self, access: A) -> TaskBuilder<&Self, A> {
        TaskBuilder::new(self, access)
    }

    /// Begins an object of data that one task at a time accesses.
    pub fn plain<T: Send + 'static>(&self, value: T) -> ObjectBuilder<Plain<T>> {
        ObjectBuilder::new(self, value)
    }

    /// Begins an object of data that several tasks may read at once.
    pub fn shared_reads<T: Send + Sync + 'static>(&self, value: T) -> ObjectBuilder<Shared<T>> {
        ObjectBuilder::new(self, value)
    }

    /// Begins an object of small plain-old data that is read and written as a whole.
    pub fn snapshot<T: SnapshotData>(&self, value: T) -> ObjectBuilder<Snapshot<T>> {
        ObjectBuilder::new(self, value)
    }

    /// Begins an object that is read in place while it may be written.
    pub fn versioned<T: Version>(&self, value: T) -> ObjectBuilder<Versioned<T>> {
        ObjectBuilder::new(self, value)
    }

    /// Returns a promise, and a handle whose result the promise delivers.
    pub fn promise<R: Send>(&self) -> (Promise<R>, Handle<R>) {
        let (handle, promise) = pair(self.shared.clone());
        (promise, handle)
    }

    /// Returns true if the calling thread may wait for tasks: it is no worker of this runtime.
    ///
    /// A worker of another runtime may wait, too, which can [deadlock](crate::Handle::join).
    // Not inlined: in another crate, each access to a thread-local is a call.
    #[inline(never)]
    pub fn may_block(&self) -> bool {
        #[cfg(feature = "std")]
        if !worker_thread::has_driven() {
            return true;
        }
        self.shared.platform.may_block()
    }

    /// Makes all workers that wait in a join call the function of
    /// [`Builder::while_waiting`](crate::Builder::while_waiting), now or before they next sleep.
    pub fn interrupt_waits(&self) {
        (0..self.workers()).for_each(|worker| self.shared.platform.wake(worker));
    }

    /// Returns true if the workers run only while a thread waits for a task, and on that thread, as
    /// in a [`Simulation`](crate::platform::Simulation).
    pub fn is_simulated(&self) -> bool {
        self.shared.is_simulated
    }

    /// Returns the number of run queues, which is the largest possible number of workers
    /// ([`Builder::most_workers`]).
    pub fn workers(&self) -> usize {
        self.shared.slots.len()
    }

    /// Returns a limit of its own, for what a program counts itself: requests of several tasks, for
    /// example. See [`limit`](crate::limit).
    pub fn limit(&self, permits: usize) -> Limit {
        self.shared.open_limit(permits)
    }

    /// Returns the limit of [`Builder::most_tasks`]. It says how many tasks with room are not
    /// finished.
    pub fn task_limit(&self) -> Option<&Limit> {
        self.shared.limits.tasks()
    }

    /// Returns the number of all tasks that are spawned and not finished, with room or without, as
    /// far as this thread sees: tasks may start and end meanwhile.
    pub fn unfinished_tasks(&self) -> u64 {
        self.shared.epochs.unfinished(self.shared.ledgers())
    }

    /// Returns the queue policy.
    pub fn pool(&self) -> QueuePolicy {
        self.shared.policy
    }

    /// Returns the cores that the runtime uses: those of the [placement](Builder::placement), else
    /// those of the platform.
    pub fn topology(&self) -> CpuTopology {
        self.shared.topology.clone()
    }

    /// Returns where the workers run, and why: one place for each possible worker
    /// ([`Builder::most_workers`]), of which the running workers take the first. `None` if the
    /// workers are not bound to cores.
    ///
    /// A placement that the [`Builder`] does not say, but the platform, is a wish: if the system
    /// refuses to bind a thread, the thread runs unbound.
    pub fn placement(&self) -> Option<Placement> {
        let placement = self.shared.placement.clone().or_else(|| self.shared.platform.placement())?;
        Some(placement.first(self.workers()))
    }

    /// Returns the counters. `None` unless [`Builder::counters`] is on.
    pub fn counters(&self) -> Option<Counters> {
        self.shared.counting.then(|| self.shared.snapshot())
    }

    /// Returns what the tasks and workers have done so far, and how long that took. `None` unless
    /// [`Builder::statistics`] or [`Builder::timeline`] is on.
    ///
    /// It may be called at any time. What happens meanwhile may be in one number and not yet in
    /// another; a task that was joined is in all of them.
    pub fn statistics(&self) -> Option<Statistics> {
        self.shared.statistics()
    }

    /// Returns the last events of each worker, with their times. `None` unless
    /// [`Builder::timeline`] is on.
    ///
    /// It may be called at any time. A worker that records an event waits while its events are
    /// copied. A task that was joined is among them.
    pub fn timeline(&self) -> Option<Timeline> {
        let observer = self.shared.observer.as_ref().filter(|observer| observer.asked.events > 0)?;
        Some(Timeline::of(observer, 0))
    }

    pub(crate) fn shared(&self) -> &Arc<RuntimeState> {
        &self.shared
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

impl RuntimeState {
    pub(super) fn snapshot(&self) -> Counters {
        let mut sum = Counters { external_spawns: self.epochs.external_starts(), ..Counters::default() };
        let mut started = 0;
        for slot in &self.slots {
            let counters = &slot.counters.0;
            sum.tasks += slot.ledger.0.finished();
            started += slot.ledger.0.started();
            sum.remote_spawns += counters.remote_spawns.get();
            sum.snapshot_retries += counters.snapshot_retries.get();
            sum.versioned_retries += counters.versioned_retries.get();
            sum.latch_waits += counters.latch_waits.get();
            sum.walk_steps += counters.walk_steps.get();
            sum.prefetches += counters.prefetches.get();
            sum.steals += counters.steals.get();
            sum.sleeps += counters.sleeps.get();
            sum.retired += counters.retired.get();
            sum.reclaimed += counters.reclaimed.get();
        }
        sum.local_spawns = started.saturating_sub(sum.remote_spawns);
        sum.allocations = Allocation::of(&self.heaps, started + sum.external_spawns);
        sum
    }

    pub(crate) fn statistics(&self) -> Option<Statistics> {
        let counters = self.slots.iter().map(|slot| &slot.counters.0);
        let others = counters.map(|counters| (counters.steals.get(), counters.sleeps.get()));
        let observer = self.constant_observer()?;
        Some(observer.statistics(self.worker_set.wanted(), self.snapshot(), others))
    }
}
