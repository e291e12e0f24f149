//! What hosts do with tasks that wait in their buckets.

use crate::scheduler::{Context, Worker};
use crate::task::pending::PendingTask;
use crate::task::spawner::sealed::Origin;

impl PendingTask {
    /// Returns the slot of the task's epoch, if it has one.
    pub(super) fn epoch(&self) -> Option<u8> {
        match self {
            // SAFETY: phase stored: the spawner gave the task up to this value, which is its only
            // owner.
            Self::Bound(task, ..) | Self::Unbound(task, _) => Some(unsafe { task.as_ref() }.meta.epoch()),
            Self::UnboundLater(..) | Self::Placeholders(..) => None,
        }
    }

    /// Returns the cost of the task, in multiples of a small task.
    pub(super) fn cost(&self) -> u64 {
        match self {
            Self::Bound(_, options, _) | Self::Unbound(_, options) | Self::UnboundLater(_, options) => {
                1 + u64::from(options.cost)
            }
            Self::Placeholders(..) => 1,
        }
    }

    /// Records the spawn of an [unbound](Self::is_unbound) task that is stored for now.
    pub(super) fn note(&self, spawner: &mut impl Origin) {
        if let Self::Unbound(task, _) = self {
            // SAFETY: phase stored: this value is the task's only owner.
            unsafe { spawner.note(*task) };
        }
    }

    /// Runs an unbound task inline in the task that runs on this worker; sends any other.
    pub(super) fn run_within(self, cx: &mut Worker) {
        match self {
            // SAFETY: phase stored: the spawner gave the task up to this value, which is consumed
            // here.
            Self::Unbound(task, _) => unsafe { cx.run_waiting(task) },
            other => other.send(&mut Context::of(cx)),
        }
    }
}
