//! Virtual cores in one thread, with an interleaving that a seed decides.
//!
//! Without costs, a seeded generator picks the next core to run a task, so that a failing
//! interleaving can be replayed from its seed. With costs, each core has a clock, and the core with
//! the least clock goes next.
//!
//! One thread at a time *drives* the cores. Other threads that wait meanwhile poll two things with
//! backoff: whether what they wait for has happened, and whether they can drive.

mod calls;
mod clocks;
mod costs;
mod jumps;
mod lock;
#[cfg(feature = "std")]
mod network;
mod random;
mod timeline;
mod virtual_core;
mod virtual_time;
mod waiting;

pub use clocks::{Clocks, CoreTime};
pub use costs::Costs;
pub(crate) use costs::StepCounts;
pub use jumps::ClockJumps;
#[cfg(feature = "std")]
pub use network::{Network, NetworkFaults, SimulatedListener, SimulatedStream};

use super::{CpuTopology, Platform, PlatformError, VirtualTime, WouldBlock};
use crate::memory::PageSource;
use crate::scheduler::{Driver, Progress};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Relaxed, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use calls::VirtualCalls;
use core::task::Waker;
use core::time::Duration;
use jumps::JumpingClock;
use random::Random;
use timeline::Timeline;

/// A deterministic platform.
///
/// Tasks run only while a thread waits: in [`Handle::join`](crate::Handle::join), or when the
/// runtime shuts down. The grain of the interleaving is the task: each runs as a whole, on the core
/// that the seed chose.
///
/// # With costs
///
/// [`with_costs`](Self::with_costs) gives each core a clock in virtual nanoseconds. The core with
/// the least clock goes next, and the seed decides between equals. An operation takes as long as
/// the [`Costs`] say. [`Clocks`] tell the makespan and the time of each core, so that the behaviour
/// of a program on 192 cores can be studied on one.
///
/// A task sent to another core arrives when its spawner ends or comes to a join, and starts no
/// earlier. A task spawned from outside arrives at the end of the last task that the spawning
/// thread had waited for. Tasks on a sequenced object run one after the other, in virtual time as
/// well. Some things differ from a machine:
///
/// - A core takes tasks from its inbox in the order of the sends, so that a late one may hold up
///   those behind it. A core that spawns a task with several sequenced objects, one of them its
///   own, first waits until everything sent to it earlier has arrived.
/// - A core that takes from the shared queue ([`QueuePolicy::Ranked`](crate::QueuePolicy::Ranked))
///   waits for the queue's lock, in virtual time ([`Costs::queue`]). A core that was busy when a
///   task was put there may take it too early, by at most its own last step.
/// - A task runs as a whole, so no task ever waits at a latch or reads what is being written. Tasks
///   on a latched object may still overlap in virtual time.
/// - Joins take no time: bodies have to [say](Clocks::spend) how long they take. At each
///   [`Fork::join`](crate::Fork::join), cores with earlier clocks go on first, and an idle core may
///   take a half. It runs that half to its end before the owner goes on, but in its own time: the
///   owner has the result when the thief's clock says so. Until then the other cores do not know
///   what the owner will offer next, so the work is spread slightly worse than on a machine: by
///   about 20 % over 64 cores in one test.
///
/// ```
/// use xtasking::Runtime;
/// use xtasking::platform::{Costs, Simulation};
///
/// // A task takes 10 ns, plus 10 ns for each unit of its cost; a push to another core 100 ns.
/// let costs = Costs { task: 10, unit: 10, remote_push: 100, ..Costs::default() };
/// let (simulation, clocks) = Simulation::with_costs(192, 2, 1, costs);
/// let rt = Runtime::builder().platform(simulation).build()?;
/// for number in 0..1920 {
///     rt.task(()).core(number % 192).cost(5).spawn(|(), _cx| ());
/// }
/// drop(rt);
/// assert_eq!(clocks.makespan(), 10 * (10 + 5 * 10));
/// assert_eq!(clocks.imbalance(), 0.0);
/// # Ok::<(), xtasking::BuildError>(())
/// ```
pub struct Simulation {
    topology: CpuTopology,
    state: SpinMutex<State>,
    /// The thread that drives the cores, as [`this_thread`](super::this_thread) numbers it, or 0.
    /// If that thread is about to block, a task is.
    driving_thread: AtomicUsize,
    /// The runtime was dropped by one of its own tasks: the driving thread runs all tasks to the
    /// end.
    is_left: AtomicBool,
    /// Steps made so far: the virtual clock, unless there are costs.
    steps: AtomicU64,
    /// The clocks, if there are costs.
    timeline: Option<Arc<SpinMutex<Timeline>>>,
    /// Where tasks have called, if calls are in place.
    calls: Option<SpinMutex<VirtualCalls>>,
    /// What the clock says, if it jumps.
    jumps: Option<JumpingClock>,
    #[cfg(feature = "std")]
    network: Option<Network>,
}

