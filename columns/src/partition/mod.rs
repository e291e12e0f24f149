//! A partition of a table's rows, and the execution of batches on it.

mod changes;

pub(crate) use changes::IndexedChanges;

use crate::chunk::{Bitmap, Chunk, is_valid_chunk_rows};
use crate::plan::QueryBatch;
use crate::result::PartialResult;
use crate::scan::{QueryIndex, Scan};
use crate::statistics::Statistics;
use crate::value::WordKind;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The queries of a batch, and an index of their filters.
pub(crate) struct IndexedQueries {
    pub batch: QueryBatch,
    index: QueryIndex,
}

impl IndexedQueries {
    /// Indexes queries by the access paths that the statistics suggest.
    pub fn new(batch: QueryBatch, statistics: &Statistics) -> Self {
        let index = QueryIndex::new(
            batch.queries.iter().map(|query_plan| (&query_plan.filter, batch.shared_shape(query_plan))),
            statistics,
        );
        Self { batch, index }
    }

    /// Evaluates all queries on some rows of a chunk.
    fn answer(&self, scan: &mut Scan, chunk: &Chunk, rows: &Bitmap, found: &mut PartialResult) {
        let ungrouped = scan.pass(&self.index, chunk, rows, |query, rows| {
            let query_plan = &self.batch.queries[query];
            let holds = |row: &u16| query_plan.filter.texts_match(chunk, (*row).into());
            // Usually all of them match, and no copy is needed.
            if rows.iter().all(holds) {
                found.add(query_plan, chunk, rows);
            } else {
                let rows: Vec<u16> = rows.iter().copied().filter(holds).collect();
                found.add(query_plan, chunk, &rows);
            }
        });
        found.add_pairs(&self.batch.queries, chunk, ungrouped.pairs);
        found.add_cells(chunk, ungrouped.cells);
    }
}

/// The rows of one worker.
pub(crate) struct Partition {
    /// The kinds of its columns.
    kinds: Arc<[WordKind]>,
    chunks: Vec<Chunk>,
    /// All chunks before this one are full.
    first_open: usize,
    chunk_rows: usize,
    /// The number of chunks, at the end of the list, that came from another partition and still lie
    /// in that partition's memory.
    guests: usize,
    /// The least number that the next batch may have.
    next_batch: u64,
    scan: Scan,
}

/// Chunks that are copied before their originals are freed.
const COPIED_CHUNKS: usize = 64;

impl Partition {
    /// Creates an empty partition. `chunk_rows` is a multiple of [`Bitmap::BLOCK_BITS`].
    pub fn new(kinds: Arc<[WordKind]>, chunk_rows: usize) -> Self {
        debug_assert!(is_valid_chunk_rows(chunk_rows), "{chunk_rows} rows do not make whole blocks");
        Self {
            kinds,
            chunks: Vec::new(),
            first_open: 0,
            chunk_rows,
            guests: 0,
            next_batch: 0,
            scan: Scan::default(),
        }
    }

    /// Checks the order of batches. Their numbers ascend; a partition without a share misses some.
    pub fn begin_batch(&mut self, number: u64) {
        assert!(number >= self.next_batch, "batch {number} after batch {}", self.next_batch);
        self.next_batch = number + 1;
    }

