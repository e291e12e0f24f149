//! A table in plain Rust that serves the experiment's own kinds of queries and no others: for each of them it has a sorted
//! index. It says what is right, and it is a contender as well: what indexes made for these very requests give.

use super::bookings::column::FARE;
use super::bookings::{NULL, Row, WIDTH};
use super::database::{Database, Digest};
use super::requests::{Batch, Change, Gives, Kind, Query};
use std::collections::BTreeSet;

/// What an index sorts by: the columns that must have a value and then that of the range, as far as there are such.
type Key = [i64; 3];

/// See the module's documentation.
#[derive(Default)]
pub struct Oracle {
    /// A place whose row is gone is used again.
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    /// For each kind of query, the places of rows.
    indexes: Vec<BTreeSet<(Key, u32)>>,
}

/// What was found: values one after another, those of a row beside each other.
pub struct Found {
    values: Vec<i64>,
    width: usize,
}

/// The columns that a kind's index sorts by.
fn columns(kind: Kind) -> impl Iterator<Item = usize> {
    let shape = kind.shape();
    shape.equals.iter().copied().chain(shape.between)
}

fn key(kind: Kind, row: &Row) -> Key {
    let mut key = [0; 3];
    columns(kind).zip(&mut key).for_each(|(column, key)| *key = row[column]);
    key
}

impl Oracle {
    /// The places of the rows that pass a query.
    fn find(&self, query: &Query) -> impl Iterator<Item = u32> + '_ {
        let (mut low, mut high) = ([0; 3], [0; 3]);
        let fixed = query.equals().count();
        for (place, (_, value)) in query.equals().enumerate() {
            (low[place], high[place]) = (value, value);
        }
        if let Some((_, from, to)) = query.between() {
            (low[fixed], high[fixed]) = (from, to);
        }
        self.indexes[query.kind as usize].range((low, 0)..=(high, u32::MAX)).map(|&(_, place)| place)
    }

    fn row(&self, place: u32) -> &Row {
        self.rows[place as usize].as_ref().expect("no index has places of rows that are gone")
    }

    fn answer(&self, query: &Query) -> Found {
        let rows = self.find(query).map(|place| self.row(place));
        match query.kind.shape().gives {
            Gives::Rows(columns) => {
                let values = rows.flat_map(|row| columns.iter().map(|&column| row[column])).collect();
                Found { values, width: columns.len() }
            }
            Gives::Totals => {
                let (count, sum) = rows.fold((0, 0), |(count, sum), row| (count + 1, sum + row[FARE]));
                Found { values: vec![count, if count == 0 { NULL } else { sum }], width: 2 }
            }
        }
    }

    fn insert(&mut self, row: Row) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            self.rows.len() as u32 - 1
        });
        self.rows[place as usize] = Some(row);
        for kind in Kind::EACH {
            self.indexes[kind as usize].insert((key(kind, &row), place));
        }
    }

    fn remove(&mut self, place: u32) {
        let row = self.rows[place as usize].take().expect("no index has places of rows that are gone");
        for kind in Kind::EACH {
            self.indexes[kind as usize].remove(&(key(kind, &row), place));
        }
        self.free.push(place);
    }

    fn set(&mut self, place: u32, sets: &[(usize, i64)]) {
        let row = self.rows[place as usize].as_mut().expect("no index has places of rows that are gone");
        let before = *row;
        sets.iter().for_each(|&(column, value)| row[column] = value);
        let after = *row;
        for kind in Kind::EACH {
            let (before, after) = (key(kind, &before), key(kind, &after));
            if before != after {
                self.indexes[kind as usize].remove(&(before, place));
                self.indexes[kind as usize].insert((after, place));
            }
        }
    }

    fn change(&mut self, change: &Change) {
        if let Change::Insert(rows) = change {
            rows.iter().for_each(|row| self.insert(*row));
            return;
        }
        let tests = change.tests();
        let of_booking = Query { kind: Kind::Pnr, values: vec![change.pnr()] };
        let passes = |place: &u32| tests.iter().all(|&(column, value)| self.row(*place)[column] == value);
        let places: Vec<_> = self.find(&of_booking).filter(passes).collect();
        for place in places {
            match change {
                Change::Delete { .. } => self.remove(place),
                _ => self.set(place, &change.sets()),
            }
        }
    }
}

