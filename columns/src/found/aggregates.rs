//! What queries have made of the rows that they have found.

use super::{Given, Slice, batch};
use crate::answer::Failure;
use crate::chunk::{Chunk, Column};
use crate::plan::{Made, Shape};
use crate::text::LONGEST;
use crate::types::{TextList, Type};
use crate::value::{Kind, Value};
use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use std::cmp::Ordering;

/// What was made of rows, for each query of a shape.
#[derive(Debug)]
pub(super) struct Folded {
    made: Vec<Made>,
    rows: Vec<u64>,
    values: Vec<Values>,
}

/// One aggregate of each query.
#[derive(Debug)]
enum Values {
    Count,
    CountOf(Vec<u64>),
    /// Whole numbers, and how many there were.
    Whole(Vec<(i128, u64)>),
    /// The same of others.
    Float(Vec<(f64, u64)>),
    /// The least key and its word. The greatest has the least complement.
    Extreme(Vec<Option<(u64, u64)>>),
    /// The same of texts: the one that compares so with all others.
    ExtremeText(Ordering, Vec<Option<String>>),
}

impl Folded {
    /// Of no rows as yet.
    pub fn new(made: &[Made], queries: usize) -> Self {
        let values = |made: &Made| match made {
            Made::Count => Values::Count,
            Made::CountOf(_) => Values::CountOf(vec![0; queries]),
            Made::Sum(_, Kind::Float) => Values::Float(vec![(0.0, 0); queries]),
            Made::Sum(..) => Values::Whole(vec![(0, 0); queries]),
            Made::Min(_, Kind::Prefix) => Values::ExtremeText(Ordering::Less, vec![None; queries]),
            Made::Max(_, Kind::Prefix) => Values::ExtremeText(Ordering::Greater, vec![None; queries]),
            Made::Min(..) | Made::Max(..) => Values::Extreme(vec![None; queries]),
        };
        Self { made: made.to_vec(), rows: vec![0; queries], values: made.iter().map(values).collect() }
    }

    /// Adds rows of a chunk that a query has found.
    pub fn add(&mut self, place: u32, chunk: &Chunk, rows: &[u16]) {
        self.fold(chunk, OfOne { place: place as usize, rows });
    }

    /// Adds single rows of a chunk, each with the place of the query that has found it.
    pub fn add_pairs(&mut self, chunk: &Chunk, pairs: &[(u32, u16)]) {
        self.fold(chunk, pairs);
    }

    #[inline(always)]
    fn fold(&mut self, chunk: &Chunk, rows: impl Rows) {
        rows.each(&mut self.rows, |count, _| *count += 1);
        self.values.iter_mut().zip(&self.made).for_each(|(values, made)| values.fold(*made, chunk, rows));
    }

    /// Adds what was made elsewhere: to the first of each of these the second.
    pub fn merge(&mut self, other: &Self, places: impl Iterator<Item = (usize, usize)> + Clone) {
        places.clone().for_each(|(to, from)| self.rows[to] += other.rows[from]);
        let values = self.values.iter_mut().zip(&other.values);
        values.for_each(|(all, more)| all.merge(more, places.clone()));
    }
}

/// Rows of a chunk, each for a query.
trait Rows: Copy {
    /// Calls `each` with every row and the value of its query.
    fn each<V: Default>(self, values: &mut [V], each: impl FnMut(&mut V, usize));

    /// The same with what the row has in a column, for those that have anything there.
    #[inline(always)]
    fn each_word<V: Default>(self, values: &mut [V], column: &Column, mut each: impl FnMut(&mut V, u64)) {
        self.each(values, |value, row| {
            if let Some(word) = column.get(row) {
                each(value, word);
            }
        });
    }
}

/// All for the same.
#[derive(Clone, Copy)]
struct OfOne<'a> {
    place: usize,
    rows: &'a [u16],
}

impl Rows for OfOne<'_> {
    #[inline(always)]
    fn each<V: Default>(self, values: &mut [V], mut each: impl FnMut(&mut V, usize)) {
        // Taken out, so that it is kept in registers meanwhile.
        let mut value = std::mem::take(&mut values[self.place]);
        self.rows.iter().for_each(|&row| each(&mut value, row.into()));
        values[self.place] = value;
    }
}

impl Rows for &[(u32, u16)] {
    #[inline(always)]
    fn each<V: Default>(self, values: &mut [V], mut each: impl FnMut(&mut V, usize)) {
        self.iter().for_each(|&(place, row)| each(&mut values[place as usize], row.into()));
    }
}

impl Values {
    #[inline(always)]
    fn fold(&mut self, made: Made, chunk: &Chunk, rows: impl Rows) {
        let columns = &chunk.columns;
        match (self, made) {
            (Self::Count, _) => {}
            (Self::CountOf(counts), Made::CountOf(column)) => {
                let valid = &columns[column].valid;
                rows.each(counts, |count, row| *count += u64::from(valid.get(row)));
            }
            (Self::Whole(sums), Made::Sum(column, kind)) => {
                rows.each_word(sums, &columns[column], |(sum, count), word| {
                    *sum += if kind == Kind::Int { word.cast_signed().into() } else { i128::from(word) };
                    *count += 1;
                });
            }
            (Self::Float(sums), Made::Sum(column, _)) => {
                rows.each_word(sums, &columns[column], |(sum, count), word| {
                    (*sum, *count) = (*sum + f64::from_bits(word), *count + 1);
                });
            }
            (Self::Extreme(found), Made::Min(column, kind)) => {
                rows.each_word(found, &columns[column], |found, word| least(found, kind.key(word), word));
            }
            (Self::Extreme(found), Made::Max(column, kind)) => {
                rows.each_word(found, &columns[column], |found, word| least(found, !kind.key(word), word));
            }
            (Self::ExtremeText(wanted, found), Made::Min(column, _) | Made::Max(column, _)) => {
                let column = &columns[column];
                rows.each(found, |found, row| {
                    if column.valid.get(row) {
                        extreme(found, *wanted, column.text(row));
                    }
                });
            }
            _ => unreachable!("values are of what is made"),
        }
    }

