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
/// Nanoseconds of a brief task.
const BRIEF: u64 = 1000;

/// How fast a worker runs the tasks that it takes.
///
/// Tasks that are not brief are taken one at a time: the first of several might be a long one, and
/// the others would wait for it while another worker takes younger ones.
#[derive(Default)]
pub(crate) struct InjectorPace {
    /// When the worker took tasks last, and how many.
    last: (u64, usize),
}

impl InjectorPace {
    /// Returns the most tasks to take at this time, by a worker that has others or none.
    pub fn most(&self, has_others: bool, now: u64) -> usize {
        let (then, taken) = self.last;
        // With others it comes here seldom: one task each time would be too few.
        if has_others || now.saturating_sub(then) < taken as u64 * BRIEF { MAX_TAKEN } else { 1 }
    }

    /// Records that a worker has taken tasks.
    pub fn took(&mut self, tasks: usize, now: u64) {
        self.last = (now, tasks);
    }
}

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

    /// Adds one of `shares` equal parts of the tasks to `taken`, the oldest first, but at most
    /// `most` tasks; none if another worker is taking some.
    pub fn take(&self, shares: usize, most: usize, taken: &mut Vec<NonNull<Task>>) {
        let Some(_guard) = self.taker.try_lock() else { return };
        let share = self.len().div_ceil(shares).min(most);
        // SAFETY: one thread at a time takes tasks, the one with the lock.
        taken.extend(core::iter::from_fn(|| unsafe { self.inbox.take() }).take(share));
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn several_tasks_are_taken_only_while_they_are_brief() {
        let mut pace = InjectorPace::default();
        assert_eq!(pace.most(false, 5_000_000), 1);
        pace.took(1, 5_000_000);
        assert_eq!([5_000_999, 5_001_000].map(|now| pace.most(false, now)), [MAX_TAKEN, 1]);
        pace.took(10, 5_000_000);
        assert_eq!([5_009_999, 5_010_000].map(|now| pace.most(false, now)), [MAX_TAKEN, 1]);
        assert_eq!(pace.most(true, 9_000_000), MAX_TAKEN);
    }
}
