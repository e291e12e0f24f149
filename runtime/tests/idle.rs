//! What idle workers, waiting threads and sets that are over cost: CPU time and memory.

mod common;

use common::{Setting, cpu_time, eventually, side_by_side, voluntary_switches, watchdog};
use std::alloc::{GlobalAlloc, Layout, System};
use std::iter;
use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::platform::{Platform, Threads};
use xtasking::{Context, Fork, Promise, Runtime, Shutdown};

/// These tests measure the whole process, so one runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The system's allocator, which counts the bytes in use.
struct Counting;

static BYTES_IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES_IN_USE.fetch_add(layout.size(), Relaxed);
        // SAFETY: forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES_IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: forwarded.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of measurements after which threads count as awake, and memory as lost.
const ROUNDS: usize = 20;

/// What the process did in a window of time.
#[derive(Clone, Copy, Debug)]
struct Activity {
    /// How often a thread gave up its core, which each thread does that has been woken.
    switches: u64,
    cpu: Duration,
    window: Duration,
}

impl Activity {
    /// Measures the process while a body runs that takes a window of time.
    fn during(body: impl FnOnce()) -> Self {
        let (began, switches, cpu) = (Instant::now(), voluntary_switches(), cpu_time());
        body();
        let cpu = cpu_time() - cpu;
        Self { switches: voluntary_switches() - switches, cpu, window: began.elapsed() }
    }

    /// Returns true if no thread spun, and threads were woken at most so often.
    ///
    /// A thread that spins uses a third of its core even where two others want it; threads that
    /// sleep use hardly any of one. ThreadSanitizer has a thread that wakes up by itself, so that
    /// nothing is known there.
    fn is_asleep(&self, wakeups: u64) -> bool {
        cfg!(sanitizer = "thread") || self.switches <= wakeups && self.cpu < self.window / 5
    }
}

/// Requires that threads sleep: one of several windows passes in which none spins and they are
/// woken at most so often. Threads that poll have no such window; other activity of the process or
/// the machine disturbs single ones.
#[track_caller]
fn assert_asleep(wakeups: u64, what: &str, measure: impl FnMut() -> Activity) {
    let mut windows = Vec::new();
    for activity in iter::repeat_with(measure).take(ROUNDS) {
        if activity.is_asleep(wakeups) {
            return;
        }
        windows.push(activity);
    }
    panic!("{what}: awake in each window: {windows:?}");
}

#[cfg(unix)]
#[test]
fn a_sleeping_runtime_uses_no_cpu_time() {
    let _alone = alone();
    let _watched = watchdog();
    for (workers, window, watched) in [(1, 200, false), (2, 1000, false), (2, 1000, true), (8, 200, false)] {
        let mut builder = Setting::Threads { workers }.builder();
        if watched {
            builder = builder.watchdog(Duration::from_millis(100), |_| ());
        }
        let rt = builder.build().unwrap();
        let object = rt.plain(0).build();
        for round in 0..1000 {
            rt.task(object.write()).core(round).spawn(|value, _| *value += 1);
        }
        assert!(rt.task(object.read()).submit(|value, _| *value).join().is_ok());
        // Objects to be freed meanwhile.
        drop(object);
        // The runtime's watchdog looks 40 times a second, and the test's looks once.
        let wakeups = if watched { 80 } else { 10 };
        assert_asleep(wakeups, &format!("{workers} idle workers"), || {
            Activity::during(|| thread::sleep(Duration::from_millis(window)))
        });
    }
}

/// Like [`Threads`], with a record of parked workers and wake-ups.
struct Observed {
    threads: Threads,
    parked: Arc<AtomicUsize>,
    wakes: Arc<AtomicUsize>,
}

impl Platform for Observed {
    xtasking_testing::forward_platform!(threads: topology start join block pages now);

    fn park(&self, worker: usize) {
        self.parked.fetch_add(1, SeqCst);
        self.threads.park(worker);
        self.parked.fetch_sub(1, SeqCst);
    }

    fn wake(&self, worker: usize) {
        self.wakes.fetch_add(1, SeqCst);
        self.threads.wake(worker);
    }
}

