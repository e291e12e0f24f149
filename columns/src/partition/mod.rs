//! A part of the rows, and what a batch does to it.

mod changes;
mod found;

pub(crate) use found::Found;

use crate::chunk::{Chunk, MOST};
use crate::plan::{Asked, Planned};
use crate::scan::{Bounds, Index, Scan};
use crate::value::Kind;
use std::sync::Arc;

/// See the module's documentation.
pub(crate) struct Partition {
    kinds: Arc<[Kind]>,
    chunks: Vec<Chunk>,
    /// All before this one are full.
    open: usize,
    /// Rows of a chunk.
    rows: usize,
    /// Of each column, since its last row went.
    bounds: Vec<Bounds>,
    scan: Scan,
}

impl Partition {
    /// An empty one, of chunks of so many rows.
    pub fn new(kinds: Arc<[Kind]>, rows: usize) -> Self {
        let bounds = vec![Bounds::NONE; kinds.len()];
        let rows = rows.clamp(1, MOST);
        Self { kinds, chunks: Vec::new(), open: 0, rows, bounds, scan: Scan::default() }
    }

    /// Makes all changes, in order; returns how many rows each of them concerned. Of rows that are added each partition
    /// takes the part that `takes` says.
    pub fn change(
        &mut self,
        changes: &[Planned],
        takes: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Vec<u64> {
        let mut counts = vec![0; changes.len()];
        changes::to_rows_there(self, changes, &mut counts);
        changes::to_new_rows(self, changes, takes, &mut counts);
        self.forget_empty_chunks();
        counts
    }

    /// Answers all queries.
    pub fn answer(&mut self, queries: &[Asked]) -> Vec<Found> {
        let mut found: Vec<_> = queries.iter().map(|query| Found::new(&query.gives)).collect();
        let index = Index::new(queries.iter().map(|query| &query.checks), &self.bounds);
        for chunk in &self.chunks {
            self.scan.pass(&index, chunk, |query, rows| found[query].add(&queries[query], chunk, rows));
        }
        found
    }

    /// A chunk that has room: what others have left comes first.
    fn open(&mut self) -> usize {
        while self.chunks.get(self.open).is_some_and(Chunk::is_full) {
            self.open += 1;
        }
        if self.open == self.chunks.len() {
            self.chunks.push(Chunk::new(&self.kinds, self.rows));
        }
        self.open
    }

    fn remove(&mut self, chunk: usize, row: usize) {
        self.chunks[chunk].remove(row);
        self.open = self.open.min(chunk);
    }

    /// Gives the memory of chunks back whose rows are all gone.
    fn forget_empty_chunks(&mut self) {
        let before = self.chunks.len();
        self.chunks.retain(|chunk| !chunk.is_empty());
        if self.chunks.len() < before {
            self.open = 0;
        }
        if self.chunks.is_empty() {
            self.bounds.fill(Bounds::NONE);
        }
    }

    fn note(&mut self, column: usize, word: Option<u64>) {
        if let Some(word) = word {
            self.bounds[column].add(self.kinds[column].key(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Added, Check, Checks, Rows};
    use arrow_buffer::ScalarBuffer;

    #[test]
    fn what_rows_leave_is_used_again() {
        let mut partition = Partition::new([Kind::Unsigned].into(), 64);
        let insert = |from: u64, count: u64| {
            let words: ScalarBuffer<u64> = (from..from + count).collect();
            let column = Added { words, nulls: None, texts: None };
            Planned::Insert(Rows { columns: vec![column], count: count as usize })
        };
        let delete = |low: u64, high: u64| {
            let check = Check::Keys { column: 0, kind: Kind::Unsigned, low, high };
            Planned::Delete(Checks(vec![check], Vec::new()))
        };
        assert_eq!(partition.change(&[insert(0, 640)], |rows| 0..rows), [640]);
        assert_eq!(partition.chunks.len(), 10);
        // A little of each chunk goes, and as much comes.
        for round in 0..20 {
            let gone: Vec<_> = (0..10).map(|chunk| delete(chunk * 64 + round, chunk * 64 + round)).collect();
            partition.change(&gone, |rows| 0..rows);
            assert_eq!(partition.change(&[insert(1000 + round * 10, 10)], |rows| 0..rows), [10]);
            assert_eq!(partition.chunks.len(), 10);
        }
        assert_eq!(partition.change(&[delete(0, 700)], |rows| 0..rows), [440]);
        assert_eq!(partition.change(&[delete(0, 5000), insert(1, 1)], |rows| 0..rows), [200, 1]);
        assert_eq!(partition.chunks.len(), 1);
    }
}
