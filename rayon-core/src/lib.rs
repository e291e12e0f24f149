//! [rayon-core]'s public interface on the workers of an XTasking runtime.
//!
//! rayon's iterators are in the crate `rayon`, which gets its threads from `rayon-core`. With this
//! crate in the place of that one, `rayon` itself and every crate that uses it run on an XTasking
//! runtime, unmodified. A program's `Cargo.toml` says so in one line:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "xtasking/rayon-core" }
//! ```
//!
//! ```
//! fn sum(numbers: &[u64]) -> u64 {
//!     if numbers.len() <= 1000 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (left, right) = rayon_core::join(|| sum(left), || sum(right));
//!     left + right
//! }
//!
//! let numbers: Vec<u64> = (0..100_000).collect();
//! assert_eq!(sum(&numbers), 4_999_950_000);
//! ```
//!
//! The interface and what it promises are rayon's; its documentation holds. What differs is below.
//!
//! # How work runs
//!
//! - A [`join`] is an [`xtasking::Fork::join`]: a few instructions where its second half is not
//!   stolen. A worker that waits for a stolen half runs parts of that half, and nothing else.
//! - A job of a [`scope()`], a [`spawn()`] and so on lies in a queue of the pool. Tasks of the
//!   runtime, at most one for each worker, take jobs from there. A worker that waits for a scope
//!   runs any job of its pool, and halves of joins, as in rayon.
//! - Workers run other tasks of the runtime as well ([`ThreadPool::runtime`]). A task calls rayon
//!   [`within`](ThreadPool::within) its fork.
//!
//! # What is not as in rayon
//!
//! - [`ThreadPoolBuilder::use_current_thread`] fails: a worker is always a thread that drives a run
//!   queue.
//! - A pool has at most [`max_num_threads`] threads, which is less than rayon's limit.
//! - A call in a task of the pool's own runtime panics unless it is [`within`](ThreadPool::within)
//!   a fork: it would wait for its own worker.
//! - While the first half of a [`join`] waits or yields, its worker does not run the second half;
//!   another one may. So a first half must not wait for what its second half does: on one thread,
//!   [`yield_now`] does not help it. In rayon it does.
//! - Start and exit handlers run on the pool's threads, but not as its workers:
//!   [`current_thread_index`] is `None` there.
//! - A pool keeps the number of threads with which it was built. Its runtime must not be resized,
//!   nor follow advice, nor have an explicit placement.
//! - If the runtime has a limit of memory and refuses the task that takes a job, the job waits
//!   until another one is added.
//! - The feature `web_spin_lock` has no effect.
//!
//! # Modules
//!
//! | module | what is in it |
//! |---|---|
//! | `broadcast` | a function on every worker |
//! | `builder` | the options of a pool, as a program sets them |
//! | `current` | the calling thread, as a program sees it |
//! | `error` | why a pool could not be built |
//! | `global` | the global pool |
//! | `join` | two functions, perhaps in parallel |
//! | `latch` | one thread waits for one event |
//! | `options` | what a pool is built from, and how |
//! | `panics` | what a panic outside of any wait does |
//! | `pool` | [`ThreadPool`] |
//! | `queues` | the jobs of a pool that no worker has begun |
//! | `registry` | a pool as its workers see it: the runtime, the queues, and what runs them |
//! | `runner` | the task that takes jobs |
//! | `scope` | jobs that end before their scope |
//! | `sleepers` | workers that wait and found nothing to do |
//! | `spawn` | jobs for which no thread waits |
//! | `threads` | the threads of a pool |
//! | `worker` | the calling thread as a worker |
//!
//! [rayon-core]: https://docs.rs/rayon-core

mod broadcast;
mod builder;
mod current;
mod error;
mod global;
mod join;
mod latch;
mod options;
mod panics;
mod pool;
mod queues;
mod registry;
mod runner;
mod scope;
mod sleepers;
mod spawn;
mod threads;
mod worker;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
#[allow(deprecated, reason = "a part of the interface")]
pub use builder::{Configuration, initialize};
pub use current::{
    Yield, current_num_threads, current_thread_has_pending_tasks, current_thread_index, yield_local,
    yield_now,
};
pub use error::ThreadPoolBuildError;
pub use join::{FnContext, join, join_context};
pub use options::ThreadPoolBuilder;
pub use pool::ThreadPool;
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use threads::ThreadBuilder;

/// The largest number of threads of a pool. A builder that asks for more gets this many.
pub fn max_num_threads() -> usize {
    xtasking::Builder::MAX_WORKERS
}
