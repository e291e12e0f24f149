//! Defines what all contenders implement, and how a turn is passed from one process to another.

use super::bookings::{Bookings, NULL, Row};
use super::requests::{Batch, Turn};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use xtasking_harness::machine::resident_memory;
use xtasking_harness::random::mix;

/// A table of bookings that answers requests. Errors are texts.
pub trait Database {
    /// The answers to a batch, in the engine's own form.
    type Answers;

    /// Adds rows while loading. Called many times.
    fn append(&mut self, rows: &[Row]) -> Result<(), String>;

    /// Called after all rows have been added; builds indexes.
    fn complete(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Serves a batch. The time of this call is measured, from plain requests to readable answers.
    fn serve(&mut self, batch: &Batch) -> Result<Self::Answers, String>;

    /// Returns a digest of the answer to each query of the batch.
    fn digests(&self, batch: &Batch, answers: Self::Answers) -> Result<Vec<u64>, String>;

    /// Returns the number of rows, followed by the sum of each column.
    fn sums(&mut self) -> Result<Vec<i64>, String>;
}

/// The digest of an answer; the order of its rows does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    rows: u64,
    sum: u64,
}

impl Digest {
    /// Adds a row.
    pub fn add(&mut self, values: impl IntoIterator<Item = i64>) {
        let row =
            values.into_iter().fold(0, |row, value| mix(row ^ mix(value.cast_unsigned()).wrapping_add(1)));
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row);
    }

    /// Returns the digest of the totals of no rows, which some engines leave out.
    pub fn of_no_rows() -> Self {
        let mut digest = Self::default();
        digest.add([0, NULL]);
        digest
    }

    /// Combines the number of rows and their values into one number.
    pub fn finish(self) -> u64 {
        mix(self.sum ^ mix(self.rows))
    }
}

/// The rows of an answer, one after another.
pub struct Answer {
    /// The values of all rows.
    pub values: Vec<i64>,
    /// Values of a row, at least one.
    pub width: usize,
}

impl Answer {
    /// Returns the digest of the rows.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        self.values.chunks_exact(self.width).for_each(|row| digest.add(row.iter().copied()));
        digest.finish()
    }
}

/// A command to a program of `peers/`, one line each.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Loads the bookings of a seed.
    Load {
        /// Number of rows.
        rows: u64,
        /// The seed.
        seed: u64,
    },
    /// Runs a turn.
    Turn(Turn),
}

/// The cost of loading.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LoadResult {
    /// Time, without generating the rows.
    pub nanoseconds: u64,
    /// Growth of the process's memory, in bytes, if the system reports it.
    pub bytes: Option<u64>,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnResult {
    /// Time of each batch.
    pub nanoseconds: Vec<u64>,
    /// Digests of the answers to the queries of each batch.
    pub digests: Vec<Vec<u64>>,
    /// The table at the end: the number of rows, and the sum of each column.
    pub sums: Vec<i64>,
}

/// A contender in this process.
pub trait Server {
    /// Loads the bookings.
    fn load(&mut self, bookings: &Bookings) -> Result<LoadResult, String>;

    /// Serves batches one after another.
    fn run_turn(&mut self, batches: &[Batch]) -> Result<TurnResult, String>;
}

/// Rows of one call of [`Database::append`].
const BLOCK: usize = 1 << 16;

impl<D: Database> Server for D {
    fn load(&mut self, bookings: &Bookings) -> Result<LoadResult, String> {
        let before = resident_memory();
        let mut time = Duration::ZERO;
        let mut block = Vec::with_capacity(BLOCK);
        let mut rows = bookings.rows();
        loop {
            block.clear();
            block.extend(rows.by_ref().take(BLOCK));
            let began = Instant::now();
            if block.is_empty() {
                self.complete()?;
                time += began.elapsed();
                break;
            }
            self.append(&block)?;
            time += began.elapsed();
        }
        let bytes = resident_memory().zip(before).map(|(after, before)| after.saturating_sub(before));
        Ok(LoadResult { nanoseconds: time.as_nanos() as u64, bytes })
    }

    fn run_turn(&mut self, batches: &[Batch]) -> Result<TurnResult, String> {
        let (mut nanoseconds, mut digests) = (Vec::new(), Vec::new());
        for batch in batches {
            let began = Instant::now();
            let answers = self.serve(batch)?;
            nanoseconds.push(began.elapsed().as_nanos() as u64);
            digests.push(self.digests(batch, answers)?);
        }
        Ok(TurnResult { nanoseconds, digests, sums: self.sums()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[[i64; 2]]) -> u64 {
        let mut digest = Digest::default();
        rows.iter().for_each(|row| digest.add(*row));
        digest.finish()
    }

    #[test]
    fn a_digest_depends_on_the_rows_but_not_on_their_order() {
        assert_eq!(digest(&[[1, 2], [3, 4], [3, 4]]), digest(&[[3, 4], [1, 2], [3, 4]]));
        let different: [&[[i64; 2]]; 7] =
            [&[], &[[0, 0]], &[[0, 0]; 2], &[[1, 2]], &[[2, 1]], &[[1, NULL]], &[[1, 2], [3, 4]]];
        for (place, one) in different.iter().enumerate() {
            assert!(different[..place].iter().all(|other| digest(one) != digest(other)), "{one:?}");
        }
        assert_eq!(Digest::of_no_rows().finish(), digest(&[[0, NULL]]));
    }
}
