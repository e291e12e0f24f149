//! What is asked for and changed, in words that are no engine's own.

use super::bookings::column::*;
use super::bookings::{Bookings, DAYS, FLIGHTS, MINUTES, Row, STATUSES, WIDTH};
use crate::ycsb::distribution::Random;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Which kind of query: what it tests, and what it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A booking, by its locator.
    Pnr,
    /// Who is on a flight.
    Flight,
    /// Where somebody travels in some days.
    Name,
    /// What an office has booked in some time.
    Office,
    /// What anybody has booked in a short time.
    Booked,
    /// How many depart from an airport in some days, and for how much.
    Origin,
    /// How many travel with an airline in a class in some days, and for how much.
    Carrier,
}

/// What a kind of query tests and gives.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The columns that must have a value.
    pub equals: &'static [usize],
    /// The column that must lie in a range, both ends included.
    pub between: Option<usize>,
    /// What is given of the rows that pass.
    pub gives: Gives,
}

/// What is given of the rows that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// These columns of each.
    Rows(&'static [usize]),
    /// How many there are, and the sum of their fares, which is null if there are none.
    Totals,
}

const ALL: [usize; WIDTH] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

impl Kind {
    /// All of them.
    pub const EACH: [Self; 7] =
        [Self::Pnr, Self::Flight, Self::Name, Self::Office, Self::Booked, Self::Origin, Self::Carrier];

    /// See [`Shape`].
    pub const fn shape(self) -> Shape {
        let (equals, between, gives): (&'static [usize], _, _) = match self {
            Self::Pnr => (&[PNR], None, Gives::Rows(&ALL)),
            Self::Flight => (&[CARRIER, FLIGHT, DEPARTURE], None, Gives::Rows(&[PNR, NAME, CLASS, STATUS])),
            Self::Name => (&[NAME], Some(DEPARTURE), Gives::Rows(&[PNR, CARRIER, FLIGHT, DEPARTURE, STATUS])),
            Self::Office => (&[OFFICE], Some(BOOKED), Gives::Rows(&[PNR, NAME, BOOKED, FARE])),
            Self::Booked => (&[], Some(BOOKED), Gives::Rows(&[PNR, NAME, BOOKED, FARE])),
            Self::Origin => (&[ORIGIN], Some(DEPARTURE), Gives::Totals),
            Self::Carrier => (&[CARRIER, CLASS], Some(DEPARTURE), Gives::Totals),
        };
        Shape { equals, between, gives }
    }

    /// How wide the range is: so many values.
    pub const fn span(self) -> i64 {
        match self {
            Self::Name | Self::Origin => 7,
            Self::Carrier => 30,
            Self::Office => 7 * MINUTES as i64,
            Self::Booked => 5,
            Self::Pnr | Self::Flight => 1,
        }
    }
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What it tests and gives.
    pub kind: Kind,
    /// The values of the columns that must have one, and then both ends of the range, if there is one.
    pub values: Vec<i64>,
}

impl Query {
    /// A query that passes this row, but for what has been changed of it.
    fn of(kind: Kind, row: &Row, random: &mut Random) -> Self {
        let shape = kind.shape();
        let mut values: Vec<_> = shape.equals.iter().map(|&column| row[column]).collect();
        if let Some(column) = shape.between {
            let low = row[column] - random.below(kind.span() as u64) as i64;
            values.extend([low, low + kind.span() - 1]);
        }
        Self { kind, values }
    }

    /// The columns that must have a value, each with it.
    pub fn equals(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.kind.shape().equals.iter().copied().zip(self.values.iter().copied())
    }

    /// The column that must lie in a range, and its ends, both included.
    pub fn between(&self) -> Option<(usize, i64, i64)> {
        let shape = self.kind.shape();
        let [low, high] = *self.values.get(shape.equals.len()..)?.as_array()?;
        Some((shape.between?, low, high))
    }
}

/// A change. Each concerns one booking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds a booking.
    Insert(Vec<Row>),
    /// Sets the status of all segments.
    Status {
        /// The locator.
        pnr: i64,
        /// The status from now on.
        status: i64,
    },
    /// Moves those who depart on a day to another flight and day.
    Move {
        /// The locator.
        pnr: i64,
        /// The day until now.
        from: i64,
        /// The flight from now on.
        flight: i64,
        /// The day from now on.
        to: i64,
    },
    /// Removes a booking.
    Delete {
        /// The locator.
        pnr: i64,
    },
}

impl Change {
    /// The locator of the booking that it concerns.
    pub fn pnr(&self) -> i64 {
        match self {
            Self::Insert(rows) => rows[0][PNR],
            Self::Status { pnr, .. } | Self::Move { pnr, .. } | Self::Delete { pnr } => *pnr,
        }
    }

    /// The columns of the rows that it concerns which must have a value; those of an insert are its own.
    pub fn tests(&self) -> Vec<(usize, i64)> {
        match self {
            Self::Insert(_) => Vec::new(),
            Self::Move { pnr, from, .. } => vec![(PNR, *pnr), (DEPARTURE, *from)],
            Self::Status { pnr, .. } | Self::Delete { pnr } => vec![(PNR, *pnr)],
        }
    }

    /// The columns that are set.
    pub fn sets(&self) -> Vec<(usize, i64)> {
        match self {
            Self::Status { status, .. } => vec![(STATUS, *status)],
            Self::Move { flight, to, .. } => vec![(FLIGHT, *flight), (DEPARTURE, *to)],
            Self::Insert(_) | Self::Delete { .. } => Vec::new(),
        }
    }
}

/// Requests that are there at the same time: all changes are made, in their order, before the first query is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The changes.
    pub changes: Vec<Change>,
    /// The queries.
    pub queries: Vec<Query>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// Half of them by locator, a fifth by flight, and a tenth each by name, by office, and for totals
    Mixed,
    /// All by locator
    Points,
    /// By name, by office, and by time alone, each with a range
    Ranges,
}

