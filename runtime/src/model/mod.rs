//! Models for loom: every lock-free or fenced piece of the runtime, run through all executions that
//! its orderings allow.
//!
//! Built only by `--cfg 'model="loom"'` (see [`sync`](crate::sync)); `.ci/loom` runs them. They run
//! the shipped code: loom replaces the atomics, cells and yields below it, and nothing else.
//!
//! | file | piece |
//! |---|---|
//! | `latch` | spin latch, reader-writer latch, the runtime's own lock |
//! | `version` | optimistic readers beside sequenced and latched writers; links; appended nodes |
//! | `inbox` | the ring of an inbox, its backlog, and the order between them |
//! | `lane` | an SPSC ring between two workers; a task dealt to a worker that falls asleep |
//! | `ranked` | the shared queue, and workers that fall asleep beside it |
//! | `task_ring` | tasks of a worker, beside thieves that take some |
//! | `injected` | tasks from outside for any worker, beside workers that fall asleep |
//! | `sleep` | a push beside a worker that falls asleep; garbage of sleepers; a runtime's end |
//! | `worker_set` | run queues that get another owner |
//! | `handle` | a result beside a thread that waits for it, cancels it or drops its handle |
//! | `epoch` | retired objects beside the tasks that have found them |
//! | `readers` | retired objects beside threads that read them without a task |
//! | `remains` | objects of an arena that is gone, beside tasks by old links |
//! | `fork_stack` | jobs in a fork stack, beside thieves that publish and take them |
//! | `handoff` | a cell that hands a thing from one thread to another |
//! | `fork` | halves of joins beside thieves, and owners that sleep meanwhile |
//! | `grant` | tasks with several objects |
//! | `claim` | tasks that claim ranges of granules |
//! | `trees` | claims of nodes, counted and not, beside changes of the tree |
//! | `group` | tickets of the members of a group, and continuations |
//! | `limit` | permits of a limit beside waiters |
//! | `heap` | blocks that move between two cores |
//! | `toggle` | buckets of granules, locked as a whole or claimed in parts |
//! | `recording` | times of tasks, and sessions that begin beside workers |
//! | `sets` | functions of a set beside a thread that waits for them |
//! | `platform` | the platform of these models |
//!
//! # Bounds
//!
//! The number of executions grows exponentially with the length of a model. So each is small: two
//! or three threads, a few steps each, rings of two slots. Its threads are preempted a bounded
//! number of times; the bound is an argument of `model`. Within the bound loom runs *every*
//! execution: each order of steps, and each old value that a load may still see.
//! `LOOM_MAX_PREEMPTIONS` sets another bound for all models, where there is more time.
//!
//! What loom cannot see: it orders slightly more than the language around `SeqCst` accesses (see
//! `sync/model.rs`). A weaker store right after one, such as that of a task into its slot of an
//! inbox, is therefore ordered anyway. Loom watches plain memory only in cells, so models keep
//! their data in [`Watched`].

mod claim;
mod epoch;
mod fork;
mod fork_stack;
mod grant;
mod group;
mod handle;
mod handoff;
mod heap;
mod inbox;
mod injected;
mod lane;
mod latch;
mod limit;
mod platform;
mod ranked;
mod readers;
mod recording;
mod remains;
mod sets;
mod sleep;
mod task_ring;
#[cfg(feature = "baselines")]
mod toggle;
mod trees;
mod version;
mod worker_set;

use crate::sync::global::AtomicU64;
use crate::sync::{Relaxed, UnsafeCell};
use std::sync::Arc;
use std::time::Instant;

/// The most steps of one execution; a model that needs more is in a livelock.
const MAX_STEPS: usize = 20_000;

/// Runs all executions of `run` in which threads are preempted up to `preemptions` times, and
/// prints how many there were.
fn model(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let began = Instant::now();
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = builder.max_branches.max(MAX_STEPS);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        run();
    });
    println!("{} executions in {:.1} s", count.load(Relaxed), began.elapsed().as_secs_f64());
}

/// A number in plain memory that loom watches: it fails the model if two threads access it and
/// nothing orders them.
#[derive(Default)]
struct Watched(UnsafeCell<u64>);

// SAFETY: loom checks that accesses are ordered, which is the purpose of this type. Under loom only
// one thread of a model runs at a time.
unsafe impl Sync for Watched {}

impl Watched {
    fn new(value: u64) -> Self {
        Self(UnsafeCell::new(value))
    }

    fn get(&self) -> u64 {
        // SAFETY: loom has checked that no thread writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, new: u64) {
        // SAFETY: loom has checked that no other thread accesses it meanwhile.
        self.0.with_mut(|value| unsafe { *value = new });
    }

    fn add(&self, more: u64) {
        self.set(self.get() + more);
    }
}
