//! Plans of a batch's queries.

use super::filter::conjunction;
use super::predicate::Conjunction;
use super::table_schema::TableSchema;
use crate::failure::Failure;
use crate::request::{Aggregate, Output, Query};
use crate::value::WordKind;
use ahash::RandomState;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// A query, checked against the schema.
#[derive(Clone, Debug)]
pub(crate) struct QueryPlan {
    pub filter: Conjunction,
    /// The query's shape, as an index into [`QueryBatch::shapes`].
    pub shape: usize,
    /// The query's index among the queries of its shape.
    pub place: u32,
}

/// An output that several queries of a batch have in common.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub output: OutputPlan,
    pub schema: SchemaRef,
    pub query_count: usize,
}

/// The output of a query.
#[derive(Clone, Debug)]
pub(crate) enum OutputPlan {
    /// These columns of the rows that match.
    Rows(Vec<(usize, WordKind)>),
    Aggregates(Vec<AggregatePlan>),
}

/// An aggregate over a column of words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AggregatePlan {
    Count,
    CountOf(usize),
    Sum(usize, WordKind),
    Min(usize, WordKind),
    Max(usize, WordKind),
}

/// The queries of a batch, and the shapes that they share.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryBatch {
    pub queries: Vec<QueryPlan>,
    pub shapes: Vec<Shape>,
}

impl QueryBatch {
    /// Plans queries. Leaves out those that are invalid, and returns their failures with their
    /// numbers.
    pub fn new(table: &TableSchema, queries: &[Query]) -> (Self, Vec<(usize, Failure)>) {
        let (mut batch, mut failed) = (Self::default(), Vec::new());
        let mut shapes = HashMap::<&Output, usize, RandomState>::default();
        for (number, query) in queries.iter().enumerate() {
            let mut plan_query = || {
                let filter = conjunction(table, &query.filter)?;
                let shape = match shapes.get(&query.output) {
                    Some(&shape) => shape,
                    None => {
                        batch.shapes.push(Shape::new(table, &query.output)?);
                        shapes.insert(&query.output, batch.shapes.len() - 1);
                        batch.shapes.len() - 1
                    }
                };
                let query_count = &mut batch.shapes[shape].query_count;
                batch.queries.push(QueryPlan { filter, shape, place: *query_count as u32 });
                *query_count += 1;
                Ok(())
            };
            if let Err(failure) = plan_query() {
                failed.push((number, failure));
            }
        }
        (batch, failed)
    }

    /// Returns the shape of a query if its aggregation can be shared: if it aggregates, and words
    /// alone decide which rows match.
    pub fn shared_shape(&self, query: &QueryPlan) -> Option<usize> {
        let aggregates = matches!(self.shapes[query.shape].output, OutputPlan::Aggregates(_));
        (aggregates && query.filter.texts.is_empty()).then_some(query.shape)
    }
}

impl Shape {
    /// Plans an output, as yet without queries.
    fn new(table: &TableSchema, output: &Output) -> Result<Self, Failure> {
        let (output, fields): (_, Vec<Field>) = match output {
            Output::Rows(names) => {
                let found = names.iter().map(|name| table.find(name)).collect::<Result<Vec<_>, _>>()?;
                let fields = found.iter().map(|&field| table.field(field).clone()).collect();
                let columns = found.iter().map(|&field| table.column(field));
                let columns = columns.map(|(column, column_type)| (column, column_type.kind()));
                (OutputPlan::Rows(columns.collect()), fields)
            }
            Output::Aggregates(aggregates) => {
                let planned = aggregates.iter().map(|aggregate| plan_aggregate(table, aggregate));
                let (plans, fields) = planned.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
                (OutputPlan::Aggregates(plans), fields)
            }
        };
        Ok(Self { output, schema: Arc::new(Schema::new(fields)), query_count: 0 })
    }
}

/// Plans an aggregate, and names and types its result.
fn plan_aggregate(table: &TableSchema, aggregate: &Aggregate) -> Result<(AggregatePlan, Field), Failure> {
    let of = |name: &str, plan: fn(usize, WordKind) -> AggregatePlan| {
        let field = table.find(name)?;
        let (column, column_type) = table.column(field);
        Ok::<_, Failure>((field, plan(column, column_type.kind())))
    };
    let same = |field: usize| table.field(field).data_type().clone();
    let (function, name, plan, data_type) = match aggregate {
        Aggregate::Count => {
            return Ok((AggregatePlan::Count, Field::new("count", DataType::Int64, false)));
        }
        Aggregate::CountOf(name) => {
            let (_, plan) = of(name, |column, _| AggregatePlan::CountOf(column))?;
            return Ok((plan, Field::new(format!("count({name})"), DataType::Int64, false)));
        }
        Aggregate::Sum(name) => {
            let (field, plan) = of(name, AggregatePlan::Sum)?;
            let data_type = sum_type(table.field(field).data_type()).ok_or_else(|| {
                let why = format!("{} cannot be summed; numbers, decimals and durations can", same(field));
                table.mismatch(field, why)
            })?;
            ("sum", name, plan, data_type)
        }
        Aggregate::Min(name) => {
            let (field, plan) = of(name, AggregatePlan::Min)?;
            ("min", name, plan, same(field))
        }
        Aggregate::Max(name) => {
            let (field, plan) = of(name, AggregatePlan::Max)?;
            ("max", name, plan, same(field))
        }
    };
    Ok((plan, Field::new(format!("{function}({name})"), data_type, true)))
}

/// Returns the type of a sum over a column, or `None` if it cannot be summed.
fn sum_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
            Some(DataType::Decimal64(18, *scale))
        }
        DataType::Duration(_) => Some(data_type.clone()),
        _ if data_type.is_signed_integer() => Some(DataType::Int64),
        _ if data_type.is_unsigned_integer() => Some(DataType::UInt64),
        _ if data_type.is_floating() => Some(DataType::Float64),
        _ => None,
    }
}
