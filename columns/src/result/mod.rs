//! Results of queries: what each partition found, and its merge into Arrow arrays.
//!
//! Queries that return the same columns have the same *shape* and share their arrays. A batch of
//! thousands of queries thus builds a few arrays, of which each query's answer is a slice.
//!
//! | module | contents |
//! |---|---|
//! | `rows` | the rows that queries found |
//! | `aggregates` | aggregates of these rows |

mod aggregates;
mod rows;

use crate::chunk::Chunk;
use crate::failure::Failure;
use crate::plan::{OutputPlan, QueryBatch, QueryPlan, Shape};
use crate::scan::{AggregateCells, Pair};
use crate::text::MAX_TEXT_BYTES;
use aggregates::AggregateState;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use rows::RowSet;

/// The results of a batch's queries in one partition.
#[derive(Debug)]
pub(crate) struct PartialResult {
    parts: Vec<ShapePartial>,
    /// For each shape, rows to add with the places of their queries. A buffer that is reused.
    pairs: Vec<Vec<Pair>>,
    /// For each shape, the aggregates of its cells, if it has any.
    cells: Vec<Option<AggregateState>>,
}

/// The results of the queries of one shape, which are identified by their places in it.
#[derive(Debug)]
enum ShapePartial {
    Rows(RowSet),
    Aggregates(AggregateState),
}

impl PartialResult {
    /// Creates an empty result.
    pub fn new(batch: &QueryBatch, cells: &AggregateCells) -> Self {
        let part = |shape: &Shape| match &shape.output {
            OutputPlan::Rows(columns) => ShapePartial::Rows(RowSet::new(columns, &shape.schema)),
            OutputPlan::Aggregates(plans) => {
                ShapePartial::Aggregates(AggregateState::new(plans, shape.query_count))
            }
        };
        let pairs = batch.shapes.iter().map(|_| Vec::new()).collect();
        let cells = batch.shapes.iter().zip(&cells.counts).map(|(shape, &count)| match &shape.output {
            OutputPlan::Aggregates(plans) if count > 0 => Some(AggregateState::new(plans, count as usize)),
            _ => None,
        });
        Self { parts: batch.shapes.iter().map(part).collect(), pairs, cells: cells.collect() }
    }

    /// Adds rows of a chunk that match a query.
    #[inline]
    pub fn add(&mut self, query: &QueryPlan, chunk: &Chunk, rows: &[u16]) {
        match &mut self.parts[query.shape] {
            ShapePartial::Rows(row_set) => row_set.add(query.place, chunk, rows),
            ShapePartial::Aggregates(aggregates) => aggregates.add(query.place, chunk, rows),
        }
    }

    /// Adds single rows of a chunk, each with the number of a query that its words match. Groups
    /// them by shape.
    pub fn add_pairs(&mut self, all: &[QueryPlan], chunk: &Chunk, pairs: &[Pair]) {
        for &(query, row) in pairs {
            let query = &all[query as usize];
            if query.filter.texts_match(chunk, row.into()) {
                self.pairs[query.shape].push((query.place, row));
            }
        }
        for (part, pairs) in self.parts.iter_mut().zip(&mut self.pairs) {
            if pairs.is_empty() {
                continue;
            }
            match part {
                ShapePartial::Rows(rows) => rows.add_pairs(chunk, pairs),
                ShapePartial::Aggregates(aggregates) => aggregates.add_pairs(chunk, pairs),
            }
            pairs.clear();
        }
    }

    /// Adds rows of a chunk to cells, for each shape.
    pub fn add_cells(&mut self, chunk: &Chunk, cells: &[Vec<Pair>]) {
        let cells = self.cells.iter_mut().zip(cells).filter(|(_, pairs)| !pairs.is_empty());
        cells.for_each(|(aggregates, pairs)| {
            aggregates.as_mut().expect("only shapes with aggregates have cells").add_pairs(chunk, pairs)
        });
    }

