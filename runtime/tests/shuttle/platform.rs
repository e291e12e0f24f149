//! A platform whose workers are threads of the checker.

use crate::common::Random;
use shuttle::thread::{self, JoinHandle, Thread};
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;
use xtasking::platform::{CpuTopology, Platform, WouldBlock};
use xtasking::{
    Builder, Runtime, Shutdown,
    platform::{Driver, GlobalPages, PageSource},
};

/// A thread for each worker. State of the platform is never accessed across a switch point, so
/// locks of the standard library suffice.
struct CheckedThreads {
    threads: Arc<[Mutex<Option<Thread>>]>,
    joins: Mutex<Vec<JoinHandle<()>>>,
    clock: AtomicU64,
}

/// Returns a builder with this number of workers.
pub fn builder(workers: usize) -> Builder {
    let threads = (0..workers).map(|_| Mutex::default()).collect();
    let platform = CheckedThreads { threads, joins: Mutex::default(), clock: AtomicU64::new(0) };
    Runtime::builder().platform(platform).prefetch_distance(2)
}

/// Returns a runtime with this number of workers.
pub fn runtime(workers: usize) -> Runtime {
    builder(workers).build().expect("a runtime of a few workers")
}

/// A switch point in the middle of a body.
pub fn pause() {
    thread::sleep(Duration::ZERO);
}

/// Runs a body on some threads, each with its number, and waits for them.
pub fn on_threads(count: usize, body: impl Fn(usize) + Clone + Send + 'static) {
    let bodies = (0..count).map(|number| (number, body.clone()));
    let threads: Vec<_> = bodies.map(|(number, body)| thread::spawn(move || body(number))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread ends"));
}

/// What a task calls.
pub type Call = Box<dyn FnOnce() + Send>;

/// Asserts that each task runs once, when two threads spawn three each, and each of these spawns
/// another one. `spawn` gets the number of the task, and what it and its follow-up call.
pub fn assert_each_runs_once(
    rt: Runtime,
    spawn: impl Fn(&Runtime, u16, Call, Call) + Clone + Send + 'static,
) {
    let rt = Arc::new(rt);
    let runs: Arc<[AtomicUsize; 12]> = Arc::default();
    let (spawner, counted) = (rt.clone(), runs.clone());
    on_threads(2, move |thread| {
        for task in 0..3 {
            let count = |number: usize| {
                let runs = counted.clone();
                Box::new(move || _ = runs[number].fetch_add(1, Relaxed))
            };
            let number = (thread * 3 + task) * 2;
            spawn(&spawner, task as u16, count(number), count(number + 1));
        }
    });
    Arc::into_inner(rt).expect("the threads are gone").shutdown(Shutdown::Drain);
    assert!(runs.iter().all(|runs| runs.load(Relaxed) == 1), "{runs:?}");
}

/// Unwinds without calling the panic hook: the checker treats each panic that it sees as a failure.
pub fn unwind() -> ! {
    std::panic::resume_unwind(Box::new("provoked"))
}

/// Lets some time pass: a random number of switch points.
pub fn wait_a_little(random: &mut Random, most: usize) {
    (0..random.below(most)).for_each(|_| pause());
}

/// Locks a mutex. (No code panics while it holds one.)
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl CheckedThreads {
    fn is_worker(&self, thread: &Thread) -> bool {
        self.threads
            .iter()
            .any(|worker| lock(worker).as_ref().is_some_and(|worker| worker.id() == thread.id()))
    }
}

impl Platform for CheckedThreads {
    fn topology(&self) -> CpuTopology {
        CpuTopology::uniform(self.threads.len(), 1)
    }

    fn start(&self, driver: Driver) -> Result<(), xtasking::platform::PlatformError> {
        let threads = self.threads.clone();
        let thread = thread::spawn(move || {
            let this = thread::current();
            *lock(&threads[driver.worker()]) = Some(this);
            driver.run();
        });
        lock(&self.joins).push(thread);
        Ok(())
    }

    fn stand_in(
        &self,
        _: usize,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<(), xtasking::platform::PlatformError> {
        let thread = thread::spawn(body);
        lock(&self.joins).push(thread);
        Ok(())
    }

    fn suspend(&self) {
        let this = thread::current().id();
        for worker in &self.threads[..] {
            // If another thread drives the worker already, it is that one's.
            lock(worker).take_if(|thread| thread.id() == this);
        }
    }

    fn resume(&self, worker: usize, ready: &mut dyn FnMut(&Waker) -> bool) {
        let this = thread::current();
        let waker = Waker::from(Arc::new(Unpark(this.clone())));
        while !ready(&waker) {
            thread::park();
        }
        *lock(&self.threads[worker]) = Some(this);
    }

    fn park(&self, _: usize) {
        thread::park();
    }

    fn wake(&self, worker: usize) {
        // A thread that has not started has not looked for tasks.
        let thread = lock(&self.threads[worker]).clone();
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    fn join(&self) {
        let threads = mem::take(&mut *lock(&self.joins));
        for thread in threads {
            thread.join().expect("a worker ends");
        }
    }

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        let current = thread::current();
        if self.is_worker(&current) {
            return Err(WouldBlock);
        }
        let waker = Waker::from(Arc::new(Unpark(current)));
        while !ready(&waker) {
            thread::park();
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed)
    }

    fn virtual_time(&self) -> Option<&dyn xtasking::platform::VirtualTime> {
        Some(self)
    }
}

/// The clock counts its readings, and the checker interleaves the workers.
impl xtasking::platform::VirtualTime for CheckedThreads {}
