//! Models for loom: every lock-free or fenced piece of the runtime, run through all executions that its orderings allow.
//!
//! Built only by `--cfg 'model="loom"'` (see [`sync`](crate::sync)); `.ci/loom` runs them. What runs is the shipped code:
//! loom stands in for the atomics, cells and yields below it, and nothing else is replaced.
//!
//! | file | piece |
//! |---|---|
//! | `latch` | spin latch, reader/writer latch, the runtime's own lock |
//! | `version` | optimistic readers beside sequenced and latched writers; links |
//! | `inbox` | the ring of an inbox, its backlog, and the order between them |
//! | `lane` | a ring between two workers; what is dealt out beside a worker that falls asleep |
//! | `ranked` | the queue that all workers share, and workers that fall asleep beside it |
//! | `sleep` | a push beside a worker that falls asleep; garbage that nobody is awake for; the end of a runtime |
//! | `staff` | pools that get another keeper |
//! | `handle` | a result beside who waits for it, cancels it or throws it away |
//! | `epoch` | retired objects beside the tasks that have found them |
//! | `fork` | halves of joins beside those who take them, and owners that sleep meanwhile |
//! | `grant` | tasks with several objects |
//! | `claim` | tasks that claim ranges of granules |
//! | `group` | tickets of the members of a group, and what comes after them |
//! | `heap` | blocks that move between two cores |
//! | `toggle` | buckets of granules, locked as wholes or claimed in parts |
//! | `sets` | functions of a set beside who waits for them |
//!
//! # Bounds
//!
//! Executions grow exponentially with what a model does, so each is small (two or three threads, a few steps each, rings
//! of two places) and its threads are preempted a bounded number of times; the bound stands with each model. Within the
//! bound loom goes through *every* execution: each order of steps, and each old value that a load may still see.
//! `LOOM_MAX_PREEMPTIONS` sets another bound for all models, where there is more time.
//!
//! What loom cannot see: it orders a little more than the language around `SeqCst` accesses (see `sync/model.rs`), so
//! that a weaker store right after one, such as that of a task into its place of an inbox, is ordered anyway. Values of
//! plain memory are seen by it only in cells, which is why models keep their data in [`Watched`].

mod claim;
mod epoch;
mod fork;
mod grant;
mod group;
mod handle;
mod heap;
mod inbox;
mod lane;
mod latch;
mod platform;
mod ranked;
mod sets;
mod sleep;
mod staff;
mod toggle;
mod version;

use crate::sync::global::AtomicU64;
use crate::sync::{Relaxed, UnsafeCell};
use std::sync::Arc;
use std::time::Instant;

/// Steps of one execution; whoever needs more goes round in circles.
const MOST_STEPS: usize = 20_000;

/// Goes through all executions of `run` in which threads are preempted up to that often, and says how many there were.
fn model(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let began = Instant::now();
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = builder.max_branches.max(MOST_STEPS);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        run();
    });
    println!("{} executions in {:.1} s", count.load(Relaxed), began.elapsed().as_secs_f64());
}

/// A number in plain memory that loom watches: it fails the model if two threads touch it and nothing orders them.
#[derive(Default)]
struct Watched(UnsafeCell<u64>);

// SAFETY: loom checks that accesses are ordered, which is what models use this for; under loom only one thread of a
// model runs at a time, whatever the model does.
unsafe impl Sync for Watched {}

impl Watched {
    fn new(value: u64) -> Self {
        Self(UnsafeCell::new(value))
    }

    fn get(&self) -> u64 {
        // SAFETY: loom has checked that nobody writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, new: u64) {
        // SAFETY: loom has checked that nobody else is here.
        self.0.with_mut(|value| unsafe { *value = new });
    }

    fn add(&self, more: u64) {
        self.set(self.get() + more);
    }
}