impl Mix {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Points => "points",
            Self::Ranges => "ranges",
        }
    }

    fn draw(self, random: &mut Random) -> Kind {
        let drawn = random.below(60);
        match self {
            Self::Points => Kind::Pnr,
            Self::Mixed => match drawn {
                0..30 => Kind::Pnr,
                30..42 => Kind::Flight,
                42..48 => Kind::Name,
                48..54 => Kind::Office,
                54..57 => Kind::Origin,
                _ => Kind::Carrier,
            },
            Self::Ranges => match drawn {
                0..20 => Kind::Name,
                20..40 => Kind::Office,
                _ => Kind::Booked,
            },
        }
    }
}

/// Batches that are served one after another: a turn of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Where its chance comes from, besides the seed.
    pub number: u64,
    /// The number of the next booking that is added.
    pub first: u64,
    /// What is asked for.
    pub mix: Mix,
    /// How many batches there are.
    pub batches: usize,
    /// How many requests each of them has, the changes included.
    pub requests: usize,
    /// How many of them are changes.
    pub changes: usize,
}

/// One request in so many concerns a booking that was added of late.
const LATE: u64 = 8;

impl Turn {
    /// The batches, and the number of the first booking of the next turn.
    pub fn batches(&self, bookings: &Bookings) -> (Vec<Batch>, u64) {
        // A path of its own: those of bookings have one step.
        let mut random = Random::new(bookings.seed(), &[self.number, u64::MAX]);
        let mut next = self.first;
        let batches = (0..self.batches).map(|_| self.batch(bookings, &mut next, &mut random)).collect();
        (batches, next)
    }

    fn batch(&self, bookings: &Bookings, next: &mut u64, random: &mut Random) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..self.changes {
            batch.changes.push(change(bookings, next, random));
        }
        for _ in self.changes..self.requests {
            let rows = bookings.booking(one(bookings, *next, random));
            let row = &rows[random.below(rows.len() as u64) as usize];
            batch.queries.push(Query::of(self.mix.draw(random), row, random));
        }
        batch
    }
}

/// A booking: of those that were there at first, or one that has come since. It may be gone.
fn one(bookings: &Bookings, next: u64, random: &mut Random) -> u64 {
    let added = next - bookings.count();
    if added > 0 && random.below(LATE) == 0 {
        return next - 1 - random.below(added.min(256));
    }
    random.below(bookings.count())
}

fn change(bookings: &Bookings, next: &mut u64, random: &mut Random) -> Change {
    // As many come as go.
    let kind = random.below(10);
    if kind < 3 {
        *next += 1;
        return Change::Insert(bookings.booking(*next - 1));
    }
    let rows = bookings.booking(one(bookings, *next, random));
    let row = &rows[random.below(rows.len() as u64) as usize];
    let pnr = row[PNR];
    match kind {
        3..6 => Change::Delete { pnr },
        6..9 => Change::Status { pnr, status: random.below(STATUSES) as i64 },
        _ => {
            let flight = 1 + random.below(FLIGHTS) as i64;
            Change::Move { pnr, from: row[DEPARTURE], flight, to: random.below(2 * DAYS) as i64 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: u64, mix: Mix) -> Turn {
        Turn { number, first: 4_000, mix, batches: 3, requests: 400, changes: 50 }
    }

    #[test]
    fn a_turn_is_the_same_for_everybody() {
        let bookings = Bookings::new(10_000, 5);
        let first = turn(1, Mix::Mixed).batches(&bookings);
        assert_eq!(first, turn(1, Mix::Mixed).batches(&bookings));
        assert_ne!(first, turn(2, Mix::Mixed).batches(&bookings));
        let inserts = |batch: &Batch| batch.changes.iter().filter(|change| change.tests().is_empty()).count();
        assert_eq!(first.1, 4_000 + first.0.iter().map(inserts).sum::<usize>() as u64);
        assert!(first.0.iter().all(|batch| (batch.changes.len(), batch.queries.len()) == (50, 350)));
    }

    #[test]
    fn a_query_passes_the_row_that_it_was_made_of() {
        let bookings = Bookings::new(1_000, 5);
        let mut random = Random::new(1, &[]);
        for row in bookings.rows() {
            for kind in Kind::EACH {
                let query = Query::of(kind, &row, &mut random);
                assert!(query.equals().all(|(column, value)| row[column] == value));
                assert_eq!(query.between().is_some(), kind.shape().between.is_some());
                assert!(
                    query.between().is_none_or(|(column, low, high)| (low..=high).contains(&row[column]))
                );
            }
        }
    }

    #[test]
    fn a_mix_has_its_kinds() {
        let bookings = Bookings::new(10_000, 5);
        let kinds = |mix| {
            let mut kinds: Vec<_> = Kind::EACH.iter().map(|&kind| (kind, 0)).collect();
            for query in turn(1, mix).batches(&bookings).0.into_iter().flat_map(|batch| batch.queries) {
                kinds[query.kind as usize].1 += 1;
            }
            kinds.into_iter().map(|(_, count)| count).collect::<Vec<usize>>()
        };
        assert_eq!(kinds(Mix::Points), [1050, 0, 0, 0, 0, 0, 0]);
        let mixed = kinds(Mix::Mixed);
        assert!(
            (450..600).contains(&mixed[0]) && (160..260).contains(&mixed[1]) && mixed[4] == 0,
            "{mixed:?}"
        );
        let ranges = kinds(Mix::Ranges);
        assert!([2, 3, 4].iter().all(|&kind| (280..420).contains(&ranges[kind])), "{ranges:?}");
    }
}
