//! Changes to a table of DataFusion's. Its own statements would rebuild the whole table for each of them; so they are made
//! here, in place, as whoever owns the columns can: rows are found by one pass over the locators for a whole wave, side by side
//! in all partitions. A row that goes is left with values that nobody asks for, and the next that come take its place.

use crate::Failed;
use crate::waves::waves;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder, Int64Array, RecordBatch};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::datasource::MemTable;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use xtasking_experiments::scan::arrow::{columns, schema};
use xtasking_experiments::scan::bookings::column::{DEPARTURE, FLYER, PNR};
use xtasking_experiments::scan::bookings::{NULL, Row};
use xtasking_experiments::scan::requests::Change;

/// Rows of a batch of Arrow's, as DataFusion likes them.
pub const ROWS: usize = 8192;

/// A table that is changed in place.
pub struct Shelf {
    pub table: Arc<MemTable>,
    /// The places of rows that are gone: partition, batch and row.
    holes: Vec<(usize, usize, usize)>,
    /// The partition that takes the next rows for which there is no hole.
    turn: usize,
}

/// The columns of a batch of Arrow's, while they are changed. Nothing is copied unless somebody else has them as well.
struct Open {
    columns: Vec<Vec<i64>>,
    flyers: BooleanBufferBuilder,
}

impl Open {
    fn new(batch: RecordBatch) -> Self {
        let rows = batch.num_rows();
        let mut flyers = BooleanBufferBuilder::new(rows);
        match batch.column(FLYER).nulls() {
            Some(nulls) => flyers.append_buffer(nulls.inner()),
            None => flyers.append_n(rows, true),
        }
        let (_, columns, _) = batch.into_parts();
        let values = |column: ArrayRef| {
            let array = column.as_primitive::<Int64Type>().clone();
            // The last but one that has it.
            drop(column);
            array.into_parts().1.into()
        };
        Self { columns: columns.into_iter().map(values).collect(), flyers }
    }

    fn set(&mut self, row: usize, values: &Row) {
        for (column, &value) in self.columns.iter_mut().zip(values) {
            column[row] = value;
        }
        self.flyers.set_bit(row, values[FLYER] != NULL);
    }

    fn push(&mut self, values: &Row) {
        for (column, &value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.flyers.append(values[FLYER] != NULL);
    }

    fn close(mut self) -> Result<RecordBatch, Failed> {
        let flyers = NullBuffer::new(self.flyers.finish());
        let array = |(place, values): (usize, Vec<i64>)| -> ArrayRef {
            let nulls = (place == FLYER).then(|| flyers.clone());
            Arc::new(Int64Array::new(values.into(), nulls))
        };
        Ok(RecordBatch::try_new(schema(), self.columns.into_iter().enumerate().map(array).collect())?)
    }
}

/// Opens a batch of Arrow's in its place.
fn within(batch: &mut RecordBatch, work: impl FnOnce(&mut Open)) -> Result<(), Failed> {
    let mut open = Open::new(std::mem::replace(batch, RecordBatch::new_empty(schema())));
    work(&mut open);
    *batch = open.close()?;
    Ok(())
}

/// The changes of a wave by locator, and a filter before them, which passes few others.
struct Wanted<'a> {
    by_pnr: HashMap<i64, &'a Change>,
    filter: Vec<u64>,
}

impl<'a> Wanted<'a> {
    fn new(wave: &[&'a Change]) -> Self {
        let changes = wave.iter().filter(|change| !matches!(change, Change::Insert(_)));
        let by_pnr: HashMap<_, _> = changes.map(|change| (change.pnr(), *change)).collect();
        let mut filter = vec![0; 1024];
        for &pnr in by_pnr.keys() {
            let (word, bit) = Self::bit(pnr);
            filter[word] |= bit;
        }
        Self { by_pnr, filter }
    }

    fn bit(pnr: i64) -> (usize, u64) {
        let hash = pnr.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        ((hash >> 6) as usize, 1 << (hash & 63))
    }

    fn get(&self, pnr: i64) -> Option<&'a Change> {
        let (word, bit) = Self::bit(pnr);
        if self.filter[word] & bit == 0 {
            return None;
        }
        self.by_pnr.get(&pnr).copied()
    }

    /// Makes the changes to the rows of a partition; the places of those that are gone: batch and row.
    fn make(&self, batches: &mut [RecordBatch]) -> Result<Vec<(usize, usize)>, Failed> {
        let mut gone = Vec::new();
        for (number, batch) in batches.iter_mut().enumerate() {
            let pnrs = batch.column(PNR).as_primitive::<Int64Type>().values();
            let concerned: Vec<_> =
                pnrs.iter().enumerate().filter_map(|(row, &pnr)| Some((row, self.get(pnr)?))).collect();
            if concerned.is_empty() {
                continue;
            }
            within(batch, |open| {
                for (row, change) in concerned {
                    match change {
                        Change::Move { from, .. } if open.columns[DEPARTURE][row] != *from => {}
                        Change::Delete { .. } => {
                            open.columns.iter_mut().for_each(|column| column[row] = NULL);
                            gone.push((number, row));
                        }
                        _ => change
                            .sets()
                            .into_iter()
                            .for_each(|(column, value)| open.columns[column][row] = value),
                    }
                }
            })?;
        }
        Ok(gone)
    }
}