    /// Applies the changes in order, then evaluates the queries. Returns the number of rows that
    /// each change affected. `place` is the partition's index in the table, and selects its part of
    /// new rows.
    pub fn run_batch(
        &mut self,
        changes: &IndexedChanges,
        queries: &IndexedQueries,
        place: usize,
    ) -> (Vec<u64>, PartialResult) {
        let mut counts = vec![0; changes.len()];
        let mut found = PartialResult::new(&queries.batch, &queries.index.cells);
        // Rows are independent, so each chunk is changed and scanned while it is in the cache.
        for chunk in 0..self.chunks.len() {
            changes.apply_to_existing_rows(self, chunk, &mut counts);
            let Self { chunks, scan, .. } = self;
            queries.answer(scan, &chunks[chunk], &chunks[chunk].live, &mut found);
        }
        let mut new: BTreeMap<usize, Bitmap> = BTreeMap::new();
        for (chunk, row) in changes.insert_rows(self, place, &mut counts) {
            new.entry(chunk).or_insert_with(|| Bitmap::new(self.chunk_rows)).set(row.into(), true);
        }
        for (chunk, rows) in new {
            queries.answer(&mut self.scan, &self.chunks[chunk], &rows, &mut found);
        }
        found.merge_cells(&queries.batch.queries, &queries.index.cells);
        self.free_empty_chunks();
        (counts, found)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// Returns the addresses of its chunks' allocations.
    pub fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        self.chunks.iter().flat_map(Chunk::addresses)
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Moves chunks to another partition: `chunks` of them, or all if there are fewer. Returns the
    /// number of rows moved.
    pub fn move_chunks_to(&mut self, chunks: usize, other: &mut Self) -> u64 {
        let moved = self.chunks.split_off(self.chunks.len().saturating_sub(chunks));
        let rows = moved.iter().map(|chunk| chunk.len() as u64).sum();
        self.guests = self.guests.saturating_sub(moved.len());
        other.guests += moved.len();
        other.chunks.extend(moved);
        self.first_open = self.first_open.min(self.chunks.len());
        rows
    }

    /// Copies the chunks that came from other partitions into memory that the calling worker
    /// touches first, so that it lies on that worker's node.
    ///
    /// It copies several chunks before it frees their originals. Allocators return a small block to
    /// the thread that frees it, wherever the block lies; a freed original could hold the next
    /// copy.
    pub fn relocate_guests(&mut self) {
        let first = self.chunks.len() - self.guests;
        for guests in self.chunks[first..].chunks_mut(COPIED_CHUNKS) {
            let own = guests.to_vec();
            guests.iter_mut().zip(own).for_each(|(guest, own)| *guest = own);
        }
        self.guests = 0;
    }

    /// Returns the first chunk with room, so that rows fill the gaps left by deletions.
    fn chunk_with_room(&mut self) -> usize {
        while self.chunks.get(self.first_open).is_some_and(Chunk::is_full) {
            self.first_open += 1;
        }
        if self.first_open == self.chunks.len() {
            self.chunks.push(Chunk::new(&self.kinds, self.chunk_rows));
        }
        self.first_open
    }

    fn remove(&mut self, chunk: usize, row: usize) {
        self.chunks[chunk].remove(row);
        self.first_open = self.first_open.min(chunk);
    }

    /// Frees chunks without rows.
    fn free_empty_chunks(&mut self) {
        let before = self.chunks.len();
        self.chunks.retain(|chunk| !chunk.is_empty());
        if self.chunks.len() < before {
            self.first_open = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ChangePlan, Conjunction, NewColumn, NewRows, WordPredicate};
    use crate::statistics::KeyBounds;
    use arrow_buffer::ScalarBuffer;

    fn unsigned() -> Partition {
        Partition::new([WordKind::Unsigned].into(), 64)
    }

    fn change(partition: &mut Partition, changes: &[ChangePlan]) -> Vec<u64> {
        let mut statistics = Statistics::new(&[WordKind::Unsigned]);
        statistics.record(&[KeyBounds { least: 0, greatest: 10_000 }], &[]);
        let changes = IndexedChanges::new(changes.to_vec(), statistics.sort_sample(), |rows| [rows].into());
        partition
            .run_batch(&changes, &IndexedQueries::new(QueryBatch::default(), statistics.sort_sample()), 0)
            .0
    }

    fn insert(from: u64, count: u64) -> ChangePlan {
        let words: ScalarBuffer<u64> = (from..from + count).collect();
        let column = NewColumn { words, nulls: None, texts: None };
        ChangePlan::Insert(NewRows { columns: vec![column], count: count as usize })
    }

    fn delete(low: u64, high: u64) -> ChangePlan {
        let predicate = WordPredicate::Keys { column: 0, kind: WordKind::Unsigned, low, high };
        ChangePlan::Delete(Conjunction { words: vec![predicate], texts: Vec::new() })
    }

    #[test]
    fn rows_fill_the_gaps_of_deleted_ones() {
        let mut partition = unsigned();
        assert_eq!(change(&mut partition, &[insert(0, 640)]), [640]);
        assert_eq!(partition.chunks(), 10);
        // Delete and insert the same number of rows in each round.
        for round in 0..20 {
            let gone: Vec<_> = (0..10).map(|chunk| delete(chunk * 64 + round, chunk * 64 + round)).collect();
            change(&mut partition, &gone);
            assert_eq!(change(&mut partition, &[insert(1000 + round * 10, 10)]), [10]);
            assert_eq!(partition.chunks(), 10);
        }
        assert_eq!(change(&mut partition, &[delete(0, 700)]), [440]);
        assert_eq!(change(&mut partition, &[delete(0, 5000), insert(1, 1)]), [200, 1]);
        assert_eq!(partition.chunks(), 1);
    }

    /// Has more chunks than are copied at a time.
    #[test]
    fn chunks_of_other_partitions_are_copied() {
        let (mut one, mut other) = (unsigned(), unsigned());
        change(&mut one, &[insert(0, 64 * 200)]);
        change(&mut one, &[delete(50, 60)]);
        change(&mut other, &[insert(0, 64)]);
        one.move_chunks_to(150, &mut other);
        let addresses = |partition: &Partition| partition.addresses().collect::<Vec<_>>();
        let before = addresses(&other);
        other.relocate_guests();
        let after = addresses(&other);
        // Each chunk has three allocations. Only the first chunk was there before.
        assert_eq!((before.len(), after.len()), (151 * 3, 151 * 3));
        let same = before.iter().zip(&after).filter(|(before, after)| before == after).count();
        assert_eq!((same, &before[..3]), (3, &after[..3]));
        other.relocate_guests();
        assert_eq!(addresses(&other), after);
        assert_eq!((one.rows(), other.rows()), (50 * 64 - 11, 151 * 64));
        assert_eq!(change(&mut other, &[delete(0, 64 * 49), delete(64 * 49, 64 * 200)]), [64, 150 * 64]);
    }

    #[test]
    fn chunks_move_with_their_rows() {
        let (mut one, mut other) = (unsigned(), unsigned());
        change(&mut one, &[insert(0, 640)]);
        change(&mut one, &[delete(600, 609)]);
        assert_eq!(one.move_chunks_to(3, &mut other), 3 * 64 - 10);
        assert_eq!((one.chunks(), other.chunks()), (7, 3));
        // Both partitions go on with the chunks that they have.
        assert_eq!(change(&mut one, &[insert(2000, 1), delete(0, 1000)]), [1, 7 * 64]);
        assert_eq!(change(&mut other, &[insert(3000, 20), delete(0, 1000)]), [20, 3 * 64 - 10]);
        assert_eq!(one.move_chunks_to(100, &mut other), 1);
        assert_eq!((one.chunks(), other.chunks()), (0, 2));
        assert_eq!(change(&mut one, &[insert(0, 65)]), [65]);
    }
}
