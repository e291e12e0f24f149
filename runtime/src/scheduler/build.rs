//! How a runtime is built from its options.

use super::offers::Offers;
use super::runtime_state::{WorkerSlot, phase};
use super::worker_set::WorkerSet;
use super::{BuildError, Builder, Runtime, RuntimeState, Worker};
use crate::claims::GranuleTables;
use crate::events::Outside;
use crate::fork::ForkStack;
use crate::limit::OpenLimits;
use crate::managed::Autosizer;
use crate::memory::{Epochs, Heaps};
use crate::monitor::{LEAD, Observation, Observer, Posts, Watchdog};
use crate::object::{FreeWord, MAX_HOMES, RuntimeTag};
use crate::platform::{CpuTopology, Misplaced, Placement, Platform, default_platform};
use crate::pool::{Inbox, Injector, QueuePolicy, Ranked, SpscRing, TaskRing};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, HandoffCell, Padded, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Bounds of the number of workers.
struct Workers {
    /// To begin with.
    initial: usize,
    /// The number of run queues.
    max: usize,
}

impl Builder {
    /// Builds the runtime, and starts its workers.
    ///
    /// # Errors
    ///
    /// If the number of workers is 0 or too large, the workers cannot run [where they are to
    /// run](Self::placement), or the platform cannot start them, or the thread of the
    /// [watchdog](Self::watchdog) or of [`follow_advice`](Self::follow_advice).
    pub fn build(mut self) -> Result<Runtime, BuildError> {
        let (platform, workers) = self.choose_platform()?;
        let tag = RuntimeTag::new().ok_or(BuildError::TooManyRuntimes)?;
        self.placement = self.placement.map(|placement| placement.first(workers.max));
        let topology = match &self.placement {
            Some(placement) => placement.topology(&*platform).map_err(BuildError::Misplaced)?,
            None => platform.topology(),
        };
        let initial = workers.initial;
        let shared = Arc::new(self.share(platform, workers, topology, tag));
        let runtime = Runtime { shared: shared.clone(), is_owner: true };
        if let Some(watchdog) = &shared.watchdog {
            let watched = shared.clone();
            let watch = shared.platform.watch(watchdog.period(), Box::new(move || watched.watch()));
            watch.map_err(BuildError::Platform)?;
        }
        let queues = 0..shared.slots.len();
        queues.for_each(|queue| shared.park_queue(Box::new(Worker::new(queue, shared.clone()))));
        shared.set_workers(initial)?;
        if let Some(follower) = &shared.follower {
            // Last, so that it resizes no runtime that is still being built.
            let followed = shared.clone();
            let watch = shared.platform.watch(follower.period(), Box::new(move || followed.follow()));
            watch.map_err(BuildError::Platform)?;
        }
        Ok(runtime)
    }

