//! Defines which participant runs next, and at what time, without any thread.

use super::participant::{End, Number, Participant, State};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Rounds of looking without any event before a deadlock is assumed: what one participant does
/// may be what another one looks for.
const MAX_TURNS: u32 = 1000;

/// All participants, and the state of each.
///
/// Time never goes back: the next to run has the least clock, or looks again at the time of the
/// last event.
pub(super) struct Order {
    pub participants: Vec<Participant>,
    /// The participants of current and former workers.
    cores: Vec<Number>,
    /// Ready participants: their clocks, and numbers from the seed that decide between equals.
    ready: BinaryHeap<Reverse<(u64, u64, Number)>>,
    /// Looking participants that have seen all events.
    up_to_date: Vec<Number>,
    /// Looking participants that have not.
    outdated: VecDeque<Number>,
    /// The time of the last event.
    happened: u64,
    /// The time at which the running participant continued.
    now: u64,
    /// Turns of looking participants since the last event.
    turns: u32,
    /// When the last task so far ended.
    pub makespan: u64,
    /// Nanoseconds from being woken to running.
    pub latency: u64,
    random: Xoshiro256PlusPlus,
}

impl Order {
    /// Creates the order; the caller is the first participant, and runs.
    pub fn new(seed: u64) -> Self {
        Self {
            participants: vec![Participant::new(None, 0, State::Running)],
            cores: Vec::new(),
            ready: BinaryHeap::new(),
            up_to_date: Vec::new(),
            outdated: VecDeque::new(),
            happened: 0,
            now: 0,
            turns: 0,
            makespan: 0,
            latency: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Returns the time of a participant; without a participant, that of the running one.
    pub fn time(&self, participant: Option<Number>) -> u64 {
        participant.map_or(self.now, |participant| self.participants[participant].clock)
    }

    /// Adds a ready participant for a thread outside.
    pub fn add(&mut self, clock: u64) -> Number {
        self.participants.push(Participant::new(None, clock, State::Ready));
        let participant = self.participants.len() - 1;
        self.line_up(participant);
        participant
    }

    /// Adds a ready participant for a worker, or reuses the participant of a former one.
    pub fn add_core(&mut self, worker: usize, clock: u64) -> Number {
        // Workers start in order, but those of a resized runtime return in any order.
        while self.cores.len() <= worker {
            self.cores.push(self.participants.len());
            self.participants.push(Participant::new(Some(self.cores.len() - 1), clock, State::Gone));
        }
        let participant = self.cores[worker];
        let it = &mut self.participants[participant];
        debug_assert_eq!(it.state, State::Gone, "a running worker is started again");
        (it.clock, it.woken, it.thread) = (it.clock.max(clock), None, None);
        self.line_up(participant);
        participant
    }

    /// Returns the participant of a worker.
    pub fn core(&self, worker: usize) -> Option<Number> {
        self.cores.get(worker).copied()
    }

    /// Returns the cores, in the order of their numbers.
    pub fn cores(&self) -> impl Iterator<Item = &Participant> {
        self.cores.iter().map(|&participant| &self.participants[participant])
    }

    /// Makes a participant ready at its clock.
    pub fn line_up(&mut self, participant: Number) {
        self.participants[participant].state = State::Ready;
        self.ready.push(Reverse((self.participants[participant].clock, self.random.next_u64(), participant)));
    }

    /// Adds time to the running participant.
    pub fn charge(&mut self, participant: Number, nanoseconds: u64) {
        let it = &mut self.participants[participant];
        it.clock = it.clock.saturating_add(nanoseconds);
        if it.core.is_some() {
            it.busy = it.busy.saturating_add(nanoseconds);
            self.makespan = self.makespan.max(it.clock);
        }
    }

    /// Announces an event that other participants may look for.
    pub fn announce(&mut self, participant: Number) {
        self.happened = self.happened.max(self.participants[participant].clock);
        self.turns = 0;
        self.outdated.extend(self.up_to_date.drain(..));
    }

    /// Returns true if another participant should run before the running one.
    pub fn is_behind(&self, participant: Number) -> bool {
        let clock = self.participants[participant].clock;
        !self.outdated.is_empty() || self.ready.peek().is_some_and(|&Reverse((least, ..))| least < clock)
    }

    /// Lets the running participant go on.
    pub fn keep(&mut self, participant: Number) {
        self.now = self.now.max(self.participants[participant].clock);
    }

    /// Lets the running participant look again after the next event.
    pub fn look(&mut self, participant: Number) {
        self.participants[participant].state = State::Looking;
        self.up_to_date.push(participant);
    }

    /// Wakes a participant, or keeps it from falling asleep.
    pub fn wake(&mut self, participant: Number, time: u64) {
        let latency = self.latency;
        let it = &mut self.participants[participant];
        match it.state {
            State::Asleep => {
                it.resume_at(time.saturating_add(latency));
                self.line_up(participant);
            }
            State::Gone => {}
            _ => it.woken = Some(it.woken.map_or(time, |earlier| earlier.min(time))),
        }
    }

    /// Returns true if the running participant was woken since the last call.
    pub fn was_woken(&mut self, participant: Number) -> bool {
        let it = &mut self.participants[participant];
        match it.woken.take() {
            Some(time) => it.resume_at(time),
            None => return false,
        }
        true
    }

    /// Calls a participant out of a queue. Returns false if it has left the queue.
    pub fn call(&mut self, participant: Number, time: u64) -> bool {
        let is_there = self.participants[participant].state == State::Queued;
        if is_there {
            self.participants[participant].resume_at(time);
            self.line_up(participant);
        }
        is_there
    }

    /// Ends the participation of the running participant. Participants that wait for that continue.
    pub fn leave(&mut self, participant: Number) {
        self.announce(participant);
        (self.participants[participant].state, self.participants[participant].is_in_task) =
            (State::Gone, false);
        let (time, cores_left) = (self.participants[participant].clock, self.has_cores());
        for waiting in 0..self.participants.len() {
            let has_come = match self.participants[waiting].state {
                State::Awaits(End::Of(other)) => other == participant,
                State::Awaits(End::OfCores) => !cores_left,
                _ => false,
            };
            if has_come {
                self.participants[waiting].resume_at(time);
                self.line_up(waiting);
            }
        }
    }

    /// Removes a ready participant.
    pub fn withdraw(&mut self, participant: Number) {
        self.ready.retain(|&Reverse((_, _, other))| other != participant);
        self.participants[participant].state = State::Gone;
    }

    /// Returns true if any core takes part.
    pub fn has_cores(&self) -> bool {
        self.cores().any(|participant| participant.state != State::Gone)
    }

    /// Removes and returns the next participant to run. `None` if no participant is left to report
    /// a deadlock to.
    pub fn next(&mut self) -> Option<Number> {
        let participant = self.choose()?;
        self.participants[participant].state = State::Running;
        self.now = self.now.max(self.participants[participant].clock);
        Some(participant)
    }

    fn choose(&mut self) -> Option<Number> {
        loop {
            if let Some(participant) = self.outdated.pop_front() {
                self.participants[participant].resume_at(self.happened);
                return Some(participant);
            }
            if let Some(Reverse((_, _, participant))) = self.ready.pop() {
                return Some(participant);
            }
            if self.up_to_date.is_empty() || self.turns >= MAX_TURNS {
                break;
            }
            self.turns += 1;
            self.outdated.extend(self.up_to_date.drain(..));
        }
        let settles = |participant: &Participant| participant.state == State::Awaits(End::OfWork);
        if let Some(participant) = self.participants.iter().position(settles) {
            self.participants[participant].resume_at(self.now);
            return Some(participant);
        }
        self.give_up()
    }

    /// Reports a deadlock to a participant: preferably to a waiting task, otherwise to a thread
    /// outside.
    fn give_up(&mut self) -> Option<Number> {
        let is_outside =
            |participant: &Participant| participant.core.is_none() && participant.state != State::Gone;
        let reported = self.participants.iter().position(|participant| participant.may_fail);
        let reported = reported.or_else(|| self.participants.iter().position(is_outside))?;
        let there =
            self.participants.iter().enumerate().filter(|(_, participant)| participant.state != State::Gone);
        let there: Vec<_> = there.map(|(number, participant)| participant.describe(number)).collect();
        self.participants[reported].deadlock_report = Some(format!(
            "deadlock in virtual time: all participants wait for each other: {}",
            there.join("; ")
        ));
        self.up_to_date.retain(|&participant| participant != reported);
        self.participants[reported].resume_at(self.now);
        Some(reported)
    }
}
