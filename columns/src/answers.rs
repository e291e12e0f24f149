//! The answers to a batch.

use crate::failure::Failure;
use crate::result::ShapeResult;
use arrow_array::RecordBatch;

/// The answers to a batch. Queries that return the same columns share their arrays; the arrays live
/// as long as any slice of them.
#[derive(Clone, Debug)]
pub struct Answers {
    pub(crate) rows_affected: Vec<Result<u64, Failure>>,
    pub(crate) results: Vec<ShapeResult>,
    /// For each query, the index of its result and its place in that result.
    pub(crate) places: Vec<Result<(usize, u32), Failure>>,
}

impl Answers {
    /// Returns the number of rows that a change inserted, updated or deleted. An update counts
    /// every row that its filter selects, even if the values stay the same.
    ///
    /// # Errors
    ///
    /// A [`Failure`] if the change was not made.
    ///
    /// # Panics
    ///
    /// If the batch has no change with this number.
    pub fn rows_affected(&self, change: usize) -> Result<u64, Failure> {
        self.rows_affected[change].clone()
    }

    /// Returns what a query found: rows, or one row of aggregates.
    ///
    /// # Errors
    ///
    /// A [`Failure`] if the query was not answered.
    ///
    /// # Panics
    ///
    /// If the batch has no query with this number.
    pub fn rows(&self, query: usize) -> Result<RecordBatch, Failure> {
        let (result, place) = self.places[query].clone()?;
        self.results[result].rows(place as usize)
    }
}