struct State {
    /// The driver of each core; `None` while it makes a step.
    cores: Vec<Option<Driver>>,
    random: Random,
}

impl Simulation {
    /// Creates `cores` virtual cores on one node. The seed decides their interleaving.
    pub fn new(cores: usize, seed: u64) -> Self {
        Self::with_nodes(cores, 1, seed)
    }

    /// Creates virtual cores as [`new`](Self::new) does, spread evenly over `nodes` nodes.
    ///
    /// With more than [`Builder::MAX_WORKERS`](crate::Builder::MAX_WORKERS) cores no runtime can be
    /// built that has a worker for each; see
    /// [`BuildError::TooManyWorkers`](crate::BuildError::TooManyWorkers).
    pub fn with_nodes(cores: usize, nodes: usize, seed: u64) -> Self {
        // One too many is enough for that error, and takes no memory.
        let cores = cores.min(crate::Builder::MAX_WORKERS + 1);
        Self {
            topology: CpuTopology::uniform(cores, nodes),
            state: SpinMutex::new(State { cores: Vec::new(), random: Random::new(seed) }),
            driving_thread: AtomicUsize::new(0),
            is_left: AtomicBool::new(false),
            steps: AtomicU64::new(0),
            timeline: None,
            calls: None,
            jumps: None,
            #[cfg(feature = "std")]
            network: None,
        }
    }

    /// Creates virtual cores as [`with_nodes`](Self::with_nodes) does, with a
    /// [clock](Self#with-costs) for each core. The second result reads the clocks.
    pub fn with_costs(cores: usize, nodes: usize, seed: u64, costs: Costs) -> (Self, Clocks) {
        let timeline = Arc::new(SpinMutex::new(Timeline::new(costs, seed)));
        let simulation = Self { timeline: Some(timeline.clone()), ..Self::with_nodes(cores, nodes, seed) };
        (simulation, Clocks(timeline))
    }

    /// Lets the clock of the platform jump ahead and back, as those of suspended or badly
    /// synchronised machines do. Deadlines, waits with a limit, statistics and the timeline read
    /// it. The seed decides when it jumps, and how far. If nothing depends on the clock, the
    /// interleaving and the [clocks of the cores](Self::with_costs) stay as they are without jumps.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::{JoinError, Runtime};
    /// use xtasking::platform::{ClockJumps, Simulation};
    ///
    /// let hour = Duration::from_secs(3600);
    /// let jumps = ClockJumps { one_in: 2, ahead: hour, behind: hour };
    /// let rt = Runtime::builder().platform(Simulation::new(4, 1).clock_jumps(jumps, 7)).build()?;
    /// let limit = Duration::from_secs(1);
    /// let tasks: Vec<_> =
    ///     (0..100).map(|_| rt.task(()).within(limit).submit(|(), _| ())).collect();
    /// for task in tasks {
    ///     // It ran, or was too late: nothing else can happen.
    ///     assert!(matches!(task.join(), Ok(()) | Err(JoinError::DeadlineExceeded)));
    /// }
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    #[must_use]
    pub fn clock_jumps(mut self, jumps: ClockJumps, seed: u64) -> Self {
        self.jumps = Some(JumpingClock::new(jumps, seed));
        self
    }

    /// Returns what the clock says.
    fn time(&self) -> u64 {
        let time = match &self.timeline {
            None => self.steps.load(Relaxed),
            Some(timeline) => timeline.lock().now(),
        };
        self.jumps.as_ref().map_or(time, |jumps| jumps.reading(time))
    }

    /// Lets one core with work run one task. Returns false if no core has work. Called by the
    /// driving thread only.
    fn step(&self) -> bool {
        if let Some(jumps) = &self.jumps {
            jumps.step();
        }
        match &self.timeline {
            None => self.step_at_random(),
            Some(timeline) => self.step_by_clock(timeline),
        }
    }

    fn step_at_random(&self) -> bool {
        let (start, cores) = {
            let state = &mut *self.state.lock();
            (state.random.next(), state.cores.len())
        };
        // The first core with work, from a random core on.
        for offset in 0..cores {
            let core = (start as usize % cores + offset) % cores;
            let Some(mut driver) = self.state.lock().cores[core].take() else { continue };
            let step = driver.step(1);
            self.steps.fetch_add(1, Relaxed);
            if step != Progress::Stopped {
                self.state.lock().cores[core] = Some(driver);
            }
            if matches!(step, Progress::Ran(_)) {
                return true;
            }
        }
        false
    }

