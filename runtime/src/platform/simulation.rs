//! Virtual cores: the next core to run a task comes from a seeded generator, so that a failing interleaving can be
//! replayed from its seed.
//!
//! One thread at a time *drives* the cores. Others that wait meanwhile look now and then whether what they wait for has
//! happened, or whether they can drive.

use super::{Platform, Topology, WouldBlock};
use crate::memory::{GlobalPages, PageSource};
use crate::scheduler::{Driver, Progress};
use crate::sync::{Acquire, AtomicBool, AtomicU64, AtomicUsize, Backoff, Relaxed, Release, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;
use core::time::Duration;

/// A deterministic platform.
///
/// Work is done while somebody waits: in [`Handle::join`](crate::Handle::join) or when the runtime shuts down.
/// Tasks are the grain of interleaving: each runs as a whole, on the core that the seed chose.
pub struct Simulation {
    topology: Topology,
    state: SpinMutex<State>,
    /// The thread that drives the cores, as [`this_thread`] names it, or 0: when it would wait, it is a task that would.
    driving: AtomicUsize,
    /// The runtime was dropped by one of its tasks: who drives the cores drives them to the end.
    left: AtomicBool,
    /// Steps made so far: the virtual clock.
    steps: AtomicU64,
}

struct State {
    /// A core's driver is away while it makes a step.
    cores: Vec<Option<Driver>>,
    random: u64,
}

impl Simulation {
    /// `cores` virtual cores on one node; the seed decides their interleaving.
    pub fn new(cores: usize, seed: u64) -> Self {
        Self::with_nodes(cores, 1, seed)
    }

    /// As [`new`](Self::new), the cores dealt evenly to `nodes` nodes.
    pub fn with_nodes(cores: usize, nodes: usize, seed: u64) -> Self {
        // The generator's state must not be zero.
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
        Self {
            topology: Topology::uniform(cores, nodes),
            state: SpinMutex::new(State { cores: Vec::new(), random: random.max(1) }),
            driving: AtomicUsize::new(0),
            left: AtomicBool::new(false),
            steps: AtomicU64::new(0),
        }
    }

    /// One core that has something to do runs one task. `false`: there is nothing to do. Only the driving thread steps.
    fn step(&self) -> bool {
        let (start, cores) = {
            let state = &mut *self.state.lock();
            (state.next(), state.cores.len())
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

    /// Whether no task is left. Only the driving thread asks.
    fn is_empty(&self) -> bool {
        self.state.lock().cores.iter().flatten().next().is_none_or(Driver::finds_nothing_left)
    }

    /// Becomes the driving thread, unless another one is.
    fn try_drive(&self) -> Option<Driving<'_>> {
        // Acquire pairs with the Release of the drop: what the cores did under another thread is seen.
        let taken = self.driving.compare_exchange(0, this_thread(), Acquire, Relaxed);
        taken.is_ok().then_some(Driving(self))
    }

    /// Drives until the runtime has stopped, and lets go of its workers.
    fn finish(&self) {
        while self.step() {}
        // Idle drivers have seen that the runtime is stopped, and are gone; one that is making this very call is not.
        let drivers = core::mem::take(&mut self.state.lock().cores);
        drop(drivers);
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
fn this_thread() -> usize {
    std::thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

/// Without an operating system there is one thread.
#[cfg(not(feature = "std"))]
fn this_thread() -> usize {
    1
}

impl State {
    /// The next number of a xorshift generator.
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }
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

    /// Refuses: a task is a single step of the virtual clock, however long it takes.
    fn watch(&self, _: Duration, _: Box<dyn FnMut() -> bool + Send>) -> Result<(), &'static str> {
        Err("a simulation has no watchdog: on its clock every task takes one step")
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
        (waiting || self.state.lock().next().is_multiple_of(2)) && self.step()
    }

    fn patience(&self) -> u32 {
        0
    }

    fn now(&self) -> u64 {
        self.steps.load(Relaxed)
    }
}