    fn merge(&mut self, other: &Self, places: impl Iterator<Item = (usize, usize)>) {
        match (self, other) {
            (Self::Count, Self::Count) => {}
            (Self::CountOf(all), Self::CountOf(more)) => places.for_each(|(to, from)| all[to] += more[from]),
            (Self::Whole(all), Self::Whole(more)) => places.for_each(|(to, from)| {
                all[to] = (all[to].0 + more[from].0, all[to].1 + more[from].1);
            }),
            (Self::Float(all), Self::Float(more)) => places.for_each(|(to, from)| {
                all[to] = (all[to].0 + more[from].0, all[to].1 + more[from].1);
            }),
            (Self::Extreme(all), Self::Extreme(more)) => {
                let found = places.filter_map(|(to, from)| Some((to, more[from]?)));
                found.for_each(|(to, (key, word))| least(&mut all[to], key, word));
            }
            (Self::ExtremeText(wanted, all), Self::ExtremeText(_, more)) => {
                let found = places.filter_map(|(to, from)| Some((to, more[from].as_deref()?)));
                found.for_each(|(to, text)| extreme(&mut all[to], *wanted, text));
            }
            _ => unreachable!("all make the same of rows"),
        }
    }
}

fn least(found: &mut Option<(u64, u64)>, key: u64, word: u64) {
    if found.is_none_or(|(least, _)| key < least) {
        *found = Some((key, word));
    }
}

fn extreme(found: &mut Option<String>, wanted: Ordering, text: &str) {
    if found.as_deref().is_none_or(|found| text.cmp(found) == wanted) {
        let found = found.get_or_insert_default();
        found.clear();
        found.push_str(text);
    }
}

/// Puts together what all partitions have made.
pub(super) fn finish(mut parts: Vec<Folded>, shape: &Shape) -> Given {
    let mut all = parts.pop().expect("one partition at least");
    parts.iter().for_each(|part| all.merge(part, (0..shape.queries).map(|query| (query, query))));
    let mut places: Vec<_> = (0..shape.queries).map(|start| Ok(Slice { batch: 0, start, rows: 1 })).collect();
    let columns = all.values.into_iter().zip(shape.schema.fields());
    let columns = columns.map(|(values, field)| array(values, &all.rows, field, &mut places)).collect();
    Given { batches: vec![batch(shape, columns, shape.queries)], places }
}

/// A row for each query. Those for which there is none fail.
fn array(values: Values, rows: &[u64], field: &Field, places: &mut [Result<Slice, Failure>]) -> ArrayRef {
    let data_type = field.data_type();
    let is = Type::of(data_type).expect("columns are of such types alone");
    let words = |found: Vec<Option<u64>>| {
        let nulls = nulls(found.iter().map(Option::is_some));
        is.array(data_type, found.into_iter().map(Option::unwrap_or_default).collect(), nulls)
    };
    match values {
        Values::Count => words(rows.iter().map(|&count| Some(count)).collect()),
        Values::CountOf(counts) => words(counts.into_iter().map(Some).collect()),
        Values::Extreme(found) => words(found.into_iter().map(|found| found.map(|(_, word)| word)).collect()),
        Values::Float(sums) => {
            words(sums.into_iter().map(|(sum, count)| (count > 0).then_some(sum.to_bits())).collect())
        }
        Values::Whole(sums) => {
            let mut all = Vec::with_capacity(sums.len());
            for ((sum, count), place) in sums.into_iter().zip(places) {
                let word = whole(sum, data_type);
                if word.is_none() && place.is_ok() {
                    *place = Err(Failure::Overflow(field.name().clone()));
                }
                all.push(word.filter(|_| count > 0));
            }
            words(all)
        }
        Values::ExtremeText(_, found) => {
            let nulls = nulls(found.iter().map(Option::is_some));
            let mut all = TextList::default();
            for (text, place) in found.iter().zip(places) {
                let text = text.as_deref().unwrap_or_default();
                let fits = *data_type != DataType::Utf8 || all.bytes() + text.len() <= LONGEST;
                if !fits && place.is_ok() {
                    *place = Err(Failure::TooLong(field.name().clone()));
                }
                all.push(if fits { text } else { "" });
            }
            all.array(data_type, nulls).expect("what is too long was left out")
        }
    }
}

fn nulls(valid: impl Iterator<Item = bool>) -> Option<NullBuffer> {
    let nulls: NullBuffer = valid.collect();
    Some(nulls).filter(|nulls| nulls.null_count() > 0)
}

/// The word of a sum, if its type has it.
fn whole(sum: i128, data_type: &DataType) -> Option<u64> {
    let is = Type::of(data_type)?;
    let value = match is {
        Type::Unsigned(_) => Value::Unsigned(u64::try_from(sum).ok()?),
        _ => Value::Int(i64::try_from(sum).ok()?),
    };
    is.word(&value, data_type)
}
