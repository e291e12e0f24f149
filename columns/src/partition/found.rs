//! What queries have found so far.

use crate::answer::Failure;
use crate::chunk::Chunk;
use crate::plan::{Asked, Gives, Made};
use crate::value::{Kind, Value};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use std::sync::Arc;

/// What a query has found in some chunks, or in some partitions.
#[derive(Debug)]
pub(crate) struct Found {
    rows: u64,
    /// Of each column that it gives out.
    columns: Vec<Part>,
}

/// What was made of a column, or taken from it.
#[derive(Debug)]
enum Part {
    Words(Vec<u64>, Vec<bool>),
    Count,
    /// Whole numbers, and how many there were.
    Whole(i128, u64),
    /// The same of others.
    Float(f64, u64),
    /// The least or the greatest key, and its word.
    Extreme(Option<(u64, u64)>),
}

impl Found {
    /// Nothing as yet.
    pub fn new(gives: &Gives) -> Self {
        let part = |made: &Made| match made {
            Made::Count => Part::Count,
            Made::Sum(_, Kind::Float) => Part::Float(0.0, 0),
            Made::Sum(..) => Part::Whole(0, 0),
            Made::Min(..) | Made::Max(..) => Part::Extreme(None),
        };
        let columns = match gives {
            Gives::Rows(columns) => columns.iter().map(|_| Part::Words(Vec::new(), Vec::new())).collect(),
            Gives::Aggregates(made) => made.iter().map(part).collect(),
        };
        Self { rows: 0, columns }
    }

    /// Adds rows of a chunk.
    pub fn add(&mut self, gives: &Gives, chunk: &Chunk, rows: &[u16]) {
        self.rows += rows.len() as u64;
        let words = |column: usize| rows.iter().map(move |&row| chunk.columns[column].get(row.into()));
        match gives {
            Gives::Rows(columns) => {
                for (part, &column) in self.columns.iter_mut().zip(columns) {
                    let Part::Words(all, valid) = part else { unreachable!("rows are kept as words") };
                    all.extend(words(column).map(Option::unwrap_or_default));
                    valid.extend(words(column).map(|word| word.is_some()));
                }
            }
            Gives::Aggregates(made) => {
                for (part, made) in self.columns.iter_mut().zip(made) {
                    match *made {
                        Made::Count => {}
                        Made::Sum(column, kind) => {
                            words(column).flatten().for_each(|word| part.sum(kind.value(word)));
                        }
                        Made::Min(column, kind) => {
                            words(column).flatten().for_each(|word| part.least(kind.key(word), word));
                        }
                        // The greatest has the least complement.
                        Made::Max(column, kind) => {
                            words(column).flatten().for_each(|word| part.least(!kind.key(word), word));
                        }
                    }
                }
            }
        }
    }

    /// Adds what was found elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        for (part, other) in self.columns.iter_mut().zip(other.columns) {
            match (part, other) {
                (Part::Words(words, valid), Part::Words(more, more_valid)) => {
                    words.extend(more);
                    valid.extend(more_valid);
                }
                (Part::Whole(sum, count), Part::Whole(more, others)) => {
                    *sum += more;
                    *count += others;
                }
                (Part::Float(sum, count), Part::Float(more, others)) => {
                    *sum += more;
                    *count += others;
                }
                (part @ Part::Extreme(_), Part::Extreme(Some((key, word)))) => part.least(key, word),
                _ => {}
            }
        }
    }

    /// As rows of Arrow.
    pub fn finish(self, asked: &Asked) -> Result<RecordBatch, Failure> {
        let rows = match asked.gives {
            Gives::Rows(_) => self.rows as usize,
            Gives::Aggregates(_) => 1,
        };
        let mut columns = Vec::new();
        for (index, part) in self.columns.into_iter().enumerate() {
            let field = asked.schema.field(index);
            let kind = Kind::of(field.data_type()).expect("columns are of such types alone");
            let one = |word: Option<u64>| array(kind, vec![word.unwrap_or(0)], &[word.is_some()]);
            columns.push(match part {
                Part::Words(words, valid) => array(kind, words, &valid),
                Part::Count => one(Some(self.rows)),
                Part::Extreme(found) => one(found.map(|(_, word)| word)),
                Part::Float(sum, count) => one((count > 0).then_some(sum.to_bits())),
                Part::Whole(sum, count) => {
                    let fits = match kind {
                        Kind::Int => i64::try_from(sum).ok().map(i64::cast_unsigned),
                        _ => u64::try_from(sum).ok(),
                    };
                    let word = fits.ok_or_else(|| Failure::Overflow(field.name().clone()))?;
                    one((count > 0).then_some(word))
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let made = RecordBatch::try_new_with_options(asked.schema.clone(), columns, &options);
        Ok(made.expect("columns are those of the schema, and of one length"))
    }
}

impl Part {
    fn sum(&mut self, value: Value) {
        match (self, value) {
            (Self::Whole(sum, count), Value::Int(value)) => {
                (*sum, *count) = (*sum + i128::from(value), *count + 1)
            }
            (Self::Whole(sum, count), Value::Unsigned(value)) => {
                (*sum, *count) = (*sum + i128::from(value), *count + 1);
            }
            (Self::Float(sum, count), Value::Float(value)) => (*sum, *count) = (*sum + value, *count + 1),
            _ => unreachable!("sums are of their column's kind"),
        }
    }

    fn least(&mut self, key: u64, word: u64) {
        if let Self::Extreme(found) = self
            && found.is_none_or(|(least, _)| key < least)
        {
            *found = Some((key, word));
        }
    }
}

fn array(kind: Kind, words: Vec<u64>, valid: &[bool]) -> ArrayRef {
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let words = ScalarBuffer::<u64>::from(words).into_inner();
    match kind {
        Kind::Int => Arc::new(Int64Array::new(words.into(), nulls)),
        Kind::Unsigned => Arc::new(UInt64Array::new(words.into(), nulls)),
        Kind::Float => Arc::new(Float64Array::new(words.into(), nulls)),
    }
}