/// A worker runs a task at once because it is woken for it: there is no periodic polling.
#[test]
fn a_sleeping_runtime_is_woken_for_each_task() {
    let _alone = alone();
    let _watched = watchdog();
    for workers in [1, 2, 4] {
        let (parked, wakes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let platform =
            Observed { threads: Threads::new(workers), parked: parked.clone(), wakes: wakes.clone() };
        let rt = Runtime::builder().platform(platform).workers(workers).counters(true).build().unwrap();
        for core in 0..21 {
            eventually("all workers sleep", || parked.load(SeqCst) == workers);
            let before = wakes.load(SeqCst);
            rt.task(()).core(core).submit(|(), _| ()).join().unwrap();
            assert!(wakes.load(SeqCst) > before, "{workers} workers: nothing has woken one for task {core}");
        }
        assert!(rt.counters().unwrap().sleeps > 10);
    }
}

#[test]
fn sleep_and_wake_thousands_of_times() {
    let _alone = alone();
    let _watched = watchdog();
    for workers in [1, 2, 4] {
        let rt = Setting::Threads { workers }.build();
        for round in 0..3000u32 {
            let task = rt.task(()).core(round as u16).submit(move |(), _| round);
            assert_eq!(task.join().unwrap(), round);
            // Long enough to fall asleep, or almost.
            let pause = Instant::now() + Duration::from_micros(u64::from(round % 50));
            while Instant::now() < pause {
                std::hint::spin_loop();
            }
        }
    }
}

/// One task hops between workers that sleep when they have no task.
#[test]
fn a_task_that_hops_wakes_each_worker() {
    fn hop(cx: &mut Context, left: u32, promise: Promise<u32>) {
        if left == 0 {
            return promise.fulfil(0);
        }
        let next = (cx.worker() + 1) as u16;
        cx.task(()).core(next).spawn(move |(), cx| hop(cx, left - 1, promise));
    }
    let _alone = alone();
    let _watched = watchdog();
    for workers in [2, 3, 8] {
        let rt = Setting::Threads { workers }.build();
        let handles: Vec<_> = (0..2)
            .map(|_| {
                let (promise, handle) = rt.promise();
                rt.task(()).spawn(move |(), cx| hop(cx, 5000, promise));
                handle
            })
            .collect();
        handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), 0));
    }
}

#[cfg(unix)]
#[test]
fn a_runtime_that_waits_for_its_last_task_uses_no_cpu_time() {
    let _alone = alone();
    let _watched = watchdog();
    assert_asleep(60, "three idle workers, and a thread that waits for a fourth", || {
        let rt = Setting::Threads { workers: 4 }.build();
        let last = rt.task(()).submit(|(), _| thread::sleep(Duration::from_secs(1)));
        let activity = Activity::during(|| rt.shutdown(Shutdown::Drain));
        assert!(last.is_finished());
        activity
    });
}

/// GeckoDB's waiters spin, as its idle threads do.
#[cfg(unix)]
#[test]
fn a_thread_that_waits_for_a_set_uses_no_cpu_time() {
    let _alone = alone();
    let _watched = watchdog();
    let rt = Runtime::builder().workers(4).follow_advice(Duration::from_millis(200), 1..=4).build().unwrap();
    let pool = rt.managed();
    assert_asleep(60, "two waiting threads and three idle workers", || {
        let (begun, begins) = mpsc::channel();
        let nap = pool.enqueue(move || {
            begun.send(()).unwrap();
            thread::sleep(Duration::from_secs(1));
        });
        // On a worker: a waiting thread would run the functions otherwise.
        begins.recv().unwrap();
        Activity::during(|| {
            side_by_side([true, false].map(|waits_for_one| {
                let pool = &pool;
                move || if waits_for_one { pool.wait(nap).unwrap() } else { pool.wait_all().unwrap() }
            }));
        })
    });
}

