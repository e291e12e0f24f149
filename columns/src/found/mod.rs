//! What queries have found.
//!
//! Queries that give out the same columns are of one *shape*, and what they find is kept together, so that a batch of
//! thousands of them makes a few arrays and not tens of thousands. Each query's answer is a slice of these.

mod aggregates;
mod rows;

use crate::answer::Failure;
use crate::chunk::Chunk;
use crate::plan::{Asked, Gives, Questions, Shape};
use crate::scan::{Cells, Pair};
use crate::text::LONGEST;
use aggregates::Folded;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use rows::Taken;

/// What the queries of a batch have found in a partition.
#[derive(Debug)]
pub(crate) struct Found {
    parts: Vec<Part>,
    /// For each part rows that are to be added, with the places of their queries: kept for its memory.
    pairs: Vec<Vec<Pair>>,
    /// For each shape what was made in its cells, if it has any.
    cells: Vec<Option<Folded>>,
}

/// The same for the queries of one shape, which are known by their places among these.
#[derive(Debug)]
enum Part {
    Taken(Taken),
    Folded(Folded),
}

impl Found {
    /// Nothing as yet.
    pub fn new(questions: &Questions, cells: &Cells) -> Self {
        let part = |shape: &Shape| match &shape.gives {
            Gives::Rows(columns) => Part::Taken(Taken::new(columns, &shape.schema)),
            Gives::Aggregates(made) => Part::Folded(Folded::new(made, shape.queries)),
        };
        let pairs = questions.shapes.iter().map(|_| Vec::new()).collect();
        let cells = questions.shapes.iter().zip(&cells.counts).map(|(shape, &count)| match &shape.gives {
            Gives::Aggregates(made) if count > 0 => Some(Folded::new(made, count as usize)),
            _ => None,
        });
        Self { parts: questions.shapes.iter().map(part).collect(), pairs, cells: cells.collect() }
    }

    /// Adds rows of a chunk that a query has found.
    #[inline]
    pub fn add(&mut self, asked: &Asked, chunk: &Chunk, rows: &[u16]) {
        match &mut self.parts[asked.shape] {
            Part::Taken(taken) => taken.add(asked.place, chunk, rows),
            Part::Folded(folded) => folded.add(asked.place, chunk, rows),
        }
    }

    /// Adds single rows of a chunk, each with the number of the query that has found it by its words. Those of one shape are
    /// added together.
    pub fn add_pairs(&mut self, all: &[Asked], chunk: &Chunk, pairs: &[Pair]) {
        for &(query, row) in pairs {
            let asked = &all[query as usize];
            if asked.checks.hold_exactly(chunk, row.into()) {
                self.pairs[asked.shape].push((asked.place, row));
            }
        }
        for (part, pairs) in self.parts.iter_mut().zip(&mut self.pairs) {
            if pairs.is_empty() {
                continue;
            }
            match part {
                Part::Taken(taken) => taken.add_pairs(chunk, pairs),
                Part::Folded(folded) => folded.add_pairs(chunk, pairs),
            }
            pairs.clear();
        }
    }

    /// Adds rows of a chunk to cells, for each shape.
    pub fn add_cells(&mut self, chunk: &Chunk, cells: &[Vec<Pair>]) {
        let cells = self.cells.iter_mut().zip(cells).filter(|(_, pairs)| !pairs.is_empty());
        cells.for_each(|(folded, pairs)| {
            folded.as_mut().expect("cells are of those that make something").add_pairs(chunk, pairs)
        });
    }

