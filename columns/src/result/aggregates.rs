//! Aggregates of the rows that queries found.

use super::{BatchSlice, ShapeResult, batch};
use crate::chunk::{Chunk, Column};
use crate::failure::Failure;
use crate::plan::{AggregatePlan, Shape};
use crate::text::MAX_TEXT_BYTES;
use crate::types::{ColumnType, TextBuffer};
use crate::value::{Value, WordKind};
use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use std::cmp::Ordering;

/// The state of all aggregates of a shape, for each of its queries.
#[derive(Debug)]
pub(super) struct AggregateState {
    plans: Vec<AggregatePlan>,
    rows: Vec<u64>,
    values: Vec<AggregateColumn>,
}

/// The state of one aggregate, for each query.
#[derive(Debug)]
enum AggregateColumn {
    Count,
    CountOf(Vec<u64>),
    /// Sums of integers, and the number of values.
    Integer(Vec<(i128, u64)>),
    /// Sums of floats, and the number of values.
    Float(Vec<(f64, u64)>),
    /// The least key and its word. For a maximum, the complements of keys are compared.
    Extreme(Vec<Option<(u64, u64)>>),
    /// The extreme text: the one that compares as the [`Ordering`] with all others.
    ExtremeText(Ordering, Vec<Option<String>>),
}

impl AggregateState {
    /// Creates the state for no rows.
    pub fn new(plans: &[AggregatePlan], queries: usize) -> Self {
        let values = |plan: &AggregatePlan| match plan {
            AggregatePlan::Count => AggregateColumn::Count,
            AggregatePlan::CountOf(_) => AggregateColumn::CountOf(vec![0; queries]),
            AggregatePlan::Sum(_, WordKind::Float) => AggregateColumn::Float(vec![(0.0, 0); queries]),
            AggregatePlan::Sum(..) => AggregateColumn::Integer(vec![(0, 0); queries]),
            AggregatePlan::Min(_, WordKind::Prefix) => {
                AggregateColumn::ExtremeText(Ordering::Less, vec![None; queries])
            }
            AggregatePlan::Max(_, WordKind::Prefix) => {
                AggregateColumn::ExtremeText(Ordering::Greater, vec![None; queries])
            }
            AggregatePlan::Min(..) | AggregatePlan::Max(..) => AggregateColumn::Extreme(vec![None; queries]),
        };
        Self { plans: plans.to_vec(), rows: vec![0; queries], values: plans.iter().map(values).collect() }
    }

    /// Adds rows of a chunk that match a query.
    pub fn add(&mut self, place: u32, chunk: &Chunk, rows: &[u16]) {
        self.fold(chunk, SingleQuery { place: place as usize, rows });
    }

    /// Adds single rows of a chunk, each with the place of a query that it matches.
    pub fn add_pairs(&mut self, chunk: &Chunk, pairs: &[(u32, u16)]) {
        self.fold(chunk, pairs);
    }

    #[inline(always)]
    fn fold(&mut self, chunk: &Chunk, rows: impl RowSelection) {
        rows.each(&mut self.rows, |count, _| *count += 1);
        self.values.iter_mut().zip(&self.plans).for_each(|(values, plan)| values.fold(*plan, chunk, rows));
    }

    /// Merges another state. `places` pairs a query of this state with a query of the other.
    pub fn merge(&mut self, other: &Self, places: impl Iterator<Item = (usize, usize)> + Clone) {
        places.clone().for_each(|(to, from)| self.rows[to] += other.rows[from]);
        let values = self.values.iter_mut().zip(&other.values);
        values.for_each(|(all, more)| all.merge(more, places.clone()));
    }
}

/// Rows of a chunk, each for a query.
trait RowSelection: Copy {
    /// Calls `each` with every row and the state of its query.
    fn each<V: Default>(self, values: &mut [V], each: impl FnMut(&mut V, usize));

    /// Calls `each` with the word of every row that is not null in a column.
    #[inline(always)]
    fn for_each_word<V: Default>(self, values: &mut [V], column: &Column, mut each: impl FnMut(&mut V, u64)) {
        self.each(values, |value, row| {
            if let Some(word) = column.get(row) {
                each(value, word);
            }
        });
    }
}

