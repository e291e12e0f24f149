//! The options of a runtime.

use crate::fork::{Fork, WaitHook};
use crate::managed::AutosizeOptions;
use crate::monitor::{Hook, Observation, Overrun};
use crate::object::MAX_HOMES;
use crate::platform::{Placement, Platform};
use crate::pool::QueuePolicy;
use crate::task::Failure;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::RangeInclusive;
use core::time::Duration;

/// The options of a runtime; [`Runtime::builder`](super::Runtime::builder) begins them.
#[must_use = "a runtime is started by `build`"]
pub struct Builder {
    pub(super) workers: Option<usize>,
    pub(super) max_workers: Option<usize>,
    pub(super) policy: QueuePolicy,
    pub(super) distance: usize,
    pub(super) counting: bool,
    pub(super) memory_limit: Option<u64>,
    pub(super) most_tasks: Option<usize>,
    pub(super) platform: Option<Arc<dyn Platform>>,
    pub(super) placement: Option<Placement>,
    pub(super) hook: Box<dyn Fn(Failure) + Send + Sync>,
    pub(super) watchdog: Option<(Duration, Hook)>,
    pub(super) names_running: bool,
    pub(super) observation: Observation,
    pub(super) follow: Option<AutosizeOptions>,
    pub(super) wait_hook: Option<WaitHook>,
    #[cfg(feature = "tracing")]
    pub(super) spans: bool,
}

/// Default of [`Builder::prefetch_distance`], in tasks: a core can fetch about as many cache lines
/// at once as the objects of that many tasks fill.
const DEFAULT_DISTANCE: usize = 12;

impl Default for Builder {
    fn default() -> Self {
        Self {
            workers: None,
            max_workers: None,
            policy: QueuePolicy::default(),
            distance: DEFAULT_DISTANCE,
            counting: false,
            memory_limit: None,
            most_tasks: None,
            platform: None,
            placement: None,
            hook: Box::new(report),
            watchdog: None,
            names_running: false,
            observation: Observation::default(),
            follow: None,
            wait_hook: None,
            #[cfg(feature = "tracing")]
            spans: false,
        }
    }
}

/// The default hook: writes failures to the standard error stream.
fn report(failure: Failure) {
    #[cfg(feature = "std")]
    std::eprintln!("xtasking: {failure}");
    #[cfg(not(feature = "std"))]
    drop(failure);
}

impl Builder {
    /// The largest number of workers of a runtime, and of run queues.
    pub const MAX_WORKERS: usize = MAX_HOMES;

    /// The largest [prefetch distance](Self::prefetch_distance), in tasks.
    pub const MAX_PREFETCH_DISTANCE: usize = 1 << 20;

    /// The largest number of events of each worker that a [timeline](Self::timeline) keeps.
    pub const MAX_TIMELINE_EVENTS: usize = 1 << 24;

    /// Sets the number of workers to begin with. Default: one for each place of the
    /// [placement](Self::placement), else one for each core of the platform.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets the number of run queues, up to which the number of workers can be
    /// [changed](crate::Runtime::resize). Default: the number of workers to begin with.
    ///
    /// The homes of objects are run queues, and so are the numbers of
    /// [cores](crate::TaskBuilder::core). With fewer workers than that, a worker looks after
    /// several.
    pub fn most_workers(mut self, workers: usize) -> Self {
        self.max_workers = Some(workers);
        self
    }

    /// Sets how unbound tasks find a worker. Default: [`QueuePolicy::Local`].
    pub fn pool(mut self, policy: QueuePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets how many tasks ahead objects are prefetched. 0 prefetches nothing. Default: 12. More
    /// than [`MAX_PREFETCH_DISTANCE`](Self::MAX_PREFETCH_DISTANCE) counts as that.
    pub fn prefetch_distance(mut self, distance: usize) -> Self {
        self.distance = distance.min(Self::MAX_PREFETCH_DISTANCE);
        self
    }

    /// Turns [`Runtime::counters`](crate::Runtime::counters) on. Default: off.
    pub fn counters(mut self, on: bool) -> Self {
        self.counting = on;
        self
    }

    /// Turns [`Runtime::statistics`](crate::Runtime::statistics) on. Default: off, at no cost.
    ///
    /// Statistics cost some 40 ns a task, half of which are two readings of the processor's clock;
    /// and 64 bytes for each descriptor, which count for the [memory limit](Self::memory_limit).
    ///
    /// With the feature `std` the environment variable `XTASKING_STATISTICS=1` turns them on in
    /// every runtime of the program. Each runtime then writes the summary to the standard error
    /// stream when it ends.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).statistics(true).build()?;
    /// rt.task(()).submit(|(), _| ()).join()?;
    /// println!("{}", rt.statistics().expect("statistics are on"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(mut self, on: bool) -> Self {
        self.observation.statistics = on;
        self
    }

