//! Who takes part: virtual cores, and threads outside that submit.

use std::thread::Thread;

/// Index of a seat.
pub(super) type Number = usize;

/// One who takes part in virtual time, with a clock and a thread of its own.
pub(super) struct Seat {
    /// The worker whose core it is; `None` of a thread outside.
    pub core: Option<usize>,
    /// Nanoseconds.
    pub clock: u64,
    pub state: State,
    /// Once it is there.
    pub thread: Option<Thread>,
    /// In the midst of a task: whoever waits there is blocked, and else idle.
    pub in_task: bool,
    /// Its worker has had itself put to sleep since that was last asked.
    pub slept: bool,
    pub busy: u64,
    pub blocked: u64,
    /// Somebody has woken it at that time, though it did not sleep.
    pub woken: Option<u64>,
    /// It waits where it may be told that nothing will happen any more.
    pub may_fail: bool,
    /// Why it goes on though what it waits for has not happened.
    pub stuck: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has the baton.
    Running,
    /// It goes on when it is the one with the least clock.
    Ready,
    /// It looks again when somebody else has done something.
    Looking,
    /// It sleeps until it is woken.
    Asleep,
    /// It is in a queue until it is called.
    Queued,
    /// It waits for others to come to their end.
    Awaits(End),
    /// It takes part no more.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// That seat is gone.
    Of(Number),
    /// All cores are gone.
    OfCores,
    /// Nobody has anything to do.
    OfWork,
}

impl Seat {
    pub fn new(core: Option<usize>, clock: u64, state: State) -> Self {
        Self {
            core,
            clock,
            state,
            thread: None,
            in_task: false,
            slept: false,
            busy: 0,
            blocked: 0,
            woken: None,
            may_fail: false,
            stuck: None,
        }
    }

    /// What it waited for has happened at that time.
    pub fn go_on_at(&mut self, time: u64) {
        let waited = time.saturating_sub(self.clock);
        self.clock = self.clock.max(time);
        if self.in_task {
            self.blocked = self.blocked.saturating_add(waited);
        }
    }

    /// Who it is and what it does, for people.
    pub fn describe(&self, number: Number) -> String {
        let name = match self.core {
            Some(core) => format!("core {core}"),
            None if number == 0 => "the first thread".to_string(),
            None => format!("submitter {number}"),
        };
        let what = match self.state {
            State::Running => "runs",
            State::Ready => "can go on",
            State::Looking => "looks again and again for something to happen",
            State::Asleep if self.core.is_some() && !self.in_task => "has nothing to do",
            State::Asleep => "sleeps until it is woken",
            State::Queued => "waits in a queue",
            State::Awaits(_) => "waits for others to end",
            State::Gone => "is gone",
        };
        let place = if self.in_task { ", in the midst of a task" } else { "" };
        format!("{name} {what}{place} ({} ns)", self.clock)
    }
}
