//! Changes, in the order in which they came.
//!
//! Changes to different rows have nothing to do with each other, so each row is gone through alone: which changes concern it
//! is known from one pass over all rows as they are, unless a change sets a column that a later one tests. From there on
//! all later ones are tested against the row as it is then.

use super::Partition;
use crate::plan::Planned;
use crate::scan::Index;
use std::ops::Range;

/// For each column the last change that tests it, by which it is clear whether setting it matters to any later one.
struct Tested(Vec<Option<usize>>);

impl Tested {
    fn new(changes: &[Planned], columns: usize) -> Self {
        let mut last = vec![None; columns];
        for (number, change) in changes.iter().enumerate() {
            for check in change.checks().into_iter().flat_map(|checks| &checks.0) {
                last[check.column()] = Some(number);
            }
        }
        Self(last)
    }

    /// Whether a change sets what a later one tests.
    fn after(&self, changes: &[Planned], number: usize) -> bool {
        let Planned::Set(_, set) = &changes[number] else { return false };
        set.iter().any(|(column, _)| self.0[*column] > Some(number))
    }
}

/// Changes rows that were there before.
pub(super) fn to_rows_there(partition: &mut Partition, changes: &[Planned], counts: &mut [u64]) {
    // Numbers of those changes that concern rows, which the index knows by their places here.
    let numbers: Vec<usize> =
        (0..changes.len()).filter(|&number| changes[number].checks().is_some()).collect();
    if numbers.is_empty() {
        return;
    }
    let index = Index::new(changes.iter().filter_map(Planned::checks), &partition.bounds);
    let tested = Tested::new(changes, partition.kinds.len());
    for chunk in 0..partition.chunks.len() {
        let concerned = partition.scan.by_row(&index, &partition.chunks[chunk]);
        for of_row in concerned.chunk_by(|a, b| a.0 == b.0) {
            let row = usize::from(of_row[0].0);
            for &(_, place) in of_row {
                let number = numbers[place as usize];
                let checks = changes[number].checks();
                if !checks.is_some_and(|checks| checks.hold_exactly(&partition.chunks[chunk], row)) {
                    continue;
                }
                counts[number] += 1;
                if !make(partition, chunk, row, &changes[number]) {
                    break;
                }
                if tested.after(changes, number) {
                    make_all_after(partition, chunk, row, changes, number, counts);
                    break;
                }
            }
        }
    }
}

/// Adds rows, and makes the changes to them that come later.
pub(super) fn to_new_rows(
    partition: &mut Partition,
    changes: &[Planned],
    takes: impl Fn(usize) -> Range<usize>,
    counts: &mut [u64],
) {
    for (number, change) in changes.iter().enumerate() {
        let Planned::Insert(rows) = change else { continue };
        for new in takes(rows.count) {
            let chunk = partition.open();
            let row = partition.chunks[chunk].push(rows.row(new));
            for (column, cell) in rows.row(new).enumerate() {
                partition.note(column, cell.word);
            }
            counts[number] += 1;
            make_all_after(partition, chunk, row, changes, number, counts);
        }
    }
}

/// Tests and makes all later changes to a row.
fn make_all_after(
    partition: &mut Partition,
    chunk: usize,
    row: usize,
    changes: &[Planned],
    number: usize,
    counts: &mut [u64],
) {
    for (number, change) in changes.iter().enumerate().skip(number + 1) {
        if change.checks().is_some_and(|checks| checks.hold(&partition.chunks[chunk], row)) {
            counts[number] += 1;
            if !make(partition, chunk, row, change) {
                return;
            }
        }
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
                partition.note(*column, entry.cell().word);
            }
            true
        }
    }
}
