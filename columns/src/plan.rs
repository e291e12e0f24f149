//! Requests, checked against a schema: names are numbers of columns, values are words.

use crate::answer::Failure;
use crate::request::{Aggregate, Change, Filter, Output, Query, Test};
use crate::value::{Kind, Value};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::ops::Bound;
use std::sync::Arc;

/// The columns of a table, and what they keep.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub schema: SchemaRef,
    pub kinds: Arc<[Kind]>,
}

/// Something that is asked of one column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// The key of its word lies between these, which are included. A null does not.
    Keys { column: usize, kind: Kind, low: u64, high: u64 },
    /// It is a null, or is none.
    Null { column: usize, is_null: bool },
}

impl Check {
    pub fn column(self) -> usize {
        match self {
            Self::Keys { column, .. } | Self::Null { column, .. } => column,
        }
    }

    /// Whether a word passes, or a null.
    #[inline(always)]
    pub fn holds(self, word: Option<u64>) -> bool {
        match self {
            Self::Keys { kind, low, high, .. } => {
                word.is_some_and(|word| (low..=high).contains(&kind.key(word)))
            }
            Self::Null { is_null, .. } => word.is_none() == is_null,
        }
    }
}

/// What a row has to pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks(pub Vec<Check>);

impl Checks {
    /// Whether a row passes, of which each column's word is asked for.
    pub fn hold(&self, word: impl Fn(usize) -> Option<u64>) -> bool {
        self.0.iter().all(|check| check.holds(word(check.column())))
    }
}

/// Rows that are to be added: words and nulls of each column.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub columns: Vec<(ScalarBuffer<u64>, Option<NullBuffer>)>,
    pub count: usize,
}

impl Rows {
    /// The words of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Option<u64>> {
        self.columns.iter().map(move |(words, nulls)| {
            let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            is_valid.then(|| words[row])
        })
    }
}

/// A change.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    Insert(Rows),
    Set(Checks, Vec<(usize, Option<u64>)>),
    Delete(Checks),
}

impl Planned {
    /// Which rows are concerned, if those are concerned that are there.
    pub fn checks(&self) -> Option<&Checks> {
        match self {
            Self::Insert(_) => None,
            Self::Set(checks, _) | Self::Delete(checks) => Some(checks),
        }
    }
}

/// What is made of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Made {
    Count,
    Sum(usize, Kind),
    Min(usize, Kind),
    Max(usize, Kind),
}

/// What a query gives out.
#[derive(Clone, Debug)]
pub(crate) enum Gives {
    Rows(Vec<usize>),
    Aggregates(Vec<Made>),
}

/// A query.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub checks: Checks,
    pub gives: Gives,
    pub schema: SchemaRef,
}

impl Columns {
    pub fn new(schema: SchemaRef) -> Result<Self, Failure> {
        let kind = |field: &Arc<Field>| {
            Kind::of(field.data_type()).ok_or_else(|| Failure::Unsupported {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
            })
        };
        let kinds = schema.fields().iter().map(kind).collect::<Result<_, _>>()?;
        Ok(Self { schema, kinds })
    }

    fn find(&self, name: &str) -> Result<usize, Failure> {
        self.schema.index_of(name).map_err(|_| Failure::NoColumn(name.to_string()))
    }

    fn word(&self, column: usize, value: Value) -> Result<u64, Failure> {
        let kind = self.kinds[column];
        kind.word(value).ok_or_else(|| self.mismatch(column, format!("{value:?} is no value of {kind}")))
    }

    fn mismatch(&self, column: usize, why: String) -> Failure {
        Failure::Mismatch { column: self.schema.field(column).name().clone(), why }
    }

