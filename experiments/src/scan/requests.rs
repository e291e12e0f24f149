//! Defines queries and changes independently of any engine.

use super::bookings::column::*;
use super::bookings::{Bookings, DAYS, FLIGHTS, MINUTES, Row, STATUSES, WIDTH};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use xtasking_harness::random::Random;

/// The kind of a query: its conditions and its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryKind {
    /// A booking, by its locator.
    Pnr,
    /// The passengers of a flight.
    Flight,
    /// The trips of a name within some days.
    Name,
    /// The bookings of an office within some time.
    Office,
    /// All bookings within a short time.
    Booked,
    /// Number and total fare of departures from an airport within some days.
    Origin,
    /// Number and total fare of an airline's passengers in a class within some days.
    Carrier,
}

/// The conditions and the output of a kind of query.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The columns compared for equality.
    pub equals: &'static [usize],
    /// The column compared with a range, both ends included.
    pub between: Option<usize>,
    /// What is returned of the matching rows.
    pub output: Output,
}

/// What is returned of the matching rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// These columns of each.
    Rows(&'static [usize]),
    /// The number of rows, and the sum of their fares, which is null if there are none.
    Totals,
}

const ALL: [usize; WIDTH] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

impl QueryKind {
    /// All kinds.
    pub const EACH: [Self; 7] =
        [Self::Pnr, Self::Flight, Self::Name, Self::Office, Self::Booked, Self::Origin, Self::Carrier];

    /// Returns the conditions and the output.
    pub const fn shape(self) -> Shape {
        let (equals, between, output): (&'static [usize], _, _) = match self {
            Self::Pnr => (&[PNR], None, Output::Rows(&ALL)),
            Self::Flight => (&[CARRIER, FLIGHT, DEPARTURE], None, Output::Rows(&[PNR, NAME, CLASS, STATUS])),
            Self::Name => {
                (&[NAME], Some(DEPARTURE), Output::Rows(&[PNR, CARRIER, FLIGHT, DEPARTURE, STATUS]))
            }
            Self::Office => (&[OFFICE], Some(BOOKED), Output::Rows(&[PNR, NAME, BOOKED, FARE])),
            Self::Booked => (&[], Some(BOOKED), Output::Rows(&[PNR, NAME, BOOKED, FARE])),
            Self::Origin => (&[ORIGIN], Some(DEPARTURE), Output::Totals),
            Self::Carrier => (&[CARRIER, CLASS], Some(DEPARTURE), Output::Totals),
        };
        Shape { equals, between, output }
    }

    /// Returns the number of values in the range.
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
    /// Its conditions and output.
    pub kind: QueryKind,
    /// The values to compare for equality, followed by both ends of the range, if there is one.
    pub values: Vec<i64>,
}

impl Query {
    /// Creates a query that matches `row` unless the row has changed.
    fn of(kind: QueryKind, row: &Row, random: &mut Random) -> Self {
        let shape = kind.shape();
        let mut values: Vec<_> = shape.equals.iter().map(|&column| row[column]).collect();
        if let Some(column) = shape.between {
            let low = row[column] - random.below(kind.span() as u64) as i64;
            values.extend([low, low + kind.span() - 1]);
        }
        Self { kind, values }
    }

    /// Returns the columns compared for equality, with their values.
    pub fn equals(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.kind.shape().equals.iter().copied().zip(self.values.iter().copied())
    }

    /// Returns the column compared with a range, and both ends, which are included.
    pub fn between(&self) -> Option<(usize, i64, i64)> {
        let shape = self.kind.shape();
        let [low, high] = *self.values.get(shape.equals.len()..)?.as_array()?;
        Some((shape.between?, low, high))
    }
}

/// A change of one booking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds a booking.
    Insert(Vec<Row>),
    /// Sets the status of all segments.
    Status {
        /// The locator.
        pnr: i64,
        /// The new status.
        status: i64,
    },
    /// Moves the segments of a day to another flight and day.
    Move {
        /// The locator.
        pnr: i64,
        /// The old day.
        from: i64,
        /// The new flight.
        flight: i64,
        /// The new day.
        to: i64,
    },
    /// Removes a booking.
    Delete {
        /// The locator.
        pnr: i64,
    },
}

impl Change {
    /// Returns the locator of the booking.
    pub fn pnr(&self) -> i64 {
        match self {
            Self::Insert(rows) => rows[0][PNR],
            Self::Status { pnr, .. } | Self::Move { pnr, .. } | Self::Delete { pnr } => *pnr,
        }
    }

    /// Returns the equality conditions on the rows to change; for an insert those of the new rows.
    pub fn conditions(&self) -> Vec<(usize, i64)> {
        match self {
            Self::Insert(_) => Vec::new(),
            Self::Move { pnr, from, .. } => vec![(PNR, *pnr), (DEPARTURE, *from)],
            Self::Status { pnr, .. } | Self::Delete { pnr } => vec![(PNR, *pnr)],
        }
    }

