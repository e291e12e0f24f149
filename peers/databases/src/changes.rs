//! Changes a table of DataFusion in place, through its columns: DataFusion's own statements would
//! rebuild the whole table for each change. Rows are found by one pass over the locators for a
//! whole wave, side by side in all partitions. A deleted row keeps values that no query matches,
//! and the next new rows reuse its slot.

use crate::Error;
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

/// Rows of an Arrow batch, as DataFusion prefers them.
pub const ROWS: usize = 8192;

/// A table that is changed in place.
pub struct MutableTable {
    pub table: Arc<MemTable>,
    /// Slots of deleted rows: partition, batch and row.
    free_slots: Vec<(usize, usize, usize)>,
    /// The partition that takes the next new rows if there is no free slot.
    turn: usize,
}

/// The columns of an Arrow batch while they are changed. Nothing is copied unless the batch is
/// shared.
struct OpenBatch {
    columns: Vec<Vec<i64>>,
    flyers: BooleanBufferBuilder,
}

impl OpenBatch {
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
            // Drops the second reference to the column, so that it can be changed in place.
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

    fn close(mut self) -> Result<RecordBatch, Error> {
        let flyers = NullBuffer::new(self.flyers.finish());
        let array = |(place, values): (usize, Vec<i64>)| -> ArrayRef {
            let nulls = (place == FLYER).then(|| flyers.clone());
            Arc::new(Int64Array::new(values.into(), nulls))
        };
        Ok(RecordBatch::try_new(schema(), self.columns.into_iter().enumerate().map(array).collect())?)
    }
}

/// Opens an Arrow batch, and closes it after `work`.
fn within(batch: &mut RecordBatch, work: impl FnOnce(&mut OpenBatch)) -> Result<(), Error> {
    let mut open = OpenBatch::new(std::mem::replace(batch, RecordBatch::new_empty(schema())));
    work(&mut open);
    *batch = open.close()?;
    Ok(())
}

/// The changes of a wave by locator, behind a filter that few other locators pass.
struct WaveChanges<'a> {
    by_pnr: HashMap<i64, &'a Change>,
    filter: Vec<u64>,
}

impl<'a> WaveChanges<'a> {
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

    /// Applies the changes to the rows of a partition. Returns the slots of deleted rows: batch and
    /// row.
    fn make(&self, batches: &mut [RecordBatch]) -> Result<Vec<(usize, usize)>, Error> {
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
                            .assignments()
                            .into_iter()
                            .for_each(|(column, value)| open.columns[column][row] = value),
                    }
                }
            })?;
        }
        Ok(gone)
    }
}

impl MutableTable {
    /// Creates an empty table with the given number of partitions.
    pub fn new(partitions: usize) -> Result<Self, Error> {
        let table = Arc::new(MemTable::try_new(schema(), vec![Vec::new(); partitions])?);
        Ok(Self { table, free_slots: Vec::new(), turn: 0 })
    }

    /// Adds rows as new Arrow batches.
    pub fn append(&mut self, rows: &[Row]) -> Result<(), Error> {
        for rows in rows.chunks(ROWS) {
            let batch = RecordBatch::try_new(schema(), columns(rows.iter()))?;
            self.table.batches[self.turn].blocking_write().push(batch);
            self.turn = (self.turn + 1) % self.table.batches.len();
        }
        Ok(())
    }

    /// Applies all changes, in their order.
    pub fn change(&mut self, changes: &[Change]) -> Result<(), Error> {
        for wave in waves(changes) {
            let wanted = WaveChanges::new(&wave);
            let partitions = &self.table.batches;
            let make = |partition: usize| {
                wanted.make(&mut partitions[partition].blocking_write()).map_err(|error| error.to_string())
            };
            let gone = thread::scope(|scope| {
                let threads: Vec<_> =
                    (1..partitions.len()).map(|other| scope.spawn(move || make(other))).collect();
                let first = make(0);
                let others =
                    threads.into_iter().map(|thread| thread.join().expect("the thread does not panic"));
                std::iter::once(first).chain(others).collect::<Result<Vec<_>, _>>()
            })?;
            for (partition, gone) in gone.into_iter().enumerate() {
                self.free_slots.extend(gone.into_iter().map(|(batch, row)| (partition, batch, row)));
            }
            let inserted = wave.iter().filter_map(|change| match change {
                Change::Insert(rows) => Some(rows),
                _ => None,
            });
            self.insert(&inserted.flatten().copied().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn insert(&mut self, rows: &[Row]) -> Result<(), Error> {
        let reused = self.free_slots.split_off(self.free_slots.len().saturating_sub(rows.len()));
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
    use xtasking_experiments::scan::requests::{QueryMix, Turn};

    #[test]
    fn changes_are_made_in_place() {
        let bookings = Bookings::new(20_000, 3);
        let mut mutable_table = MutableTable::new(2).unwrap();
        let mut plain: Vec<Row> = bookings.rows().collect();
        mutable_table.append(&plain).unwrap();
        let turn = Turn {
            number: 1,
            first: bookings.count(),
            mix: QueryMix::Mixed,
            batches: 8,
            requests: 600,
            changes: 600,
        };
        for batch in turn.batches(&bookings).0 {
            mutable_table.change(&batch.changes).unwrap();
            for change in &batch.changes {
                let passes =
                    |row: &Row| change.conditions().iter().all(|&(column, value)| row[column] == value);
                match change {
                    Change::Insert(rows) => plain.extend(rows),
                    Change::Delete { .. } => plain.retain(|row| !passes(row)),
                    _ => {
                        for row in plain.iter_mut().filter(|row| passes(row)) {
                            change.assignments().into_iter().for_each(|(column, value)| row[column] = value);
                        }
                    }
                }
            }
            let mut rows_found: Vec<Vec<i64>> = Vec::new();
            for partition in &mutable_table.table.batches {
                for batch in &*partition.blocking_read() {
                    rows_found.extend((0..batch.num_rows()).map(|row| values(batch, row).collect()));
                }
            }
            rows_found.retain(|row| row[PNR] >= 0);
            rows_found.sort_unstable();
            plain.sort_unstable();
            assert!(
                rows_found.iter().zip(&plain).all(|(rows_found, plain)| rows_found == plain)
                    && rows_found.len() == plain.len()
            );
        }
    }
}
