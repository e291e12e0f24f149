//! Who goes on next, and at what time: the rules, without any thread.

use super::seat::{End, Number, Seat, State};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// When nobody is ready, those who look for something to happen have so many turns: what one of them does may be what
/// another one looks for.
const TURNS: u32 = 1000;

/// All seats, and who of them is where in line.
///
/// The time of what happens never goes back: whoever goes on has the least clock, or looks again at the time at which
/// something happened.
pub(super) struct Order {
    pub seats: Vec<Seat>,
    /// The seat of each worker that is there, or was.
    cores: Vec<Number>,
    /// Those that are ready: with their clock, and a number from the seed that decides between equals.
    ready: BinaryHeap<Reverse<(u64, u64, Number)>>,
    /// Those who look, and have seen all that has happened.
    seen: Vec<Number>,
    /// Those who look, and have not.
    unseen: VecDeque<Number>,
    /// The time at which something happened last.
    happened: u64,
    /// When the one who runs last went on.
    now: u64,
    /// Since anything happened, those who look have had so many turns.
    turns: u32,
    /// When the last task so far was over.
    pub makespan: u64,
    /// From being woken to being awake.
    pub latency: u64,
    random: Xoshiro256PlusPlus,
}

impl Order {
    /// The caller has the first seat, and runs.
    pub fn new(seed: u64) -> Self {
        Self {
            seats: vec![Seat::new(None, 0, State::Running)],
            cores: Vec::new(),
            ready: BinaryHeap::new(),
            seen: Vec::new(),
            unseen: VecDeque::new(),
            happened: 0,
            now: 0,
            turns: 0,
            makespan: 0,
            latency: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// The time of a seat, or of whoever runs if the caller has none.
    pub fn time(&self, seat: Option<Number>) -> u64 {
        seat.map_or(self.now, |seat| self.seats[seat].clock)
    }

    /// A seat more for a thread outside, which is ready.
    pub fn add(&mut self, clock: u64) -> Number {
        self.seats.push(Seat::new(None, clock, State::Ready));
        let seat = self.seats.len() - 1;
        self.line_up(seat);
        seat
    }

    /// A seat for a worker, which is ready. One that was gone has its seat again.
    pub fn add_core(&mut self, worker: usize, clock: u64) -> Number {
        // Workers are started in order, but those of a runtime that is resized come back in any.
        while self.cores.len() <= worker {
            self.cores.push(self.seats.len());
            self.seats.push(Seat::new(Some(self.cores.len() - 1), clock, State::Gone));
        }
        let seat = self.cores[worker];
        let it = &mut self.seats[seat];
        debug_assert_eq!(it.state, State::Gone, "a worker is started that is there");
        (it.clock, it.woken, it.thread) = (it.clock.max(clock), None, None);
        self.line_up(seat);
        seat
    }

    /// The seat of a worker.
    pub fn core(&self, worker: usize) -> Option<Number> {
        self.cores.get(worker).copied()
    }

    /// The cores, in the order of their numbers.
    pub fn cores(&self) -> impl Iterator<Item = &Seat> {
        self.cores.iter().map(|&seat| &self.seats[seat])
    }

    /// Puts a seat in line at its clock.
    pub fn line_up(&mut self, seat: Number) {
        self.seats[seat].state = State::Ready;
        self.ready.push(Reverse((self.seats[seat].clock, self.random.next_u64(), seat)));
    }

    /// The one who runs takes so long for what it does.
    pub fn charge(&mut self, seat: Number, nanoseconds: u64) {
        let it = &mut self.seats[seat];
        it.clock = it.clock.saturating_add(nanoseconds);
        if it.core.is_some() {
            it.busy = it.busy.saturating_add(nanoseconds);
            self.makespan = self.makespan.max(it.clock);
        }
    }

    /// The one who runs has done something that others may look for.
    pub fn tell(&mut self, seat: Number) {
        self.happened = self.happened.max(self.seats[seat].clock);
        self.turns = 0;
        self.unseen.extend(self.seen.drain(..));
    }

    /// Whether somebody else is to go on before the one who runs.
    pub fn is_behind(&self, seat: Number) -> bool {
        let clock = self.seats[seat].clock;
        !self.unseen.is_empty() || self.ready.peek().is_some_and(|&Reverse((least, ..))| least < clock)
    }

    /// The one who runs keeps the baton.
    pub fn keep(&mut self, seat: Number) {
        self.now = self.now.max(self.seats[seat].clock);
    }

    /// The one who runs looks again when something has happened.
    pub fn look(&mut self, seat: Number) {
        self.seats[seat].state = State::Looking;
        self.seen.push(seat);
    }

    /// Wakes a seat, or keeps it from falling asleep.
    pub fn wake(&mut self, seat: Number, time: u64) {
        let latency = self.latency;
        let it = &mut self.seats[seat];
        match it.state {
            State::Asleep => {
                it.go_on_at(time.saturating_add(latency));
                self.line_up(seat);
            }
            State::Gone => {}
            _ => it.woken = Some(it.woken.map_or(time, |earlier| earlier.min(time))),
        }
    }

    /// Whether somebody has woken the one who runs since it last asked.
    pub fn was_woken(&mut self, seat: Number) -> bool {
        let it = &mut self.seats[seat];
        match it.woken.take() {
            Some(time) => it.go_on_at(time),
            None => return false,
        }
        true
    }

    /// Calls a seat out of a queue; `false` if it has left it.
    pub fn call(&mut self, seat: Number, time: u64) -> bool {
        let is_there = self.seats[seat].state == State::Queued;
        if is_there {
            self.seats[seat].go_on_at(time);
            self.line_up(seat);
        }
        is_there
    }

    /// The one who runs takes part no more. Who has waited for that goes on.
    pub fn leave(&mut self, seat: Number) {
        self.tell(seat);
        (self.seats[seat].state, self.seats[seat].in_task) = (State::Gone, false);
        let (time, cores_left) = (self.seats[seat].clock, self.has_cores());
        for waiting in 0..self.seats.len() {
            let has_come = match self.seats[waiting].state {
                State::Awaits(End::Of(other)) => other == seat,
                State::Awaits(End::OfCores) => !cores_left,
                _ => false,
            };
            if has_come {
                self.seats[waiting].go_on_at(time);
                self.line_up(waiting);
            }
        }
    }

    /// A seat that was ready is not to be taken.
    pub fn withdraw(&mut self, seat: Number) {
        self.ready.retain(|&Reverse((_, _, other))| other != seat);
        self.seats[seat].state = State::Gone;
    }

    /// Whether any core takes part.
    pub fn has_cores(&self) -> bool {
        self.cores().any(|seat| seat.state != State::Gone)
    }

    /// Takes the one to go on next out of line, whoever that is. `None`: nobody is there any more who could be told that
    /// nothing happens.
    pub fn next(&mut self) -> Option<Number> {
        let seat = self.choose()?;
        self.seats[seat].state = State::Running;
        self.now = self.now.max(self.seats[seat].clock);
        Some(seat)
    }

    fn choose(&mut self) -> Option<Number> {
        loop {
            if let Some(seat) = self.unseen.pop_front() {
                self.seats[seat].go_on_at(self.happened);
                return Some(seat);
            }
            if let Some(Reverse((_, _, seat))) = self.ready.pop() {
                return Some(seat);
            }
            if self.seen.is_empty() || self.turns >= TURNS {
                break;
            }
            self.turns += 1;
            self.unseen.extend(self.seen.drain(..));
        }
        let settles = |seat: &Seat| seat.state == State::Awaits(End::OfWork);
        if let Some(seat) = self.seats.iter().position(settles) {
            self.seats[seat].go_on_at(self.now);
            return Some(seat);
        }
        self.give_up()
    }

    /// Nothing will ever happen: somebody has to be told, rather a task that waits than a thread outside.
    fn give_up(&mut self) -> Option<Number> {
        let is_outside = |seat: &Seat| seat.core.is_none() && seat.state != State::Gone;
        let told = self.seats.iter().position(|seat| seat.may_fail);
        let told = told.or_else(|| self.seats.iter().position(is_outside))?;
        let there = self.seats.iter().enumerate().filter(|(_, seat)| seat.state != State::Gone);
        let there: Vec<_> = there.map(|(number, seat)| seat.describe(number)).collect();
        self.seats[told].stuck =
            Some(format!("virtual time stands still, as all wait for each other: {}", there.join("; ")));
        self.seen.retain(|&seat| seat != told);
        self.seats[told].go_on_at(self.now);
        Some(told)
    }
}
