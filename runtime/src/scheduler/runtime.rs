//! The runtime as its users hold it.

use super::follow::{Follow, Follower};
use super::shared::{Seat, phase};
use super::staff::Staff;
use super::{BuildError, Context, Shared};
use crate::fork::ForkStack;
use crate::memory::{Epochs, Heaps};
use crate::monitor::{
    Allocation, Hook, LEAD, Observation, Observer, Overrun, Snapshot, Statistics, Timeline, Watchdog,
};
use crate::object::{
    AtRest, MAX_HOMES, ObjectBuilder, Plain, Realm, Shared as SharedClass, Snapshot as SnapshotClass,
    Version, Versioned,
};
use crate::platform::{Misplaced, Placement, Platform, Topology};
use crate::pool::{Inbox, Lane, Pool, Ranked};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Hatch, Padded, SeqCst, SpinMutex};
use crate::task::{Failure, Handle, Promise, TaskBuilder, pair};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;

/// A runtime: workers, their pools, and what they know about objects.
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
/// Dropping the runtime waits until all tasks have run, as [`shutdown`](Self::shutdown) with [`Shutdown::Drain`] does.
pub struct Runtime {
    shared: Arc<Shared>,
    stopped: bool,
}

/// How a runtime ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Everything that was spawned runs, follow-ups included.
    Drain,
    /// What has not started is dropped, and its handles say [`JoinError::Cancelled`](crate::JoinError::Cancelled).
    Cancel,
}

impl Runtime {
    /// A runtime with a worker on each core that this process may use.
    ///
    /// # Errors
    ///
    /// As for [`Builder::build`].
    #[cfg(feature = "std")]
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// A runtime in the making.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A task in the making, with the objects it touches: `()`, one access, or a tuple of them.
    pub fn task<A>(&self, access: A) -> TaskBuilder<&Self, A> {
        TaskBuilder::new(self, access)
    }