    /// Gives all queries what was made in their cells, when nothing more is to be added.
    pub fn share_out(&mut self, all: &[Asked], cells: &Cells) {
        for (query, range) in &cells.queries {
            let Asked { shape, place, .. } = all[*query as usize];
            if let (Part::Folded(folded), Some(cells)) = (&mut self.parts[shape], &self.cells[shape]) {
                folded.merge(cells, range.clone().map(|cell| (place as usize, cell as usize)));
            }
        }
        self.cells.clear();
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
    for Found { parts, .. } in found {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::{Changes, Partition, Queries};
    use crate::plan::{Added, Check, Checks, Planned, Rows};
    use crate::statistics::Statistics;
    use crate::text::Exact;
    use crate::types::Strings;
    use crate::value::Kind;
    use arrow_array::StringArray;
    use arrow_array::cast::AsArray;
    use arrow_schema::{DataType, Field, Schema};

    /// Of a column of texts.
    fn shape(queries: usize) -> Shape {
        let schema = Schema::new(vec![Field::new("text", DataType::Utf8, false)]);
        Shape { gives: Gives::Rows(vec![(0, Kind::Prefix)]), schema: schema.into(), queries }
    }

    /// Of this hash.
    fn is(text: &str, hash: u64) -> Checks {
        let check = Check::Keys { column: 1, kind: Kind::Unsigned, low: hash, high: hash };
        Checks(vec![check], vec![(0, Exact::Equals(text.into()))])
    }

    fn insert(texts: &[&str], hashes: &[u64]) -> Planned {
        let strings = Strings::of(&StringArray::from(texts.to_vec()));
        let added = |texts| Added { words: hashes.to_vec().into(), nulls: None, texts };
        Planned::Insert(Rows { columns: vec![added(strings), added(None)], count: texts.len() })
    }

    fn serve(
        partition: &mut Partition,
        changes: Vec<Planned>,
        asked: Vec<Checks>,
    ) -> (Vec<u64>, Queries, Found) {
        let shapes = vec![shape(asked.len())];
        let asked = asked.into_iter().zip(0..).map(|(checks, place)| Asked { checks, shape: 0, place });
        let known = Statistics::new(&[Kind::Prefix, Kind::Unsigned]);
        let queries = Queries::new(Questions { all: asked.collect(), shapes }, &known);
        let changes = Changes::new(changes, &known, |rows| [rows].into());
        let (counts, found) = partition.serve(&changes, &queries, 0);
        (counts, queries, found)
    }

    fn texts(given: &Given, place: usize) -> Result<Vec<String>, Failure> {
        let rows = given.rows(place)?;
        Ok(rows.column(0).as_string::<i32>().iter().flatten().map(str::to_string).collect())
    }

    /// Hashes of different texts are hardly ever equal; here they all are.
    #[test]
    fn texts_of_one_hash_are_told_apart() {
        let mut partition = Partition::new([Kind::Prefix, Kind::Unsigned].into(), 64);
        let is = |text| is(text, 7);
        let mut serve = |changes: Vec<Planned>, asked: Vec<Checks>| {
            let (counts, queries, found) = serve(&mut partition, changes, asked);
            let given = finish(&queries.questions, vec![found]).remove(0);
            let found = (0..queries.questions.all.len()).map(|place| texts(&given, place).unwrap());
            (counts, found.collect::<Vec<_>>())
        };
        // To rows that were just added, and to those that are there.
        let changes = vec![insert(&["a", "b", "a", "c"], &[7; 4]), Planned::Delete(is("b"))];
        assert_eq!(serve(changes, vec![is("a"), is("b")]), (vec![4, 1], vec![vec!["a".into(); 2], vec![]]));
        let found = vec![vec!["a".to_string(); 2], vec![], vec![]];
        assert_eq!(serve(vec![Planned::Delete(is("c"))], vec![is("a"), is("c"), is("d")]), (vec![1], found));
    }

    #[test]
    fn texts_that_are_too_long_together_come_in_several_batches() {
        let words = ["four", "five", "seven", "longer than all", "ten"];
        let found = [1, 2].map(|times| {
            let mut partition = Partition::new([Kind::Prefix, Kind::Unsigned].into(), 64);
            let hashes: Vec<u64> = (0..words.len() as u64 * times).collect();
            let insert = insert(&words.repeat(times as usize), &hashes);
            let asked = words.iter().zip(0..).map(|(word, hash)| is(word, hash)).collect();
            let (_, _, found) = serve(&mut partition, vec![insert], asked);
            let Part::Taken(taken) = found.parts.into_iter().next().unwrap() else {
                panic!("these are rows")
            };
            taken
        });
        for most in [100, 30, 14, 10, 8] {
            let given = rows::finish(&found, &shape(words.len()), most);
            for (place, word) in words.iter().enumerate() {
                let both = if 2 * word.len() > most {
                    Err(Failure::TooLong("text".to_string()))
                } else {
                    Ok(vec![word.to_string(); 2])
                };
                assert_eq!(texts(&given, place), both, "{word} of {most}");
            }
            assert!(
                given
                    .batches
                    .iter()
                    .all(|batch| { batch.column(0).as_string::<i32>().values().len() <= most })
            );
        }
    }
}
