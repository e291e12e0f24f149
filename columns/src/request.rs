//! Requests: queries and changes, and the batches that hold them.

use crate::value::Value;
use arrow_array::RecordBatch;
use std::borrow::Cow;
use std::ops::Bound;

/// The name of a column. A literal is not copied.
pub type ColumnName = Cow<'static, str>;

/// A test of one column. A null passes only [`IsNull`](Self::IsNull).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Test {
    /// The column equals this value.
    Equals(Value),
    /// The column lies between these bounds.
    Between(Bound<Value>, Bound<Value>),
    /// The column is null.
    IsNull,
    /// The column is not null.
    IsNotNull,
}

/// Selects the rows that pass all of its tests.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a filter selects rows only in a query or a change"]
pub struct Filter {
    pub(crate) tests: Vec<(ColumnName, Test)>,
}

impl Filter {
    /// Selects all rows.
    pub fn all() -> Self {
        Self::default()
    }

    /// Adds a test of a column.
    pub fn and(mut self, column: impl Into<ColumnName>, test: Test) -> Self {
        self.tests.push((column.into(), test));
        self
    }

    /// Requires a column to equal a value.
    pub fn equals(self, column: impl Into<ColumnName>, value: impl Into<Value>) -> Self {
        self.and(column, Test::Equals(value.into()))
    }

    /// Requires a column to lie in a range.
    pub fn between<V: Into<Value> + Clone>(
        self,
        column: impl Into<ColumnName>,
        range: impl std::ops::RangeBounds<V>,
    ) -> Self {
        let bound = |bound: Bound<&V>| bound.map(|value| value.clone().into());
        self.and(column, Test::Between(bound(range.start_bound()), bound(range.end_bound())))
    }
}

/// An aggregate over the selected rows. Nulls are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Aggregate {
    /// The number of rows, as an `Int64`.
    Count,
    /// The number of values of a column that are not null, as an `Int64`.
    CountOf(ColumnName),
    /// The sum of a column; null if no row has a value. Signed integers add up to an `Int64`,
    /// unsigned ones to a `UInt64`, floats to a `Float64`, durations to a duration of the same
    /// unit, decimals to a `Decimal64` of 18 digits. Other types cannot be summed. A sum out of
    /// range is an [overflow](crate::Failure::Overflow), unless it is a `Float64`.
    Sum(ColumnName),
    /// The least value of a column; null if no row has a value.
    Min(ColumnName),
    /// The greatest value of a column; null if no row has a value.
    Max(ColumnName),
}

/// A query: a filter, and the columns or aggregates to return.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a query is answered only in a batch"]
pub struct Query {
    pub(crate) filter: Filter,
    pub(crate) output: Output,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    Rows(Vec<ColumnName>),
    Aggregates(Vec<Aggregate>),
}

impl Query {
    /// Queries columns of the selected rows. The order of the rows is unspecified.
    pub fn rows<S: Into<ColumnName>>(filter: Filter, columns: impl IntoIterator<Item = S>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { filter, output: Output::Rows(columns) }
    }

    /// Queries aggregates over the selected rows. The answer is one row with a column for each.
    pub fn aggregates(filter: Filter, aggregates: impl IntoIterator<Item = Aggregate>) -> Self {
        Self { filter, output: Output::Aggregates(aggregates.into_iter().collect()) }
    }
}

/// A change to a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Inserts rows. Their columns are those of the table, in the same order.
    Insert(RecordBatch),
    /// Sets columns of the selected rows; `None` stands for null.
    Update(Filter, Vec<(ColumnName, Option<Value>)>),
    /// Deletes the selected rows.
    Delete(Filter),
}

/// Requests that are served together. All changes are made first, in the order in which they were
/// added; every query then sees the state after the last change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub(crate) changes: Vec<Change>,
    pub(crate) queries: Vec<Query>,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a change and returns its number, which [`rows_affected`](crate::Answers::rows_affected)
    /// takes.
    pub fn change(&mut self, change: Change) -> usize {
        self.changes.push(change);
        self.changes.len() - 1
    }

    /// Adds an insert and returns its number as a change.
    pub fn insert(&mut self, rows: RecordBatch) -> usize {
        self.change(Change::Insert(rows))
    }

    /// Adds a query and returns its number, which [`rows`](crate::Answers::rows) takes.
    pub fn query(&mut self, query: Query) -> usize {
        self.queries.push(query);
        self.queries.len() - 1
    }
}
