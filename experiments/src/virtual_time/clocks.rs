//! The clocks, as those see them who want to know, or have something to add.

use super::baton::Baton;
use super::queue::Queue;
use super::seat::{End, Number, State};
use super::submitter::Submitter;
use crate::pools::imbalance;
use std::fmt;
use std::sync::Arc;

/// Reads the clocks, during a run or afterwards; and for tasks and submitters, to say how long things take, and to wait.
/// All times are in virtual nanoseconds.
#[derive(Clone)]
pub struct Clocks(Arc<Baton>);

/// How a virtual core has spent its time up to the [makespan](Clocks::makespan).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTime {
    /// Nanoseconds in which it ran tasks, or did what comes with them.
    pub busy: u64,
    /// Nanoseconds in which a task was under way there, and waited.
    pub blocked: u64,
    /// Nanoseconds in which it had nothing to do.
    pub idle: u64,
}

impl Clocks {
    pub(super) fn new(baton: Arc<Baton>) -> Self {
        Self(baton)
    }

    /// The calling task, or thread outside, takes so many nanoseconds here. Those go on meanwhile that are behind.
    ///
    /// # Panics
    ///
    /// If the calling thread has no seat.
    pub fn spend(&self, nanoseconds: u64) {
        self.0.spend(self.0.own_seat(), nanoseconds);
    }

    /// The time of the calling task, or thread outside; on a thread that has no seat, of whoever went on last.
    pub fn now(&self) -> u64 {
        self.0.order().time(self.0.seat())
    }

    /// The caller waits until somebody else has done something, and goes on at the time of that: to look again for what it
    /// waits for, as often as it takes. Tasks that have many to wait beside them had better use a [queue](Self::queue).
    ///
    /// # Panics
    ///
    /// If the calling thread has no seat; and if nothing is left that could happen: if all only look, a thousand times in a
    /// row, or wait.
    pub fn wait(&self) {
        self.look_again(self.0.own_seat());
    }

    /// As [`wait`](Self::wait), until it is so. The condition may look at what others have done, and do nothing else.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_until(&self, mut is_so: impl FnMut() -> bool) {
        let seat = self.0.own_seat();
        while !is_so() {
            self.look_again(seat);
        }
        // It may take what it has found, and others may look for that.
        self.0.order().tell(seat);
    }

    fn look_again(&self, seat: Number) {
        if let Err(stuck) = self.0.look_again(seat, true) {
            stuck.report();
        }
    }

    /// A queue to wait in, which nobody is in.
    pub fn queue(&self) -> Queue {
        Queue::new(self.0.clone())
    }

    /// A thread that takes part, from the caller's time on. It begins when it is the one with the least clock.
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

    /// Waits until nobody has anything to do any more. Tasks that wait for something that only the caller will do keep
    /// nobody busy.
    ///
    /// # Panics
    ///
    /// If the calling thread has no seat.
    pub fn settle(&self) {
        if let Err(stuck) = self.0.wait_as(self.0.own_seat(), State::Awaits(End::OfWork)) {
            stuck.report();
        }
    }

    /// When the last task so far was over, or took time.
    pub fn makespan(&self) -> u64 {
        self.0.order().makespan
    }

    /// How each core has spent the time up to the [makespan](Self::makespan).
    pub fn cores(&self) -> Vec<CoreTime> {
        let order = self.0.order();
        let times = order.cores().map(|core| CoreTime {
            busy: core.busy,
            blocked: core.blocked,
            idle: order.makespan.saturating_sub(core.busy).saturating_sub(core.blocked),
        });
        times.collect()
    }

    /// How much longer the busiest core was busy than all are on average, as a part of that average; 0 if none was.
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
