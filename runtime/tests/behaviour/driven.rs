//! A worker that a thread drives while it waits, on a platform where the program has no core of its
//! own.

use crate::common::{Dropped, eventually, watchdog};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle, Thread, ThreadId};
use std::time::{Duration, Instant};
use xtasking::Runtime;
use xtasking::platform::{CpuTopology, Driver, GlobalPages, PageSource, Platform, PlatformError, WouldBlock};

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Two workers: the first runs on the thread that waits, the second on its own.
struct Together {
    first: Mutex<Option<Driver>>,
    second: Mutex<Option<JoinHandle<()>>>,
    threads: Arc<[Mutex<Option<Thread>>; 2]>,
    began: Instant,
}

impl Together {
    fn runtime() -> Runtime {
        let platform = Self {
            first: Mutex::default(),
            second: Mutex::default(),
            threads: Arc::default(),
            began: Instant::now(),
        };
        Runtime::builder().platform(platform).name_running(true).build().unwrap()
    }

    /// Drives the first worker. Returns false if there is none any longer.
    fn drive(&self, is_over: impl FnMut() -> bool) -> bool {
        let Some(mut driver) = self.first.lock().unwrap().take() else { return false };
        *self.threads[0].lock().unwrap() = Some(thread::current());
        IS_WORKER.set(true);
        let goes_on = driver.run_until(is_over);
        IS_WORKER.set(false);
        if goes_on {
            *self.first.lock().unwrap() = Some(driver);
        }
        goes_on
    }
}

/// Wakes a thread, which then asks whether its wait is over.
struct Call(Thread, AtomicBool);

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.1.store(true, SeqCst);
        self.0.unpark();
    }
}

impl Platform for Together {
    fn topology(&self) -> CpuTopology {
        CpuTopology::uniform(2, 1)
    }

    fn start(&self, driver: Driver) -> Result<(), PlatformError> {
        if driver.worker() == 0 {
            *self.first.lock().unwrap() = Some(driver);
            return Ok(());
        }
        let threads = self.threads.clone();
        *self.second.lock().unwrap() = Some(thread::spawn(move || {
            IS_WORKER.set(true);
            *threads[1].lock().unwrap() = Some(thread::current());
            driver.run();
        }));
        Ok(())
    }

    fn park(&self, _worker: usize) {
        thread::park();
    }

    fn wake(&self, worker: usize) {
        if let Some(thread) = &*self.threads[worker].lock().unwrap() {
            thread.unpark();
        }
    }

    fn join(&self) {
        self.drive(|| false);
        self.second.lock().unwrap().take().unwrap().join().unwrap();
    }

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if IS_WORKER.get() {
            return Err(WouldBlock);
        }
        let call = Arc::new(Call(thread::current(), AtomicBool::new(true)));
        let waker = Waker::from(call.clone());
        let mut is_over = || call.1.swap(false, SeqCst) && ready(&waker);
        while !is_over() {
            if self.drive(&mut is_over) {
                break;
            }
            thread::park();
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }
}

/// Returns the thread that runs a task of a worker.
fn thread_of(rt: &Runtime, worker: u16) -> ThreadId {
    rt.task(()).core(worker).submit(|(), _cx| thread::current().id()).join().unwrap()
}

#[test]
fn the_first_worker_runs_on_the_thread_that_waits() {
    let _watchdog = watchdog();
    let rt = Together::runtime();
    for _ in 0..100 {
        assert_eq!(thread_of(&rt, 0), thread::current().id());
        assert_ne!(thread_of(&rt, 1), thread::current().id());
    }
}

#[test]
fn a_wait_ends_while_the_worker_sleeps() {
    let _watchdog = watchdog();
    let rt = Together::runtime();
    for result in 0..10 {
        let (promise, handle) = rt.promise();
        let outside = thread::spawn(move || {
            // Long enough for the worker to fall asleep, on most machines.
            thread::sleep(Duration::from_millis(10));
            promise.fulfil(result);
        });
        assert_eq!(handle.join().unwrap(), result);
        outside.join().unwrap();
    }
}

#[test]
fn a_worker_that_is_not_driven_holds_no_garbage_back() {
    let _watchdog = watchdog();
    let rt = Together::runtime();
    let drops = Arc::new(AtomicUsize::new(0));
    for round in 1..20 {
        thread_of(&rt, 0);
        let dropped = Dropped(drops.clone());
        rt.task(()).core(1).spawn(move |(), cx| cx.drop_later(dropped));
        // This thread does not wait for the runtime meanwhile, so that the first worker stands
        // still.
        eventually("the object is dropped", || {
            rt.task(()).core(1).spawn(|(), _cx| {});
            drops.load(SeqCst) == round
        });
    }
}

#[test]
fn all_tasks_run_before_the_end() {
    let _watchdog = watchdog();
    let count = Arc::new(AtomicUsize::new(0));
    let rt = Together::runtime();
    for worker in 0..1000 {
        let count = count.clone();
        rt.task(()).core(worker % 2).spawn(move |(), _cx| _ = count.fetch_add(1, SeqCst));
    }
    drop(rt);
    assert_eq!(count.load(SeqCst), 1000);
}
