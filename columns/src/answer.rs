//! What comes back.

use crate::found::Given;
use arrow_array::RecordBatch;
use std::fmt;
use std::time::Duration;

/// Why a request was not served. Others of the same batch are served all the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// There is no column of that name.
    NoColumn(String),
    /// The table cannot have a column of that type.
    Unsupported {
        /// The column.
        column: String,
        /// Its type.
        data_type: String,
    },
    /// Chunks cannot have so many rows.
    ChunkRows(usize),
    /// A value is not of its column's type, or rows are not those of the table, or there is no sum of such a column.
    Mismatch {
        /// The column.
        column: String,
        /// What is wrong.
        why: String,
    },
    /// A column that cannot be null would be.
    Null(String),
    /// A sum is greater than its type.
    Overflow(String),
    /// These are no weights for so many partitions.
    Weights(Vec<f64>, usize),
    /// The texts of a column that a query has found are longer together than its type can hold: 2 GiB, for `Utf8`.
    TooLong(String),
    /// It would hardly have been answered within the time that a [desk](crate::Desk) promises.
    Refused {
        /// How long it would have taken, all that is to be done before included.
        predicted: Duration,
        /// What is promised.
        promise: Duration,
    },
    /// A partition was lost in an earlier panic, or the runtime stops; the text says which.
    Lost(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColumn(column) => write!(f, "there is no column `{column}`"),
            Self::Unsupported { column, data_type } => {
                write!(
                    f,
                    "column `{column}` is of type {data_type}; there are columns of numbers and decimals of up to 64 \
                     bits, booleans, dates, times, timestamps, durations and texts"
                )
            }
            Self::ChunkRows(rows) => {
                write!(f, "a chunk cannot have {rows} rows: choose a multiple of 64, from 64 to 65536")
            }
            Self::Mismatch { column, why } => write!(f, "column `{column}`: {why}"),
            Self::Null(column) => write!(f, "column `{column}` cannot be null"),
            Self::Overflow(column) => write!(f, "the sum of column `{column}` is greater than its type"),
            Self::Weights(weights, partitions) => write!(
                f,
                "{weights:?} are no weights for {partitions} partitions: each has one, none is negative and not all are 0"
            ),
            Self::TooLong(column) => {
                write!(
                    f,
                    "the texts of column `{column}` are too long together for one answer; ask for fewer rows"
                )
            }
            Self::Refused { predicted, promise } => {
                write!(f, "refused: it would take {predicted:.1?}, and {promise:.1?} are promised")
            }
            Self::Lost(why) => write!(f, "the table cannot be reached: {why}"),
        }
    }
}

impl std::error::Error for Failure {}

/// The answers to a batch. What queries have found that give out the same columns is kept together, as long as any part of
/// it is.
#[derive(Clone, Debug)]
pub struct Answers {
    pub(crate) changed: Vec<Result<u64, Failure>>,
    pub(crate) given: Vec<Given>,
    /// For each query, which of these has its answer, and at which place.
    pub(crate) places: Vec<Result<(usize, u32), Failure>>,
}

impl Answers {
    /// How many rows the change of that number has added, changed or removed. An update counts rows that pass, even if they
    /// had these values.
    ///
    /// # Errors
    ///
    /// A [`Failure`] if the change was not made.
    ///
    /// # Panics
    ///
    /// If the batch had no such change.
    pub fn changed(&self, change: usize) -> Result<u64, Failure> {
        self.changed[change].clone()
    }

    /// What the query of that number has found.
    ///
    /// # Errors
    ///
    /// A [`Failure`] if the query was not answered.
    ///
    /// # Panics
    ///
    /// If the batch had no such query.
    pub fn rows(&self, query: usize) -> Result<RecordBatch, Failure> {
        let (given, place) = self.places[query].clone()?;
        self.given[given].rows(place as usize)
    }
}
