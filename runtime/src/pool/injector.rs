//! Unbound tasks from threads outside, for whichever worker comes first.

use super::Inbox;
use crate::sync::SpinMutex;
use crate::task::Task;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// An inbox that all workers take from, one at a time. Tasks are taken in the order of the pushes.
pub(crate) struct Injector {
    inbox: Inbox,
    taker: SpinMutex<()>,
}

/// The most tasks that are taken at once: enough to be worth the lock, few enough for others to get
/// some.
const MAX_TAKEN: usize = 64;

impl Injector {
    pub fn new() -> Self {
        // The pushing thread has told an observer, if there is one.
        Self { inbox: Inbox::new(None), taker: SpinMutex::new(()) }
    }

    /// Pushes a task.
    ///
    /// # Safety
    ///
    /// The caller owns the task and gives it up.
    pub unsafe fn push(&self, task: NonNull<Task>) {
        // SAFETY: forwarded.
        unsafe { self.inbox.push(task) };
    }

    /// Returns the number of tasks; only a hint.
    #[inline]
    pub fn len(&self) -> usize {
        self.inbox.len()
    }

    /// Adds one of `shares` equal parts of the tasks to `taken`, the oldest first; none if another
    /// worker is taking some.
    pub fn take(&self, shares: usize, taken: &mut Vec<NonNull<Task>>) {
        let Some(_guard) = self.taker.try_lock() else { return };
        let share = self.len().div_ceil(shares).min(MAX_TAKEN);
        // SAFETY: one thread at a time takes tasks, the one with the lock.
        taken.extend(core::iter::from_fn(|| unsafe { self.inbox.take() }).take(share));
    }
}