    /// An object of data that one task at a time touches.
    pub fn plain<T: Send + 'static>(&self, value: T) -> ObjectBuilder<Plain<T>> {
        ObjectBuilder::new(self, value)
    }

    /// An object of data that several tasks may read at once.
    pub fn shared_reads<T: Send + Sync + 'static>(&self, value: T) -> ObjectBuilder<SharedClass<T>> {
        ObjectBuilder::new(self, value)
    }

    /// An object of small plain-old data that is read and written as a whole.
    pub fn snapshot<T: bytemuck::Pod + Send>(&self, value: T) -> ObjectBuilder<SnapshotClass<T>> {
        ObjectBuilder::new(self, value)
    }

    /// An object that is read in place while it may be written.
    pub fn versioned<T: Version>(&self, value: T) -> ObjectBuilder<Versioned<T>> {
        ObjectBuilder::new(self, value)
    }

    /// A handle whose result some later task delivers, by the promise that it carries.
    pub fn promise<R: Send>(&self) -> (Promise<R>, Handle<R>) {
        let (handle, promise) = pair(self.shared.clone());
        (promise, handle)
    }

    /// Whether the calling thread may wait for tasks: it is no worker of this runtime.
    pub fn may_block(&self) -> bool {
        self.shared.platform.block(&mut |_| true).is_ok()
    }

    /// Whether its workers run only while a thread waits for a task, and drives them meanwhile, as in a
    /// [`Simulation`](crate::platform::Simulation).
    pub fn is_simulated(&self) -> bool {
        self.shared.platform.is_simulated()
    }

    /// Number of workers, or rather pools: as many as there can be workers ([`Builder::most_workers`]).
    pub fn workers(&self) -> usize {
        self.shared.seats.len()
    }

    /// The kind of its pools.
    pub fn pool(&self) -> Pool {
        self.shared.pool
    }

    /// What the runtime runs on: the cores where its workers were [placed](Builder::placement), else those of the platform.
    pub fn topology(&self) -> Topology {
        self.shared.topology.clone()
    }

    /// Where the workers are, and why: a place for each that there can be ([`Builder::most_workers`]), of which the first
    /// are taken. `None` if nobody has bound them to cores; then they are where the platform puts them.
    ///
    /// Where the platform has chosen for lack of a [placement](Builder::placement), it is a wish: if the system refuses to
    /// bind a thread, that runs unbound.
    pub fn placement(&self) -> Option<Placement> {
        let placement = self.shared.placement.clone().or_else(|| self.shared.platform.placement())?;
        Some(placement.first(self.workers()))
    }

    /// What the runtime has done so far; `None` unless counting was asked for ([`Builder::counters`]).
    pub fn counters(&self) -> Option<Snapshot> {
        self.shared.counting.then(|| self.shared.snapshot())
    }

    /// What its tasks and workers have done so far, and how long that took; `None` unless that was asked for
    /// ([`Builder::statistics`], [`Builder::timeline`]).
    ///
    /// It may be asked for at any time; what happens meanwhile may be in one number and not yet in another. A task that was
    /// joined is in all of them.
    pub fn statistics(&self) -> Option<Statistics> {
        self.shared.statistics()
    }

    /// What the workers did last, and when; `None` unless that was asked for ([`Builder::timeline`]).
    ///
    /// It may be asked for at any time; a worker that has something to note waits while its events are copied. A task that
    /// was joined is among them.
    pub fn timeline(&self) -> Option<Timeline> {
        self.shared.observer.as_ref().and_then(|observer| Timeline::of(observer))
    }

    /// Ends the runtime and waits until all workers have returned. Every handle is resolved.
    ///
    /// A runtime that is dropped on one of its own workers cannot wait; it ends when its tasks have run.
    pub fn shutdown(mut self, how: Shutdown) {
        self.stop(how);
    }

    fn stop(&mut self, how: Shutdown) {
        if core::mem::replace(&mut self.stopped, true) {
            return;
        }
        let shared = &self.shared;
        let ending = if how == Shutdown::Drain { phase::DRAINING } else { phase::CANCELLING };
        shared.phase.store(ending, SeqCst);
        shared.wake_all();
        let waited = shared.platform.block(&mut |waker| {
            *shared.drained.lock() = Some(waker.clone());
            shared.epochs.is_quiescent(shared.ledgers()) || planted!("stopped-before-quiescent")
        });
        if waited.is_ok() {
            shared.phase.store(phase::STOPPED, SeqCst);
            shared.wake_all();
            shared.platform.join();
            shared.clear_rest();
        } else {
            // On a worker: the last of them to find that nothing is left stops them all.
            shared.stop_when_drained.store(true, SeqCst);
            shared.platform.leave();
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop(Shutdown::Drain);
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

impl Shared {
    fn snapshot(&self) -> Snapshot {
        let mut sum = Snapshot { external_spawns: self.epochs.external_starts(), ..Snapshot::default() };
        let mut started = 0;
        for seat in &self.seats {
            let counters = &seat.counters.0;
            sum.tasks += seat.ledger.0.finished();
            started += seat.ledger.0.started();
            sum.remote_spawns += counters.remote_spawns.get();
            sum.snapshot_retries += counters.snapshot_retries.get();
            sum.versioned_retries += counters.versioned_retries.get();
            sum.latch_waits += counters.latch_waits.get();
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

    pub(super) fn statistics(&self) -> Option<Statistics> {
        let counters = self.seats.iter().map(|seat| &seat.counters.0);
        let others = counters.map(|counters| (counters.steals.get(), counters.sleeps.get()));
        let observer = self.observer.as_ref()?;
        Some(observer.statistics(self.staff.wanted(), self.snapshot(), others))
    }
}

/// A runtime in the making; made by [`Runtime::builder`].
#[must_use]
pub struct Builder {
    workers: Option<usize>,
    most_workers: Option<usize>,
    pool: Pool,
    distance: usize,
    counting: bool,
    memory_limit: Option<u64>,
    platform: Option<Arc<dyn Platform>>,
    placement: Option<Placement>,
    hook: Box<dyn Fn(Failure) + Send + Sync>,
    watchdog: Option<(Duration, Hook)>,
    observation: Observation,
    follow: Option<Follow>,
    #[cfg(feature = "tracing")]
    spans: bool,
}

/// Tasks between a fetch and the task that it is for, unless set: the lines of that many tasks are about what a core
/// can have on their way at once.
const DEFAULT_DISTANCE: usize = 12;

/// Fetching farther ahead than this makes no sense.
const FARTHEST: usize = 1 << 20;

impl Default for Builder {
    fn default() -> Self {
        Self {
            workers: None,
            most_workers: None,
            pool: Pool::default(),
            distance: DEFAULT_DISTANCE,
            counting: false,
            memory_limit: None,
            platform: None,
            placement: None,
            hook: Box::new(report),
            watchdog: None,
            observation: Observation::default(),
            follow: None,
            #[cfg(feature = "tracing")]
            spans: false,
        }
    }
}

/// The hook unless another is set: failures go to the standard error stream.
fn report(failure: Failure) {
    #[cfg(feature = "std")]
    std::eprintln!("xtasking: {failure}");
    #[cfg(not(feature = "std"))]
    drop(failure);
}

impl Builder {
    /// Number of workers to begin with; without this one for each place of the [placement](Self::placement), or else for
    /// each core of the platform.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Up to how many workers the runtime may be [resized](Runtime::resize); as many as it begins with without this.
    ///
    /// There are as many pools. Objects have their homes in pools, and [cores](crate::TaskBuilder::core) are counted by
    /// them; a worker looks after several if there are fewer workers.
    pub fn most_workers(mut self, workers: usize) -> Self {
        self.most_workers = Some(workers);
        self
    }

    /// How tasks that are bound to nothing find a worker; [`Pool::Local`] without this.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pool = pool;
        self
    }

    /// How many tasks ahead objects are fetched; 0 fetches nothing.
    pub fn prefetch_distance(mut self, distance: usize) -> Self {
        self.distance = distance;
        self
    }

    /// Whether [`Runtime::counters`] counts; off without this.
    pub fn counters(mut self, on: bool) -> Self {
        self.counting = on;
        self
    }

    /// Whether [`Runtime::statistics`] counts tasks and takes their times; off without this, and then it costs nothing.
    ///
    /// On, it costs some 40 ns a task (of which two looks at the processor's clock take half), and 64 bytes for each
    /// descriptor, which count for the [limit](Self::memory_limit). The environment variable `XTASKING_STATISTICS=1` turns
    /// it on in any runtime of a program with the feature `std`, and has the summary written to the standard error stream
    /// when the runtime ends.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).statistics(true).build()?;
    /// rt.task(()).submit(|(), _| ()).join()?;
    /// println!("{}", rt.statistics().expect("asked for"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(mut self, on: bool) -> Self {
        self.observation.statistics = on;
        self
    }

    /// How many events of each worker [`Runtime::timeline`] has: the last ones. 0, as without this, keeps none and costs
    /// nothing.
    ///
    /// Else it takes 120 bytes an event, and beyond what [statistics](Self::statistics) cost, which come with it, some
    /// 100 ns a task. With the feature `std` the environment variable `XTASKING_TIMELINE=FILE` turns it on in any runtime,
    /// with 32768 events of each worker, and has the timeline written to that file when the runtime ends: of the
    /// process's second runtime, to one with `-2` in its name.
    pub fn timeline(mut self, events: usize) -> Self {
        self.observation.events = events;
        self
    }

    /// Whether each run of a task has a span of the crate `tracing`, of level `INFO` and target `xtasking`, with the task's
    /// name, the worker and the objects; off without this, and then it costs nothing. It takes the feature `tracing`.
    #[cfg(feature = "tracing")]
    pub fn tracing(mut self, on: bool) -> Self {
        self.spans = on;
        self
    }

    /// How many bytes of memory the descriptors of all tasks, and 256 bytes for each [claim](crate::TaskBuilder::claim), may take
    /// together, in pages of at least 64 KiB. A task that there is no room for is not spawned: its handle says
    /// [`JoinError::OutOfMemory`](crate::JoinError::OutOfMemory), or the hook of [`on_failure`](Self::on_failure) is told. Without
    /// this it is half of what the process may use, as far as the platform says ([`Platform::memory`]).
    ///
    /// A worker may keep up to 56 KiB of free descriptors to itself, so less than 1 MiB, and 128 KiB for each worker,
    /// makes little sense.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// What the runtime runs on; threads of the operating system without this.
    pub fn platform(mut self, platform: impl Platform) -> Self {
        self.platform = Some(Arc::new(platform));
        self
    }

    /// Where the workers are; without this the platform decides, as [`Runtime::placement`] says.
    ///
    /// There are as many workers as places. With fewer [asked for](Self::workers) the first places are taken, and the
    /// runtime may be [resized](Runtime::resize) up to [`most_workers`](Self::most_workers), which has to be said, of them.
    /// Nodes follow from the places, for memory and for tasks that [name one](crate::TaskBuilder::node).
    ///
    /// ```
    /// use xtasking::{Placement, Runtime};
    ///
    /// let cpu = Placement::of_this_process().sites()[0].cpu;
    /// let placement = Placement::new([cpu], "the others are busy");
    /// # if cfg!(target_os = "linux") {
    /// let rt = Runtime::builder().placement(placement).build()?;
    /// assert_eq!(rt.workers(), 1);
    /// assert_eq!(rt.placement().expect("just said").why(), "the others are busy");
    /// # }
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn placement(mut self, placement: impl Into<Placement>) -> Self {
        self.placement = Some(placement.into());
        self
    }

    /// Who is told when a task fails that nobody waits for; without this the standard error stream. It spawns no tasks
    /// of this runtime: there may be no memory for them, of which it would be told again.
    pub fn on_failure(mut self, hook: impl Fn(Failure) + Send + Sync + 'static) -> Self {
        self.hook = Box::new(hook);
        self
    }

    /// Who is told when a task has been running for longer than `bound`; nobody is without this, and then it costs
    /// nothing.
    ///
    /// Tasks are looked at several times within the bound, but each millisecond at most. Who is found running too long
    /// is reported at once and whenever the reported time has doubled, by a thread beside the workers: so the task is
    /// still at it, or has ended just now. A task that exceeds the bound by less than the time between two looks may
    /// pass. What counts is the time in which a worker was at the task, waits at latches and the delivery of its result
    /// included; its waits in a pool do not count.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::Runtime;
    ///
    /// let builder = Runtime::builder().workers(2);
    /// let rt = builder.watchdog(Duration::from_millis(100), |overrun| eprintln!("{overrun}")).build()?;
    /// # drop(rt);
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn watchdog(mut self, bound: Duration, hook: impl Fn(Overrun) + Send + Sync + 'static) -> Self {
        self.watchdog = Some((bound, Box::new(hook)));
        self
    }

    /// The runtime is to resize itself: it looks at its [statistics](Self::statistics), which come with this, once in each
    /// span of time, but no more often than once a millisecond, and has as many workers from then on as the load is worth,
    /// within these bounds. [`Runtime::advice`] says the last reason.
    ///
    /// Some tens of milliseconds are a good time: long beside the tasks, and short beside the changes of the load. The upper
    /// bound is also one for [`most_workers`](Self::most_workers). More workers than cores do not help, unless tasks block,
    /// which they should not. Without this, which costs nothing then, no thread is there for it;
    /// [`Managed::follow`](crate::Managed::follow) does the same when it is called.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(1).follow_advice(Duration::from_millis(50), 1..=4).build()?;
    /// rt.task(()).spawn(|(), _| ());
    /// if let Some(advice) = rt.advice() {
    ///     println!("{advice}");
    /// }
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn follow_advice(mut self, every: Duration, workers: RangeInclusive<usize>) -> Self {
        self.follow = Some(Follow { every, within: workers });
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    ///
    /// If the number of workers is 0 or too large, or they cannot be [where they are to be](Self::placement), or the
    /// platform cannot start them, or not [watch](Self::watchdog) them, also in order to
    /// [follow advice](Self::follow_advice).
    pub fn build(self) -> Result<Runtime, BuildError> {
        let (platform, workers, most) = self.choose_platform()?;
        let realm = Realm::new().ok_or(BuildError::TooManyRuntimes)?;
        let placement = self.placement.map(|placement| placement.first(most));
        let topology = match &placement {
            Some(placement) => placement.topology(&*platform).map_err(BuildError::Misplaced)?,
            None => platform.topology(),
        };
        let limit = self.memory_limit.or_else(|| platform.memory().map(|bytes| bytes / 2));
        #[cfg(feature = "std")]
        let mut observation = self.observation.with_environment();
        #[cfg(not(feature = "std"))]
        let mut observation = self.observation;
        observation.statistics |= self.follow.is_some();
        let observer = Observer::new(most, &platform, observation).map(Arc::new);
        let lead = if observer.is_some() { LEAD } else { 0 };
        let heaps = Heaps::new(topology.nodes, platform.pages(), limit, lead);
        let lanes = |worker| match self.pool {
            Pool::XQueue(links) => {
                let sources = links.to(worker, most).len();
                (0..sources).map(|_| Lane::one_of(sources)).collect()
            }
            _ => Box::default(),
        };
        let seat = |worker| Seat {
            keeper: AtomicUsize::new(worker),
            rest: Hatch::default(),
            inbox: Inbox::new(observer.clone()),
            asleep: Padded(AtomicBool::new(false)),
            idle: AtomicBool::new(false),
            load: AtomicU64::new(0),
            forks: ForkStack::new(),
            offer: Hatch::default(),
            parcel: Hatch::default(),
            lanes: lanes(worker),
            enlisting: SpinMutex::new(()),
            ledger: Arc::new(Padded::default()),
            counters: Arc::new(Padded::default()),
            node: topology.node_of(worker),
        };
        let shared = Arc::new(Shared {
            seats: (0..most).map(seat).collect(),
            staff: Staff::new(workers, most),
            pool: self.pool,
            ranked: Ranked::of_pool(self.pool, most),
            nodes: topology.nodes,
            topology,
            placement,
            platform: platform.clone(),
            heaps,
            epochs: Epochs::new(),
            phase: AtomicU32::new(phase::OPEN),
            stop_when_drained: AtomicBool::new(false),
            drained: SpinMutex::new(None),
            orphans: SpinMutex::new(Some(Vec::new())),
            pools: AtomicUsize::new(most),
            awake: AtomicUsize::new(most),
            hungry: Padded(AtomicUsize::new(0)),
            has_orphans: AtomicBool::new(false),
            turn: AtomicUsize::new(0),
            at_rest: AtRest::of(&realm),
            _realm: realm,
            distance: self.distance.min(FARTHEST),
            counting: self.counting,
            hook: self.hook,
            watchdog: self.watchdog.map(|(bound, hook)| Watchdog::new(most, bound, hook)),
            observer,
            follower: self.follow.map(|asked| Follower::new(asked, workers, most, platform.now())),
            #[cfg(feature = "tracing")]
            spans: self.spans,
        });
        let runtime = Runtime { shared: shared.clone(), stopped: false };
        if let Some(watchdog) = &shared.watchdog {
            let watched = shared.clone();
            platform
                .watch(watchdog.period(), Box::new(move || watched.watch()))
                .map_err(BuildError::Platform)?;
        }
        (0..most).for_each(|pool| shared.put_to_rest(Box::new(Context::new(pool, shared.clone()))));
        shared.employ(workers)?;
        if let Some(follower) = &shared.follower {
            // Only now: nobody else resizes it before it is there.
            let followed = shared.clone();
            platform
                .watch(follower.period(), Box::new(move || followed.follow()))
                .map_err(BuildError::Platform)?;
        }
        Ok(runtime)
    }

    /// The platform, how many workers begin, and how many there can be.
    fn choose_platform(&self) -> Result<(Arc<dyn Platform>, usize, usize), BuildError> {
        let wanted = |default: usize| {
            let places = self.placement.as_ref().map(Placement::workers);
            let workers = self.workers.or(places).unwrap_or(default);
            let followed = self.follow.as_ref().map_or(1, |asked| *asked.within.end());
            let most = self.most_workers.unwrap_or(workers).max(workers).max(followed);
            match workers {
                0 => Err(BuildError::NoWorkers),
                _ if most > MAX_HOMES => Err(BuildError::TooManyWorkers(most)),
                _ if places.is_some_and(|places| most > places) => {
                    let places = places.unwrap_or_default();
                    Err(BuildError::Misplaced(Misplaced::TooFew { workers: most, places }))
                }
                _ => Ok((workers, most)),
            }
        };
        match &self.platform {
            Some(platform) => {
                let (workers, most) = wanted(platform.topology().cores.len())?;
                Ok((platform.clone(), workers, most))
            }
            #[cfg(feature = "std")]
            None => {
                let (workers, most) = wanted(crate::platform::Threads::suggested_workers())?;
                Ok((Arc::new(crate::platform::Threads::new(most)), workers, most))
            }
            #[cfg(not(feature = "std"))]
            None => Err(BuildError::Platform("without std a platform has to be given")),
        }
    }
}