    fn checks(&self, filter: &Filter) -> Result<Checks, Failure> {
        let check = |(name, test): &(String, Test)| {
            let column = self.find(name)?;
            let kind = self.kinds[column];
            let key = |value: Value| Ok(kind.key(self.word(column, value)?));
            // Of nothing, where a range ends before the least key or begins behind the greatest.
            let nothing = Check::Keys { column, kind, low: 1, high: 0 };
            Ok(match test {
                Test::IsNull => Check::Null { column, is_null: true },
                Test::IsNotNull => Check::Null { column, is_null: false },
                Test::Equals(value) => {
                    let key = key(*value)?;
                    Check::Keys { column, kind, low: key, high: key }
                }
                Test::Between(from, to) => {
                    let low = match from {
                        Bound::Unbounded => Some(0),
                        Bound::Included(value) => Some(key(*value)?),
                        Bound::Excluded(value) => key(*value)?.checked_add(1),
                    };
                    let high = match to {
                        Bound::Unbounded => Some(u64::MAX),
                        Bound::Included(value) => Some(key(*value)?),
                        Bound::Excluded(value) => key(*value)?.checked_sub(1),
                    };
                    match (low, high) {
                        (Some(low), Some(high)) => Check::Keys { column, kind, low, high },
                        _ => nothing,
                    }
                }
            })
        };
        filter.tests.iter().map(check).collect::<Result<_, _>>().map(Checks)
    }

    /// Checks a change.
    pub fn plan(&self, change: &Change) -> Result<Planned, Failure> {
        match change {
            Change::Insert(rows) => self.rows(rows).map(Planned::Insert),
            Change::Delete(filter) => self.checks(filter).map(Planned::Delete),
            Change::Update(filter, set) => {
                let word = |(name, value): &(String, Option<Value>)| {
                    let column = self.find(name)?;
                    let word = value.map(|value| self.word(column, value)).transpose()?;
                    if word.is_none() && !self.schema.field(column).is_nullable() {
                        return Err(Failure::Null(name.clone()));
                    }
                    Ok((column, word))
                };
                let set = set.iter().map(word).collect::<Result<_, _>>()?;
                Ok(Planned::Set(self.checks(filter)?, set))
            }
        }
    }

    fn rows(&self, rows: &RecordBatch) -> Result<Rows, Failure> {
        if rows.num_columns() != self.kinds.len() {
            let why = format!("rows have {} columns, and the table {}", rows.num_columns(), self.kinds.len());
            return Err(Failure::Mismatch { column: String::new(), why });
        }
        let column = |(index, array): (usize, &Arc<dyn Array>)| {
            let field = self.schema.field(index);
            if array.data_type() != field.data_type() {
                let why = format!("{} instead of {}", array.data_type(), field.data_type());
                return Err(self.mismatch(index, why));
            }
            if array.null_count() > 0 && !field.is_nullable() {
                return Err(Failure::Null(field.name().clone()));
            }
            let words = match self.kinds[index] {
                Kind::Int => array.as_primitive::<Int64Type>().values().inner().clone(),
                Kind::Unsigned => array.as_primitive::<UInt64Type>().values().inner().clone(),
                Kind::Float => array.as_primitive::<Float64Type>().values().inner().clone(),
            };
            Ok((ScalarBuffer::from(words), array.nulls().cloned()))
        };
        let columns = rows.columns().iter().enumerate().map(column).collect::<Result<_, _>>()?;
        Ok(Rows { columns, count: rows.num_rows() })
    }

    /// Checks a query.
    pub fn ask(&self, query: &Query) -> Result<Asked, Failure> {
        let checks = self.checks(&query.filter)?;
        let (gives, fields): (_, Vec<Field>) = match &query.output {
            Output::Rows(names) => {
                let columns = names.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
                let fields = columns.iter().map(|&column| self.schema.field(column).clone()).collect();
                (Gives::Rows(columns), fields)
            }
            Output::Aggregates(aggregates) => {
                let make = |aggregate: &Aggregate| {
                    let of = |name: &String, as_what: &str, made: fn(usize, Kind) -> Made| {
                        let column = self.find(name)?;
                        let data_type = self.schema.field(column).data_type().clone();
                        let field = Field::new(format!("{as_what}({name})"), data_type, true);
                        Ok((made(column, self.kinds[column]), field))
                    };
                    match aggregate {
                        Aggregate::Count => Ok((Made::Count, Field::new("count", DataType::Int64, false))),
                        Aggregate::Sum(name) => of(name, "sum", Made::Sum),
                        Aggregate::Min(name) => of(name, "min", Made::Min),
                        Aggregate::Max(name) => of(name, "max", Made::Max),
                    }
                };
                let made = aggregates.iter().map(make).collect::<Result<Vec<_>, _>>()?;
                let (made, fields) = made.into_iter().unzip();
                (Gives::Aggregates(made), fields)
            }
        };
        Ok(Asked { checks, gives, schema: Arc::new(Schema::new(fields)) })
    }
}
