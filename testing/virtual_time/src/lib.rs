//! Implements a platform in virtual time, on which tasks spend time and may wait inside their
//! bodies.
//!
//! Each virtual core is a thread of its own with a clock. One thread at a time runs: the holder of
//! the *run token*. A task that [spends](Clocks::spend) time advances its core's clock, and passes
//! the run token to the thread that is furthest behind. So other tasks see what it holds, wait for
//! it, and continue at the right time. Two real cores show what 64 would do, with the runtime's own
//! code. (A [`Simulation`](xtasking::platform::Simulation) has one thread, and runs each task
//! without interruption.)
//!
//! | module | what it holds |
//! |---|---|
//! | `participant` | participants: virtual cores and submitters |
//! | `order` | which participant runs next, and at what time |
//! | `run_token` | the hand-over between threads |
//! | `platform` | the platform for the runtime |
//! | `clocks` | the public interface to the clocks |
//! | `queue` | queues to wait in |
//! | `submitter` | participating threads outside of the runtime |
//! | `spread` | the balance of work among cores |
//!
//! # The rules
//!
//! - The thread that creates the platform is the first participant, and holds the run token.
//!   Workers run only while it waits for them: at a handle, at the end of the runtime, or as it
//!   spends time itself. Other threads take part as [submitters](Clocks::submitter); no other
//!   thread may wait for tasks.
//! - The participant with the least clock runs next. The seed decides between equal clocks, but the
//!   running one continues as long as no other is behind.
//! - An idle worker sleeps, and continues when it is woken, after the
//!   [latency](VirtualTime::latency) of a wake. A worker's steps cost what the [`Costs`] say, of
//!   which `miss` and `poll` have no meaning here.
//! - A waiting participant continues at the time of the event. A core whose task waits is
//!   *blocked*.
//! - In a deadlock, one of the tasks that wait by [`Clocks::wait`] or in a [`Queue`] panics with a
//!   list of all participants; if there is none, a waiting thread outside does.
//!
//! Two runs with the same seed have the same clocks to the nanosecond, provided that threads share
//! nothing except what the holder of the run token accesses. A task must not spend time or wait
//! while it holds a lock of the operating system: a thread that blocks on that lock would hold the
//! run token, and keep it.

#![forbid(unsafe_code)]

mod clocks;
mod order;
mod participant;
mod platform;
mod queue;
mod run_token;
mod spread;
mod submitter;
#[cfg(test)]
mod tests;

pub use clocks::{Clocks, CoreTime};
pub use queue::Queue;
pub use spread::{Spread, imbalance, least_busiest};
pub use submitter::Submitter;
pub use xtasking::platform::Costs;

use run_token::RunToken;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A platform in virtual time; see the [crate](self).
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_virtual_time::{Costs, VirtualTime};
///
/// let costs = Costs { task: 10, unit: 0, ..Costs::default() };
/// let (platform, clocks) = VirtualTime::new(2, 1, costs);
/// let rt = Runtime::builder().platform(platform).build()?;
/// let shelves = rt.granules(1);
/// for core in 0..2 {
///     let clocks = clocks.clone();
///     // One after the other.
///     rt.task(()).core(core).claim(shelves.write(0..1)).spawn(move |(), _| clocks.spend(1000));
/// }
/// drop(rt);
/// assert!((2000..2100).contains(&clocks.makespan()));
/// # Ok::<(), xtasking::BuildError>(())
/// ```
pub struct VirtualTime {
    token: Arc<RunToken>,
    cores: usize,
    costs: Costs,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// For each heap of the shared queue, until when its lock is held.
    locked: Mutex<Vec<u64>>,
}

/// Returns the costs of a task besides its body: about those of empty tasks on one worker of this
/// runtime. Bodies spend their time themselves.
pub fn costs() -> Costs {
    Costs { task: 50, unit: 0, ..Costs::default() }
}

impl VirtualTime {
    /// Creates virtual cores on one node, and their clocks. The calling thread takes part.
    pub fn new(cores: usize, seed: u64, costs: Costs) -> (Self, Clocks) {
        let token = Arc::new(RunToken::new(seed));
        let clocks = Clocks::new(token.clone());
        (Self { token, cores, costs, threads: Mutex::default(), locked: Mutex::default() }, clocks)
    }

    /// Sets the nanoseconds from waking a thread until it runs; the default is 0. (Linux takes some
    /// 5 µs, though a worker that was busy just before would still be awake.)
    #[must_use]
    pub fn latency(self, nanoseconds: u64) -> Self {
        self.token.order().latency = nanoseconds;
        self
    }
}
