//! Virtual cores: the next core to run a task comes from a seeded generator, so that a failing interleaving can be
//! replayed from its seed; or, with costs, each core has a clock, and the one whose clock is least goes next.
//!
//! One thread at a time *drives* the cores. Others that wait meanwhile look now and then whether what they wait for has
//! happened, or whether they can drive.

mod clocks;
mod costs;
mod lock;
mod random;
mod timeline;

pub use clocks::{Clocks, CoreTime};
pub use costs::Costs;

use super::{Platform, Topology, WouldBlock};
use crate::memory::{GlobalPages, PageSource};
use crate::scheduler::{Driver, Progress};
use crate::sync::{Acquire, AtomicBool, AtomicU64, AtomicUsize, Backoff, Relaxed, Release, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;
use core::time::Duration;
use random::Random;
use timeline::Timeline;

/// A deterministic platform.
///
/// Work is done while somebody waits: in [`Handle::join`](crate::Handle::join) or when the runtime shuts down.
/// Tasks are the grain of interleaving: each runs as a whole, on the core that the seed chose.
///
/// # With costs
///
/// [`with_costs`](Self::with_costs) gives each core a clock in virtual nanoseconds. The core whose clock is least goes
/// next, the seed decides between equals, and what a core does takes as long as the [`Costs`] say. [`Clocks`] tell how
/// long all of it has taken, and each core; so what a program would do on 192 cores can be seen on one.
///
/// What is sent to another core arrives when the task that sends it is over, or has come to a join, and starts no earlier.
/// What somebody outside spawns arrives at the time at which the last task was over that he had waited for. Tasks on a
/// sequenced object come one after the other, in virtual time as well. Some things are not as on a machine:
///
/// - A core takes what was sent to it in the order in which it was sent, so that what is late may hold up what comes after
///   it. One that spawns a task with several sequenced objects, of which one is its own, waits until all has arrived that
///   was sent to it before.
/// - A core that takes from the queue that all share ([`Pool::Ranked`](crate::Pool::Ranked)) waits for its lock, in virtual
///   time ([`Costs::queue`]). One that was at work when a task was put there may take it a little too early, by a part of
///   what it ran then.
/// - As each task runs as a whole, nobody waits at a latch or reads what is just being written, though tasks on an object
///   with a latch may overlap in virtual time.
/// - Joins take no time: bodies have to [say](Clocks::spend) how long they take. Wherever a task divides its work
///   ([`Fork::join`](crate::Fork::join)), cores whose clocks are behind go on first, and an idle one may take a half. It runs
///   that half to its end before the owner goes on, but in its own time, and the owner has the result when the thief's
///   clock says so. Until then the others do not know what the owner will offer next; so the work is spread a little worse
///   than it could be: over 64 cores, some 20 % worse in a test.
///
/// ```
/// use xtasking::Runtime;
/// use xtasking::platform::{Costs, Simulation};
///
/// // A task takes 10 ns and as much for each unit of its cost; a push to another core takes 100 ns.
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
    topology: Topology,
    state: SpinMutex<State>,
    /// The thread that drives the cores, as [`this_thread`] names it, or 0: when it would wait, it is a task that would.
    driving: AtomicUsize,
    /// The runtime was dropped by one of its tasks: who drives the cores drives them to the end.
    left: AtomicBool,
    /// Steps made so far: the virtual clock, unless there are costs.
    steps: AtomicU64,
    /// The clocks, if there are costs.
    timeline: Option<Arc<SpinMutex<Timeline>>>,
}

struct State {
    /// A core's driver is away while it makes a step.
    cores: Vec<Option<Driver>>,
    random: Random,
}

impl Simulation {
    /// `cores` virtual cores on one node; the seed decides their interleaving.
    pub fn new(cores: usize, seed: u64) -> Self {
        Self::with_nodes(cores, 1, seed)
    }

    /// As [`new`](Self::new), the cores dealt evenly to `nodes` nodes.
    pub fn with_nodes(cores: usize, nodes: usize, seed: u64) -> Self {
        Self {
            topology: Topology::uniform(cores, nodes),
            state: SpinMutex::new(State { cores: Vec::new(), random: Random::new(seed) }),
            driving: AtomicUsize::new(0),
            left: AtomicBool::new(false),
            steps: AtomicU64::new(0),
            timeline: None,
        }
    }

    /// As [`with_nodes`](Self::with_nodes), with a clock for each core: [see above](Self#with-costs). The second is to read
    /// them.
    pub fn with_costs(cores: usize, nodes: usize, seed: u64, costs: Costs) -> (Self, Clocks) {
        let timeline = Arc::new(SpinMutex::new(Timeline::new(costs, seed)));
        let simulation = Self { timeline: Some(timeline.clone()), ..Self::with_nodes(cores, nodes, seed) };
        (simulation, Clocks(timeline))
    }

    /// One core that has something to do runs one task. `false`: there is nothing to do. Only the driving thread steps.
    fn step(&self) -> bool {
        match &self.timeline {
            None => self.step_at_random(),
            Some(timeline) => self.step_in_time(timeline),
        }
    }

