//! How a thread outside the simulation waits: it drives the cores meanwhile.

use super::Simulation;
use crate::platform::{WouldBlock, this_thread};
use crate::scheduler::Driver;
use crate::sync::{Acquire, Backoff, Relaxed, Release};
use core::task::Waker;

/// The time at which a wait without a limit ends.
pub(super) const FOREVER: u64 = u64::MAX;

/// Idle rounds after which a runtime without tasks is quiescent: garbage takes a few epochs to be
/// freed.
const IDLE_ROUNDS: u32 = 8;
/// Idle rounds after which a task that is being spawned by another thread must have arrived.
const LOST_ROUNDS: u32 = 1 << 18;

impl Simulation {
    /// Makes the calling thread the driving thread, unless there is one.
    fn try_drive(&self) -> Option<Driving<'_>> {
        // Acquire pairs with the Release in `Driving::drop`: this thread sees what the cores did
        // under the previous driving thread.
        let taken = self.driving_thread.compare_exchange(0, this_thread(), Acquire, Relaxed);
        taken.is_ok().then(|| Driving(self))
    }

    /// Drives the cores until `ready` returns true, or the clock says `until`. Returns true if
    /// `ready` did.
    pub(super) fn drive(
        &self,
        until: u64,
        ready: &mut dyn FnMut(&Waker) -> bool,
    ) -> Result<bool, WouldBlock> {
        if self.driving_thread.load(Relaxed) == this_thread() {
            return Err(WouldBlock);
        }
        let mut outcome = || {
            if ready(Waker::noop()) { Some(true) } else { (self.time() >= until).then_some(false) }
        };
        let mut backoff = Backoff::new();
        loop {
            if let Some(outcome) = outcome() {
                return Ok(outcome);
            }
            match self.try_drive() {
                // The previous driving thread may have done what this one waits for.
                Some(_driving) => return self.step_until(until, &mut outcome),
                None => backoff.wait(),
            }
        }
    }

    /// As [`drive`](Self::drive), on the driving thread.
    fn step_until(&self, until: u64, outcome: &mut dyn FnMut() -> Option<bool>) -> Result<bool, WouldBlock> {
        let mut backoff = Backoff::new();
        let mut idle = 0;
        loop {
            if let Some(outcome) = outcome() {
                return Ok(outcome);
            }
            idle = if self.step() { 0 } else { idle + 1 };
            #[cfg(feature = "unwind")]
            if idle == IDLE_ROUNDS && std::thread::panicking() {
                // A failing test drops the runtime: one panic is enough.
                return Err(WouldBlock);
            }
            if idle >= IDLE_ROUNDS {
                // Nothing happens until then, or until the end of the wait.
                let next = self.next_event().unwrap_or(FOREVER).min(until);
                if next != FOREVER && self.is_empty() {
                    self.advance(next);
                    continue;
                }
                assert!(!self.is_empty(), "the simulation waits for something that no task will do");
                // Another thread may be in the middle of a spawn, which ends soon.
                assert!(idle < LOST_ROUNDS, "the simulation has lost a task");
                backoff.wait();
            }
        }
    }

    /// Returns when the next timer is due, or the next thing arrives from the network. Called by
    /// the driving thread only.
    fn next_event(&self) -> Option<u64> {
        let timer = self.state.lock().cores.iter().flatten().filter_map(Driver::next_timer).min();
        #[cfg(feature = "std")]
        let arrival = self.network.as_ref().and_then(|network| network.next_arrival());
        #[cfg(not(feature = "std"))]
        let arrival = None;
        timer.into_iter().chain(arrival).min()
    }

    /// Drives the cores until the runtime has stopped, then drops them.
    pub(super) fn drive_to_end(&self) {
        let mut backoff = Backoff::new();
        loop {
            match self.try_drive() {
                Some(_driving) => return self.finish(),
                // Another driving thread is about to see that the runtime has stopped. If this
                // thread drives, one of its own tasks called.
                None if self.driving_thread.load(Relaxed) == this_thread() => return,
                None => backoff.wait(),
            }
        }
    }

    /// Sets the clock to a later time, as nothing happens until then.
    fn advance(&self, until: u64) {
        let until = self.jumps.as_ref().map_or(until, |jumps| jumps.time_of(until));
        match &self.timeline {
            None => _ = self.steps.fetch_max(until, Relaxed),
            Some(timeline) => timeline.lock().advance(until),
        }
    }
}

/// The calling thread's right to drive the cores.
struct Driving<'a>(&'a Simulation);

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        if self.0.is_left.load(Relaxed) {
            self.0.finish();
        }
        // Release pairs with the Acquire of `try_drive`.
        self.0.driving_thread.store(0, Release);
    }
}
