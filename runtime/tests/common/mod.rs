//! Support for the runtime's tests beyond `xtasking_testing`.

#![allow(dead_code, reason = "each test file uses its part")]

#[cfg(feature = "io")]
pub mod net;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use xtasking::{Builder, Runtime, Version, Word};

pub use xtasking_testing::*;

/// Runs a test's body on both platforms, each in all its settings.
pub fn on_all(body: impl Fn(Setting)) {
    on_each(Setting::threads().chain(Setting::simulations(&[1, 7, 1234])), body);
}

/// Builds a runtime, and returns a count of the failures that its hook hears.
pub fn build_counting_failures(builder: Builder) -> (Runtime, Arc<AtomicUsize>) {
    let heard = Arc::new(AtomicUsize::new(0));
    let hear = heard.clone();
    (builder.on_failure(move |_| _ = hear.fetch_add(1, SeqCst)).build().unwrap(), heard)
}

/// Starts a thread that sets a flag once a shutdown of the runtime has begun: tasks that wait for
/// the flag end then, and what has not started is cancelled.
pub fn set_at_end(rt: &Runtime, flag: Flag) -> JoinHandle<()> {
    let runtime = rt.handle();
    thread::spawn(move || {
        while !runtime.is_shutting_down() {
            thread::yield_now();
        }
        flag.set();
    })
}

/// Two words that a writer keeps equal.
#[derive(Default)]
pub struct Pair(pub Word, pub Word);

impl Version for Pair {}

/// Four words that a writer keeps equal.
#[derive(Default)]
pub struct Quad(pub [Word; 4]);

impl Version for Quad {}

/// Runs a test, `test(runtime, object, …)`, on an object of each class with each primitive. Its
/// four words are zero.
#[macro_export]
macro_rules! every_primitive {
    ($rt:expr, $test:ident $(, $argument:expr)*) => {{
        use $crate::common::Quad;
        use xtasking::primitive::{
            OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch,
        };
        let rt = $rt;
        $test(rt, rt.plain([0; 4]).pin(Sequencing).build() $(, $argument)*);
        $test(rt, rt.plain([0; 4]).pin(SpinLatch).build() $(, $argument)*);
        $test(rt, rt.shared_reads([0; 4]).pin(Sequencing).build() $(, $argument)*);
        $test(rt, rt.shared_reads([0; 4]).pin(SpinLatch).build() $(, $argument)*);
        $test(rt, rt.shared_reads([0; 4]).pin(ReaderWriterLatch).build() $(, $argument)*);
        $test(rt, rt.snapshot([0; 4]).pin(OptimisticSequenced).build() $(, $argument)*);
        $test(rt, rt.snapshot([0; 4]).pin(OptimisticLatched).build() $(, $argument)*);
        $test(rt, rt.versioned(Quad::default()).pin(Sequencing).build() $(, $argument)*);
        $test(rt, rt.versioned(Quad::default()).pin(SpinLatch).build() $(, $argument)*);
        $test(rt, rt.versioned(Quad::default()).pin(ReaderWriterLatch).build() $(, $argument)*);
        $test(rt, rt.versioned(Quad::default()).pin(OptimisticSequenced).build() $(, $argument)*);
        $test(rt, rt.versioned(Quad::default()).pin(OptimisticLatched).build() $(, $argument)*);
    }};
}

/// Random numbers for counting and indexing, from a seed.
pub struct Random(xtasking_testing::Random);

impl Random {
    /// Creates a generator.
    pub fn new(seed: u64) -> Self {
        Self(xtasking_testing::Random(seed))
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }
}
