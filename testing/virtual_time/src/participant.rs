//! Defines participants: virtual cores, and threads outside that submit.

use std::thread::Thread;

/// Index of a participant.
pub(super) type Number = usize;

/// A participant in virtual time, with a clock and a thread of its own.
pub(super) struct Participant {
    /// The worker of the core; `None` for a thread outside.
    pub core: Option<usize>,
    /// The clock, in nanoseconds.
    pub clock: u64,
    pub state: State,
    /// Set once the thread runs.
    pub thread: Option<Thread>,
    /// Whether the core is inside a task: then a wait counts as blocked, otherwise as idle.
    pub is_in_task: bool,
    /// Whether the worker has slept since this was last read.
    pub has_slept: bool,
    pub busy: u64,
    pub blocked: u64,
    /// The time of a wake that came while the participant did not sleep.
    pub woken: Option<u64>,
    /// Whether the participant waits where a deadlock may be reported.
    pub may_fail: bool,
    /// The report of a deadlock, if the participant continues because of it.
    pub deadlock_report: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Holds the run token.
    Running,
    /// Runs when its clock is the least.
    Ready,
    /// Looks again after the next event.
    Looking,
    /// Sleeps until it is woken.
    Asleep,
    /// In a queue until it is called.
    Queued,
    /// Waits for other participants to end.
    Awaits(End),
    /// Takes no part any more.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// That participant.
    Of(Number),
    /// All cores.
    OfCores,
    /// All work: no participant has anything to do.
    OfWork,
}

impl Participant {
    pub fn new(core: Option<usize>, clock: u64, state: State) -> Self {
        Self {
            core,
            clock,
            state,
            thread: None,
            is_in_task: false,
            has_slept: false,
            busy: 0,
            blocked: 0,
            woken: None,
            may_fail: false,
            deadlock_report: None,
        }
    }

    /// Makes the participant ready: the event that it waits for happened at this time.
    pub fn resume_at(&mut self, time: u64) {
        let waited = time.saturating_sub(self.clock);
        self.clock = self.clock.max(time);
        if self.is_in_task {
            self.blocked = self.blocked.saturating_add(waited);
        }
    }

    /// Describes the participant and its state for a report.
    pub fn describe(&self, number: Number) -> String {
        let name = match self.core {
            Some(core) => format!("core {core}"),
            None if number == 0 => "the first thread".to_string(),
            None => format!("submitter {number}"),
        };
        let what = match self.state {
            State::Running => "runs",
            State::Ready => "is ready",
            State::Looking => "looks for an event",
            State::Asleep if self.core.is_some() && !self.is_in_task => "is idle",
            State::Asleep => "sleeps until it is woken",
            State::Queued => "waits in a queue",
            State::Awaits(_) => "waits for other participants to end",
            State::Gone => "has ended",
        };
        let suffix = if self.is_in_task { ", inside a task" } else { "" };
        format!("{name} {what}{suffix} ({} ns)", self.clock)
    }
}
