//! Rows that queries found.

use super::{BatchSlice, ShapeResult, batch};
use crate::chunk::Chunk;
use crate::failure::Failure;
use crate::plan::Shape;
use crate::types::{ColumnType, TextBuffer};
use crate::value::WordKind;
use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};

/// The rows that the queries of a shape found, in the order of the scan.
#[derive(Debug)]
pub(super) struct RowSet {
    /// Runs of rows: the place of a query, and the number of consecutive rows that it found.
    runs: Vec<(u32, u32)>,
    columns: Vec<OutputColumn>,
}

/// The values of one output column.
#[derive(Debug)]
struct OutputColumn {
    /// The column of the chunk that it copies.
    source: usize,
    words: Vec<u64>,
    texts: Option<TextBuffer>,
    /// Which values are not null, if the column is nullable.
    valid: Option<Vec<bool>>,
}

impl RowSet {
    /// Creates an empty set with these columns of chunks.
    pub fn new(columns: &[(usize, WordKind)], schema: &Schema) -> Self {
        let column =
            |(&(source, kind), field): (&(usize, WordKind), &std::sync::Arc<arrow_schema::Field>)| {
                OutputColumn {
                    source,
                    words: Vec::new(),
                    texts: (kind == WordKind::Prefix).then(TextBuffer::default),
                    valid: field.is_nullable().then(Vec::new),
                }
            };
        Self { runs: Vec::new(), columns: columns.iter().zip(schema.fields()).map(column).collect() }
    }

    /// Adds rows of a chunk that match a query.
    #[inline]
    pub fn add(&mut self, place: u32, chunk: &Chunk, rows: &[u16]) {
        self.runs.push((place, rows.len() as u32));
        self.copy(chunk, rows.iter().copied());
    }

    /// Adds single rows of a chunk, each with the place of a query that it matches.
    pub fn add_pairs(&mut self, chunk: &Chunk, pairs: &[(u32, u16)]) {
        self.runs.extend(pairs.iter().map(|&(place, _)| (place, 1)));
        self.copy(chunk, pairs.iter().map(|&(_, row)| row));
    }

    #[inline(always)]
    fn copy(&mut self, chunk: &Chunk, rows: impl ExactSizeIterator<Item = u16> + Clone) {
        for column in &mut self.columns {
            let from = &chunk.columns[column.source];
            match &mut column.texts {
                Some(texts) => rows.clone().for_each(|row| texts.push(from.text(row.into()))),
                None => {
                    let words = from.words();
                    column.words.extend(rows.clone().map(|row| words[usize::from(row)]));
                }
            }
            if let Some(valid) = &mut column.valid {
                valid.extend(rows.clone().map(|row| from.valid.get(row.into())));
            }
        }
    }
}

/// A run of rows of one query, in the row set of a partition.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    part: usize,
    start: usize,
    rows: usize,
}

/// Merges the row sets of all partitions. Keeps each column of texts within `max_text_bytes` a
/// batch.
pub(super) fn finish(parts: &[RowSet], shape: &Shape, max_text_bytes: usize) -> ShapeResult {
    let (runs, ends) = runs_by_query(parts, shape.query_count);
    let of = |query: usize| {
        let begin = if query == 0 { 0 } else { ends[query - 1] };
        &runs[begin..ends[query]]
    };
    let mut places = Vec::with_capacity(shape.query_count);
    // The runs of each batch, and their number of rows.
    let mut batches = vec![(Vec::new(), 0)];
    let budgets = budgets(parts, shape, max_text_bytes);
    let mut room = budgets.clone();
    for query in 0..shape.query_count {
        if !room.iter_mut().all(|budget| budget.try_reserve(parts, of(query))) {
            batches.push((Vec::new(), 0));
            room.clone_from(&budgets);
            let too_long =
                |budget: &mut ByteBudget| (!budget.try_reserve(parts, of(query))).then_some(budget.column);
            if let Some(column) = room.iter_mut().find_map(too_long) {
                room.clone_from(&budgets);
                places.push(Err(Failure::TooLong(shape.schema.field(column).name().clone())));
                continue;
            }
        }
        let batch = batches.len() - 1;
        let (all, start) = &mut batches[batch];
        all.extend_from_slice(of(query));
        let rows = of(query).iter().map(|run| run.rows).sum();
        places.push(Ok(BatchSlice { batch, start: *start, rows }));
        *start += rows;
    }
    let to_batch = |(runs, rows): (Vec<Run>, usize)| {
        let fields = shape.schema.fields().iter().enumerate();
        let columns = fields.map(|(column, field)| array(parts, column, &runs, rows, field.data_type()));
        batch(shape, columns.collect(), rows)
    };
    ShapeResult { batches: batches.into_iter().map(to_batch).collect(), places }
}