    fn step_at_random(&self) -> bool {
        let (start, cores) = {
            let state = &mut *self.state.lock();
            (state.random.next(), state.cores.len())
        };
        // From a random core on, the first that is not idle.
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

    fn step_in_time(&self, timeline: &SpinMutex<Timeline>) -> bool {
        // What came from outside.
        timeline.lock().arrive();
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

    /// A core, which is not in the midst of a step, runs one task, or else takes what others offer.
    fn step_core(&self, timeline: &SpinMutex<Timeline>, core: usize) -> bool {
        let Some(mut driver) = self.state.lock().cores[core].take() else { return false };
        driver.look_around_next();
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

    /// Lets others go on in a join of the running core's, as far as their clocks are behind.
    fn catch_up(&self, timeline: &SpinMutex<Timeline>) -> bool {
        let mut ran = false;
        timeline.lock().arrive();
        loop {
            let behind = timeline.lock().next_behind();
            let Some(core) = behind else { break };
            ran |= self.step_core(timeline, core);
        }
        let thief = timeline.lock().thief();
        if let Some(thief) = thief {
            ran |= self.step_core(timeline, thief);
        }
        timeline.lock().ask();
        ran
    }

    /// Whether no task is left. Only the driving thread asks.
    fn is_empty(&self) -> bool {
        self.state.lock().cores.iter().flatten().next().is_none_or(Driver::finds_nothing_left)
    }

    /// Becomes the driving thread, unless another one is.
    fn try_drive(&self) -> Option<Driving<'_>> {
        // Acquire pairs with the Release of the drop: what the cores did under another thread is seen.
        let taken = self.driving.compare_exchange(0, this_thread(), Acquire, Relaxed);
        taken.is_ok().then(|| Driving(self))
    }

    /// Drives until the runtime has stopped, and lets go of its workers.
    fn finish(&self) {
        while self.step() {}
        // Idle drivers have seen that the runtime is stopped, and are gone; one that is making this very call is not.
        let drivers = core::mem::take(&mut self.state.lock().cores);
        drop(drivers);
        if let Some(timeline) = &self.timeline {
            let shared = timeline.lock().close();
            drop(shared);
        }
    }
}

/// The calling thread drives the cores.
struct Driving<'a>(&'a Simulation);

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        if self.0.left.load(Relaxed) {
            self.0.finish();
        }
        // Release pairs with the Acquire of `try_drive`.
        self.0.driving.store(0, Release);
    }
}

/// A number other than 0 that the threads which live now do not share.
#[cfg(feature = "std")]
pub(crate) fn this_thread() -> usize {
    std::thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

/// Without an operating system there is one thread.
#[cfg(not(feature = "std"))]
pub(crate) fn this_thread() -> usize {
    1
}

/// Idle rounds after which nothing will come any more: garbage takes a few epochs.
const IDLE_ROUNDS: u32 = 8;
/// Idle rounds after which a task that was spawned cannot be on its way any more.
const LOST_ROUNDS: u32 = 1 << 18;

impl Platform for Simulation {
    fn topology(&self) -> Topology {
        self.topology.clone()
    }

    fn start(&self, worker: Driver) -> Result<(), &'static str> {
        if let Some(timeline) = &self.timeline {
            timeline.lock().add(&worker);
        }
        let cores = &mut self.state.lock().cores;
        // A worker of that number that has been told to go is away for its last step, or was never there.
        let core = worker.worker();
        if core >= cores.len() {
            cores.resize_with(core + 1, || None);
        }
        cores[core] = Some(worker);
        Ok(())
    }

    fn park(&self, _: usize) {}

    fn wake(&self, _: usize) {}

    fn join(&self) {
        let mut backoff = Backoff::new();
        loop {
            match self.try_drive() {
                Some(_driving) => return self.finish(),
                // Whoever drives is about to see that the runtime has stopped; a task of this very thread goes on.
                None if self.driving.load(Relaxed) == this_thread() => return,
                None => backoff.wait(),
            }
        }
    }

    fn leave(&self) {
        self.left.store(true, Relaxed);
    }

    /// Refuses: a task runs as a whole, so that nobody could look meanwhile.
    fn watch(&self, _: Duration, _: Box<dyn FnMut() -> bool + Send>) -> Result<(), &'static str> {
        Err("a simulation has no watchers: nobody can look while a task runs")
    }

    fn is_simulated(&self) -> bool {
        true
    }

    /// # Panics
    ///
    /// If nothing is left to run, so that `ready` would never come true.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if self.driving.load(Relaxed) == this_thread() {
            return Err(WouldBlock);
        }
        let mut backoff = Backoff::new();
        let mut idle = 0;
        while !ready(Waker::noop()) {
            let Some(_driving) = self.try_drive() else {
                backoff.wait();
                continue;
            };
            // What the last driver did may be all that was waited for.
            while !ready(Waker::noop()) {
                idle = if self.step() { 0 } else { idle + 1 };
                #[cfg(feature = "std")]
                if idle == IDLE_ROUNDS && std::thread::panicking() {
                    // The runtime is dropped by a test that failed: one panic is enough.
                    return Err(WouldBlock);
                }
                if idle >= IDLE_ROUNDS {
                    assert!(!self.is_empty(), "the simulation waits for something that no task will do");
                    // Another thread is in the middle of a spawn; that does not take for ever.
                    assert!(idle < LOST_ROUNDS, "the simulation has lost a task");
                    backoff.wait();
                }
            }
            return Ok(());
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn interleave(&self, waiting: bool) -> bool {
        match &self.timeline {
            None => (waiting || self.state.lock().random.next().is_multiple_of(2)) && self.step(),
            Some(timeline) => self.catch_up(timeline) || waiting && self.step(),
        }
    }

    fn ran_for_another(&self, part: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().job_done(part);
        }
    }

    fn got_back(&self, part: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().job_back(part);
        }
    }

    fn ran_within(&self, cost: u64) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().ran_within(cost);
        }
    }

    fn put_into_queue(&self, heap: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().use_queue(heap);
        }
    }

    fn took_from_queue(&self, heap: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().take_from_queue(heap);
        }
    }

    fn patience(&self) -> u32 {
        0
    }

    fn now(&self) -> u64 {
        self.timeline.as_ref().map_or_else(|| self.steps.load(Relaxed), |timeline| timeline.lock().now())
    }
}
