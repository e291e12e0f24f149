//! Defines the public interface to the clocks.

use super::participant::{End, Number, State};
use super::queue::Queue;
use super::run_token::RunToken;
use super::spread::imbalance;
use super::submitter::Submitter;
use std::fmt;
use std::sync::Arc;

/// Reads the clocks, during a run or afterwards; lets tasks and submitters spend time, and wait.
/// All times are in virtual nanoseconds.
#[derive(Clone)]
pub struct Clocks(Arc<RunToken>);

/// How a virtual core spent its time up to the [makespan](Clocks::makespan).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTime {
    /// Nanoseconds in tasks and their scheduling.
    pub busy: u64,
    /// Nanoseconds in which a task on the core waited.
    pub blocked: u64,
    /// Nanoseconds without work.
    pub idle: u64,
}

impl Clocks {
    pub(super) fn new(token: Arc<RunToken>) -> Self {
        Self(token)
    }

    /// Spends time in the calling task or submitter. Threads that are behind run meanwhile.
    ///
    /// # Panics
    ///
    /// If the calling thread is no participant.
    pub fn spend(&self, nanoseconds: u64) {
        self.0.spend(self.0.own_participant(), nanoseconds);
    }

    /// Returns the time of the calling task or submitter; on a thread that is no participant, of
    /// the thread that ran last.
    pub fn now(&self) -> u64 {
        self.0.order().time(self.0.participant())
    }

    /// Waits until another thread has done something, and continues at that time: to check again
    /// for a condition, as often as it takes. If many tasks wait, prefer a [queue](Self::queue).
    ///
    /// # Panics
    ///
    /// If the calling thread is no participant; and if nothing can happen any more: all threads
    /// wait, or have only looked, a thousand times in a row.
    pub fn wait(&self) {
        self.look_again(self.0.own_participant());
    }

    /// Waits, as [`wait`](Self::wait) does, until a condition holds. The condition must only read
    /// what other threads did.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        let participant = self.0.own_participant();
        while !condition() {
            self.look_again(participant);
        }
        // The caller may take what it found, which other threads may look for.
        self.0.order().announce(participant);
    }

    fn look_again(&self, participant: Number) {
        if let Err(deadlock) = self.0.look_again(participant, true) {
            deadlock.report();
        }
    }

    /// Creates an empty queue to wait in.
    pub fn queue(&self) -> Queue {
        Queue::new(self.0.clone())
    }

    /// Starts a thread that takes part, from the caller's time on. It begins when its clock is the
    /// least.
    ///
    /// # Errors
    ///
    /// If the operating system refuses to start a thread.
    pub fn submitter<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<Submitter<T>> {
        Submitter::start(&self.0, body)
    }

    /// Waits until no thread has anything to do. Tasks that wait for the caller do not count.
    ///
    /// # Panics
    ///
    /// If the calling thread is no participant.
    pub fn settle(&self) {
        if let Err(deadlock) = self.0.wait_as(self.0.own_participant(), State::Awaits(End::OfWork)) {
            deadlock.report();
        }
    }

    /// Returns when the last task so far ended, or last spent time.
    pub fn makespan(&self) -> u64 {
        self.0.order().makespan
    }

    /// Returns how each core spent the time up to the [makespan](Self::makespan).
    pub fn cores(&self) -> Vec<CoreTime> {
        let order = self.0.order();
        let times = order.cores().map(|core| CoreTime {
            busy: core.busy,
            blocked: core.blocked,
            idle: order.makespan.saturating_sub(core.busy).saturating_sub(core.blocked),
        });
        times.collect()
    }

    /// Returns the busiest core's time divided by the mean, less 1; 0 if no core was busy.
    pub fn imbalance(&self) -> f64 {
        let busy: Vec<_> = self.0.order().cores().map(|core| core.busy).collect();
        imbalance(&busy)
    }
}

impl fmt::Debug for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clocks").field("makespan", &self.makespan()).finish_non_exhaustive()
    }
}