    /// Returns the columns that are set, with their values.
    pub fn assignments(&self) -> Vec<(usize, i64)> {
        match self {
            Self::Status { status, .. } => vec![(STATUS, *status)],
            Self::Move { flight, to, .. } => vec![(FLIGHT, *flight), (DEPARTURE, *to)],
            Self::Insert(_) | Self::Delete { .. } => Vec::new(),
        }
    }
}

/// Requests that are served together: all changes are applied, in order, before the first query is
/// answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The changes.
    pub changes: Vec<Change>,
    /// The queries.
    pub queries: Vec<Query>,
}

/// A mix of kinds of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum QueryMix {
    /// Half by locator, a fifth by flight, and a tenth each by name, by office, and for totals
    Mixed,
    /// All by locator
    Points,
    /// By name, by office, and by time alone, each with a range
    Ranges,
}

impl QueryMix {
    /// Returns the name of the mix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Points => "points",
            Self::Ranges => "ranges",
        }
    }

    fn draw(self, random: &mut Random) -> QueryKind {
        let drawn = random.below(60);
        match self {
            Self::Points => QueryKind::Pnr,
            Self::Mixed => match drawn {
                0..30 => QueryKind::Pnr,
                30..42 => QueryKind::Flight,
                42..48 => QueryKind::Name,
                48..54 => QueryKind::Office,
                54..57 => QueryKind::Origin,
                _ => QueryKind::Carrier,
            },
            Self::Ranges => match drawn {
                0..20 => QueryKind::Name,
                20..40 => QueryKind::Office,
                _ => QueryKind::Booked,
            },
        }
    }
}

/// Batches that a contender serves one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The number of the turn, which seeds its random numbers together with the seed.
    pub number: u64,
    /// The number of the next booking to add.
    pub first: u64,
    /// The mix of queries.
    pub mix: QueryMix,
    /// Number of batches.
    pub batches: usize,
    /// Requests of a batch, including the changes.
    pub requests: usize,
    /// Changes of a batch.
    pub changes: usize,
}

/// One request in this many concerns a booking that was added recently.
const RECENT_INTERVAL: u64 = 8;

impl Turn {
    /// Returns the batches, and the number of the first booking of the next turn.
    pub fn batches(&self, bookings: &Bookings) -> (Vec<Batch>, u64) {
        // A path of two steps, as those of bookings have one.
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

/// Draws a booking: an initial one, or one added since. It may be deleted.
fn one(bookings: &Bookings, next: u64, random: &mut Random) -> u64 {
    let added = next - bookings.count();
    if added > 0 && random.below(RECENT_INTERVAL) == 0 {
        return next - 1 - random.below(added.min(256));
    }
    random.below(bookings.count())
}

fn change(bookings: &Bookings, next: &mut u64, random: &mut Random) -> Change {
    // Inserts and deletes are equally frequent.
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

    fn turn(number: u64, mix: QueryMix) -> Turn {
        Turn { number, first: 4_000, mix, batches: 3, requests: 400, changes: 50 }
    }

    #[test]
    fn a_turn_is_the_same_for_all_contenders() {
        let bookings = Bookings::new(10_000, 5);
        let first = turn(1, QueryMix::Mixed).batches(&bookings);
        assert_eq!(first, turn(1, QueryMix::Mixed).batches(&bookings));
        assert_ne!(first, turn(2, QueryMix::Mixed).batches(&bookings));
        let inserts =
            |batch: &Batch| batch.changes.iter().filter(|change| change.conditions().is_empty()).count();
        assert_eq!(first.1, 4_000 + first.0.iter().map(inserts).sum::<usize>() as u64);
        assert!(first.0.iter().all(|batch| (batch.changes.len(), batch.queries.len()) == (50, 350)));
    }

    #[test]
    fn a_query_matches_the_row_that_it_was_derived_from() {
        let bookings = Bookings::new(1_000, 5);
        let mut random = Random::new(1, &[]);
        for row in bookings.rows() {
            for kind in QueryKind::EACH {
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
    fn a_mix_has_the_configured_kinds() {
        let bookings = Bookings::new(10_000, 5);
        let kinds = |mix| {
            let mut kinds: Vec<_> = QueryKind::EACH.iter().map(|&kind| (kind, 0)).collect();
            for query in turn(1, mix).batches(&bookings).0.into_iter().flat_map(|batch| batch.queries) {
                kinds[query.kind as usize].1 += 1;
            }
            kinds.into_iter().map(|(_, count)| count).collect::<Vec<usize>>()
        };
        assert_eq!(kinds(QueryMix::Points), [1050, 0, 0, 0, 0, 0, 0]);
        let mixed = kinds(QueryMix::Mixed);
        assert!(
            (450..600).contains(&mixed[0]) && (160..260).contains(&mixed[1]) && mixed[4] == 0,
            "{mixed:?}"
        );
        let ranges = kinds(QueryMix::Ranges);
        assert!([2, 3, 4].iter().all(|&kind| (280..420).contains(&ranges[kind])), "{ranges:?}");
    }
}
