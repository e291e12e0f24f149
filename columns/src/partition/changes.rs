//! Changes, in the order in which they came.
//!
//! Changes to different rows have nothing to do with each other, so each row is gone through alone: which changes concern it
//! is known from one pass over all rows as they are, unless a change sets a column that a later one tests. From there on
//! all later ones are tested against the row as it is then.

use super::Partition;
use crate::plan::Planned;
use crate::scan::Index;
use crate::statistics::Statistics;

/// The changes of a batch.
pub(crate) struct Changes {
    all: Vec<Planned>,
    /// Numbers of those that concern rows that are there, which the index knows by their places here.
    to_rows: Vec<usize>,
    index: Index,
    /// For each column the last change that tests it, by which it is clear whether setting it matters to any later one.
    tested: Vec<Option<usize>>,
    /// For each of all where each partition's part of its new rows ends; the first begins at 0.
    dealt: Vec<Box<[usize]>>,
}

impl Changes {
    /// Of these changes, to rows of which this is known. `deal` cuts a number of new rows into the partitions' parts.
    pub fn new(all: Vec<Planned>, known: &Statistics, mut deal: impl FnMut(usize) -> Box<[usize]>) -> Self {
        let mut tested = vec![None; known.columns()];
        for (number, change) in all.iter().enumerate() {
            for check in change.checks().into_iter().flat_map(|checks| &checks.0) {
                tested[check.column()] = Some(number);
            }
        }
        let to_rows = (0..all.len()).filter(|&number| all[number].checks().is_some()).collect();
        let index = Index::new(all.iter().filter_map(Planned::checks).map(|checks| (checks, None)), known);
        let rows = |change: &Planned| match change {
            Planned::Insert(rows) => deal(rows.count),
            _ => Box::default(),
        };
        let dealt = all.iter().map(rows).collect();
        Self { all, to_rows, index, tested, dealt }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether a change sets what a later one tests.
    fn matters(&self, number: usize) -> bool {
        let Planned::Set(_, set) = &self.all[number] else { return false };
        set.iter().any(|(column, _)| self.tested[*column] > Some(number))
    }

    /// Changes rows of a chunk that were there before.
    pub(super) fn to_rows_there(&self, partition: &mut Partition, chunk: usize, counts: &mut [u64]) {
        if self.to_rows.is_empty() {
            return;
        }
        let concerned = partition.scan.by_row(&self.index, &partition.chunks[chunk]);
        for of_row in concerned.chunk_by(|a, b| a.0 == b.0) {
            let row = usize::from(of_row[0].0);
            for &(_, place) in of_row {
                let number = self.to_rows[place as usize];
                let checks = self.all[number].checks();
                if !checks.is_some_and(|checks| checks.hold_exactly(&partition.chunks[chunk], row)) {
                    continue;
                }
                counts[number] += 1;
                if !make(partition, chunk, row, &self.all[number]) {
                    break;
                }
                if self.matters(number) {
                    self.make_all_after(partition, chunk, row, number, counts);
                    break;
                }
            }
        }
    }

    /// Adds the rows that the partition of this place takes, and makes the changes to them that come later. Where those are
    /// that are still there then.
    pub(super) fn to_new_rows(
        &self,
        partition: &mut Partition,
        place: usize,
        counts: &mut [u64],
    ) -> Vec<(usize, u16)> {
        let mut there = Vec::new();
        for (number, change) in self.all.iter().enumerate() {
            let Planned::Insert(rows) = change else { continue };
            let ends = &self.dealt[number];
            let begin = if place == 0 { 0 } else { ends[place - 1] };
            for new in begin..ends[place] {
                let chunk = partition.open();
                let row = partition.chunks[chunk].push(rows.row(new));
                counts[number] += 1;
                if self.make_all_after(partition, chunk, row, number, counts) {
                    there.push((chunk, row as u16));
                }
            }
        }
        there
    }

    /// Tests and makes all later changes to a row. Whether the row is still there.
    fn make_all_after(
        &self,
        partition: &mut Partition,
        chunk: usize,
        row: usize,
        number: usize,
        counts: &mut [u64],
    ) -> bool {
        for (number, change) in self.all.iter().enumerate().skip(number + 1) {
            if change.checks().is_some_and(|checks| checks.hold(&partition.chunks[chunk], row)) {
                counts[number] += 1;
                if !make(partition, chunk, row, change) {
                    return false;
                }
            }
        }
        true
    }
}

/// Makes a change to a row that it concerns. Whether the row is still there.
fn make(partition: &mut Partition, chunk: usize, row: usize, change: &Planned) -> bool {
    match change {
        Planned::Insert(_) => true,
        Planned::Delete(_) => {
            partition.remove(chunk, row);
            false
        }
        Planned::Set(_, set) => {
            for (column, entry) in set {
                partition.chunks[chunk].columns[*column].set(row, entry.cell());
            }
            true
        }
    }
}
