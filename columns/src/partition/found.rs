//! What queries have found so far.

use crate::answer::Failure;
use crate::chunk::Chunk;
use crate::plan::{Asked, Gives, Made};
use crate::types::{Gathered, Type};
use crate::value::{Kind, Value};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use std::borrow::Cow;
use std::cmp::Ordering;

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
    Texts(Gathered, Vec<bool>),
    Count,
    CountOf(u64),
    /// Whole numbers, and how many there were.
    Whole(i128, u64),
    /// The same of others.
    Float(f64, u64),
    /// The least or the greatest key, and its word.
    Extreme(Option<(u64, u64)>),
    /// The same of texts: the one that compares so with all others.
    ExtremeText(Ordering, Option<String>),
}

impl Found {
    /// Nothing as yet.
    pub fn new(gives: &Gives) -> Self {
        let part = |made: &Made| match made {
            Made::Count => Part::Count,
            Made::CountOf(_) => Part::CountOf(0),
            Made::Sum(_, Kind::Float) => Part::Float(0.0, 0),
            Made::Sum(..) => Part::Whole(0, 0),
            Made::Min(_, Kind::Prefix) => Part::ExtremeText(Ordering::Less, None),
            Made::Max(_, Kind::Prefix) => Part::ExtremeText(Ordering::Greater, None),
            Made::Min(..) | Made::Max(..) => Part::Extreme(None),
        };
        let taken = |&(_, kind): &(usize, Kind)| match kind {
            Kind::Prefix => Part::Texts(Gathered::default(), Vec::new()),
            _ => Part::Words(Vec::new(), Vec::new()),
        };
        let columns = match gives {
            Gives::Rows(columns) => columns.iter().map(taken).collect(),
            Gives::Aggregates(made) => made.iter().map(part).collect(),
        };
        Self { rows: 0, columns }
    }

