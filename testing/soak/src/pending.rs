//! Tasks whose outcome is awaited, and the check of the outcome.

use super::books::Books;
use super::fates::{BEGAN, PANICKED, RETURNED, TaskNumber};
use super::jobs::INJECTED;
use super::round::Outcome;
use std::time::Duration;
use xtasking::cancellation::CancelOnDrop;
use xtasking::task::Call;
use xtasking::{Handle, JoinError};
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;

/// What the options of a task allow.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms {
    pub(super) has_deadline: bool,
    /// The deadline has passed at the spawn.
    pub(super) is_late: bool,
    pub(super) may_be_poisoned: bool,
    /// There may be no room for the task.
    pub(super) is_bounded: bool,
}

/// What receives the outcome of a task.
pub(super) enum Held {
    Handle(Handle<()>),
    CancelOnDrop(CancelOnDrop<()>),
    Call(Call<()>),
}

/// A task whose outcome is awaited.
pub(super) struct Pending {
    held: Held,
    task: TaskNumber,
    terms: Terms,
    /// The task was cancelled, and the answer was that it will not run.
    cancelled: Option<bool>,
}

impl Pending {
    pub(super) fn new(held: Held, task: TaskNumber, terms: Terms) -> Self {
        Self { held, task, terms, cancelled: None }
    }

    /// Treats the handle as users do: keeps it, drops it, cancels it, or waits for a moment.
    pub(super) fn treat(
        mut self,
        random: &mut Random,
        books: &Books,
        outcome: &mut Outcome,
    ) -> Result<Option<Self>, Wrong> {
        let Held::Handle(handle) = self.held else { return Ok(Some(self)) };
        match random.below(64) {
            0..8 => return Ok(None),
            8..16 => {
                self.cancelled = Some(handle.cancel());
                self.held = Held::Handle(handle);
            }
            16..24 => {
                drop(handle.cancel_on_drop());
                return Ok(None);
            }
            24..28 => self.held = Held::CancelOnDrop(handle.cancel_on_drop()),
            28 => match handle.join_timeout(Duration::from_micros(random.below(100))) {
                Ok(result) => {
                    let judged = Judged { task: self.task, terms: self.terms, cancelled: None };
                    return judged.judge(result, false, books, outcome).map(|()| None);
                }
                Err(handle) => self.held = Held::Handle(handle),
            },
            _ => self.held = Held::Handle(handle),
        }
        Ok(Some(self))
    }

    /// Returns true if the outcome is there.
    pub(super) fn is_finished(&self) -> bool {
        match &self.held {
            Held::Handle(handle) => handle.is_finished(),
            Held::CancelOnDrop(handle) => handle.is_finished(),
            Held::Call(call) => call.is_finished(),
        }
    }

    /// Waits for the outcome, and checks it. `cancels` says that the runtime may have cancelled it.
    pub(super) fn join(self, cancels: bool, books: &Books, outcome: &mut Outcome) -> Result<(), Wrong> {
        let Self { held, task, terms, cancelled } = self;
        let result = match held {
            Held::Handle(handle) => handle.join(),
            Held::CancelOnDrop(handle) => handle.join(),
            Held::Call(call) => call.join(),
        };
        Judged { task, terms, cancelled }.judge(result, cancels, books, outcome)
    }
}

/// A task that has an outcome.
struct Judged {
    task: TaskNumber,
    terms: Terms,
    cancelled: Option<bool>,
}

impl Judged {
    /// Counts an outcome; one that the options of the task do not allow is an error.
    fn judge(
        self,
        result: Result<(), JoinError>,
        cancels: bool,
        books: &Books,
        outcome: &mut Outcome,
    ) -> Result<(), Wrong> {
        let Self { task, terms, cancelled } = self;
        let fate = books.fates.of(task) & (BEGAN | RETURNED | PANICKED);
        let (expected, is_allowed) = match &result {
            Ok(()) => (BEGAN | RETURNED, !terms.is_late && cancelled != Some(true)),
            Err(JoinError::Panicked(payload)) => {
                let is_ours = payload.message() == INJECTED && payload.task_name().is_some();
                (BEGAN | PANICKED, is_ours && !terms.is_late && cancelled != Some(true))
            }
            Err(JoinError::Cancelled) => {
                outcome.cancelled += 1;
                (0, cancelled.is_some() || cancels)
            }
            Err(JoinError::DeadlineExceeded) => {
                outcome.late += 1;
                (0, terms.has_deadline)
            }
            Err(JoinError::Poisoned) => {
                outcome.poisoned += 1;
                (0, terms.may_be_poisoned)
            }
            Err(_) => (fate, false),
        };
        if fate != expected || !is_allowed {
            let text = format!("{task:?} has the fate {fate:#07b}, and its handle returned {result:?}");
            return Err(Wrong::new(text));
        }
        books.first_violation()
    }
}
