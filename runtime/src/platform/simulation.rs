//! Virtual cores in one thread: the next core to run a task comes from a seeded generator, so that a failing
//! interleaving can be replayed from its seed.

use super::{Platform, Topology, WouldBlock};
use crate::memory::{GlobalPages, PageSource};
use crate::scheduler::{Driver, Progress};
use crate::sync::{AtomicBool, AtomicU64, Relaxed, SpinMutex};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

/// A deterministic platform.
///
/// Work is done while somebody waits: in [`Handle::join`](crate::Handle::join) or when the runtime shuts down.
/// Tasks are the grain of interleaving: each runs as a whole, on the core that the seed chose.
pub struct Simulation {
    topology: Topology,
    state: SpinMutex<State>,
    /// A step is being made: whoever would wait now is a task.
    stepping: AtomicBool,
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
            stepping: AtomicBool::new(false),
            steps: AtomicU64::new(0),
        }
    }

    /// One core that has something to do runs one task. `false`: there is nothing to do.
    fn step(&self) -> bool {
        let (start, cores) = {
            let state = &mut *self.state.lock();
            (state.next(), state.cores.len())
        };
        // From a random core on, the first that is not idle.
        for offset in 0..cores {
            let core = (start as usize % cores + offset) % cores;
            let Some(mut driver) = self.state.lock().cores[core].take() else { continue };
            self.stepping.store(true, Relaxed);
            let step = driver.step(1);
            self.stepping.store(false, Relaxed);
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

impl Platform for Simulation {
    fn topology(&self) -> Topology {
        self.topology.clone()
    }

    fn start(&self, worker: Driver) -> Result<(), &'static str> {
        self.state.lock().cores.push(Some(worker));
        Ok(())
    }

    fn park(&self, _: usize) {}

    fn wake(&self, _: usize) {}

    fn join(&self) {
        while self.step() {}
        // Idle drivers have seen that the runtime is stopped, and are gone; one that is making this very call is not.
        let drivers = core::mem::take(&mut self.state.lock().cores);
        drop(drivers);
    }

    /// # Panics
    ///
    /// If nothing is left to run, so that `ready` would never come true.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if self.stepping.load(Relaxed) {
            return Err(WouldBlock);
        }
        let mut idle = 0;
        while !ready(Waker::noop()) {
            idle = if self.step() { 0 } else { idle + 1 };
            #[cfg(feature = "std")]
            if idle == IDLE_ROUNDS && std::thread::panicking() {
                // The runtime is dropped by a test that failed: one panic is enough.
                return Err(WouldBlock);
            }
            assert!(idle < IDLE_ROUNDS, "the simulation waits for something that no task will do");
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn now(&self) -> u64 {
        self.steps.load(Relaxed)
    }
}
