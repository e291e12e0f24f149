//! What all tests share: settings on both platforms, primitives, random numbers, and a watchdog that turns a hang into
//! a failure.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fmt::Debug;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::platform::Simulation;
use xtasking::{Builder, Runtime};
use xtasking_index::node::words;
use xtasking_index::{Hinted, Key, Layout, Report, Sorted, Tree, Value};

/// Layouts by name: the smaller the nodes, the sooner they split and merge.
pub type Hinted512 = Hinted<{ words(512) }>;
pub type Hinted1024 = Hinted<{ words(1024) }>;
pub type Hinted2048 = Hinted<{ words(2048) }>;
pub type Hinted4096 = Hinted<{ words(4096) }>;
pub type Sorted512 = Sorted<{ words(512) }>;
pub type Sorted1024 = Sorted<{ words(1024) }>;
pub type Sorted2048 = Sorted<{ words(2048) }>;
pub type Sorted4096 = Sorted<{ words(4096) }>;

/// Calls a function that is generic over a primitive and a layout, `f(primitive, layout's marker, …)`, for all
/// primitives.
#[macro_export]
macro_rules! with_all_primitives {
    ($call:ident::<$layout:ty>($($argument:expr),*)) => {{
        $call::<$layout, _>(xtasking::OptimisticLatched, $($argument),*);
        $call::<$layout, _>(xtasking::OptimisticSequenced, $($argument),*);
        $call::<$layout, _>(xtasking::SpinLatch, $($argument),*);
        $call::<$layout, _>(xtasking::ReaderWriterLatch, $($argument),*);
        $call::<$layout, _>(xtasking::Sequencing, $($argument),*);
    }};
}

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
    pub fn simulations(seeds: &[u64]) -> impl Iterator<Item = Self> {
        [1, 2, 4, 16]
            .into_iter()
            .flat_map(move |cores| seeds.iter().map(move |&seed| Self::Simulation { cores, seed }))
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

    /// Whether tasks run only while somebody waits.
    pub fn is_simulation(self) -> bool {
        matches!(self, Self::Simulation { .. })
    }

    /// A number that differs between settings, for generators.
    pub fn seed(self) -> u64 {
        match self {
            Self::Threads { workers } => workers as u64,
            Self::Simulation { cores, seed } => seed * 100 + cores as u64,
        }
    }
}

/// Says on what a test failed.
pub struct Blame<T: Debug>(pub T);

impl<T: Debug> Drop for Blame<T> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the failure was on {:?}", self.0);
        }
    }
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
    let time = Duration::from_secs(60);
    let done = Arc::new(AtomicBool::new(false));
    let (seen, test) = (done.clone(), thread::current().name().unwrap_or("a test").to_owned());
    thread::spawn(move || {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if seen.load(SeqCst) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
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
        thread::sleep(Duration::from_millis(1));
    }
}

/// A small generator of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Whether an event of that many percent happens.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Puts things into a random order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for end in (1..things.len()).rev() {
            things.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

/// Checks a tree that nobody changes: nothing may be broken. (Nodes that their parents do not know of yet are counted,
/// not reported.)
///
/// # Safety
///
/// As for [`Tree::check`]. In a simulation no task runs unless somebody waits, so that between two waits of the only
/// thread nobody changes anything.
pub unsafe fn sound<K: Key, V: Value, L: Layout>(tree: &Tree<K, V, L>) -> Report {
    // SAFETY: by the caller's promise.
    let report = unsafe { tree.check() };
    assert!(report.defects.is_empty(), "the tree is broken: {:?}", report.defects);
    report
}

/// Ends a runtime, all structure changes included, and checks the tree: every node must be known to its parent.
pub fn sound_after<K: Key, V: Value, L: Layout>(rt: Runtime, tree: &Tree<K, V, L>) -> Report {
    rt.shutdown(xtasking::Shutdown::Drain);
    // SAFETY: nothing is left that could change the tree.
    let report = unsafe { sound(tree) };
    assert_eq!(report.unseparated, 0, "a separator got lost");
    report
}