/// Rows that all match the same query.
#[derive(Clone, Copy)]
struct SingleQuery<'a> {
    place: usize,
    rows: &'a [u16],
}

impl RowSelection for SingleQuery<'_> {
    #[inline(always)]
    fn each<V: Default>(self, values: &mut [V], mut each: impl FnMut(&mut V, usize)) {
        // Keep the state in registers during the loop.
        let mut value = std::mem::take(&mut values[self.place]);
        self.rows.iter().for_each(|&row| each(&mut value, row.into()));
        values[self.place] = value;
    }
}

impl RowSelection for &[(u32, u16)] {
    #[inline(always)]
    fn each<V: Default>(self, values: &mut [V], mut each: impl FnMut(&mut V, usize)) {
        self.iter().for_each(|&(place, row)| each(&mut values[place as usize], row.into()));
    }
}

impl AggregateColumn {
    #[inline(always)]
    fn fold(&mut self, plan: AggregatePlan, chunk: &Chunk, rows: impl RowSelection) {
        let columns = &chunk.columns;
        match (self, plan) {
            (Self::Count, _) => {}
            (Self::CountOf(counts), AggregatePlan::CountOf(column)) => {
                let valid = &columns[column].valid;
                rows.each(counts, |count, row| *count += u64::from(valid.get(row)));
            }
            (Self::Integer(sums), AggregatePlan::Sum(column, kind)) => {
                rows.for_each_word(sums, &columns[column], |(sum, count), word| {
                    *sum += if kind == WordKind::Int { word.cast_signed().into() } else { i128::from(word) };
                    *count += 1;
                });
            }
            (Self::Float(sums), AggregatePlan::Sum(column, _)) => {
                rows.for_each_word(sums, &columns[column], |(sum, count), word| {
                    (*sum, *count) = (*sum + f64::from_bits(word), *count + 1);
                });
            }
            (Self::Extreme(found), AggregatePlan::Min(column, kind)) => {
                rows.for_each_word(found, &columns[column], |found, word| {
                    keep_least(found, kind.key(word), word)
                });
            }
            (Self::Extreme(found), AggregatePlan::Max(column, kind)) => {
                rows.for_each_word(found, &columns[column], |found, word| {
                    keep_least(found, !kind.key(word), word)
                });
            }
            (
                Self::ExtremeText(ordering, found),
                AggregatePlan::Min(column, _) | AggregatePlan::Max(column, _),
            ) => {
                let column = &columns[column];
                rows.each(found, |found, row| {
                    if column.valid.get(row) {
                        keep_extreme(found, *ordering, column.text(row));
                    }
                });
            }
            _ => unreachable!("states match their plans"),
        }
    }

    fn merge(&mut self, other: &Self, places: impl Iterator<Item = (usize, usize)>) {
        match (self, other) {
            (Self::Count, Self::Count) => {}
            (Self::CountOf(all), Self::CountOf(more)) => places.for_each(|(to, from)| all[to] += more[from]),
            (Self::Integer(all), Self::Integer(more)) => places.for_each(|(to, from)| {
                all[to] = (all[to].0 + more[from].0, all[to].1 + more[from].1);
            }),
            (Self::Float(all), Self::Float(more)) => places.for_each(|(to, from)| {
                all[to] = (all[to].0 + more[from].0, all[to].1 + more[from].1);
            }),
            (Self::Extreme(all), Self::Extreme(more)) => {
                let found = places.filter_map(|(to, from)| Some((to, more[from]?)));
                found.for_each(|(to, (key, word))| keep_least(&mut all[to], key, word));
            }
            (Self::ExtremeText(ordering, all), Self::ExtremeText(_, more)) => {
                let found = places.filter_map(|(to, from)| Some((to, more[from].as_deref()?)));
                found.for_each(|(to, text)| keep_extreme(&mut all[to], *ordering, text));
            }
            _ => unreachable!("all partitions have the same plans"),
        }
    }
}

