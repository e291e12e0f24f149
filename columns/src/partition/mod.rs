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
        Self { kinds, chunks: Vec::new(), rows: rows.clamp(1, MOST), bounds, scan: Scan::default() }
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
            self.scan.pass(&index, chunk, |query, rows| found[query].add(&queries[query].gives, chunk, rows));
        }
        found
    }

    /// A chunk that has room.
    fn open(&mut self) -> usize {
        if self.chunks.last().is_none_or(Chunk::is_full) {
            self.chunks.push(Chunk::new(self.kinds.len(), self.rows));
        }
        self.chunks.len() - 1
    }

    /// Chunks whose rows are all gone make room for others.
    fn forget_empty_chunks(&mut self) {
        self.chunks.retain(|chunk| chunk.live.count() > 0);
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
