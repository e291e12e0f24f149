//! Workers as threads of the operating system, pinned where it can.

use super::os::{self, OsPages};
use super::{Placement, Platform, Topology, WouldBlock};
use crate::memory::PageSource;
use crate::scheduler::Driver;
use crate::sync::{Acquire, AtomicBool, AtomicUsize, Relaxed, Release, SpinMutex, global};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::cell::Cell;
use core::task::Waker;
use std::sync::mpsc;
use std::task::Wake;
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

std::thread_local! {
    /// The platform whose worker this thread is, by its number.
    static WORKS_FOR: Cell<u64> = const { Cell::new(0) };
}

/// Numbers for platforms; 0 is "none".
static NEXT: global::AtomicU64 = global::AtomicU64::new(1);

/// A thread a worker.
pub struct Threads {
    number: u64,
    topology: Topology,
    /// How many workers make sense.
    suggested: usize,
    workers: usize,
    /// The thread of each worker that is there, or was.
    threads: Arc<[SpinMutex<Option<Thread>>]>,
    /// How many workers there are now.
    running: Arc<AtomicUsize>,
    joins: SpinMutex<Vec<JoinHandle<()>>>,
    /// The watchers are to return.
    unwatched: Arc<AtomicBool>,
    pin: bool,
    stack: usize,
    began: Instant,
}

impl Threads {
    /// A platform for up to that many workers. Each is pinned to a core of its own; with more workers than cores none is.
    pub fn new(workers: usize) -> Self {
        let topology = os::topology();
        Self {
            number: NEXT.fetch_add(1, Relaxed),
            pin: os::BINDS && workers <= topology.cores.len(),
            suggested: os::suggested_workers(),
            stack: DEFAULT_STACK,
            workers,
            threads: (0..workers).map(|_| SpinMutex::new(None)).collect(),
            running: Arc::default(),
            joins: SpinMutex::new(Vec::new()),
            unwatched: Arc::default(),
            began: Instant::now(),
            topology,
        }
    }

    /// Leaves the placement of threads to the operating system, unless the runtime is [told](crate::Builder::placement)
    /// where they are to be.
    #[must_use]
    pub fn unpinned(mut self) -> Self {
        self.pin = false;
        self
    }

    /// How many bytes of stack each worker has; 8 MiB without this, of which only what is used takes memory. It bounds how
    /// deep tasks may recur: whoever exceeds it ends the process. (A [join](crate::Fork::join) needs no more stack than its
    /// two functions would if they were called.)
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack = bytes;
        self
    }

    /// How many workers make sense on this machine: one for each core that this process may use, or fewer where a
    /// quota grants less.
    pub fn suggested_workers() -> usize {
        os::suggested_workers()
    }

    /// Where workers run that were told nothing, if they are bound; and why so many, and there.
    pub(super) fn habit(&self) -> Placement {
        let cpus = |count: usize| alloc::format!("{count} {}", if count == 1 { "CPU" } else { "CPUs" });
        let usable = self.topology.cores.len();
        let why = if self.workers != self.suggested {
            alloc::format!("asked for, of {} that this process may run on", cpus(usable))
        } else if self.suggested < usable {
            let worth = cpus(self.suggested);
            alloc::format!("a quota leaves {worth} of the {usable} that this process may run on")
        } else {
            alloc::format!("{} that this process may run on", cpus(usable))
        };
        Placement::new(self.topology.cores.iter().take(self.workers).map(|core| core.os_id as u32), why)
    }

    /// Starts a thread that [`join`](Platform::join) waits for.
    fn spawn(&self, name: String, body: impl FnOnce() + Send + 'static) -> Result<(), &'static str> {
        let thread = std::thread::Builder::new()
            .name(name)
            .stack_size(self.stack)
            .spawn(body)
            .map_err(|_| "the operating system refuses to start another thread")?;
        let mut joins = self.joins.lock();
        joins.retain(|thread| !thread.is_finished());
        joins.push(thread);
        Ok(())
    }
}

/// As much as the first thread of a process commonly has.
const DEFAULT_STACK: usize = 8 << 20;

/// An idle worker expects a task from another one, or an answer, before it says that it is hungry: some microseconds.
const LOOKS_AT_HOME: u32 = 256;

impl Platform for Threads {
    fn topology(&self) -> Topology {
        self.topology.clone()
    }

    fn node_of_number(&self, number: u32) -> Option<u16> {
        os::node_of_number(number)
    }