    /// Sets how many events of each worker [`Runtime::timeline`](crate::Runtime::timeline) keeps:
    /// the last ones. Default: 0, at no cost. More than
    /// [`MAX_TIMELINE_EVENTS`](Self::MAX_TIMELINE_EVENTS) count as that.
    ///
    /// A timeline turns the [statistics](Self::statistics) on. Beyond their cost it takes some 100
    /// ns a task, and 136 bytes an event.
    ///
    /// With the feature `std` the environment variable `XTASKING_TIMELINE=FILE` turns it on in
    /// every runtime of the program, with 32768 events of each worker. Each runtime then writes the
    /// timeline to that file when it ends; the second runtime of a process writes to a file with
    /// `-2` in its name.
    pub fn timeline(mut self, events: usize) -> Self {
        self.observation.events = events.min(Self::MAX_TIMELINE_EVENTS);
        self
    }

    /// Opens a span of the crate `tracing` for each run of a task. Default: off, at no cost.
    ///
    /// The spans have level `INFO` and target `xtasking`, and say the task's name, the worker and
    /// the objects. Needs the feature `tracing`.
    #[cfg(feature = "tracing")]
    pub fn tracing(mut self, on: bool) -> Self {
        self.spans = on;
        self
    }

    /// Limits the bytes of memory for task descriptors, in pages of at least 64 KiB. Each
    /// [claim](crate::TaskBuilder::claim) counts for 256 bytes of it. Default: half of what the
    /// process may use, as far as the platform knows ([`Platform::memory`]).
    ///
    /// A task beyond the limit is not spawned. Its handle returns
    /// [`JoinError::OutOfMemory`](crate::JoinError::OutOfMemory); if it has none, the hook of
    /// [`on_failure`](Self::on_failure) is called.
    ///
    /// A worker may keep up to 56 KiB of free descriptors to itself. So a limit below 1 MiB, or
    /// below 128 KiB for each worker, makes little sense.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Bounds the tasks that are [spawned with room](crate::limit) and not finished. Default: none.
    ///
    /// [`try_spawn`](crate::TaskBuilder::try_spawn) fails beyond the bound, and
    /// [`reserve`](crate::TaskBuilder::reserve) waits. Tasks that are spawned otherwise are not
    /// counted, and not refused: follow-ups, above all, which must not wait. 0 counts as 1.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).most_tasks(100).build()?;
    /// for number in 0..1000 {
    ///     rt.task(()).reserve_blocking()?.spawn(move |(), _| _ = number * 2);
    ///     assert!(rt.task_limit().is_some_and(|limit| limit.used() <= 100));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn most_tasks(mut self, tasks: usize) -> Self {
        self.most_tasks = Some(tasks);
        self
    }

    /// Sets the platform. Default: threads of the operating system.
    pub fn platform(mut self, platform: impl Platform) -> Self {
        self.platform = Some(Arc::new(platform));
        self
    }

    /// Sets where the workers run. Default: the platform decides, see
    /// [`Runtime::placement`](crate::Runtime::placement).
    ///
    /// There is one worker for each place. With fewer [workers](Self::workers) the first places are
    /// taken. The runtime can then be [resized](crate::Runtime::resize) up to
    /// [`most_workers`](Self::most_workers), if that is set. The places decide the nodes, for
    /// memory and for tasks that [name a node](crate::TaskBuilder::node).
    ///
    /// ```
    /// use xtasking::{Runtime, platform::Placement};
    ///
    /// let cpu = Placement::of_this_process().sites()[0].cpu;
    /// let placement = Placement::new([cpu], "the others are busy");
    /// # if cfg!(target_os = "linux") {
    /// let rt = Runtime::builder().placement(placement).build()?;
    /// assert_eq!(rt.workers(), 1);
    /// assert_eq!(rt.placement().expect("it was set").why(), "the others are busy");
    /// # }
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn placement(mut self, placement: impl Into<Placement>) -> Self {
        self.placement = Some(placement.into());
        self
    }

    /// Sets the hook that is called when a task fails that has no handle to return the error.
    /// Default: writes the failure to the standard error stream.
    ///
    /// The hook must not spawn tasks of this runtime: there may be no memory for them, which would
    /// call it again.
    pub fn on_failure(mut self, hook: impl Fn(Failure) + Send + Sync + 'static) -> Self {
        self.hook = Box::new(hook);
        self
    }

    /// Sets a hook that is called when a task runs for longer than `bound`. Default: none, at no
    /// cost.
    ///
    /// A thread beside the workers checks the tasks several times within the bound, but at most
    /// once a millisecond. It reports a task as soon as it finds it running too long, and again
    /// whenever the reported time has doubled. The task is still running then, or has ended just
    /// now. A task that exceeds the bound by less than the time between two checks may pass.
    ///
    /// The time includes waits at latches and the delivery of the task's result, but no waits in a
    /// run queue.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::Runtime;
    ///
    /// let bound = Duration::from_millis(100);
    /// let builder = Runtime::builder().workers(2);
    /// let rt = builder.watchdog(bound, |overrun| eprintln!("{overrun}")).build()?;
    /// # drop(rt);
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn watchdog(mut self, bound: Duration, hook: impl Fn(Overrun) + Send + Sync + 'static) -> Self {
        self.watchdog = Some((bound, Box::new(hook)));
        self
    }

    /// Records which task each worker runs, for [`Runtime::running_tasks`] and the error of
    /// [`Runtime::shutdown_within`]. Default: on with a [watchdog](Self::watchdog), else off, at no
    /// cost. It costs one reading of the clock a task.
    ///
    /// [`Runtime::running_tasks`]: crate::Runtime::running_tasks
    /// [`Runtime::shutdown_within`]: crate::Runtime::shutdown_within
    pub fn name_running(mut self, on: bool) -> Self {
        self.names_running = on;
        self
    }

    /// Sets a function that a worker calls while it waits in a join for a half that another worker
    /// runs, if it finds no part of that half to run itself. Default: none.
    ///
    /// The function does what must be done on that worker and cannot wait until the join is over,
    /// and returns true if there was something. It is called again and again until the worker
    /// sleeps, and once more after [`Runtime::interrupt_waits`](crate::Runtime::interrupt_waits):
    /// call that when there is something new. A panic of the function is discarded.
    pub fn while_waiting(mut self, hook: impl Fn(Fork<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.wait_hook = Some(Arc::new(hook));
        self
    }

    /// Lets the runtime resize itself, within these bounds. Default: off, at no cost.
    ///
    /// After each `every`, but at most once a millisecond, the runtime reads its
    /// [statistics](Self::statistics), which this turns on, and chooses the number of workers that
    /// the load is worth. [`Runtime::advice`](crate::Runtime::advice) returns the last reason.
    ///
    /// Some tens of milliseconds are a good `every`: long beside a task, and short beside changes
    /// of the load. [`most_workers`](Self::most_workers) is at least the upper bound. More workers
    /// than cores do not help, unless tasks block, which they should not.
    ///
    /// This takes a thread; [`Managed::follow`](crate::managed::Managed::follow) does the same
    /// whenever it is called.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::Runtime;
    ///
    /// let builder = Runtime::builder().workers(1);
    /// let rt = builder.follow_advice(Duration::from_millis(50), 1..=4).build()?;
    /// rt.task(()).spawn(|(), _| ());
    /// if let Some(advice) = rt.advice() {
    ///     println!("{advice}");
    /// }
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn follow_advice(mut self, every: Duration, workers: RangeInclusive<usize>) -> Self {
        self.follow = Some(AutosizeOptions { every, within: workers });
        self
    }
}
