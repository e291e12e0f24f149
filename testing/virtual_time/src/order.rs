//! Defines which participant runs next, and at what time, without any thread.

use super::seat::{End, Number, Seat, State};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Rounds of looking without any event before a standstill is assumed: what one participant does
/// may be what another one looks for.
const MAX_TURNS: u32 = 1000;

/// All seats, and the state of each.
///
/// Time never goes back: the next to run has the least clock, or looks again at the time of the
/// last event.
pub(super) struct Order {
    pub seats: Vec<Seat>,
    /// The seats of current and former workers.
    cores: Vec<Number>,
    /// Ready seats: their clocks, and numbers from the seed that decide between equals.
    ready: BinaryHeap<Reverse<(u64, u64, Number)>>,
    /// Looking seats that have seen all events.
    up_to_date: Vec<Number>,
    /// Looking seats that have not.
    outdated: VecDeque<Number>,
    /// The time of the last event.
    happened: u64,
    /// The time at which the running seat continued.
    now: u64,
    /// Turns of looking seats since the last event.
    turns: u32,
    /// When the last task so far ended.
    pub makespan: u64,
    /// Nanoseconds from being woken to running.
    pub latency: u64,
    random: Xoshiro256PlusPlus,
}

impl Order {
    /// Creates the order; the caller has the first seat, and runs.
    pub fn new(seed: u64) -> Self {
        Self {
            seats: vec![Seat::new(None, 0, State::Running)],
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

    /// Returns the time of a seat; without a seat, that of the running one.
    pub fn time(&self, seat: Option<Number>) -> u64 {
        seat.map_or(self.now, |seat| self.seats[seat].clock)
    }

    /// Adds a ready seat for a thread outside.
    pub fn add(&mut self, clock: u64) -> Number {
        self.seats.push(Seat::new(None, clock, State::Ready));
        let seat = self.seats.len() - 1;
        self.line_up(seat);
        seat
    }

    /// Adds a ready seat for a worker, or reuses the seat of a former one.
    pub fn add_core(&mut self, worker: usize, clock: u64) -> Number {
        // Workers start in order, but those of a resized runtime return in any order.
        while self.cores.len() <= worker {
            self.cores.push(self.seats.len());
            self.seats.push(Seat::new(Some(self.cores.len() - 1), clock, State::Gone));
        }
        let seat = self.cores[worker];
        let it = &mut self.seats[seat];
        debug_assert_eq!(it.state, State::Gone, "a running worker is started again");
        (it.clock, it.woken, it.thread) = (it.clock.max(clock), None, None);
        self.line_up(seat);
        seat
    }

    /// Returns the seat of a worker.
    pub fn core(&self, worker: usize) -> Option<Number> {
        self.cores.get(worker).copied()
    }

    /// Returns the cores, in the order of their numbers.
    pub fn cores(&self) -> impl Iterator<Item = &Seat> {
        self.cores.iter().map(|&seat| &self.seats[seat])
    }

    /// Makes a seat ready at its clock.
    pub fn line_up(&mut self, seat: Number) {
        self.seats[seat].state = State::Ready;
        self.ready.push(Reverse((self.seats[seat].clock, self.random.next_u64(), seat)));
    }

    /// Adds time to the running seat.
    pub fn charge(&mut self, seat: Number, nanoseconds: u64) {
        let it = &mut self.seats[seat];
        it.clock = it.clock.saturating_add(nanoseconds);
        if it.core.is_some() {
            it.busy = it.busy.saturating_add(nanoseconds);
            self.makespan = self.makespan.max(it.clock);
        }
    }

    /// Announces an event that other seats may look for.
    pub fn announce(&mut self, seat: Number) {
        self.happened = self.happened.max(self.seats[seat].clock);
        self.turns = 0;
        self.outdated.extend(self.up_to_date.drain(..));
    }

    /// Returns true if another seat should run before the running one.
    pub fn is_behind(&self, seat: Number) -> bool {
        let clock = self.seats[seat].clock;
        !self.outdated.is_empty() || self.ready.peek().is_some_and(|&Reverse((least, ..))| least < clock)
    }

    /// Lets the running seat keep the baton.
    pub fn keep(&mut self, seat: Number) {
        self.now = self.now.max(self.seats[seat].clock);
    }

    /// Lets the running seat look again after the next event.
    pub fn look(&mut self, seat: Number) {
        self.seats[seat].state = State::Looking;
        self.up_to_date.push(seat);
    }

    /// Wakes a seat, or keeps it from falling asleep.
    pub fn wake(&mut self, seat: Number, time: u64) {
        let latency = self.latency;
        let it = &mut self.seats[seat];
        match it.state {
            State::Asleep => {
                it.resume_at(time.saturating_add(latency));
                self.line_up(seat);
            }
            State::Gone => {}
            _ => it.woken = Some(it.woken.map_or(time, |earlier| earlier.min(time))),
        }
    }

    /// Returns true if the running seat was woken since the last call.
    pub fn was_woken(&mut self, seat: Number) -> bool {
        let it = &mut self.seats[seat];
        match it.woken.take() {
            Some(time) => it.resume_at(time),
            None => return false,
        }
        true
    }

    /// Calls a seat out of a queue. Returns false if it has left the queue.
    pub fn call(&mut self, seat: Number, time: u64) -> bool {
        let is_there = self.seats[seat].state == State::Queued;
        if is_there {
            self.seats[seat].resume_at(time);
            self.line_up(seat);
        }
        is_there
    }

    /// Ends the participation of the running seat. Seats that wait for that continue.
    pub fn leave(&mut self, seat: Number) {
        self.announce(seat);
        (self.seats[seat].state, self.seats[seat].in_task) = (State::Gone, false);
        let (time, cores_left) = (self.seats[seat].clock, self.has_cores());
        for waiting in 0..self.seats.len() {
            let has_come = match self.seats[waiting].state {
                State::Awaits(End::Of(other)) => other == seat,
                State::Awaits(End::OfCores) => !cores_left,
                _ => false,
            };
            if has_come {
                self.seats[waiting].resume_at(time);
                self.line_up(waiting);
            }
        }
    }

    /// Removes a ready seat.
    pub fn withdraw(&mut self, seat: Number) {
        self.ready.retain(|&Reverse((_, _, other))| other != seat);
        self.seats[seat].state = State::Gone;
    }

    /// Returns true if any core takes part.
    pub fn has_cores(&self) -> bool {
        self.cores().any(|seat| seat.state != State::Gone)
    }

    /// Removes and returns the next seat to run. `None` if no seat is left that a standstill could
    /// be reported to.
    pub fn next(&mut self) -> Option<Number> {
        let seat = self.choose()?;
        self.seats[seat].state = State::Running;
        self.now = self.now.max(self.seats[seat].clock);
        Some(seat)
    }

    fn choose(&mut self) -> Option<Number> {
        loop {
            if let Some(seat) = self.outdated.pop_front() {
                self.seats[seat].resume_at(self.happened);
                return Some(seat);
            }
            if let Some(Reverse((_, _, seat))) = self.ready.pop() {
                return Some(seat);
            }
            if self.up_to_date.is_empty() || self.turns >= MAX_TURNS {
                break;
            }
            self.turns += 1;
            self.outdated.extend(self.up_to_date.drain(..));
        }
        let settles = |seat: &Seat| seat.state == State::Awaits(End::OfWork);
        if let Some(seat) = self.seats.iter().position(settles) {
            self.seats[seat].resume_at(self.now);
            return Some(seat);
        }
        self.give_up()
    }

    /// Reports a standstill to a seat: preferably to a waiting task, otherwise to a thread outside.
    fn give_up(&mut self) -> Option<Number> {
        let is_outside = |seat: &Seat| seat.core.is_none() && seat.state != State::Gone;
        let reported = self.seats.iter().position(|seat| seat.may_fail);
        let reported = reported.or_else(|| self.seats.iter().position(is_outside))?;
        let there = self.seats.iter().enumerate().filter(|(_, seat)| seat.state != State::Gone);
        let there: Vec<_> = there.map(|(number, seat)| seat.describe(number)).collect();
        self.seats[reported].stuck = Some(format!(
            "virtual time stands still, as all participants wait for each other: {}",
            there.join("; ")
        ));
        self.up_to_date.retain(|&seat| seat != reported);
        self.seats[reported].resume_at(self.now);
        Some(reported)
    }
}