    /// Builds what the workers share.
    fn share(
        self,
        platform: Arc<dyn Platform>,
        workers: Workers,
        topology: CpuTopology,
        tag: RuntimeTag,
    ) -> RuntimeState {
        let Workers { initial, max } = workers;
        let limit = self.memory_limit.or_else(|| platform.memory().map(|bytes| bytes / 2));
        #[cfg(feature = "std")]
        let observation = self.observation.with_environment();
        #[cfg(not(feature = "std"))]
        let observation = self.observation;
        let statistics = observation.statistics || self.follow.is_some();
        let observer = Observer::new(max, &platform, Observation { statistics, ..observation }).map(Arc::new);
        let has_leads = observer.as_ref().is_some_and(|observer| observer.asked.is_constant());
        let lead = if has_leads { LEAD } else { 0 };
        let has_barrier = platform.barrier();
        let places = self.placement.clone().or_else(|| platform.placement());
        let cpus = places.iter().flat_map(|places| places.sites()).map(|site| site.cpu).take(max).collect();
        let slot =
            |worker| WorkerSlot::new(worker, max, self.policy, &topology, observer.clone(), has_barrier);
        RuntimeState {
            slots: (0..max).map(slot).collect(),
            worker_set: WorkerSet::new(initial, max),
            policy: self.policy,
            ranked: Ranked::of_policy(self.policy, max),
            injector: (self.policy == QueuePolicy::WorkStealing && max > 1 && !platform.is_simulated())
                .then(Injector::new),
            nodes: topology.nodes,
            heaps: Heaps::new(topology.nodes, platform.pages(), limit, lead),
            topology,
            placement: self.placement,
            is_simulated: platform.is_simulated(),
            has_virtual_time: platform.virtual_time().is_some(),
            has_barrier,
            cpus,
            epochs: Epochs::new(),
            limits: OpenLimits::new(self.most_tasks, &platform),
            outside: Outside::new(max),
            phase: AtomicU32::new(phase::OPEN),
            signals: Padded(AtomicU32::new(0)),
            stop_when_drained: AtomicBool::new(false),
            drained: SpinMutex::new(None),
            orphans: SpinMutex::new(Some(Vec::new())),
            run_queues: AtomicUsize::new(max),
            awake: Padded(AtomicUsize::new(max)),
            searching: Padded(AtomicUsize::new(0)),
            asleep_in_join: Padded(AtomicUsize::new(0)),
            offers: Offers::default(),
            has_orphans: AtomicBool::new(false),
            turn: AtomicUsize::new(0),
            free_word: FreeWord::of(&tag),
            names: Arc::default(),
            granule_tables: GranuleTables::default(),
            _tag: tag,
            distance: self.distance,
            counting: self.counting,
            hook: self.hook,
            wait_hook: self.wait_hook,
            posts: (self.names_running || self.watchdog.is_some()).then(|| Posts::new(max)),
            watchdog: self.watchdog.map(|(bound, hook)| Watchdog::new(bound, hook)),
            observer,
            follower: self.follow.map(|follow| Autosizer::new(follow, initial, max, platform.now())),
            #[cfg(feature = "tracing")]
            spans: self.spans,
            platform,
        }
    }

    /// Returns the platform, and how many workers there can be on it.
    fn choose_platform(&self) -> Result<(Arc<dyn Platform>, Workers), BuildError> {
        if let Some(platform) = self.platform.clone().or_else(default_platform) {
            let workers = self.choose_workers(platform.topology().cores.len())?;
            return Ok((platform, workers));
        }
        #[cfg(feature = "std")]
        {
            let workers = self.choose_workers(crate::platform::Threads::suggested_workers())?;
            Ok((Arc::new(crate::platform::Threads::new(workers.max)), workers))
        }
        #[cfg(not(feature = "std"))]
        Err(BuildError::Platform(
            "there is no default platform; pass one to `Builder::platform` or `platform::set_default`".into(),
        ))
    }

    /// Returns the numbers of workers that the options say; `default` to begin with if they say
    /// none.
    fn choose_workers(&self, default: usize) -> Result<Workers, BuildError> {
        let places = self.placement.as_ref().map(Placement::workers);
        let initial = self.workers.or(places).unwrap_or(default);
        let followed = self.follow.as_ref().map_or(1, |follow| *follow.within.end());
        let max = self.max_workers.unwrap_or(initial).max(initial).max(followed);
        match places {
            _ if initial == 0 => Err(BuildError::NoWorkers),
            _ if max > MAX_HOMES => Err(BuildError::TooManyWorkers(max)),
            Some(places) if max > places => {
                Err(BuildError::Misplaced(Misplaced::TooFew { workers: max, places }))
            }
            _ => Ok(Workers { initial, max }),
        }
    }
}

impl WorkerSlot {
    fn new(
        worker: usize,
        workers: usize,
        policy: QueuePolicy,
        topology: &CpuTopology,
        observer: Option<Arc<Observer>>,
        has_barrier: bool,
    ) -> Self {
        let incoming = match policy {
            QueuePolicy::XQueue(links) => {
                let sources = links.to(worker, workers).len();
                (0..sources).map(|_| SpscRing::one_of(sources)).collect()
            }
            _ => Box::default(),
        };
        Self {
            owner: AtomicUsize::new(worker),
            parked: HandoffCell::default(),
            claims: AtomicUsize::new(0),
            inbox: Inbox::new(observer),
            asleep: Padded(AtomicBool::new(false)),
            idle: AtomicBool::new(false),
            load: AtomicU64::new(0),
            forks: ForkStack::new(!has_barrier),
            steal_batch: HandoffCell::default(),
            unbound: Arc::new(TaskRing::new(has_barrier)),
            incoming,
            enlisting: SpinMutex::new(()),
            ledger: Arc::new(Padded::default()),
            counters: Arc::new(Padded::default()),
            node: topology.node_of(worker),
        }
    }
}
