//! A worker that a thread drives while it waits, on a platform where the program has no core of its
//! own.

use crate::common::{Dropped, eventually, watchdog};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle, Thread, ThreadId};
use std::time::{Duration, Instant};
use xtasking::platform::{CpuTopology, Driver, GlobalPages, PageSource, Platform, PlatformError, WouldBlock};
use xtasking::{QueuePolicy, Runtime};

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Two workers: the first runs on the thread that waits, the second on its own.
struct Together {
    first: Arc<Mutex<Option<Driver>>>,
    is_second_parked: Arc<AtomicBool>,
    second: Mutex<Option<JoinHandle<()>>>,
    threads: Arc<[Mutex<Option<Thread>>; 2]>,
    began: Instant,
}

impl Together {
    fn new() -> Self {
        Self {
            first: Arc::default(),
            is_second_parked: Arc::default(),
            second: Mutex::default(),
            threads: Arc::default(),
            began: Instant::now(),
        }
    }

    fn runtime() -> Runtime {
        Runtime::builder().platform(Self::new()).name_running(true).build().unwrap()
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

    fn park(&self, worker: usize) {
        if worker == 1 {
            self.is_second_parked.store(true, SeqCst);
        }
        thread::park();
        if worker == 1 {
            self.is_second_parked.store(false, SeqCst);
        }
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

/// A runtime on [`Together`], whose first worker this test drives, and whether its second one is
/// parked.
fn driven_by_hand() -> (Runtime, Arc<Mutex<Option<Driver>>>, impl Fn()) {
    let platform = Together::new();
    let (first, is_parked) = (platform.first.clone(), platform.is_second_parked.clone());
    let rt = Runtime::builder().platform(platform).pool(QueuePolicy::WorkStealing).build().unwrap();
    (rt, first, move || eventually("the second worker is parked", || is_parked.load(SeqCst)))
}

/// Drives the first worker until it is idle and the second one is parked, and calls `at_end` then.
fn drive_until_idle(first: &Mutex<Option<Driver>>, await_parked: impl Fn(), at_end: impl Fn()) {
    let mut driver = first.lock().unwrap().take().unwrap();
    let mut looks = 0;
    assert!(driver.run_until(|| {
        looks += 1;
        // A step before this look has found nothing, so the worker says that it is idle.
        if looks == 3 {
            await_parked();
            at_end();
        }
        looks == 3
    }));
    *first.lock().unwrap() = Some(driver);
}

#[test]
fn a_task_that_comes_as_the_wait_ends_runs_elsewhere() {
    let _watchdog = watchdog();
    let (rt, first, await_parked) = driven_by_hand();
    for _ in 0..10 {
        let has_run = Arc::new(AtomicBool::new(false));
        drive_until_idle(&first, &await_parked, || {
            let has_run = has_run.clone();
            // The thread that spawns sees an idle worker, and wakes none.
            rt.task(()).spawn(move |(), _cx| has_run.store(true, SeqCst));
        });
        eventually("the second worker runs the task", || has_run.load(SeqCst));
    }
}

#[test]
fn garbage_is_freed_while_the_first_worker_is_not_driven() {
    let _watchdog = watchdog();
    let (rt, first, await_parked) = driven_by_hand();
    let drops = Arc::new(AtomicUsize::new(0));
    for round in 1..10 {
        let object = rt.plain(Dropped(drops.clone())).build();
        drive_until_idle(&first, &await_parked, || {});
        await_parked();
        drop(object);
        eventually("the object is dropped", || drops.load(SeqCst) == round);
    }
}
