//! Rows that queries have found.

use super::{Given, Slice, batch};
use crate::answer::Failure;
use crate::chunk::Chunk;
use crate::plan::Shape;
use crate::types::{TextList, Type};
use crate::value::Kind;
use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};

/// What was taken from rows, as they came.
#[derive(Debug)]
pub(super) struct Taken {
    /// A query, by its place, and how many rows in a row are its own.
    runs: Vec<(u32, u32)>,
    columns: Vec<Column>,
}

/// What was taken from a column.
#[derive(Debug)]
struct Column {
    /// Its number in a chunk.
    of: usize,
    words: Vec<u64>,
    texts: Option<TextList>,
    /// Which of them are no nulls, if there can be nulls.
    valid: Option<Vec<bool>>,
}

impl Taken {
    /// Nothing as yet, of these columns of chunks.
    pub fn new(columns: &[(usize, Kind)], schema: &Schema) -> Self {
        let column = |(&(of, kind), field): (&(usize, Kind), &std::sync::Arc<arrow_schema::Field>)| Column {
            of,
            words: Vec::new(),
            texts: (kind == Kind::Prefix).then(TextList::default),
            valid: field.is_nullable().then(Vec::new),
        };
        Self { runs: Vec::new(), columns: columns.iter().zip(schema.fields()).map(column).collect() }
    }

    /// Adds rows of a chunk that a query has found.
    #[inline]
    pub fn add(&mut self, place: u32, chunk: &Chunk, rows: &[u16]) {
        self.runs.push((place, rows.len() as u32));
        self.take(chunk, rows.iter().copied());
    }

    /// Adds single rows of a chunk, each with the place of the query that has found it.
    pub fn add_pairs(&mut self, chunk: &Chunk, pairs: &[(u32, u16)]) {
        self.runs.extend(pairs.iter().map(|&(place, _)| (place, 1)));
        self.take(chunk, pairs.iter().map(|&(_, row)| row));
    }

    #[inline(always)]
    fn take(&mut self, chunk: &Chunk, rows: impl ExactSizeIterator<Item = u16> + Clone) {
        for column in &mut self.columns {
            let from = &chunk.columns[column.of];
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

/// Some rows of one query: in which partition's part they are, where they begin there, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    part: usize,
    start: usize,
    rows: usize,
}

/// Puts together what all partitions have found. No text column of a batch is longer than `most` bytes.
pub(super) fn finish(parts: &[Taken], shape: &Shape, most: usize) -> Given {
    let (runs, ends) = in_order(parts, shape.queries);
    let of = |query: usize| {
        let begin = if query == 0 { 0 } else { ends[query - 1] };
        &runs[begin..ends[query]]
    };
    let mut places = Vec::with_capacity(shape.queries);
    // The runs that each batch has, and how many rows these are.
    let mut cuts = vec![(Vec::new(), 0)];
    let limits = limits(parts, shape, most);
    let mut room = limits.clone();
    for query in 0..shape.queries {
        if !room.iter_mut().all(|limit| limit.take(parts, of(query))) {
            cuts.push((Vec::new(), 0));
            room.clone_from(&limits);
            let too_long = |limit: &mut Limit| (!limit.take(parts, of(query))).then_some(limit.column);
            if let Some(column) = room.iter_mut().find_map(too_long) {
                room.clone_from(&limits);
                places.push(Err(Failure::TooLong(shape.schema.field(column).name().clone())));
                continue;
            }
        }
        let batch = cuts.len() - 1;
        let (all, start) = &mut cuts[batch];
        all.extend_from_slice(of(query));
        let rows = of(query).iter().map(|run| run.rows).sum();
        places.push(Ok(Slice { batch, start: *start, rows }));
        *start += rows;
    }
    let whole = |(runs, rows): (Vec<Run>, usize)| {
        let fields = shape.schema.fields().iter().enumerate();
        let columns = fields.map(|(column, field)| array(parts, column, &runs, rows, field.data_type()));
        batch(shape, columns.collect(), rows)
    };
    Given { batches: cuts.into_iter().map(whole).collect(), places }
}

/// How long a batch's texts in a column may still be.
#[derive(Clone, Copy, Debug)]
struct Limit {
    column: usize,
    left: usize,
}

/// Of all columns whose texts are too long together for one batch.
fn limits(parts: &[Taken], shape: &Shape, most: usize) -> Vec<Limit> {
    let is_too_long = |&column: &usize| {
        let bytes = |part: &Taken| part.columns[column].texts.as_ref().map_or(0, |texts| texts.bytes());
        *shape.schema.field(column).data_type() == DataType::Utf8
            && parts.iter().map(bytes).sum::<usize>() > most
    };
    let columns = (0..shape.schema.fields().len()).filter(is_too_long);
    columns.map(|column| Limit { column, left: most }).collect()
}

impl Limit {
    /// Whether there is room for these rows, which then is taken.
    fn take(&mut self, parts: &[Taken], runs: &[Run]) -> bool {
        let bytes = |run: &Run| {
            let texts = parts[run.part].columns[self.column].texts.as_ref();
            texts.map_or(0, |texts| texts.bytes_of(run.start..run.start + run.rows))
        };
        let left = self.left.checked_sub(runs.iter().map(bytes).sum());
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// All runs in order of queries, and where each one's end.
fn in_order(parts: &[Taken], queries: usize) -> (Vec<Run>, Vec<usize>) {
    let mut ends = vec![0; queries];
    for &(query, _) in parts.iter().flat_map(|part| &part.runs) {
        ends[query as usize] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        // Where they begin, as yet.
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

/// A column of all these runs.
fn array(parts: &[Taken], column: usize, runs: &[Run], rows: usize, data_type: &DataType) -> ArrayRef {
    let range = |run: &Run| run.start..run.start + run.rows;
    let of = |run: &Run| &parts[run.part].columns[column];
    let mut nulls = None;
    if parts
        .iter()
        .any(|part| part.columns[column].valid.as_ref().is_some_and(|valid| valid.contains(&false)))
    {
        let mut all = Vec::with_capacity(rows);
        runs.iter()
            .for_each(|run| all.extend_from_slice(&of(run).valid.as_ref().expect("all or none")[range(run)]));
        nulls = Some(NullBuffer::from(all));
    }
    let is = Type::of(data_type).expect("columns are of such types alone");
    if is == Type::Text {
        let mut all = TextList::default();
        for run in runs {
            let texts = of(run).texts.as_ref().expect("all or none");
            range(run).for_each(|row| all.push(texts.get(row)));
        }
        return all.array(data_type, nulls).expect("what is too long was cut before");
    }
    let mut words = Vec::with_capacity(rows);
    runs.iter().for_each(|run| words.extend_from_slice(&of(run).words[range(run)]));
    is.array(data_type, words, nulls)
}