    fn placement(&self) -> Option<Placement> {
        self.pin.then(|| self.habit())
    }

    fn start(&self, driver: Driver) -> Result<(), &'static str> {
        let worker = driver.worker();
        if worker >= self.workers {
            return Err("the platform was made for fewer workers");
        }
        let number = self.number;
        let told = driver.core();
        let core =
            told.or_else(|| self.pin.then(|| self.topology.cores[worker % self.topology.cores.len()].os_id));
        // Who was told where to be says whether it is there.
        let (say, hear) = told.map(|_| mpsc::channel()).unzip();
        let threads = self.threads.clone();
        let running = self.running.clone();
        let body = move || {
            WORKS_FOR.set(number);
            *threads[worker].lock() = Some(std::thread::current());
            // Where nothing was told and binding is not possible, the scheduler's choice has to do.
            let is_there = core.is_none_or(os::pin_current_thread) || told.is_none();
            // What a driver holds that does not run is free again before anybody hears of it.
            let driver = is_there.then_some(driver);
            if let Some(say) = say {
                _ = say.send(is_there);
            }
            if let Some(driver) = driver {
                driver.run();
            }
            running.fetch_sub(1, Relaxed);
        };
        self.running.fetch_add(1, Relaxed);
        self.spawn(alloc::format!("xtasking-{worker}"), body)
            .inspect_err(|_| _ = self.running.fetch_sub(1, Relaxed))?;
        match hear.map(|hear| hear.recv()) {
            None | Some(Ok(true)) => Ok(()),
            Some(_) => Err("the system refuses to bind a worker to the core that it was told"),
        }
    }

    fn park(&self, _: usize) {
        std::thread::park();
    }

    fn wake(&self, worker: usize) {
        // A thread that is not there yet has not looked for tasks yet; one that could not be started never will.
        let thread = self.threads.get(worker).and_then(|thread| thread.lock().clone());
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    fn join(&self) {
        // Release pairs with the Acquire of the watcher; it looks again when it is woken.
        self.unwatched.store(true, Release);
        loop {
            let threads = core::mem::take(&mut *self.joins.lock());
            if threads.is_empty() {
                return;
            }
            for thread in threads {
                thread.thread().unpark();
                // A worker never unwinds: bodies are caught one by one. The last handle of a runtime may be dropped on
                // one of its own threads, which cannot wait for itself.
                if thread.thread().id() != std::thread::current().id() {
                    let _ = thread.join();
                }
            }
            // A watcher may have started workers meanwhile; with the watchers gone, nobody does.
        }
    }

    fn watch(&self, every: Duration, mut look: Box<dyn FnMut() -> bool + Send>) -> Result<(), &'static str> {
        let unwatched = self.unwatched.clone();
        self.spawn("xtasking-watch".into(), move || {
            let mut slept_since = Instant::now();
            // Acquire pairs with the Release of `join`.
            while !unwatched.load(Acquire) {
                let left = every.saturating_sub(slept_since.elapsed());
                if !left.is_zero() {
                    // May return early.
                    std::thread::park_timeout(left);
                } else if look() {
                    slept_since = Instant::now();
                } else {
                    return;
                }
            }
        })
    }

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        if WORKS_FOR.get() == self.number {
            return Err(WouldBlock);
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        while !ready(&waker) {
            std::thread::park();
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(OsPages)
    }

    fn memory(&self) -> Option<u64> {
        os::memory()
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn is_real_time(&self) -> bool {
        true
    }

    fn patience(&self) -> u32 {
        if self.workers > self.topology.cores.len() { 0 } else { LOOKS_AT_HOME }
    }

    fn is_oversubscribed(&self) -> bool {
        self.running.load(Relaxed) > self.topology.cores.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_habit_says_why() {
        let why = |usable, suggested, workers| {
            let threads =
                Threads { topology: Topology::uniform(usable, 1), suggested, ..Threads::new(workers) };
            alloc::string::ToString::to_string(&threads.habit())
        };
        assert_eq!(why(1, 1, 1), "CPU 0: 1 CPU that this process may run on");
        assert_eq!(why(8, 8, 8), "CPUs 0-7: 8 CPUs that this process may run on");
        assert_eq!(why(8, 1, 1), "CPU 0: a quota leaves 1 CPU of the 8 that this process may run on");
        assert_eq!(why(8, 4, 2), "CPUs 0-1: asked for, of 8 CPUs that this process may run on");
    }
}