fn keep_least(found: &mut Option<(u64, u64)>, key: u64, word: u64) {
    if found.is_none_or(|(least, _)| key < least) {
        *found = Some((key, word));
    }
}

fn keep_extreme(found: &mut Option<String>, ordering: Ordering, text: &str) {
    if found.as_deref().is_none_or(|found| text.cmp(found) == ordering) {
        let found = found.get_or_insert_default();
        found.clear();
        found.push_str(text);
    }
}

/// Merges the states of all partitions into a result.
pub(super) fn finish(mut parts: Vec<AggregateState>, shape: &Shape) -> ShapeResult {
    let mut all = parts.pop().expect("a table has at least one partition");
    parts.iter().for_each(|part| all.merge(part, (0..shape.query_count).map(|query| (query, query))));
    let mut places: Vec<_> =
        (0..shape.query_count).map(|start| Ok(BatchSlice { batch: 0, start, rows: 1 })).collect();
    let columns = all.values.into_iter().zip(shape.schema.fields());
    let columns = columns.map(|(values, field)| array(values, &all.rows, field, &mut places)).collect();
    ShapeResult { batches: vec![batch(shape, columns, shape.query_count)], places }
}

/// Builds an array with an element for each query. A query whose value does not fit fails.
fn array(
    values: AggregateColumn,
    rows: &[u64],
    field: &Field,
    places: &mut [Result<BatchSlice, Failure>],
) -> ArrayRef {
    let data_type = field.data_type();
    let column_type = ColumnType::of(data_type).expect("the schema has only supported types");
    let words = |found: Vec<Option<u64>>| {
        let nulls = nulls(found.iter().map(Option::is_some));
        column_type.array(data_type, found.into_iter().map(Option::unwrap_or_default).collect(), nulls)
    };
    match values {
        AggregateColumn::Count => words(rows.iter().map(|&count| Some(count)).collect()),
        AggregateColumn::CountOf(counts) => words(counts.into_iter().map(Some).collect()),
        AggregateColumn::Extreme(found) => {
            words(found.into_iter().map(|found| found.map(|(_, word)| word)).collect())
        }
        AggregateColumn::Float(sums) => {
            words(sums.into_iter().map(|(sum, count)| (count > 0).then_some(sum.to_bits())).collect())
        }
        AggregateColumn::Integer(sums) => {
            let mut all = Vec::with_capacity(sums.len());
            for ((sum, count), place) in sums.into_iter().zip(places) {
                let word = integer_word(sum, data_type);
                if word.is_none() && place.is_ok() {
                    *place = Err(Failure::Overflow(field.name().clone()));
                }
                all.push(word.filter(|_| count > 0));
            }
            words(all)
        }
        AggregateColumn::ExtremeText(_, found) => {
            let nulls = nulls(found.iter().map(Option::is_some));
            let mut all = TextBuffer::default();
            for (text, place) in found.iter().zip(places) {
                let text = text.as_deref().unwrap_or_default();
                let fits = *data_type != DataType::Utf8 || all.bytes() + text.len() <= MAX_TEXT_BYTES;
                if !fits && place.is_ok() {
                    *place = Err(Failure::TooLong(field.name().clone()));
                }
                all.push(if fits { text } else { "" });
            }
            all.array(data_type, nulls).expect("texts beyond the limit were left out")
        }
    }
}

fn nulls(valid: impl Iterator<Item = bool>) -> Option<NullBuffer> {
    let nulls: NullBuffer = valid.collect();
    Some(nulls).filter(|nulls| nulls.null_count() > 0)
}

/// Returns the word of a sum, or `None` if it exceeds its type.
fn integer_word(sum: i128, data_type: &DataType) -> Option<u64> {
    let column_type = ColumnType::of(data_type)?;
    let value = match column_type {
        ColumnType::Unsigned(_) => Value::Unsigned(u64::try_from(sum).ok()?),
        _ => Value::Int(i64::try_from(sum).ok()?),
    };
    column_type.word(&value, data_type)
}
