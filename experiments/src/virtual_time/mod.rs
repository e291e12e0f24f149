//! A platform in virtual time on which tasks take time in their midst, and may wait there.
//!
//! Each virtual core is a thread of its own with a clock, and one thread at a time runs: whoever has the *baton*. A task that
//! [spends](Clocks::spend) time moves its core's clock on, and gives the baton to whoever is behind. So others see what it
//! holds meanwhile, wait for it, and go on at the right time: what 64 cores would do is seen on two, with the very code of the
//! runtime. (A [`Simulation`](xtasking::platform::Simulation) has one thread, and each task runs there as a whole.)
//!
//! | module | what it holds |
//! |---|---|
//! | `seat` | who takes part |
//! | `order` | who goes on next, and at what time |
//! | `baton` | how threads take turns |
//! | `platform` | what the runtime sees of it |
//! | `clocks` | what tasks and others see of the time |
//! | `queue` | where they wait until they are called |
//! | `submitter` | threads outside that take part |
//! | `spread` | how even the work was in the end |
//!
//! # The rules
//!
//! - The thread that makes it has the first seat, and the baton. Workers run only while it waits for them: at a handle, at
//!   the end of the runtime, or as it spends time itself. Other threads take part as [submitters](Clocks::submitter); no
//!   other one may wait for tasks.
//! - What comes about at a moment is done by the one whose clock is least. Between equals the seed decides, but whoever runs
//!   goes on as long as nobody is behind.
//! - A worker that has nothing to do sleeps, and goes on when it is woken, [later](VirtualTime::latency) than that by what
//!   it takes. A worker's steps take what the [`Costs`] say, of which `miss` and `look` have no meaning here.
//! - Who waits for anything goes on at the time at which it came about. Tasks that wait so are *blocked*.
//! - If nothing is left that could happen, one of the tasks that wait by [`Clocks::wait`] or in a [`Queue`] panics, and says
//!   who waits; if none does, a thread outside that waits for something else.
//!
//! Two runs with the same seed have the same clocks to the nanosecond, provided that threads share nothing with each other
//! besides what they do in turn. A task must not spend time or wait while it has a lock of the operating system in its hands
//! that others wait for: whoever waits there has the baton, and keeps it.

mod baton;
mod clocks;
mod order;
mod platform;
mod queue;
mod seat;
mod spread;
mod submitter;
#[cfg(test)]
mod tests;

pub use clocks::{Clocks, CoreTime};
pub use queue::Queue;
pub use spread::Spread;
pub use submitter::Submitter;
pub use xtasking::platform::Costs;

use baton::Baton;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// See the [module](self).
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_experiments::virtual_time::{Costs, VirtualTime};
///
/// let (platform, clocks) = VirtualTime::new(2, 1, Costs { task: 10, unit: 0, ..Costs::default() });
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
    baton: Arc<Baton>,
    cores: usize,
    costs: Costs,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Until when each heap of the queue that all share is locked.
    locked: Mutex<Vec<u64>>,
}

/// What it takes to run a task besides its body: about as long as empty tasks take on one worker of this runtime. What its
/// body takes, the task spends itself.
pub fn costs() -> Costs {
    Costs { task: 50, unit: 0, ..Costs::default() }
}

impl VirtualTime {
    /// So many virtual cores on one node, and the clocks of them. The calling thread takes part.
    pub fn new(cores: usize, seed: u64, costs: Costs) -> (Self, Clocks) {
        let baton = Arc::new(Baton::new(seed));
        let clocks = Clocks::new(baton.clone());
        (Self { baton, cores, costs, threads: Mutex::default(), locked: Mutex::default() }, clocks)
    }

    /// How many nanoseconds it takes from waking a thread until it runs; 0 without this. (Linux takes some 5 µs, though a
    /// worker that has had something to do just now would still be awake.)
    #[must_use]
    pub fn latency(self, nanoseconds: u64) -> Self {
        self.baton.order().latency = nanoseconds;
        self
    }
}
