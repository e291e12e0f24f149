//! Implements a table in plain Rust that serves the experiment's kinds of queries only, with a
//! sorted index for each. It defines the expected answers, and is a contender too: it shows what
//! indexes made for these very requests achieve.

use super::bookings::column::FARE;
use super::bookings::{NULL, Row, WIDTH};
use super::database::{Answer, Database};
use super::requests::{Batch, Change, Output, Query, QueryKind};
use std::collections::BTreeSet;

/// The key of an index: the columns compared for equality, followed by the column with the range,
/// if there is one.
type Key = [i64; 3];

/// The oracle's table.
#[derive(Default)]
pub struct Oracle {
    /// Slots of deleted rows are reused.
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    /// For each kind of query, the slots of rows.
    indexes: Vec<BTreeSet<(Key, u32)>>,
}

/// Returns the columns that the index of a kind sorts by.
fn columns(kind: QueryKind) -> impl Iterator<Item = usize> {
    let shape = kind.shape();
    shape.equals.iter().copied().chain(shape.between)
}

fn key(kind: QueryKind, row: &Row) -> Key {
    let mut key = [0; 3];
    columns(kind).zip(&mut key).for_each(|(column, key)| *key = row[column]);
    key
}

impl Oracle {
    /// Returns the slots of the rows that match a query.
    fn find(&self, query: &Query) -> impl Iterator<Item = u32> + '_ {
        let (mut low, mut high) = ([0; 3], [0; 3]);
        let fixed = query.equals().count();
        for (slot, (_, value)) in query.equals().enumerate() {
            (low[slot], high[slot]) = (value, value);
        }
        if let Some((_, from, to)) = query.between() {
            (low[fixed], high[fixed]) = (from, to);
        }
        self.indexes[query.kind as usize].range((low, 0)..=(high, u32::MAX)).map(|&(_, slot)| slot)
    }

    fn row(&self, slot: u32) -> &Row {
        self.rows[slot as usize].as_ref().expect("indexes contain no deleted rows")
    }

    fn answer(&self, query: &Query) -> Answer {
        let rows = self.find(query).map(|slot| self.row(slot));
        match query.kind.shape().output {
            Output::Rows(columns) => {
                let values = rows.flat_map(|row| columns.iter().map(|&column| row[column])).collect();
                Answer { values, width: columns.len() }
            }
            Output::Totals => {
                let (count, sum) = rows.fold((0, 0), |(count, sum), row| (count + 1, sum + row[FARE]));
                Answer { values: vec![count, if count == 0 { NULL } else { sum }], width: 2 }
            }
        }
    }

    fn insert(&mut self, row: Row) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            self.rows.len() as u32 - 1
        });
        self.rows[slot as usize] = Some(row);
        for kind in QueryKind::EACH {
            self.indexes[kind as usize].insert((key(kind, &row), slot));
        }
    }

    fn remove(&mut self, slot: u32) {
        let row = self.rows[slot as usize].take().expect("indexes contain no deleted rows");
        for kind in QueryKind::EACH {
            self.indexes[kind as usize].remove(&(key(kind, &row), slot));
        }
        self.free.push(slot);
    }

    fn set(&mut self, slot: u32, assignments: &[(usize, i64)]) {
        let row = self.rows[slot as usize].as_mut().expect("indexes contain no deleted rows");
        let before = *row;
        assignments.iter().for_each(|&(column, value)| row[column] = value);
        let after = *row;
        for kind in QueryKind::EACH {
            let (before, after) = (key(kind, &before), key(kind, &after));
            if before != after {
                self.indexes[kind as usize].remove(&(before, slot));
                self.indexes[kind as usize].insert((after, slot));
            }
        }
    }

    fn change(&mut self, change: &Change) {
        if let Change::Insert(rows) = change {
            rows.iter().for_each(|row| self.insert(*row));
            return;
        }
        let tests = change.conditions();
        let of_booking = Query { kind: QueryKind::Pnr, values: vec![change.pnr()] };
        let passes = |slot: &u32| tests.iter().all(|&(column, value)| self.row(*slot)[column] == value);
        let places: Vec<_> = self.find(&of_booking).filter(passes).collect();
        for slot in places {
            match change {
                Change::Delete { .. } => self.remove(slot),
                _ => self.set(slot, &change.assignments()),
            }
        }
    }
}