    fn step_by_clock(&self, timeline: &SpinMutex<Timeline>) -> bool {
        // Tasks that were spawned from outside since the last step.
        timeline.lock().record_arrivals();
        loop {
            let next = timeline.lock().next();
            let Some(core) = next else { break };
            if self.step_core(timeline, core) {
                return true;
            }
        }
        let idle = timeline.lock().idle_cores();
        idle.into_iter().any(|core| self.step_core(timeline, core))
    }

    /// Lets a core, which must not be in the midst of a step, run one task or steal a half.
    /// Returns true if it did.
    fn step_core(&self, timeline: &SpinMutex<Timeline>, core: usize) -> bool {
        let Some(mut driver) = self.state.lock().cores[core].take() else { return false };
        driver.probe_next();
        let (was_idle, arrived) = {
            let mut timeline = timeline.lock();
            (timeline.is_idle(core), timeline.begin(core, driver.tally()))
        };
        let progress = driver.step_receiving(arrived);
        timeline.lock().end(&driver, was_idle, progress);
        if progress != Progress::Stopped {
            self.state.lock().cores[core] = Some(driver);
        }
        matches!(progress, Progress::Ran(_))
    }

    /// Returns true if other cores ran: within a join of the running core, lets them go on up to
    /// the running core's clock.
    fn catch_up(&self, timeline: &SpinMutex<Timeline>) -> bool {
        let mut ran = false;
        timeline.lock().record_arrivals();
        loop {
            let behind = timeline.lock().next_behind();
            let Some(core) = behind else { break };
            ran |= self.step_core(timeline, core);
        }
        loop {
            let thief = timeline.lock().thief();
            let Some(thief) = thief else { break };
            if !self.step_core(timeline, thief) {
                break;
            }
            ran = true;
        }
        ran
    }

    /// Returns true if no task is left. Called by the driving thread only.
    fn is_empty(&self) -> bool {
        self.state.lock().cores.iter().flatten().next().is_none_or(Driver::finds_nothing_left)
    }

    /// Drives until the runtime has stopped, then drops the workers.
    fn finish(&self) {
        while self.step() {}
        // Idle drivers have seen that the runtime has stopped, and are gone. A driver that makes
        // this very call is not.
        let drivers = core::mem::take(&mut self.state.lock().cores);
        drop(drivers);
        if let Some(timeline) = &self.timeline {
            let shared = timeline.lock().close();
            drop(shared);
        }
    }
}

impl Platform for Simulation {
    fn topology(&self) -> CpuTopology {
        self.topology.clone()
    }

    fn start(&self, worker: Driver) -> Result<(), PlatformError> {
        if let Some(timeline) = &self.timeline {
            timeline.lock().add(&worker);
        }
        let cores = &mut self.state.lock().cores;
        // The slot may exist: a worker of this number may have been signalled to stop and be away
        // for its last step.
        let core = worker.worker();
        if core >= cores.len() {
            cores.resize_with(core + 1, || None);
        }
        cores[core] = Some(worker);
        Ok(())
    }

    fn park(&self, _: usize) {}

    fn wake(&self, _: usize) {}

    #[cfg(feature = "std")]
    fn events(&self) -> Option<&dyn crate::events::EventQueues> {
        Some(self)
    }

    fn join(&self) {
        self.drive_to_end();
    }

    fn leave(&self) {
        self.is_left.store(true, Relaxed);
        #[cfg(feature = "unwind")]
        if std::thread::panicking() {
            // A failing test drops the runtime: one panic is enough.
            return;
        }
        // A thread outside leaves after a shutdown with a limit, and runs the cores to their end.
        self.drive_to_end();
    }

    /// Always fails: a task runs as a whole, so a watcher could not look while it runs.
    fn watch(&self, _: Duration, _: Box<dyn FnMut() -> bool + Send>) -> Result<(), PlatformError> {
        Err("a simulation has no watchers, as nothing can look while a task runs; build the runtime without \
             a watchdog and without `follow_advice`"
            .into())
    }

    fn is_simulated(&self) -> bool {
        true
    }

    /// # Panics
    ///
    /// Panics if no task is left to run, so that `ready` would never return true.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        self.drive(waiting::FOREVER, ready).map(|_| ())
    }

    /// If no task is left to run, the clock jumps to `until`.
    fn block_until(&self, until: u64, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<bool, WouldBlock> {
        self.drive(until, ready)
    }

    #[cfg(not(feature = "std"))]
    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(crate::memory::GlobalPages)
    }

    /// From the system, which takes back what dropped arenas leave: a test may make many of them.
    #[cfg(feature = "std")]
    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(super::os::OsPages)
    }

    fn now(&self) -> u64 {
        self.time()
    }

    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        Some(self)
    }
}