impl Database for Oracle {
    type Answers = Vec<Found>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.rows.extend(rows.iter().copied().map(Some));
        Ok(())
    }

    fn complete(&mut self) -> Result<(), String> {
        if u32::try_from(self.rows.len()).is_err() {
            return Err("there are more rows than it has places for".to_string());
        }
        let index = |kind| {
            let places = self.rows.iter().zip(0..);
            places.filter_map(|(row, place)| Some((key(kind, row.as_ref()?), place))).collect()
        };
        self.indexes = Kind::EACH.map(index).into();
        Ok(())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Vec<Found>, String> {
        batch.changes.iter().for_each(|change| self.change(change));
        Ok(batch.queries.iter().map(|query| self.answer(query)).collect())
    }

    fn digests(&self, _: &Batch, answers: Vec<Found>) -> Result<Vec<u64>, String> {
        let digest = |found: Found| {
            let mut digest = Digest::default();
            found.values.chunks_exact(found.width).for_each(|row| digest.add(row.iter().copied()));
            digest.finish()
        };
        Ok(answers.into_iter().map(digest).collect())
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        let mut sums = vec![0; 1 + WIDTH];
        for row in self.rows.iter().flatten() {
            sums[0] += 1;
            for (sum, &value) in sums[1..].iter_mut().zip(row).filter(|(_, value)| **value != NULL) {
                *sum += value;
            }
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bookings::Bookings;
    use super::super::database::Server;
    use super::super::requests::{Mix, Turn};
    use super::*;

    /// Goes through all rows for each request.
    struct Naive(Vec<Row>);

    impl Naive {
        fn change(&mut self, change: &Change) {
            let passes = |row: &Row| change.tests().iter().all(|&(column, value)| row[column] == value);
            match change {
                Change::Insert(rows) => self.0.extend(rows),
                Change::Delete { .. } => self.0.retain(|row| !passes(row)),
                _ => {
                    for row in self.0.iter_mut().filter(|row| passes(row)) {
                        change.sets().into_iter().for_each(|(column, value)| row[column] = value);
                    }
                }
            }
        }

        fn answer(&self, query: &Query) -> u64 {
            let passes = |row: &&Row| {
                query.equals().all(|(column, value)| row[column] == value)
                    && query
                        .between()
                        .is_none_or(|(column, low, high)| low <= row[column] && row[column] <= high)
            };
            let rows: Vec<_> = self.0.iter().filter(passes).collect();
            let mut digest = Digest::default();
            match query.kind.shape().gives {
                Gives::Rows(columns) => {
                    rows.iter().for_each(|row| digest.add(columns.iter().map(|&column| row[column])));
                }
                Gives::Totals => {
                    let sum = rows.iter().map(|row| row[FARE]).sum();
                    digest.add([rows.len() as i64, if rows.is_empty() { NULL } else { sum }]);
                }
            }
            digest.finish()
        }
    }

    #[test]
    fn it_says_what_a_table_says_that_goes_through_all_rows() {
        let bookings = Bookings::new(1_500, 11);
        let mut oracle = Oracle::default();
        oracle.load(&bookings).unwrap();
        let mut naive = Naive(bookings.rows().collect());
        let mut first = bookings.count();
        let mut answers = std::collections::HashSet::new();
        for number in 0..9 {
            let mix = [Mix::Mixed, Mix::Points, Mix::Ranges][number as usize % 3];
            let turn = Turn { number, first, mix, batches: 4, requests: 120, changes: 60 };
            let (batches, next) = turn.batches(&bookings);
            first = next;
            let taken = oracle.take_turn(&batches).unwrap();
            assert_eq!(taken.nanoseconds.len(), 4);
            for (batch, digests) in batches.iter().zip(&taken.digests) {
                batch.changes.iter().for_each(|change| naive.change(change));
                let expected: Vec<_> = batch.queries.iter().map(|query| naive.answer(query)).collect();
                assert_eq!(digests, &expected);
                answers.extend(expected);
            }
            let sum =
                |column: usize| naive.0.iter().map(|row| row[column]).filter(|value| *value != NULL).sum();
            let sums: Vec<i64> = (0..WIDTH).map(sum).collect();
            assert_eq!((taken.sums[0], &taken.sums[1..]), (naive.0.len() as i64, &sums[..]));
        }
        // They are not all empty, and places were used again.
        assert!(answers.len() > 1_000, "{}", answers.len());
        assert!(oracle.rows.len() < naive.0.len() + 400);
    }
}
