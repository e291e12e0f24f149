//! The trait that a port of the runtime implements.

use super::{CpuTopology, Placement, PlatformError, RuntimeWait, VirtualTime};
use crate::events::EventQueues;
use crate::memory::PageSource;
use crate::scheduler::Driver;
use crate::sync::Backoff;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::task::Waker;
use core::time::Duration;

/// The system below one runtime. Implement it to run workers on something other than
/// [`Threads`](super::Threads).
///
/// # What a port does, in order
///
/// 1. **Cores.** [`topology`](Self::topology) lists the cores that workers may run on. One node is
///    enough where memory is equally far from all cores.
/// 2. **Start.** [`start`](Self::start) runs [`Driver::run`] on a thread of its own, and
///    [`join`](Self::join) waits for these threads.
/// 3. **Sleep.** [`park`](Self::park) suspends a worker that is idle, and [`wake`](Self::wake)
///    resumes it. Each worker has one wake-up token, as `std::thread::park` has.
/// 4. **Wait.** [`block`](Self::block) suspends a thread outside the runtime until a task has run.
/// 5. **Pages.** [`pages`](Self::pages) allocates memory; [`GlobalPages`](super::GlobalPages) takes
///    it from the global allocator.
/// 6. **Clock.** [`now`](Self::now) reads a monotonic clock in nanoseconds.
///
/// These methods have no default. The others may be left as they are:
///
/// | method | without it |
/// |---|---|
/// | [`node_of_number`](Self::node_of_number) | the system numbers nodes as the topology does |
/// | [`placement`](Self::placement) | reports show no CPUs for the workers |
/// | [`leave`](Self::leave) | right if workers run by themselves, as threads do |
/// | [`stand_in`](Self::stand_in) and the next two | a task that blocks in place keeps its worker |
/// | [`park_until`](Self::park_until) | a worker with timers uses up a core |
/// | [`events`](Self::events) | sources of events cannot be registered |
/// | [`watch`](Self::watch) | no watchdog and no automatic resizing: a build with them fails |
/// | [`is_simulated`](Self::is_simulated) | right if workers run by themselves |
/// | [`block_until`](Self::block_until) | a wait with a limit uses up a core |
/// | [`may_block`](Self::may_block) | such a question costs as much as a short wait |
/// | [`has_lost_workers`](Self::has_lost_workers) | right if processes are not forked |
/// | [`runtime_wait`](Self::runtime_wait) | a watchdog does not say for what its tasks wait |
/// | [`memory`](Self::memory) | only a [builder](crate::Builder::memory_limit) limits memory |
/// | [`has_steady_counter`](Self::has_steady_counter) | the processor itself is asked |
/// | [`spin_limit`](Self::spin_limit) | an idle worker searches for work elsewhere at once |
/// | [`barrier`](Self::barrier) | each join costs an atomic exchange more |
/// | [`current_cpu`](Self::current_cpu) | a task from outside may wake a worker that is up later |
/// | [`is_oversubscribed`](Self::is_oversubscribed) | an idle worker spins before it sleeps |
/// | [`virtual_time`](Self::virtual_time) | time is real |
///
/// # Threads and panics
///
/// Methods may be called concurrently; each says by which threads. [`block`](Self::block) may
/// panic: the runtime still waits for tasks that borrow from the caller. No other method may panic,
/// as the runtime does not recover from that on a worker.
///
/// The guide to platforms (`docs/guide/platforms.md`) has a whole port on one page.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a platform",
    label = "does not implement `Platform`",
    note = "the runtime has `platform::Threads` and `platform::Simulation`; a port implements `Platform`"
)]
pub trait Platform: Send + Sync + 'static {
    /// Returns the cores that workers may run on, and their nodes.
    ///
    /// Called by the thread that builds the runtime, several times; each call must return the same.
    /// Without a number in the [builder](crate::Builder::workers), a runtime has a worker a core.
    fn topology(&self) -> CpuTopology;

    /// Returns the index in the [topology](Self::topology) of the node that the system numbers
    /// `number`; `None` if there is no such node.
    ///
    /// Called by the thread that builds the runtime, for each [`Site`](super::Site) with a node.
    /// The default returns `number` itself, if it is below the number of nodes.
    fn node_of_number(&self, number: u32) -> Option<u16> {
        u16::try_from(number).ok().filter(|&node| usize::from(node) < self.topology().nodes)
    }

    /// Returns where workers run by default, and why there; `None` if they may run anywhere.
    ///
    /// Called by any thread, to report where workers without an explicit
    /// [placement](crate::Builder::placement) are. The default is `None`.
    fn placement(&self) -> Option<Placement> {
        None
    }

    /// Starts a worker: the platform drives `worker` until it stops, most simply by [`Driver::run`]
    /// on a new thread. If the driver names a [core](Driver::core), the worker must run there.
    ///
    /// Called by the thread that builds the runtime, and by threads that
    /// [resize](crate::Runtime::resize) it, for different workers at the same time. Worker numbers
    /// are below [`Builder::most_workers`](crate::Builder::most_workers). A number may be used
    /// again while the thread of its last worker is still about to return from [`Driver::run`].
    ///
    /// Tasks run on the stack of the driving thread. Their panics do not unwind out of the driver.
    ///
    /// # Errors
    ///
    /// Fails if the platform cannot start another worker, or not on that core. The driver must be
    /// dropped by then. The caller gets the error as
    /// [`BuildError::Platform`](crate::BuildError::Platform).
    fn start(&self, worker: Driver) -> Result<(), PlatformError>;

    /// Runs `body` on another thread, while the calling one is inside a task that [blocks in
    /// place](crate::Context::block_in_place). `body` calls [`resume`](Self::resume) and then
    /// drives `worker`; or it returns at once, as the task no longer blocks.
    ///
    /// Called by the thread that drives `worker`, within a task. That worker may get several such
    /// threads, one after the other, if their tasks block as well. Such a thread should run on the
    /// same core. When `body` has returned, the thread is free for others.
    ///
    /// # Errors
    ///
    /// Fails if there is no thread for `body`. Then the task keeps its worker while it blocks. The
    /// default always fails; the next two methods do nothing then.
    fn stand_in(&self, worker: usize, body: Box<dyn FnOnce() + Send>) -> Result<(), PlatformError> {
        let _ = (worker, body);
        Err("this platform has no spare threads".into())
    }

    /// Records that the calling thread drives its worker no longer: it may [block](Self::block)
    /// until [`resume`](Self::resume). The default does nothing.
    fn suspend(&self) {}

    /// Blocks the caller until `ready` returns true, as [`block`](Self::block) does. From then on
    /// the calling thread drives `worker`: [`wake`](Self::wake) resumes this thread, and no other.
    ///
    /// Called by the thread of the worker, and by its [stand-ins](Self::stand_in), also at the same
    /// time; `ready` returns true for one of them at a time. The default asks without a pause.
    fn resume(&self, worker: usize, ready: &mut dyn FnMut(&Waker) -> bool) {
        let _ = worker;
        while !ready(Waker::noop()) {
            core::hint::spin_loop();
        }
    }

    /// Suspends the calling worker until [`wake`](Self::wake). A wake-up that came earlier counts,
    /// and the call may return early.
    ///
    /// Called by the thread that drives `worker`: if it finds no work, and within a task that waits
    /// for [a half of a join](crate::Fork::join) that another worker runs.
    fn park(&self, worker: usize);

    /// As [`park`](Self::park), but returns at the latest when the [clock](Self::now) says `until`.
    ///
    /// Called by the thread that drives `worker`, if it finds no work but has
    /// [timers](crate::Runtime::timer), or sources in the [queues](Self::events) of several
    /// workers. The default returns at once, so that such a worker uses up a core.
    fn park_until(&self, worker: usize, until: u64) {
        _ = (worker, until);
    }

    /// Returns the queues of [events](crate::events), in which workers sleep; `None` if there are
    /// none.
    ///
    /// Called by any thread, often by workers that find no work, so it must be cheap. The default
    /// is `None`: sources cannot be registered.
    fn events(&self) -> Option<&dyn EventQueues> {
        None
    }

    /// Wakes a worker. If it is not parked, its next [`park`](Self::park) returns at once.
    ///
    /// Called by any thread, with any number below
    /// [`Builder::most_workers`](crate::Builder::most_workers). It must do no harm if that worker
    /// was not started or has stopped.
    fn wake(&self, worker: usize);

    /// Waits until all workers have stopped and all [watchers](Self::watch) have returned. Watchers
    /// are not called again, even if they would return true.
    ///
    /// Called once, by the thread that shuts the runtime down, after the workers were signalled to
    /// stop and woken. What workers wrote must be visible to the caller afterwards.
    fn join(&self);

    /// Records that [`join`](Self::join) is not called: a task of the runtime has dropped it, or a
    /// [shutdown](crate::Runtime::shutdown_within) has reached its limit. The workers stop by
    /// themselves when no task is left.
    ///
    /// Called at most once, by the thread that ends the runtime, after [`block`](Self::block) or
    /// [`block_until`](Self::block_until) has failed there or has reached the limit. The default
    /// does nothing. A platform that [drives its workers itself](Self::is_simulated) must drive
    /// them until they stop.
    fn leave(&self) {}

    /// Calls `look` about once every `every`, concurrently with the workers, until it returns false
    /// or [`join`](Self::join) is called.
    ///
    /// Called by the thread that builds the runtime: once for a
    /// [watchdog](crate::Builder::watchdog), and once to [resize
    /// itself](crate::Builder::follow_advice). In the second case `look` calls
    /// [`start`](Self::start), and [`join`](Self::join) must wait for those workers too.
    ///
    /// # Errors
    ///
    /// Fails if the platform cannot do this. The caller gets the error as
    /// [`BuildError::Platform`](crate::BuildError::Platform). The default always fails.
    fn watch(&self, every: Duration, look: Box<dyn FnMut() -> bool + Send>) -> Result<(), PlatformError> {
        let _ = (every, look);
        Err("this platform has no watchers; build the runtime without a watchdog and without `follow_advice`"
            .into())
    }

    /// Returns true if workers run only while a thread [blocks](Self::block), which drives them
    /// meanwhile. Called by any thread. The default is false.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Blocks the caller until `ready` returns true. Calls `ready` at once, and again each time the
    /// waker that it is given is woken; more calls do no harm.
    ///
    /// Called by any thread. The waker may be woken by any thread, also after this call has
    /// returned. [`may_block`](Self::may_block) calls it with a `ready` that returns true at once.
    ///
    /// # Errors
    ///
    /// Fails on a worker of this platform, which would wait for its own work; `ready` is not
    /// called. Fails also if [the workers are lost](Self::has_lost_workers) and `ready` returns
    /// false.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock>;

    /// As [`block`](Self::block), but returns at the latest when the [clock](Self::now) says
    /// `until`. Returns true if `ready` did.
    ///
    /// Called by any thread. The default asks `ready` again and again, with growing pauses, and
    /// uses up a core meanwhile.
    ///
    /// # Errors
    ///
    /// As for [`block`](Self::block).
    fn block_until(&self, until: u64, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<bool, WouldBlock> {
        if !self.may_block() {
            return Err(WouldBlock);
        }
        let mut backoff = Backoff::new();
        while !ready(Waker::noop()) {
            if self.now() >= until {
                return Ok(false);
            }
            if !self.virtual_time().is_some_and(|time| time.yield_to_others(true)) {
                backoff.wait();
            }
        }
        Ok(true)
    }

    /// Returns true if the calling thread may [block](Self::block): it is no worker of this
    /// platform.
    ///
    /// Called by any thread, before each operation that might have to wait. The default asks
    /// [`block`](Self::block), so the override saves what that prepares for a wait.
    fn may_block(&self) -> bool {
        self.block(&mut |_| true).is_ok()
    }

    /// Returns true if the workers are gone without having stopped: this process was forked from
    /// the one that has them.
    ///
    /// Called by any thread that would otherwise wait. The default is false.
    fn has_lost_workers(&self) -> bool {
        false
    }

    /// Returns for which other runtime a worker waits, inside a task; `None` if it does not, or the
    /// platform does not know.
    ///
    /// Called by the thread of a [watcher](Self::watch), for a worker whose task takes too long.
    /// The default is `None`.
    fn runtime_wait(&self, worker: usize) -> Option<RuntimeWait> {
        let _ = worker;
        None
    }

    /// Returns the source of the runtime's memory.
    ///
    /// Called by the thread that builds the runtime, and by threads that make an
    /// [arena](crate::arena::Arena). The source itself is called by any thread.
    fn pages(&self) -> Arc<dyn PageSource>;

    /// Returns how many bytes of memory this process may use, if the platform knows.
    ///
    /// Called by the thread that builds the runtime. By default a runtime uses up to half of that
    /// for tasks; see [`Builder::memory_limit`](crate::Builder::memory_limit). The default is
    /// `None`.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Returns the nanoseconds since a fixed moment, on a clock that never goes back.
    ///
    /// Called by any thread, for statistics, the watchdog and automatic resizing. The clock must
    /// follow real time unless there is [virtual time](Self::virtual_time): the processor's counter
    /// may replace it where time is read often.
    fn now(&self) -> u64;

    /// Returns true if the processor's counter of cycles runs at one rate on all cores, even where
    /// the processor does not say so; a virtual machine may hide that.
    ///
    /// Called by the thread that builds the runtime. The default is false: the runtime asks the
    /// processor, and reads [`now`](Self::now) for each time stamp if that says no.
    fn has_steady_counter(&self) -> bool {
        false
    }

    /// Returns how many times an idle worker probes its own sources before it searches for work
    /// elsewhere. Its sources are its run queue, its inbox, the rings that lead to it and the
    /// shared queue.
    ///
    /// Called once a worker by the thread that builds the runtime. The default is 0.
    fn spin_limit(&self) -> u32 {
        0
    }

    /// Makes every thread that drives a worker and runs at the moment pass a full memory barrier,
    /// and the caller, too; on Linux `membarrier`, on bare metal an interrupt to the other cores.
    /// Returns false, and need not have done so, if the platform cannot do this.
    ///
    /// Called by the thread that builds the runtime. If it returns false then, as by default,
    /// workers do not call it, and joins use atomic exchanges instead. Otherwise a worker calls it
    /// before it sleeps, and before it steals from a worker that does not come to a join.
    fn barrier(&self) -> bool {
        false
    }

    /// Returns the CPU that the caller runs on, by the number that a [`Site`](super::Site) has; the
    /// answer may be out of date at once. `None` if that is not quickly known.
    ///
    /// Called by any thread that is about to wake a worker: one on the caller's own CPU is up
    /// soonest. The default is `None`.
    fn current_cpu(&self) -> Option<u32> {
        None
    }

    /// Returns true if there are more workers than cores, so that an idle worker should sleep at
    /// once.
    ///
    /// Called by workers each time they find no work, so it must be as cheap as a load. The default
    /// is false.
    fn is_oversubscribed(&self) -> bool {
        false
    }

    /// Returns the virtual time of a platform whose clock is computed, or whose workers take turns.
    ///
    /// Called by the thread that builds the runtime. If that gets `None`, the default, the runtime
    /// does not call it again; otherwise workers call it often, and each call must return `Some`.
    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        None
    }
}

/// The error of a wait that would never end: by a worker for work of its own runtime, or for
/// workers that [are lost](Platform::has_lost_workers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WouldBlock;
