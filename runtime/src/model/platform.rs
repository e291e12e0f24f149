//! A platform whose workers are loom's threads, or stand still until a model drives them.

use crate::memory::{GlobalPages, PageSource};
use crate::platform::{Platform, Topology, WouldBlock};
use crate::{Driver, Pool, Runtime};
use core::task::Waker;
use loom::sync::Notify;
use loom::thread::{self, JoinHandle};
use std::sync::{Arc, Mutex};
use std::task::Wake;

/// Where the drivers are. Never locked over a step of loom's, as its threads share one of the system's.
#[derive(Default)]
struct Workers {
    running: Vec<JoinHandle<()>>,
    standing: Vec<Driver>,
}

struct Cores {
    run: bool,
    workers: Arc<Mutex<Workers>>,
    /// What each worker sleeps at. (Not parking: loom loses a wake that comes while a thread yields, and takes one that
    /// comes while it joins another for that one's end.)
    beds: Box<[Notify]>,
}

/// A runtime whose workers are threads of the model, until it is dropped.
pub(super) fn running(workers: usize) -> Runtime {
    running_with(workers, Pool::Local)
}

/// The same with pools of that kind.
pub(super) fn running_with(workers: usize, pool: Pool) -> Runtime {
    build(workers, true, pool).0
}

/// A runtime whose workers the model drives itself, by the steps of these drivers.
pub(super) fn standing(workers: usize) -> (Runtime, Vec<Driver>) {
    let (runtime, places) = build(workers, false, Pool::Local);
    let drivers = core::mem::take(&mut places.lock().unwrap().standing);
    (runtime, drivers)
}

fn build(workers: usize, run: bool, pool: Pool) -> (Runtime, Arc<Mutex<Workers>>) {
    let places = Arc::new(Mutex::new(Workers::default()));
    let beds = (0..workers).map(|_| Notify::new()).collect();
    let cores = Cores { run, workers: places.clone(), beds };
    let builder = Runtime::builder().platform(cores).workers(workers).pool(pool);
    (builder.prefetch_distance(0).build().unwrap(), places)
}

impl Platform for Cores {
    fn topology(&self) -> Topology {
        Topology::uniform(2, 1)
    }

    fn start(&self, worker: Driver) -> Result<(), &'static str> {
        if self.run {
            let running = thread::spawn(move || worker.run());
            self.workers.lock().unwrap().running.push(running);
        } else {
            self.workers.lock().unwrap().standing.push(worker);
        }
        Ok(())
    }

    fn park(&self, worker: usize) {
        self.beds[worker].wait();
    }

    fn wake(&self, worker: usize) {
        self.beds[worker].notify();
    }

    fn join(&self) {
        let running = core::mem::take(&mut self.workers.lock().unwrap().running);
        running.into_iter().for_each(|thread| thread.join().unwrap());
    }

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if std::thread::panicking() {
            // The runtime is dropped by a model that failed: one panic is enough.
            return Err(WouldBlock);
        }
        let bell = Arc::new(Bell(Notify::new()));
        let waker = bell.clone().into();
        while !ready(&waker) {
            bell.0.wait();
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn now(&self) -> u64 {
        0
    }
}

/// Wakes who waits at it.
pub(super) struct Bell(pub(super) Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}
