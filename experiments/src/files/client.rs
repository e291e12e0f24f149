//! A client: draws operations, and checks their answers.

use super::body::Body;
use super::cases::{Kind, Mix};
use super::layout::{DIRECTORIES, DIRECTORY_NODES, Locations, MIDDLES, Name, Path, Place, ROOT, WIDTH};
use super::operation::{Action, Answer, Operation, ROUND, Sum, Way};
use std::hint::black_box;
use std::sync::Arc;
use xtasking_harness::random::Random;

/// A client, which has one operation in flight at a time.
pub(super) struct Client {
    random: Random,
    mix: &'static Mix,
    way: Way,
    locations: Arc<Locations>,
    /// Nodes of each top directory, for mixes without moves.
    sizes: [u32; WIDTH as usize],
    remaining: u64,
    /// The present operation.
    pub operation: Operation,
    pub body: Body,
    pub tally: Tally,
}

/// What a client's operations did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Operations that have been answered.
    pub done: u64,
    /// Of these, operations whose path led nowhere.
    pub missed: u64,
    /// Of these, sums and additions that did not concern exactly the nodes of one moment.
    pub torn: u64,
    /// What was added to all nodes together.
    pub added: u64,
}

impl Client {
    /// Creates a client with a number of operations.
    pub fn new(
        random: Random,
        (mix, way): (&'static Mix, Way),
        operations: u64,
        locations: &Arc<Locations>,
        body: Body,
    ) -> Self {
        Self {
            random,
            mix,
            way,
            locations: locations.clone(),
            sizes: locations.sizes(),
            remaining: operations,
            operation: Operation { action: Action::Read, way, target: Path::new(&[]), to: Place::of(0) },
            body,
            tally: Tally::default(),
        }
    }

    /// Draws the next operation. Returns false if there is none.
    #[inline]
    pub fn next(&mut self) -> bool {
        if self.remaining == 0 {
            return false;
        }
        self.remaining -= 1;
        self.operation = self.draw();
        true
    }

    fn draw(&mut self) -> Operation {
        let mut percent = self.random.below(100);
        let mut kind = Kind::Read;
        for (of, share) in Kind::ALL.into_iter().zip(self.mix.shares) {
            kind = of;
            if percent < share {
                break;
            }
            percent -= share;
        }
        let (way, mut to) = (self.way, Place::of(0));
        if matches!(kind, Kind::SumTop | Kind::AddTop) {
            let action = if kind == Kind::SumTop { Action::Sum } else { Action::Add };
            let target = Path::new(&[self.random.below(WIDTH.into()) as Name]);
            return Operation { action, way, target, to };
        }
        let name = self.random.below(DIRECTORIES.into()) as Name;
        let from = self.locations.of(name);
        let directory = from.directory(name);
        let (action, target) = match kind {
            Kind::Read => (Action::Read, directory.child(self.random.below(WIDTH.into()) as Name)),
            Kind::Write => (Action::Write, directory.child(self.random.below(WIDTH.into()) as Name)),
            Kind::SumDirectory => (Action::Sum, directory),
            _ => {
                // Any other place.
                let step = 1 + self.random.below(u64::from(MIDDLES) - 1) as u16;
                to = Place::of((from.index() + step) % MIDDLES);
                (Action::Move, directory)
            }
        };
        Operation { action, way, target, to }
    }

    /// Counts and checks the answer to the present operation.
    #[inline]
    pub fn note(&mut self, answer: Answer) {
        self.tally.done += 1;
        match answer {
            Answer::Missed => self.tally.missed += 1,
            Answer::Read(value) => _ = black_box(value),
            Answer::Written => self.tally.added += 1,
            Answer::Sum(sum) => self.tally.torn += u64::from(self.is_torn(sum)),
            Answer::Added(nodes) => {
                self.tally.added += u64::from(nodes) * ROUND;
                self.tally.torn += u64::from(nodes != self.expected());
            }
            Answer::Moved => {}
        }
    }

    fn is_torn(&self, sum: Sum) -> bool {
        sum.nodes != self.expected() || sum.is_torn()
    }

    /// Returns the number of nodes at and below the present target.
    fn expected(&self) -> u32 {
        match *self.operation.target.names() {
            [top] => self.sizes[usize::from(top)],
            [_, _, _] => DIRECTORY_NODES,
            _ => ROOT + 1,
        }
    }
}

impl Tally {
    /// Returns the sum of two tallies.
    pub fn and(self, other: Self) -> Self {
        Self {
            done: self.done + other.done,
            missed: self.missed + other.missed,
            torn: self.torn + other.torn,
            added: self.added + other.added,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::{MIXES, MOVES};
    use super::*;

    fn client(mix: &'static Mix, operations: u64) -> Client {
        let locations = Arc::new(Locations::new());
        Client::new(Random::new(7, &[]), (mix, Way::Path), operations, &locations, Body::Rounds(0))
    }

    #[test]
    fn operations_are_as_frequent_as_the_mix_says() {
        for mix in MIXES.iter().chain([&MOVES]) {
            let (mut client, mut counts) = (client(mix, 10_000), [0u64; 6]);
            while client.next() {
                let Operation { action, target, to, .. } = client.operation;
                let kind = match (action, target.names().len()) {
                    (Action::Read, 4) => Kind::Read,
                    (Action::Write, 4) => Kind::Write,
                    (Action::Sum, 3) => Kind::SumDirectory,
                    (Action::Sum, 1) => Kind::SumTop,
                    (Action::Add, 1) => Kind::AddTop,
                    (Action::Move, 3) => Kind::Move,
                    other => panic!("{other:?}"),
                };
                assert!(action != Action::Move || to != client.operation.from());
                counts[kind as usize] += 1;
            }
            for (count, share) in counts.into_iter().zip(mix.shares) {
                assert!(share == 0 && count == 0 || count.abs_diff(100 * share) < 300, "{counts:?}");
            }
        }
    }

    #[test]
    fn answers_are_counted_and_checked() {
        let mut client = client(&MIXES[3], 1);
        assert!(client.next());
        client.operation.target = Path::new(&[3]);
        let sum = Sum { nodes: 1111, total: 1111 * 2 * ROUND + 5, first: 2 * ROUND };
        client.note(Answer::Sum(sum));
        assert_eq!(client.tally, Tally { done: 1, ..Tally::default() });
        client.note(Answer::Sum(Sum { nodes: 1110, total: 1110 * 2 * ROUND, ..sum }));
        client.note(Answer::Sum(Sum { total: sum.total + ROUND, ..sum }));
        client.note(Answer::Added(1110));
        client.note(Answer::Written);
        client.note(Answer::Missed);
        assert_eq!(client.tally, Tally { done: 6, missed: 1, torn: 3, added: 1110 * ROUND + 1 });
        assert!(!client.next());
    }
}
