//! A platform with loom's threads as workers, or with workers that a model drives step by step.

use crate::memory::{GlobalPages, PageSource};
use crate::platform::{CpuTopology, Platform, WouldBlock};
use crate::{QueuePolicy, Runtime, platform::Driver};
use core::task::Waker;
use loom::sync::Notify;
use loom::thread::{self, JoinHandle};
use std::sync::{Arc, Mutex};
use std::task::Wake;

/// The workers. Never locked over a step of loom, whose threads share one thread of the system.
#[derive(Default)]
struct Workers {
    running: Vec<JoinHandle<()>>,
    standing: Vec<Driver>,
}

struct Cores {
    /// The number of workers that are threads of the model: the first ones.
    threads: usize,
    has_barrier: bool,
    workers: Arc<Mutex<Workers>>,
    /// What each worker sleeps at. (Not parking: loom loses a wake-up of a thread that yields, and
    /// mistakes a wake-up of a thread that joins another for the end of that one.)
    sleepers: Box<[Notify]>,
    /// Notified when a worker parks.
    parks: Arc<Notify>,
}

/// Makes a runtime whose workers are threads of the model, until it is dropped.
pub(super) fn running(workers: usize) -> Runtime {
    running_with(workers, QueuePolicy::Local)
}

/// Makes such a runtime with a policy for unbound tasks.
pub(super) fn running_with(workers: usize, pool: QueuePolicy) -> Runtime {
    build(workers, workers, true, pool).0
}

/// Makes a runtime whose workers the model drives itself, by the steps of these drivers.
pub(super) fn standing(workers: usize) -> (Runtime, Vec<Driver>) {
    standing_with(workers, true, QueuePolicy::Local)
}

/// Makes such a runtime, on a platform with or without a barrier and with a policy for unbound
/// tasks.
pub(super) fn standing_with(workers: usize, has_barrier: bool, pool: QueuePolicy) -> (Runtime, Vec<Driver>) {
    let (runtime, drivers, _) = build(workers, 0, has_barrier, pool);
    (runtime, drivers)
}

/// Makes a runtime of two workers: the first is a thread that has parked, the model drives the
/// second.
pub(super) fn one_asleep(pool: QueuePolicy) -> (Runtime, Driver) {
    let (runtime, mut drivers, parks) = build(2, 1, true, pool);
    parks.wait();
    (runtime, drivers.pop().unwrap())
}

/// Makes a runtime whose first workers, `threads` of them, are threads. Returns it with the drivers
/// of the others, and with what is notified when a worker parks.
fn build(
    workers: usize,
    threads: usize,
    has_barrier: bool,
    pool: QueuePolicy,
) -> (Runtime, Vec<Driver>, Arc<Notify>) {
    let (places, parks) = (Arc::new(Mutex::new(Workers::default())), Arc::new(Notify::new()));
    let sleepers = (0..workers).map(|_| Notify::new()).collect();
    let cores = Cores { threads, has_barrier, workers: places.clone(), sleepers, parks: parks.clone() };
    let builder = Runtime::builder().platform(cores).workers(workers).pool(pool);
    let runtime = builder.prefetch_distance(0).build().unwrap();
    let drivers = core::mem::take(&mut places.lock().unwrap().standing);
    (runtime, drivers, parks)
}

impl Platform for Cores {
    fn topology(&self) -> CpuTopology {
        CpuTopology::uniform(2, 1)
    }

    fn start(&self, worker: Driver) -> Result<(), crate::platform::PlatformError> {
        if worker.worker() < self.threads {
            let running = thread::spawn(move || worker.run());
            self.workers.lock().unwrap().running.push(running);
        } else {
            self.workers.lock().unwrap().standing.push(worker);
        }
        Ok(())
    }

    fn park(&self, worker: usize) {
        self.parks.notify();
        self.sleepers[worker].wait();
    }

    fn wake(&self, worker: usize) {
        self.sleepers[worker].notify();
    }

    fn join(&self) {
        let running = core::mem::take(&mut self.workers.lock().unwrap().running);
        running.into_iter().for_each(|thread| thread.join().unwrap());
    }

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if std::thread::panicking() {
            // A failed model drops the runtime: one panic is enough.
            return Err(WouldBlock);
        }
        let bell = Arc::new(Bell(Notify::new()));
        let waker = bell.clone().into();
        while !ready(&waker) {
            bell.0.wait();
        }
        Ok(())
    }

    /// Under the model checker light fences are full ones, so a full fence serves.
    fn barrier(&self) -> bool {
        crate::sync::fence(crate::sync::SeqCst);
        self.has_barrier
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn now(&self) -> u64 {
        0
    }

    fn virtual_time(&self) -> Option<&dyn crate::platform::VirtualTime> {
        Some(self)
    }
}

/// The clock stands still, and the checker interleaves the workers.
impl crate::platform::VirtualTime for Cores {}

/// Wakes the thread that waits at it.
pub(super) struct Bell(pub(super) Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}