/// An id that no thread waits for leaves nothing once its functions have run.
#[test]
fn sets_that_have_run_take_no_memory() {
    const REQUESTS: usize = 100_000;
    let _alone = alone();
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (pool, ran) = (rt.managed(), Arc::new(AtomicUsize::new(0)));
    let run_all = |requests: usize| {
        let before = ran.load(Relaxed);
        for number in 0..requests {
            let ran = ran.clone();
            let count = move || _ = ran.fetch_add(1, Relaxed);
            match number % 10 {
                0 => _ = pool.enqueue_many([count]),
                1 => pool.forget(pool.enqueue(count)).unwrap(),
                _ => _ = pool.enqueue(count),
            }
        }
        eventually("all have run", || ran.load(Relaxed) == before + requests);
    };
    // The runtime keeps memory for as many tasks as were in its queues at a time, and they may be
    // more in a later round. That ends; what each id leaves behind is left in each round.
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let before = BYTES_IN_USE.load(Relaxed);
        let taken = || BYTES_IN_USE.load(Relaxed).saturating_sub(before);
        run_all(REQUESTS);
        // A worker may still be freeing.
        thread::sleep(Duration::from_millis(10));
        // What is forgotten takes a bit, in an entry for 64 ids, until all are waited for.
        let unwaited = taken();
        pool.wait_all().unwrap();
        if unwaited < 2 * REQUESTS && taken() < REQUESTS {
            return;
        }
        rounds.push((unwaited, taken()));
    }
    panic!("each round took memory, before and after the wait for it: {rounds:?}");
}

/// Joins repeatedly until another worker has begun a part of the work.
fn join_until(begun: &AtomicBool, mut cx: Fork<'_>) {
    while !begun.load(Relaxed) {
        cx.join(|_| (), |_| ());
    }
}

#[cfg(unix)]
#[test]
fn a_worker_that_waits_in_a_join_uses_no_cpu_time() {
    let _alone = alone();
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    assert_asleep(20, "a worker that waits in a join", || {
        let begun = AtomicBool::new(false);
        let nap = || {
            begun.store(true, Relaxed);
            Activity::during(|| thread::sleep(Duration::from_secs(1)))
        };
        rt.run(|mut cx| cx.join(|cx| join_until(&begun, cx), |_| nap())).unwrap().1
    });
}

#[test]
fn a_worker_that_sleeps_in_a_join_is_woken_for_a_part() {
    let _alone = alone();
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    for round in 0..20 {
        let (begun, helped) = (AtomicBool::new(false), AtomicBool::new(false));
        rt.run(|mut cx| {
            let owner = cx.worker();
            let divide = |mut cx: Fork<'_>| {
                begun.store(true, Relaxed);
                // Long enough for the owner to fall asleep, except in some rounds.
                thread::sleep(Duration::from_millis(round % 5 * 5));
                // Ends only once the owner helps.
                while !helped.load(Relaxed) {
                    cx.join(
                        |_| thread::sleep(Duration::from_micros(200)),
                        |cx: Fork<'_>| {
                            if cx.worker() == owner {
                                helped.store(true, Relaxed);
                            }
                        },
                    );
                }
            };
            cx.join(|cx| join_until(&begun, cx), divide);
        })
        .unwrap();
    }
}

/// A run queue may get another owner while its worker sleeps inside a task. Then the worker must be
/// woken, not the owner.
#[test]
fn a_worker_that_sleeps_in_a_join_is_woken_after_a_resize() {
    let _alone = alone();
    let _watched = watchdog();
    for _ in 0..5 {
        let rt = Setting::Threads { workers: 2 }.build();
        let (begin, begins) = mpsc::channel();
        let (resize, resized) = mpsc::channel();
        let joined = rt.task(()).core(1).submit(move |(), cx| {
            let begun = &AtomicBool::new(false);
            let half = move |_: Fork<'_>| {
                begun.store(true, Relaxed);
                begin.send(()).unwrap();
                resized.recv().unwrap();
                thread::sleep(Duration::from_millis(20));
            };
            cx.fork().join(|cx| join_until(begun, cx), half);
        });
        begins.recv().unwrap();
        rt.resize(1).unwrap();
        resize.send(()).unwrap();
        joined.join().unwrap();
    }
}

/// The workers that finish last notify the thread that shuts down, even if they finish at the same
/// time.
#[test]
fn a_shutdown_is_not_missed() {
    let _alone = alone();
    let _watched = watchdog();
    for workers in [2, 4] {
        for round in 0..300u32 {
            let rt = Setting::Threads { workers }.build();
            for core in 0..workers as u16 {
                rt.task(()).core(core).spawn(move |(), _| {
                    (0..round * u32::from(core)).for_each(|_| std::hint::spin_loop());
                });
            }
            rt.shutdown(if round % 2 == 0 { Shutdown::Drain } else { Shutdown::Cancel });
        }
    }
}
