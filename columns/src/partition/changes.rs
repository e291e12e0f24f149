//! The changes of a batch, applied in the order in which they were added.
//!
//! A change of one row does not depend on other rows, so each row is processed alone. One scan of
//! the rows as they are finds the changes that select each row. If a change sets a column that a
//! later change tests, all later changes are tested against the row as it is then.

use super::Partition;
use crate::plan::ChangePlan;
use crate::scan::QueryIndex;
use crate::statistics::Statistics;

/// The changes of a batch, and an index of their filters.
pub(crate) struct IndexedChanges {
    all: Vec<ChangePlan>,
    /// The numbers of the changes that select existing rows. The index refers to positions in this
    /// list.
    indexed: Vec<usize>,
    index: QueryIndex,
    /// For each column, the last change that tests it.
    last_test: Vec<Option<usize>>,
    /// For each insert, the end of each partition's part of the new rows; the first part begins at
    /// 0.
    insert_ends: Vec<Box<[usize]>>,
}

impl IndexedChanges {
    /// Indexes changes. `assign` cuts a number of new rows into parts, one for each partition.
    pub fn new(
        all: Vec<ChangePlan>,
        statistics: &Statistics,
        mut assign: impl FnMut(usize) -> Box<[usize]>,
    ) -> Self {
        let mut last_test = vec![None; statistics.column_count()];
        for (number, change) in all.iter().enumerate() {
            for predicate in change.filter().into_iter().flat_map(|filter| &filter.words) {
                last_test[predicate.column()] = Some(number);
            }
        }
        let indexed = (0..all.len()).filter(|&number| all[number].filter().is_some()).collect();
        let index = QueryIndex::new(
            all.iter().filter_map(ChangePlan::filter).map(|filter| (filter, None)),
            statistics,
        );
        let rows = |change: &ChangePlan| match change {
            ChangePlan::Insert(rows) => assign(rows.count),
            _ => Box::default(),
        };
        let insert_ends = all.iter().map(rows).collect();
        Self { all, indexed, index, last_test, insert_ends }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if a change sets a column that a later change tests.
    fn affects_later_change(&self, number: usize) -> bool {
        let ChangePlan::Update(_, set) = &self.all[number] else { return false };
        set.iter().any(|(column, _)| self.last_test[*column] > Some(number))
            && !planted!("later-change-untested")
    }

    /// Applies the changes to the rows of a chunk that existed before the batch.
    pub(super) fn apply_to_existing_rows(&self, partition: &mut Partition, chunk: usize, counts: &mut [u64]) {
        if self.indexed.is_empty() {
            return;
        }
        let concerned = partition.scan.by_row(&self.index, &partition.chunks[chunk]);
        for of_row in concerned.chunk_by(|a, b| a.0 == b.0) {
            let row = usize::from(of_row[0].0);
            for &(_, place) in of_row {
                let number = self.indexed[place as usize];
                let filter = self.all[number].filter();
                if !filter.is_some_and(|filter| filter.texts_match(&partition.chunks[chunk], row)) {
                    continue;
                }
                counts[number] += 1;
                if !apply(partition, chunk, row, &self.all[number]) {
                    break;
                }
                if self.affects_later_change(number) {
                    self.apply_later_changes(partition, chunk, row, number, counts);
                    break;
                }
            }
        }
    }

    /// Inserts the rows that are assigned to partition `place`, and applies the later changes to
    /// each. Returns the chunk and row of those that remain.
    pub(super) fn insert_rows(
        &self,
        partition: &mut Partition,
        place: usize,
        counts: &mut [u64],
    ) -> Vec<(usize, u16)> {
        let mut inserted = Vec::new();
        for (number, change) in self.all.iter().enumerate() {
            let ChangePlan::Insert(rows) = change else { continue };
            let ends = &self.insert_ends[number];
            let begin = if place == 0 { 0 } else { ends[place - 1] };
            for new in begin..ends[place] {
                let chunk = partition.chunk_with_room();
                let row = partition.chunks[chunk].push(rows.row(new));
                counts[number] += 1;
                if self.apply_later_changes(partition, chunk, row, number, counts) {
                    inserted.push((chunk, row as u16));
                }
            }
        }
        inserted
    }

    /// Tests and applies all changes after `number` to a row. Returns true if the row still exists.
    fn apply_later_changes(
        &self,
        partition: &mut Partition,
        chunk: usize,
        row: usize,
        number: usize,
        counts: &mut [u64],
    ) -> bool {
        for (number, change) in self.all.iter().enumerate().skip(number + 1) {
            if change.filter().is_some_and(|filter| filter.matches(&partition.chunks[chunk], row)) {
                counts[number] += 1;
                if !apply(partition, chunk, row, change) {
                    return false;
                }
            }
        }
        true
    }
}

/// Applies a change to a row that it selects. Returns true if the row still exists.
fn apply(partition: &mut Partition, chunk: usize, row: usize, change: &ChangePlan) -> bool {
    match change {
        ChangePlan::Insert(_) => true,
        ChangePlan::Delete(_) => {
            partition.remove(chunk, row);
            false
        }
        ChangePlan::Update(_, set) => {
            for (column, entry) in set {
                partition.chunks[chunk].columns[*column].set(row, entry.cell());
            }
            true
        }
    }
}