    /// Adds rows of a chunk whose words pass the query's checks; those of its texts are still to be made.
    pub fn add(&mut self, asked: &Asked, chunk: &Chunk, rows: &[u16]) {
        let holds = |row: &u16| asked.checks.hold_exactly(chunk, (*row).into());
        // As a rule they all pass, and need not be copied.
        let mut rows = Cow::Borrowed(rows);
        if !rows.iter().all(holds) {
            rows.to_mut().retain(holds);
        }
        self.rows += rows.len() as u64;
        match &asked.gives {
            Gives::Rows(columns) => {
                for (part, &(column, _)) in self.columns.iter_mut().zip(columns) {
                    part.take(chunk, column, &rows);
                }
            }
            Gives::Aggregates(made) => {
                for (part, made) in self.columns.iter_mut().zip(made) {
                    part.fold(chunk, *made, &rows);
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
                (Part::Texts(texts, valid), Part::Texts(more, more_valid)) => {
                    texts.append(&more);
                    valid.extend(more_valid);
                }
                (Part::CountOf(count), Part::CountOf(others)) => *count += others,
                (Part::Whole(sum, count), Part::Whole(more, others)) => {
                    *sum += more;
                    *count += others;
                }
                (Part::Float(sum, count), Part::Float(more, others)) => {
                    *sum += more;
                    *count += others;
                }
                (part @ Part::Extreme(_), Part::Extreme(Some((key, word)))) => part.least(key, word),
                (part @ Part::ExtremeText(..), Part::ExtremeText(_, Some(text))) => part.text(&text),
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
        let parts = self.columns.into_iter().zip(asked.schema.fields());
        let array = |(part, field): (Part, &std::sync::Arc<arrow_schema::Field>)| {
            part.array(self.rows, field.data_type(), field.name())
        };
        let columns = parts.map(array).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let made = RecordBatch::try_new_with_options(asked.schema.clone(), columns, &options);
        Ok(made.expect("columns are those of the schema, and of one length"))
    }
}

impl Part {
    /// Takes what rows have in a column.
    fn take(&mut self, chunk: &Chunk, column: usize, rows: &[u16]) {
        let column = &chunk.columns[column];
        let words = || rows.iter().map(|&row| column.get(row.into()));
        match self {
            Self::Words(all, valid) => {
                all.extend(words().map(Option::unwrap_or_default));
                valid.extend(words().map(|word| word.is_some()));
            }
            Self::Texts(all, valid) => {
                rows.iter().for_each(|&row| all.push(column.text(row.into())));
                valid.extend(words().map(|word| word.is_some()));
            }
            _ => unreachable!("rows are taken as words and texts"),
        }
    }

    /// Makes what is asked for of rows, and of what there is already.
    fn fold(&mut self, chunk: &Chunk, made: Made, rows: &[u16]) {
        let words = |column: usize| rows.iter().filter_map(move |&row| chunk.columns[column].get(row.into()));
        match made {
            Made::Count => {}
            Made::CountOf(column) => {
                if let Self::CountOf(count) = self {
                    *count += words(column).count() as u64;
                }
            }
            Made::Sum(column, kind) => words(column).for_each(|word| self.sum(kind, word)),
            Made::Min(column, Kind::Prefix) | Made::Max(column, Kind::Prefix) => {
                let column = &chunk.columns[column];
                let rows = rows.iter().map(|&row| usize::from(row)).filter(|&row| column.valid.get(row));
                rows.for_each(|row| self.text(column.text(row)));
            }
            Made::Min(column, kind) => words(column).for_each(|word| self.least(kind.key(word), word)),
            // The greatest has the least complement.
            Made::Max(column, kind) => words(column).for_each(|word| self.least(!kind.key(word), word)),
        }
    }

    fn sum(&mut self, kind: Kind, word: u64) {
        match self {
            Self::Whole(sum, count) => {
                let value = if kind == Kind::Int { word.cast_signed().into() } else { i128::from(word) };
                (*sum, *count) = (*sum + value, *count + 1);
            }
            Self::Float(sum, count) => (*sum, *count) = (*sum + f64::from_bits(word), *count + 1),
            _ => unreachable!("sums are of numbers"),
        }
    }

    fn least(&mut self, key: u64, word: u64) {
        if let Self::Extreme(found) = self
            && found.is_none_or(|(least, _)| key < least)
        {
            *found = Some((key, word));
        }
    }

    fn text(&mut self, text: &str) {
        if let Self::ExtremeText(wanted, found) = self
            && found.as_deref().is_none_or(|found| text.cmp(found) == *wanted)
        {
            let found = found.get_or_insert_default();
            found.clear();
            found.push_str(text);
        }
    }

    /// As an array of Arrow, of so many rows that were found.
    fn array(self, rows: u64, data_type: &DataType, name: &str) -> Result<ArrayRef, Failure> {
        let is = Type::of(data_type).expect("columns are of such types alone");
        let nulls = |valid: &[bool]| valid.contains(&false).then(|| NullBuffer::from(valid));
        let one = |word: Option<u64>| is.array(data_type, vec![word.unwrap_or(0)], nulls(&[word.is_some()]));
        let texts = |texts: Gathered, valid: &[bool]| {
            texts.array(data_type, nulls(valid)).ok_or_else(|| Failure::TooLong(name.to_string()))
        };
        Ok(match self {
            Self::Words(words, valid) => is.array(data_type, words, nulls(&valid)),
            Self::Texts(all, valid) => texts(all, &valid)?,
            Self::Count => one(Some(rows)),
            Self::CountOf(count) => one(Some(count)),
            Self::Extreme(found) => one(found.map(|(_, word)| word)),
            Self::ExtremeText(_, found) => {
                let mut all = Gathered::default();
                all.push(found.as_deref().unwrap_or_default());
                texts(all, &[found.is_some()])?
            }
            Self::Float(sum, count) => one((count > 0).then_some(sum.to_bits())),
            Self::Whole(sum, count) => {
                let value = match is {
                    Type::Unsigned(_) => u64::try_from(sum).map(Value::Unsigned),
                    _ => i64::try_from(sum).map(Value::Int),
                };
                let word = value.ok().and_then(|value| is.word(&value, data_type));
                let word = word.ok_or_else(|| Failure::Overflow(name.to_string()))?;
                one((count > 0).then_some(word))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::{Changes, Partition, Queries};
    use crate::plan::{Added, Check, Checks, Planned, Rows};
    use crate::scan::Bounds;
    use crate::text::Exact;
    use crate::types::Strings;
    use arrow_array::StringArray;
    use arrow_array::cast::AsArray;
    use arrow_schema::{Field, Schema};

    /// Hashes of different texts are hardly ever equal; here they all are.
    #[test]
    fn texts_of_one_hash_are_told_apart() {
        let mut partition = Partition::new([Kind::Prefix, Kind::Unsigned].into(), 64);
        let texts = StringArray::from(vec!["a", "b", "a", "c"]);
        let added = |texts| Added { words: vec![7; 4].into(), nulls: None, texts };
        let columns = vec![added(Strings::of(&texts)), added(None)];
        let is = |text: &str| {
            let check = Check::Keys { column: 1, kind: Kind::Unsigned, low: 7, high: 7 };
            Checks(vec![check], vec![(0, Exact::Equals(text.into()))])
        };
        let bounds = [Bounds { least: 0, greatest: u64::MAX }; 2];
        let mut serve = |changes: Vec<Planned>, queries: Vec<Asked>| {
            let queries = Queries::new(queries, &bounds);
            let (counts, found) =
                partition.serve(&Changes::new(changes, &bounds, |rows| [rows].into()), &queries, 0);
            let texts = found.into_iter().zip(&queries.all).map(|(found, asked)| {
                let rows = found.finish(asked).expect("texts are short");
                rows.column(0).as_string::<i32>().iter().flatten().map(str::to_string).collect::<Vec<_>>()
            });
            (counts, texts.collect::<Vec<_>>())
        };
        let schema = Schema::new(vec![Field::new("text", DataType::Utf8, false)]);
        let ask = |text| Asked {
            checks: is(text),
            gives: Gives::Rows(vec![(0, Kind::Prefix)]),
            schema: schema.clone().into(),
        };
        // To rows that were just added, and to those that are there.
        let changes = vec![Planned::Insert(Rows { columns, count: 4 }), Planned::Delete(is("b"))];
        assert_eq!(serve(changes, vec![ask("a"), ask("b")]), (vec![4, 1], vec![vec!["a".into(); 2], vec![]]));
        let queries = vec![ask("a"), ask("c"), ask("d")];
        let found = vec![vec!["a".to_string(); 2], vec![], vec![]];
        assert_eq!(serve(vec![Planned::Delete(is("c"))], queries), (vec![1], found));
    }
}