impl Database for Oracle {
    type Answers = Vec<Answer>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.rows.extend(rows.iter().copied().map(Some));
        Ok(())
    }

    fn complete(&mut self) -> Result<(), String> {
        if u32::try_from(self.rows.len()).is_err() {
            return Err("there are more rows than slots".to_string());
        }
        let index = |kind| {
            let places = self.rows.iter().zip(0..);
            places.filter_map(|(row, slot)| Some((key(kind, row.as_ref()?), slot))).collect()
        };
        self.indexes = QueryKind::EACH.map(index).into();
        Ok(())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Vec<Answer>, String> {
        batch.changes.iter().for_each(|change| self.change(change));
        Ok(batch.queries.iter().map(|query| self.answer(query)).collect())
    }

    fn digests(&self, _: &Batch, answers: Vec<Answer>) -> Result<Vec<u64>, String> {
        Ok(answers.iter().map(Answer::digest).collect())
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
    use super::super::database::{Digest, Server};
    use super::super::requests::{QueryMix, Turn};
    use super::*;

    /// Scans all rows for each request.
    struct Naive(Vec<Row>);

    impl Naive {
        fn change(&mut self, change: &Change) {
            let passes = |row: &Row| change.conditions().iter().all(|&(column, value)| row[column] == value);
            match change {
                Change::Insert(rows) => self.0.extend(rows),
                Change::Delete { .. } => self.0.retain(|row| !passes(row)),
                _ => {
                    for row in self.0.iter_mut().filter(|row| passes(row)) {
                        change.assignments().into_iter().for_each(|(column, value)| row[column] = value);
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
            match query.kind.shape().output {
                Output::Rows(columns) => {
                    rows.iter().for_each(|row| digest.add(columns.iter().map(|&column| row[column])));
                }
                Output::Totals => {
                    let sum = rows.iter().map(|row| row[FARE]).sum();
                    digest.add([rows.len() as i64, if rows.is_empty() { NULL } else { sum }]);
                }
            }
            digest.finish()
        }
    }

    #[test]
    fn the_oracle_agrees_with_a_table_that_scans_all_rows() {
        let bookings = Bookings::new(1_500, 11);
        let mut oracle = Oracle::default();
        oracle.load(&bookings).unwrap();
        let mut naive = Naive(bookings.rows().collect());
        let mut first = bookings.count();
        let mut answers = std::collections::HashSet::new();
        for number in 0..9 {
            let mix = [QueryMix::Mixed, QueryMix::Points, QueryMix::Ranges][number as usize % 3];
            let turn = Turn { number, first, mix, batches: 4, requests: 120, changes: 60 };
            let (batches, next) = turn.batches(&bookings);
            first = next;
            let result = oracle.run_turn(&batches).unwrap();
            assert_eq!(result.nanoseconds.len(), 4);
            for (batch, digests) in batches.iter().zip(&result.digests) {
                batch.changes.iter().for_each(|change| naive.change(change));
                let expected: Vec<_> = batch.queries.iter().map(|query| naive.answer(query)).collect();
                assert_eq!(digests, &expected);
                answers.extend(expected);
            }
            let sum =
                |column: usize| naive.0.iter().map(|row| row[column]).filter(|value| *value != NULL).sum();
            let sums: Vec<i64> = (0..WIDTH).map(sum).collect();
            assert_eq!((result.sums[0], &result.sums[1..]), (naive.0.len() as i64, &sums[..]));
        }
        // Some answers have rows, and slots were reused.
        assert!(answers.len() > 1_000, "{}", answers.len());
        assert!(oracle.rows.len() < naive.0.len() + 400);
    }
}
