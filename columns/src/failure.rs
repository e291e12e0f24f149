//! The reasons for which a request fails.

use std::fmt;
use std::time::Duration;

/// The reason why a request failed. Other requests of the same batch are not affected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// No column has this name.
    NoColumn(String),
    /// A table cannot store a column of this type.
    Unsupported {
        /// The column's name.
        column: String,
        /// Its Arrow type.
        data_type: String,
    },
    /// A chunk cannot have this number of rows.
    InvalidChunkRows(usize),
    /// A value does not have its column's type, inserted rows do not have the table's columns, or a
    /// column cannot be summed.
    Mismatch {
        /// The column's name; empty if the number of columns differs.
        column: String,
        /// The difference, and how to fix it.
        why: String,
    },
    /// A column that is not nullable would become null.
    NotNullable(String),
    /// A sum exceeds the range of its type. Names the sum's column in the answer.
    Overflow(String),
    /// These weights do not suit a table with this number of partitions.
    InvalidWeights(Vec<f64>, usize),
    /// The texts of this column exceed, in one answer, what its type can address: 2 GiB for `Utf8`.
    TooLong(String),
    /// A [batcher](crate::Batcher) predicts that the answer would miss its deadline.
    Refused {
        /// The predicted latency, including the batches ahead.
        predicted: Duration,
        /// The batcher's [deadline](crate::BatchPolicy::deadline).
        deadline: Duration,
    },
    /// A partition was lost to a panic, or the runtime is shutting down; the text says which.
    Lost(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColumn(column) => write!(f, "no column is named `{column}`; `Table::schema` lists them"),
            Self::Unsupported { column, data_type } => {
                write!(
                    f,
                    "column `{column}` has type {data_type}, which cannot be stored; convert it to \
                     a number or decimal of up to 64 bits, a boolean, date, time, timestamp, duration or text"
                )
            }
            Self::InvalidChunkRows(rows) => {
                write!(f, "a chunk cannot have {rows} rows: choose a multiple of 64, from 64 to 65536")
            }
            Self::Mismatch { column, why } if column.is_empty() => f.write_str(why),
            Self::Mismatch { column, why } => write!(f, "column `{column}`: {why}"),
            Self::NotNullable(column) => {
                write!(f, "column `{column}` is not nullable; supply a value for each row")
            }
            Self::Overflow(column) => {
                write!(f, "`{column}` exceeds the range of its type; sum fewer rows, or a column of floats")
            }
            Self::InvalidWeights(weights, partitions) => write!(
                f,
                "{weights:?} are not valid weights for {partitions} partitions; give each a finite \
                 weight of at least 0, and one of them more than 0"
            ),
            Self::TooLong(column) => {
                write!(
                    f,
                    "the texts of column `{column}` exceed 2 GiB in one answer; query fewer rows, \
                     or use LargeUtf8"
                )
            }
            Self::Refused { predicted, deadline } => {
                write!(
                    f,
                    "refused: the predicted latency of {predicted:.1?} exceeds the deadline of \
                     {deadline:.1?}; retry later"
                )
            }
            Self::Lost(why) => write!(f, "the table is unavailable: {why}"),
        }
    }
}

impl std::error::Error for Failure {}
