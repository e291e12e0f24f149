//! Batches that wait for the disk.

use super::shared::Appended;
use std::fmt;
use xtasking::Context;

/// What the replies of a batch depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dependence {
    /// The last epoch of what the batch has changed or seen; 0 if the log has none of it.
    pub epoch: u64,
    /// Whether it has changed anything.
    pub has_written: bool,
    /// Whether so much waits to be written that the batch has to wait too.
    pub is_crowded: bool,
}

/// How a wait for the disk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The replies may be sent.
    Kept,
    /// What the batch has changed could not be made durable: its replies must not say that it was.
    Failed,
}

/// A batch that is done but for its replies.
pub(crate) trait Waiter: Send {
    /// Sends the replies.
    fn go_on(self: Box<Self>, outcome: Outcome, cx: &mut Context);
}

/// A batch that waits.
pub(super) struct Waiting {
    pub on: Dependence,
    pub waiter: Box<dyn Waiter>,
}

impl Dependence {
    /// Notes that the batch has appended a unit.
    pub fn write(&mut self, appended: Appended) {
        self.see(appended.mark.epoch);
        self.has_written = true;
        self.is_crowded |= appended.is_crowded;
    }

    /// Notes that the batch has seen what was logged up to this epoch.
    pub fn see(&mut self, epoch: u64) {
        self.epoch = self.epoch.max(epoch);
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("on", &self.on).finish_non_exhaustive()
    }
}
