//! Tasks whose outcome is awaited, and the check of the outcome.

use super::books::Books;
use super::fates::{BEGAN, DETACHED, HAS_DEADLINE, IS_LATE, MAY_BE_POISONED, PANICKED, RETURNED, TaskNumber};
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
pub(super) struct TaskOptions {
    pub(super) has_deadline: bool,
    /// The deadline has passed at the spawn.
    pub(super) is_late: bool,
    pub(super) may_be_poisoned: bool,
    /// There may be no room for the task.
    pub(super) is_bounded: bool,
}

impl TaskOptions {
    /// Returns the bits that a fate without a handle has.
    pub(super) fn as_fate(self) -> u16 {
        let Self { has_deadline, is_late, may_be_poisoned, .. } = self;
        let bits = [(has_deadline, HAS_DEADLINE), (is_late, IS_LATE), (may_be_poisoned, MAY_BE_POISONED)];
        bits.into_iter().filter(|&(is_set, _)| is_set).fold(DETACHED, |fate, (_, bit)| fate | bit)
    }
}

/// What receives the outcome of a task.
pub(super) enum OutcomeReceiver {
    Handle(Handle<()>),
    CancelOnDrop(CancelOnDrop<()>),
    Call(Call<()>),
}

/// A task whose outcome is awaited.
pub(super) struct Pending {
    receiver: OutcomeReceiver,
    task: TaskNumber,
    options: TaskOptions,
    /// The task was cancelled, and the answer was that it will not run.
    cancelled: Option<bool>,
}

impl Pending {
    pub(super) fn new(receiver: OutcomeReceiver, task: TaskNumber, options: TaskOptions) -> Self {
        Self { receiver, task, options, cancelled: None }
    }

    /// Treats the handle as users do: keeps it, drops it, cancels it, or waits for a moment.
    pub(super) fn treat(
        mut self,
        random: &mut Random,
        books: &Books,
        outcome: &mut Outcome,
    ) -> Result<Option<Self>, Wrong> {
        let OutcomeReceiver::Handle(handle) = self.receiver else { return Ok(Some(self)) };
        match random.below(64) {
            0..8 => return Ok(None),
            8..16 => {
                self.cancelled = Some(handle.cancel());
                self.receiver = OutcomeReceiver::Handle(handle);
            }
            16..24 => {
                drop(handle.cancel_on_drop());
                return Ok(None);
            }
            24..28 => self.receiver = OutcomeReceiver::CancelOnDrop(handle.cancel_on_drop()),
            28 => match handle.join_timeout(Duration::from_micros(random.below(100))) {
                Ok(result) => {
                    let judged = TaskVerdict { task: self.task, options: self.options, cancelled: None };
                    return judged.judge(result, false, books, outcome).map(|()| None);
                }
                Err(handle) => self.receiver = OutcomeReceiver::Handle(handle),
            },
            _ => self.receiver = OutcomeReceiver::Handle(handle),
        }
        Ok(Some(self))
    }

    /// Returns true if the outcome is there.
    pub(super) fn is_finished(&self) -> bool {
        match &self.receiver {
            OutcomeReceiver::Handle(handle) => handle.is_finished(),
            OutcomeReceiver::CancelOnDrop(handle) => handle.is_finished(),
            OutcomeReceiver::Call(call) => call.is_finished(),
        }
    }

    /// Waits for the outcome, and checks it. `cancels` says that the runtime may have cancelled it.
    pub(super) fn join(self, cancels: bool, books: &Books, outcome: &mut Outcome) -> Result<(), Wrong> {
        let Self { receiver, task, options, cancelled } = self;
        let result = match receiver {
            OutcomeReceiver::Handle(handle) => handle.join(),
            OutcomeReceiver::CancelOnDrop(handle) => handle.join(),
            OutcomeReceiver::Call(call) => call.join(),
        };
        TaskVerdict { task, options, cancelled }.judge(result, cancels, books, outcome)
    }
}

/// A task that has an outcome.
struct TaskVerdict {
    task: TaskNumber,
    options: TaskOptions,
    cancelled: Option<bool>,
}

impl TaskVerdict {
    /// Counts an outcome; one that the options of the task do not allow is an error.
    fn judge(
        self,
        result: Result<(), JoinError>,
        cancels: bool,
        books: &Books,
        outcome: &mut Outcome,
    ) -> Result<(), Wrong> {
        let Self { task, options, cancelled } = self;
        let fate = books.fates.of(task) & (BEGAN | RETURNED | PANICKED);
        let (expected, is_allowed) = match &result {
            Ok(()) => (BEGAN | RETURNED, !options.is_late && cancelled != Some(true)),
            Err(JoinError::Panicked(payload)) => {
                let is_ours = payload.message() == INJECTED && payload.task_name().is_some();
                (BEGAN | PANICKED, is_ours && !options.is_late && cancelled != Some(true))
            }
            Err(JoinError::Cancelled) => {
                outcome.cancelled += 1;
                (0, cancelled == Some(true) || cancels)
            }
            Err(JoinError::DeadlineExceeded) => {
                outcome.late += 1;
                (0, options.has_deadline && cancelled != Some(true))
            }
            Err(JoinError::Poisoned) => {
                outcome.poisoned += 1;
                (0, options.may_be_poisoned && cancelled != Some(true))
            }
            Err(_) => (fate, false),
        };
        if fate != expected || !is_allowed {
            let text = format!("{task:?} has the fate {fate:#011b}, and its handle returned {result:?}");
            return Err(Wrong::new(text));
        }
        books.first_violation()
    }
}
