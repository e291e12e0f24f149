//! A core in virtual time: its clock, and what has arrived for it.

use super::StepCounts;
use alloc::collections::VecDeque;

/// A virtual core.
pub(super) struct VirtualCore {
    pub clock: u64,
    pub busy: u64,
    pub state: CoreState,
    /// It is due because the shared queue has a task for it.
    pub called: bool,
    /// The core that it may steal halves from in its current step.
    pub victim: Option<usize>,
    /// What the worker had counted before its current step.
    pub before: StepCounts,
    /// What is in the inbox, in order: the time of arrival, and the number of tasks.
    pub arrivals: VecDeque<(u64, usize)>,
    /// The sum of the numbers in `arrivals`.
    pub waiting: usize,
}

/// What a core does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CoreState {
    /// It goes on at a known time.
    Due,
    /// It has no work; its clock says since when it knows that.
    Idle,
    /// It makes a step.
    Running,
    /// It has stopped.
    Gone,
}

impl VirtualCore {
    /// Adapts to a worker that has taken tasks from its inbox in the midst of a task: `waiting` are
    /// left. The clock advances to their arrival, as tasks do not run before.
    pub fn forget(&mut self, waiting: usize) {
        while self.waiting > waiting
            && let Some((when, count)) = self.arrivals.front_mut()
        {
            self.clock = self.clock.max(*when);
            let gone = (self.waiting - waiting).min(*count);
            *count -= gone;
            self.waiting -= gone;
            if *count == 0 {
                self.arrivals.pop_front();
            }
        }
    }
}