impl Shelf {
    /// An empty one, of so many partitions.
    pub fn new(partitions: usize) -> Result<Self, Failed> {
        let table = Arc::new(MemTable::try_new(schema(), vec![Vec::new(); partitions])?);
        Ok(Self { table, holes: Vec::new(), turn: 0 })
    }

    /// Adds rows as batches of Arrow's of their own.
    pub fn append(&mut self, rows: &[Row]) -> Result<(), Failed> {
        for rows in rows.chunks(ROWS) {
            let batch = RecordBatch::try_new(schema(), columns(rows.iter()))?;
            self.table.batches[self.turn].blocking_write().push(batch);
            self.turn = (self.turn + 1) % self.table.batches.len();
        }
        Ok(())
    }

    /// Makes all changes, in their order.
    pub fn change(&mut self, changes: &[Change]) -> Result<(), Failed> {
        for wave in waves(changes) {
            let wanted = Wanted::new(&wave);
            let partitions = &self.table.batches;
            let make = |partition: usize| {
                wanted.make(&mut partitions[partition].blocking_write()).map_err(|error| error.to_string())
            };
            let gone = thread::scope(|scope| {
                let threads: Vec<_> =
                    (1..partitions.len()).map(|other| scope.spawn(move || make(other))).collect();
                let first = make(0);
                let others = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
                std::iter::once(first).chain(others).collect::<Result<Vec<_>, _>>()
            })?;
            for (partition, gone) in gone.into_iter().enumerate() {
                self.holes.extend(gone.into_iter().map(|(batch, row)| (partition, batch, row)));
            }
            let inserted = wave.iter().filter_map(|change| match change {
                Change::Insert(rows) => Some(rows),
                _ => None,
            });
            self.insert(&inserted.flatten().copied().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn insert(&mut self, rows: &[Row]) -> Result<(), Failed> {
        let reused = self.holes.split_off(self.holes.len().saturating_sub(rows.len()));
        let (into_holes, others) = rows.split_at(reused.len());
        let mut placed: Vec<_> = reused.into_iter().zip(into_holes).collect();
        placed.sort_unstable_by_key(|(place, _)| *place);
        for of_batch in placed.chunk_by(|a, b| (a.0.0, a.0.1) == (b.0.0, b.0.1)) {
            let (partition, batch, _) = of_batch[0].0;
            let mut batches = self.table.batches[partition].blocking_write();
            within(&mut batches[batch], |open| {
                of_batch.iter().for_each(|((_, _, row), values)| open.set(*row, values))
            })?;
        }
        if others.is_empty() {
            return Ok(());
        }
        {
            let mut batches = self.table.batches[self.turn].blocking_write();
            if let Some(last) = batches.last_mut().filter(|last| last.num_rows() + others.len() <= ROWS) {
                return within(last, |open| others.iter().for_each(|row| open.push(row)));
            }
        }
        self.append(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_experiments::scan::arrow::values;
    use xtasking_experiments::scan::bookings::Bookings;
    use xtasking_experiments::scan::requests::{Mix, Turn};

    #[test]
    fn changes_are_made_in_place() {
        let bookings = Bookings::new(20_000, 3);
        let mut shelf = Shelf::new(2).unwrap();
        let mut plain: Vec<Row> = bookings.rows().collect();
        shelf.append(&plain).unwrap();
        let turn = Turn {
            number: 1,
            first: bookings.count(),
            mix: Mix::Mixed,
            batches: 8,
            requests: 600,
            changes: 600,
        };
        for batch in turn.batches(&bookings).0 {
            shelf.change(&batch.changes).unwrap();
            for change in &batch.changes {
                let passes = |row: &Row| change.tests().iter().all(|&(column, value)| row[column] == value);
                match change {
                    Change::Insert(rows) => plain.extend(rows),
                    Change::Delete { .. } => plain.retain(|row| !passes(row)),
                    _ => {
                        for row in plain.iter_mut().filter(|row| passes(row)) {
                            change.sets().into_iter().for_each(|(column, value)| row[column] = value);
                        }
                    }
                }
            }
            let mut found: Vec<Vec<i64>> = Vec::new();
            for partition in &shelf.table.batches {
                for batch in &*partition.blocking_read() {
                    found.extend((0..batch.num_rows()).map(|row| values(batch, row).collect()));
                }
            }
            found.retain(|row| row[PNR] >= 0);
            found.sort_unstable();
            plain.sort_unstable();
            assert!(
                found.iter().zip(&plain).all(|(found, plain)| found == plain) && found.len() == plain.len()
            );
        }
    }
}
