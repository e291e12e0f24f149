//! Values of the program that panic: each kind of value that the runtime drops, calls, wakes or
//! runs, on each path on which it does so. Nothing hangs, nothing is lost, and the handle says what
//! it should.
//!
//! A value panics in its destructor unless its thread unwinds already: a second panic would abort
//! the process, by the rules of the language. The runtime never drops a value of the program in a
//! destructor of its own without catching that. What is left to the language is a panic while the
//! program's own frame unwinds: in a body that owns two values, or in a join whose first result
//! panics in its destructor after the second half has panicked.

mod others;
mod tasks;

use crate::common::Setting;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use xtasking::{Builder, Failure};

/// Counts the values that were made and dropped.
#[derive(Clone, Default)]
struct Tally(Arc<(AtomicUsize, AtomicUsize)>);

impl Tally {
    /// Makes a value that panics when it is dropped.
    fn bomb(&self) -> Bomb {
        self.value(true)
    }

    fn value(&self, is_armed: bool) -> Bomb {
        self.0.0.fetch_add(1, SeqCst);
        Bomb { is_armed, tally: self.clone() }
    }

    /// Returns a builder whose hook drops failures, with a value of its own, and panics.
    fn builder(&self, setting: Setting) -> Builder {
        let tally = self.clone();
        setting.builder().on_failure(move |failure: Failure| drop((failure, tally.bomb())))
    }

    /// Returns how many values were dropped.
    fn dropped(&self) -> usize {
        self.0.1.load(SeqCst)
    }

    /// Returns true if as many values were dropped as made.
    fn is_even(&self) -> bool {
        self.0.0.load(SeqCst) == self.dropped()
    }

    /// Checks that each value was dropped, once.
    fn check(&self, what: &str) {
        assert!(self.is_even(), "{what}: values are lost or dropped twice: {:?}", self.0);
    }
}

/// A value that panics when it is dropped, if it is armed.
struct Bomb {
    is_armed: bool,
    tally: Tally,
}

impl Bomb {
    /// Drops the value without a panic.
    fn defuse(mut self) {
        self.is_armed = false;
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.tally.0.1.fetch_add(1, SeqCst);
        if self.is_armed && !thread::panicking() {
            panic!("provoked: in a destructor");
        }
    }
}

/// Runs code of the test that may panic.
fn quietly(run: impl FnOnce()) {
    drop(catch_unwind(AssertUnwindSafe(run)));
}

/// Settings with few workers and many.
fn settings() -> impl Iterator<Item = Setting> {
    [
        Setting::Threads { workers: 1 },
        Setting::Threads { workers: 4 },
        Setting::Simulation { cores: 1, seed: 3 },
        Setting::Simulation { cores: 4, seed: 7 },
    ]
    .into_iter()
}
