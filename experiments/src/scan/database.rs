//! What all contenders have in common: they are loaded, and serve turns of batches; and how a turn is told from one
//! process to another.

use super::bookings::{Bookings, NULL, Row};
use super::requests::{Batch, Turn};
use crate::machine::resident_memory;
use crate::ycsb::keyspace::mix;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A table of bookings, and whoever answers requests for them. Errors are texts.
pub trait Database {
    /// What comes back from a batch, in whatever form it comes.
    type Answers;

    /// Adds rows at first. There are many of these.
    fn append(&mut self, rows: &[Row]) -> Result<(), String>;

    /// All rows have been added: the time for whatever is built over them.
    fn complete(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Serves a batch. It takes the time of this, from requests in plain words to answers that can be read.
    fn serve(&mut self, batch: &Batch) -> Result<Self::Answers, String>;

    /// What was answered to each of the batch's queries, in short.
    fn digests(&self, batch: &Batch, answers: Self::Answers) -> Result<Vec<u64>, String>;

    /// How many rows there are, and then the sum of each column.
    fn sums(&mut self) -> Result<Vec<i64>, String>;
}

/// What an answer to a query comes to: rows in whatever order give the same.
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

    /// That of the totals of no rows, which some engines leave out.
    pub fn of_no_rows() -> Self {
        let mut digest = Self::default();
        digest.add([0, NULL]);
        digest
    }

    /// The number of rows and their values in one number.
    pub fn finish(self) -> u64 {
        mix(self.sum ^ mix(self.rows))
    }
}

/// What a program of `peers/` is asked to do, a line each.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// To load the bookings of a seed.
    Load {
        /// How many rows.
        rows: u64,
        /// The seed.
        seed: u64,
    },
    /// To take a turn.
    Turn(Turn),
}

/// What loading took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Loaded {
    /// How long, without making the rows.
    pub nanoseconds: u64,
    /// By how much the memory of the process has grown, in bytes, if the system tells.
    pub bytes: Option<u64>,
}

/// What a turn took, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// How long each batch took.
    pub nanoseconds: Vec<u64>,
    /// What was answered to the queries of each batch.
    pub digests: Vec<Vec<u64>>,
    /// The table in the end: how many rows, and the sum of each column.
    pub sums: Vec<i64>,
}

/// A contender that is in this process.
pub trait Server {
    /// Loads the bookings.
    fn load(&mut self, bookings: &Bookings) -> Result<Loaded, String>;

    /// Serves batches one after another.
    fn take_turn(&mut self, batches: &[Batch]) -> Result<Taken, String>;
}

/// Rows that are added at once.
const BLOCK: usize = 1 << 16;

impl<D: Database> Server for D {
    fn load(&mut self, bookings: &Bookings) -> Result<Loaded, String> {
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
        Ok(Loaded { nanoseconds: time.as_nanos() as u64, bytes })
    }

    fn take_turn(&mut self, batches: &[Batch]) -> Result<Taken, String> {
        let (mut nanoseconds, mut digests) = (Vec::new(), Vec::new());
        for batch in batches {
            let began = Instant::now();
            let answers = self.serve(batch)?;
            nanoseconds.push(began.elapsed().as_nanos() as u64);
            digests.push(self.digests(batch, answers)?);
        }
        Ok(Taken { nanoseconds, digests, sums: self.sums()? })
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
    fn a_digest_tells_rows_apart_and_not_their_order() {
        assert_eq!(digest(&[[1, 2], [3, 4], [3, 4]]), digest(&[[3, 4], [1, 2], [3, 4]]));
        let different: [&[[i64; 2]]; 7] =
            [&[], &[[0, 0]], &[[0, 0]; 2], &[[1, 2]], &[[2, 1]], &[[1, NULL]], &[[1, 2], [3, 4]]];
        for (place, one) in different.iter().enumerate() {
            assert!(different[..place].iter().all(|other| digest(one) != digest(other)), "{one:?}");
        }
        assert_eq!(Digest::of_no_rows().finish(), digest(&[[0, NULL]]));
    }
}