    /// Merges the aggregates of the cells into those of their queries, after the last row.
    pub fn merge_cells(&mut self, all: &[QueryPlan], cells: &AggregateCells) {
        for (query, range) in &cells.queries {
            let QueryPlan { shape, place, .. } = all[*query as usize];
            if let (ShapePartial::Aggregates(aggregates), Some(cells)) =
                (&mut self.parts[shape], &self.cells[shape])
            {
                aggregates.merge(cells, range.clone().map(|cell| (place as usize, cell as usize)));
            }
        }
        self.cells.clear();
    }
}

/// The answers to the queries of one shape.
#[derive(Clone, Debug)]
pub(crate) struct ShapeResult {
    /// All answers, one after another. Several batches if a column of texts exceeds the limit of
    /// its type.
    batches: Vec<RecordBatch>,
    /// For each query, the slice that is its answer.
    places: Vec<Result<BatchSlice, Failure>>,
}

/// A slice of one of the batches.
#[derive(Clone, Copy, Debug)]
struct BatchSlice {
    batch: usize,
    start: usize,
    rows: usize,
}

impl ShapeResult {
    /// Returns the answer to the query at a place.
    pub fn rows(&self, place: usize) -> Result<RecordBatch, Failure> {
        let BatchSlice { batch, start, rows } = self.places[place].clone()?;
        Ok(self.batches[batch].slice(start, rows))
    }
}

/// Merges the results of all partitions, for each shape.
pub(crate) fn finish(batch: &QueryBatch, found: Vec<PartialResult>) -> Vec<ShapeResult> {
    let mut by_shape: Vec<Vec<ShapePartial>> = batch.shapes.iter().map(|_| Vec::new()).collect();
    for PartialResult { parts, .. } in found {
        by_shape.iter_mut().zip(parts).for_each(|(all, part)| all.push(part));
    }
    let result = |(shape, parts): (&Shape, Vec<ShapePartial>)| {
        let (mut rows, mut aggregates) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                ShapePartial::Rows(part) => rows.push(part),
                ShapePartial::Aggregates(part) => aggregates.push(part),
            }
        }
        match &shape.output {
            OutputPlan::Rows(_) => rows::finish(&rows, shape, MAX_TEXT_BYTES),
            OutputPlan::Aggregates(_) => aggregates::finish(aggregates, shape),
        }
    };
    batch.shapes.iter().zip(by_shape).map(result).collect()
}

