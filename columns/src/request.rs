//! What can be asked for and changed.

use crate::value::Value;
use arrow_array::RecordBatch;
use std::borrow::Cow;
use std::ops::Bound;

/// The name of a column. One that is a literal is not copied.
pub type Name = Cow<'static, str>;

/// What is asked of a column. A null passes [`IsNull`](Self::IsNull) alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It has this value.
    Equals(Value),
    /// It lies between these.
    Between(Bound<Value>, Bound<Value>),
    /// It has no value.
    IsNull,
    /// It has some value.
    IsNotNull,
}

/// Which rows: those that pass all tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub(crate) tests: Vec<(Name, Test)>,
}

impl Filter {
    /// All rows.
    pub fn all() -> Self {
        Self::default()
    }

    /// Those of them that pass a test of the column of that name.
    #[must_use]
    pub fn and(mut self, column: impl Into<Name>, test: Test) -> Self {
        self.tests.push((column.into(), test));
        self
    }

    /// Those of them where the column has that value.
    #[must_use]
    pub fn equals(self, column: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.and(column, Test::Equals(value.into()))
    }

    /// Those of them where the column lies in that range.
    #[must_use]
    pub fn between<V: Into<Value> + Clone>(
        self,
        column: impl Into<Name>,
        range: impl std::ops::RangeBounds<V>,
    ) -> Self {
        let bound = |bound: Bound<&V>| bound.map(|value| value.clone().into());
        self.and(column, Test::Between(bound(range.start_bound()), bound(range.end_bound())))
    }
}

/// What is made of the values of many rows. Nulls are left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// How many rows there are, whatever is in them: an `Int64`.
    Count,
    /// How many values a column has: an `Int64`.
    CountOf(Name),
    /// The sum of a column; null if there is no value. Whole numbers give an `Int64`, those without a sign an `UInt64`,
    /// others a `Float64`, durations the same, and decimals a `Decimal64` of 18 digits. A sum that does not fit is a
    /// [failure](crate::Failure::Overflow), unless it is a `Float64`; and there is none of other types.
    Sum(Name),
    /// The least value of a column; null if there is none.
    Min(Name),
    /// The greatest value of a column; null if there is none.
    Max(Name),
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub(crate) filter: Filter,
    pub(crate) output: Output,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    Rows(Vec<Name>),
    Aggregates(Vec<Aggregate>),
}

impl Query {
    /// Some columns of the rows that pass, in no particular order of the rows.
    pub fn rows<S: Into<Name>>(filter: Filter, columns: impl IntoIterator<Item = S>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { filter, output: Output::Rows(columns) }
    }

    /// What is made of the rows that pass: one row, with a column for each aggregate.
    pub fn aggregates(filter: Filter, aggregates: impl IntoIterator<Item = Aggregate>) -> Self {
        Self { filter, output: Output::Aggregates(aggregates.into_iter().collect()) }
    }
}

/// What is to be changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Adds rows. Their columns are those of the table, in that order.
    Insert(RecordBatch),
    /// Sets columns of the rows that pass; `None` is a null.
    Update(Filter, Vec<(Name, Option<Value>)>),
    /// Removes the rows that pass.
    Delete(Filter),
}

/// Requests that are served together: first all changes, in the order in which they were added, and then all queries, which
/// see all of these and nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub(crate) changes: Vec<Change>,
    pub(crate) queries: Vec<Query>,
}

impl Batch {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a change; its number is that of its [answer](crate::Answers::changed).
    pub fn change(&mut self, change: Change) -> usize {
        self.changes.push(change);
        self.changes.len() - 1
    }

    /// Adds rows.
    pub fn insert(&mut self, rows: RecordBatch) -> usize {
        self.change(Change::Insert(rows))
    }

    /// Adds a query; its number is that of its [answer](crate::Answers::rows).
    pub fn query(&mut self, query: Query) -> usize {
        self.queries.push(query);
        self.queries.len() - 1
    }
}
