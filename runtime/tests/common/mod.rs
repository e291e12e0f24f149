//! What all tests share: settings on both platforms, and a watchdog that turns a hang into a failure.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::platform::Simulation;
use xtasking::{Builder, Handle, Promise, Runtime, Version, Word};

/// A platform with a number of workers.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// Threads of the operating system.
    Threads { workers: usize },
    /// Virtual cores, interleaved by a seed.
    Simulation { cores: usize, seed: u64 },
}

impl Setting {
    /// Every number of threads that is worth a test on a small machine.
    pub fn threads() -> impl Iterator<Item = Self> {
        [1, 2, 4, 8].into_iter().map(|workers| Self::Threads { workers })
    }

    /// Every number of virtual cores, each with some seeds.
    pub fn simulations() -> impl Iterator<Item = Self> {
        [1, 2, 4, 16].into_iter().flat_map(|cores| [1, 7, 1234].map(|seed| Self::Simulation { cores, seed }))
    }

    /// A builder of a runtime of this kind.
    pub fn builder(self) -> Builder {
        match self {
            Self::Threads { workers } => Runtime::builder().workers(workers),
            Self::Simulation { cores, seed } => Runtime::builder().platform(Simulation::new(cores, seed)),
        }
    }

    /// A runtime of this kind.
    pub fn build(self) -> Runtime {
        self.builder().build().expect("a runtime of a few workers")
    }
}

/// Says on which setting a test failed.
struct Blame(Setting);

impl Drop for Blame {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the failure was on {:?}", self.0);
        }
    }
}

/// Runs a test's body on both platforms, each in all its settings.
pub fn on_all(body: impl Fn(Setting)) {
    on_each(Setting::threads().chain(Setting::simulations()), body);
}

/// Runs a test's body in each of some settings.
pub fn on_each(settings: impl Iterator<Item = Setting>, body: impl Fn(Setting)) {
    for setting in settings {
        let _watched = watchdog();
        let _blame = Blame(setting);
        body(setting);
    }
}

/// Ends the process if it is not dropped in time.
#[must_use]
pub struct Watchdog(Arc<AtomicBool>);

/// A watchdog for whatever happens while it lives.
pub fn watchdog() -> Watchdog {
    watchdog_of(Duration::from_secs(60))
}

/// As [`watchdog`], with a time of its own.
pub fn watchdog_of(time: Duration) -> Watchdog {
    let done = Arc::new(AtomicBool::new(false));
    let (seen, test) = (done.clone(), thread::current().name().unwrap_or("a test").to_owned());
    thread::spawn(move || {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if seen.load(SeqCst) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        if !seen.load(SeqCst) {
            // Not by `eprintln`, whose output would be captured and lost.
            let _ = writeln!(std::io::stderr(), "WATCHDOG: {test} hangs (for {time:?})");
            std::process::abort();
        }
    });
    Watchdog(done)
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Waits on a plain thread until something becomes true; fails after some seconds.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !is_true() {
        assert!(Instant::now() < end, "never: {what}");
        thread::yield_now();
    }
}

/// A flag that threads and tasks wait for each other with.
#[derive(Clone, Default)]
pub struct Flag(Arc<AtomicBool>);

impl Flag {
    /// Sets it.
    pub fn set(&self) {
        self.0.store(true, SeqCst);
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Waits for it, in a task on threads or on a plain thread.
    pub fn wait(&self) {
        while !self.is_set() {
            thread::yield_now();
        }
    }
}

/// Counts how many of its kind were dropped.
pub struct Dropped(pub Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Two words that a writer keeps equal.
#[derive(Default)]
pub struct Pair(pub Word, pub Word);

// SAFETY: both fields are words.
unsafe impl Version for Pair {}

/// Fulfils a handle when a number of tasks have passed.
#[derive(Clone)]
pub struct Gate(Arc<(AtomicUsize, Mutex<Option<Promise<()>>>)>);

impl Gate {
    /// A gate for `count` tasks, and the handle that waits for them.
    pub fn new(rt: &Runtime, count: usize) -> (Self, Handle<()>) {
        let (promise, handle) = rt.promise();
        (Self(Arc::new((AtomicUsize::new(count), Mutex::new(Some(promise))))), handle)
    }

    /// One task passes.
    pub fn pass(&self) {
        if self.0.0.fetch_sub(1, SeqCst) == 1 {
            self.0.1.lock().unwrap().take().expect("all have passed").fulfil(());
        }
    }
}

/// Four words that a writer keeps equal.
#[derive(Default)]
pub struct Quad(pub [Word; 4]);

// SAFETY: all fields are words.
unsafe impl Version for Quad {}

/// Numbers that follow from a seed.
pub struct Random(u64);

impl Random {
    /// A generator.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % end
    }
}

/// Keeps the messages of panics that a test provokes out of its output: those of workers.
pub fn silence_tasks() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload_as_str().unwrap_or_default();
            if !text.starts_with("provoked") && !text.starts_with("a task names the same object twice") {
                before(info);
            }
        }));
    });
}