/// The bytes that remain for a batch's texts in one column.
#[derive(Clone, Copy, Debug)]
struct ByteBudget {
    column: usize,
    bytes_left: usize,
}

/// Returns the budgets of the columns whose texts do not fit into one batch.
fn budgets(parts: &[RowSet], shape: &Shape, max_text_bytes: usize) -> Vec<ByteBudget> {
    let is_too_long = |&column: &usize| {
        let bytes = |part: &RowSet| part.columns[column].texts.as_ref().map_or(0, |texts| texts.bytes());
        *shape.schema.field(column).data_type() == DataType::Utf8
            && parts.iter().map(bytes).sum::<usize>() > max_text_bytes
    };
    let columns = (0..shape.schema.fields().len()).filter(is_too_long);
    columns.map(|column| ByteBudget { column, bytes_left: max_text_bytes }).collect()
}

impl ByteBudget {
    /// Returns true, and takes the bytes, if the texts of these runs fit.
    fn try_reserve(&mut self, parts: &[RowSet], runs: &[Run]) -> bool {
        let bytes = |run: &Run| {
            let texts = parts[run.part].columns[self.column].texts.as_ref();
            texts.map_or(0, |texts| texts.bytes_of(run.start..run.start + run.rows))
        };
        let bytes_left = self.bytes_left.checked_sub(runs.iter().map(bytes).sum());
        self.bytes_left = bytes_left.unwrap_or(self.bytes_left);
        bytes_left.is_some()
    }
}

/// Sorts all runs by query, and returns the end of each query's runs.
fn runs_by_query(parts: &[RowSet], queries: usize) -> (Vec<Run>, Vec<usize>) {
    let mut ends = vec![0; queries];
    for &(query, _) in parts.iter().flat_map(|part| &part.runs) {
        ends[query as usize] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        // As yet, the begin of each query's runs.
        sum += std::mem::replace(end, sum);
    }
    let mut runs = vec![Run::default(); sum];
    for (number, part) in parts.iter().enumerate() {
        let mut start = 0;
        for &(query, rows) in &part.runs {
            let end = &mut ends[query as usize];
            runs[*end] = Run { part: number, start, rows: rows as usize };
            *end += 1;
            start += rows as usize;
        }
    }
    (runs, ends)
}

/// Builds an output column from runs.
fn array(parts: &[RowSet], column: usize, runs: &[Run], rows: usize, data_type: &DataType) -> ArrayRef {
    let range = |run: &Run| run.start..run.start + run.rows;
    let of = |run: &Run| &parts[run.part].columns[column];
    let mut nulls = None;
    if parts
        .iter()
        .any(|part| part.columns[column].valid.as_ref().is_some_and(|valid| valid.contains(&false)))
    {
        let mut all = Vec::with_capacity(rows);
        runs.iter().for_each(|run| {
            all.extend_from_slice(
                &of(run).valid.as_ref().expect("all partitions have the same columns")[range(run)],
            )
        });
        nulls = Some(NullBuffer::from(all));
    }
    let column_type = ColumnType::of(data_type).expect("the schema has only supported types");
    if column_type == ColumnType::Text {
        let mut all = TextBuffer::default();
        for run in runs {
            let texts = of(run).texts.as_ref().expect("all partitions have the same columns");
            range(run).for_each(|row| all.push(texts.get(row)));
        }
        return all.array(data_type, nulls).expect("the budget keeps texts within the limit");
    }
    let mut words = Vec::with_capacity(rows);
    runs.iter().for_each(|run| words.extend_from_slice(&of(run).words[range(run)]));
    column_type.array(data_type, words, nulls)
}
