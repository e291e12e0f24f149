//! What queries have found.
//!
//! Queries that give out the same columns are of one *shape*, and what they find is kept together, so that a batch of
//! thousands of them makes a few arrays and not tens of thousands. Each query's answer is a slice of these.

mod aggregates;
mod rows;

use crate::answer::Failure;
use crate::chunk::Chunk;
use crate::plan::{Asked, Gives, Questions, Shape};
use crate::text::LONGEST;
use aggregates::Folded;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use rows::Taken;

/// What the queries of a batch have found in a partition.
#[derive(Debug)]
pub(crate) struct Found(Vec<Part>);

/// The same for the queries of one shape, which are known by their places among these.
#[derive(Debug)]
enum Part {
    Taken(Taken),
    Folded(Folded),
}

impl Found {
    /// Nothing as yet.
    pub fn new(questions: &Questions) -> Self {
        let part = |shape: &Shape| match &shape.gives {
            Gives::Rows(columns) => Part::Taken(Taken::new(columns, &shape.schema)),
            Gives::Aggregates(made) => Part::Folded(Folded::new(made, shape.queries)),
        };
        Self(questions.shapes.iter().map(part).collect())
    }

    /// Adds rows of a chunk that a query has found.
    #[inline]
    pub fn add(&mut self, asked: &Asked, chunk: &Chunk, rows: &[u16]) {
        match &mut self.0[asked.shape] {
            Part::Taken(taken) => taken.add(asked.place, chunk, rows),
            Part::Folded(folded) => folded.add(asked.place, chunk, rows),
        }
    }
}

/// The answers to the queries of one shape.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// All of them, one behind the other. More than one, if the texts are too long together for one.
    batches: Vec<RecordBatch>,
    /// Of each query: in which of these its rows are, where they begin, and how many there are.
    places: Vec<Result<Slice, Failure>>,
}

/// Which part of which batch.
#[derive(Clone, Copy, Debug)]
struct Slice {
    batch: usize,
    start: usize,
    rows: usize,
}

impl Given {
    /// The answer to the query of this place.
    pub fn rows(&self, place: usize) -> Result<RecordBatch, Failure> {
        let Slice { batch, start, rows } = self.places[place].clone()?;
        Ok(self.batches[batch].slice(start, rows))
    }
}

/// Puts together what was found in all partitions, for each shape.
pub(crate) fn finish(questions: &Questions, found: Vec<Found>) -> Vec<Given> {
    let mut by_shape: Vec<Vec<Part>> = questions.shapes.iter().map(|_| Vec::new()).collect();
    for Found(parts) in found {
        by_shape.iter_mut().zip(parts).for_each(|(all, part)| all.push(part));
    }
    let given = |(shape, parts): (&Shape, Vec<Part>)| {
        let (mut taken, mut folded) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Taken(part) => taken.push(part),
                Part::Folded(part) => folded.push(part),
            }
        }
        match &shape.gives {
            Gives::Rows(_) => rows::finish(&taken, shape, LONGEST),
            Gives::Aggregates(_) => aggregates::finish(folded, shape),
        }
    };
    questions.shapes.iter().zip(by_shape).map(given).collect()
}

/// Rows of Arrow.
fn batch(shape: &Shape, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(shape.schema.clone(), columns, &options)
        .expect("columns are those of the schema, and of one length")
}