fn batch(shape: &Shape, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(shape.schema.clone(), columns, &options)
        .expect("the columns match the schema and have equal lengths")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::{IndexedChanges, IndexedQueries, Partition};
    use crate::plan::TextPredicate;
    use crate::plan::{ChangePlan, Conjunction, NewColumn, NewRows, WordPredicate};
    use crate::statistics::Statistics;
    use crate::types::TextArray;
    use crate::value::WordKind;
    use arrow_array::StringArray;
    use arrow_array::cast::AsArray;
    use arrow_schema::{DataType, Field, Schema};

    /// A shape with one column of texts.
    fn shape(query_count: usize) -> Shape {
        let schema = Schema::new(vec![Field::new("text", DataType::Utf8, false)]);
        Shape { output: OutputPlan::Rows(vec![(0, WordKind::Prefix)]), schema: schema.into(), query_count }
    }

    /// Selects a text, with this hash.
    fn equals(text: &str, hash: u64) -> Conjunction {
        let predicate = WordPredicate::Keys { column: 1, kind: WordKind::Unsigned, low: hash, high: hash };
        Conjunction { words: vec![predicate], texts: vec![(0, TextPredicate::Equals(text.into()))] }
    }

    fn insert(texts: &[&str], hashes: &[u64]) -> ChangePlan {
        let strings = TextArray::of(&StringArray::from(texts.to_vec()));
        let added = |texts| NewColumn { words: hashes.to_vec().into(), nulls: None, texts };
        ChangePlan::Insert(NewRows { columns: vec![added(strings), added(None)], count: texts.len() })
    }

    fn serve(
        partition: &mut Partition,
        changes: Vec<ChangePlan>,
        filters: Vec<Conjunction>,
    ) -> (Vec<u64>, IndexedQueries, PartialResult) {
        let shapes = vec![shape(filters.len())];
        let plans = filters.into_iter().zip(0..).map(|(filter, place)| QueryPlan { filter, shape: 0, place });
        let statistics = Statistics::new(&[WordKind::Prefix, WordKind::Unsigned]);
        let queries = IndexedQueries::new(QueryBatch { queries: plans.collect(), shapes }, &statistics);
        let changes = IndexedChanges::new(changes, &statistics, |rows| [rows].into());
        let (counts, found) = partition.run_batch(&changes, &queries, 0);
        (counts, queries, found)
    }

    fn texts(result: &ShapeResult, place: usize) -> Result<Vec<String>, Failure> {
        let rows = result.rows(place)?;
        Ok(rows.column(0).as_string::<i32>().iter().flatten().map(str::to_string).collect())
    }

    /// Different texts rarely have equal hashes; here all hashes are equal.
    #[test]
    fn texts_with_equal_hashes_are_distinguished() {
        let mut partition = Partition::new([WordKind::Prefix, WordKind::Unsigned].into(), 64);
        let equals = |text| equals(text, 7);
        let mut serve = |changes: Vec<ChangePlan>, filters: Vec<Conjunction>| {
            let (counts, queries, found) = serve(&mut partition, changes, filters);
            let result = finish(&queries.batch, vec![found]).remove(0);
            let found = (0..queries.batch.queries.len()).map(|place| texts(&result, place).unwrap());
            (counts, found.collect::<Vec<_>>())
        };
        // The filters select rows inserted in the same batch, then existing rows.
        let changes = vec![insert(&["a", "b", "a", "c"], &[7; 4]), ChangePlan::Delete(equals("b"))];
        assert_eq!(
            serve(changes, vec![equals("a"), equals("b")]),
            (vec![4, 1], vec![vec!["a".into(); 2], vec![]])
        );
        let found = vec![vec!["a".to_string(); 2], vec![], vec![]];
        assert_eq!(
            serve(vec![ChangePlan::Delete(equals("c"))], vec![equals("a"), equals("c"), equals("d")]),
            (vec![1], found)
        );
    }

    #[test]
    fn texts_beyond_the_limit_are_split_into_batches() {
        let words = ["four", "five", "seven", "longer than all", "ten"];
        let found = [1, 2].map(|times| {
            let mut partition = Partition::new([WordKind::Prefix, WordKind::Unsigned].into(), 64);
            let hashes: Vec<u64> = (0..words.len() as u64 * times).collect();
            let insert = insert(&words.repeat(times as usize), &hashes);
            let filters = words.iter().zip(0..).map(|(word, hash)| equals(word, hash)).collect();
            let (_, _, found) = serve(&mut partition, vec![insert], filters);
            let ShapePartial::Rows(rows) = found.parts.into_iter().next().unwrap() else {
                panic!("the shape returns rows")
            };
            rows
        });
        for max_text_bytes in [100, 30, 14, 10, 8] {
            let result = rows::finish(&found, &shape(words.len()), max_text_bytes);
            for (place, word) in words.iter().enumerate() {
                let both = if 2 * word.len() > max_text_bytes {
                    Err(Failure::TooLong("text".to_string()))
                } else {
                    Ok(vec![word.to_string(); 2])
                };
                assert_eq!(texts(&result, place), both, "{word} of {max_text_bytes}");
            }
            assert!(
                result
                    .batches
                    .iter()
                    .all(|batch| { batch.column(0).as_string::<i32>().values().len() <= max_text_bytes })
            );
        }
    }
}
