//! A part of the rows, and what a batch does to it.

mod changes;

pub(crate) use changes::Changes;

use crate::chunk::{Bits, Chunk, rows_possible};
use crate::found::Found;
use crate::plan::Questions;
use crate::scan::{Index, Scan};
use crate::statistics::Statistics;
use crate::value::Kind;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The queries of a batch.
pub(crate) struct Queries {
    pub questions: Questions,
    index: Index,
}

impl Queries {
    /// Of these queries, for rows of which this is known.
    pub fn new(questions: Questions, known: &Statistics) -> Self {
        let index =
            Index::new(questions.all.iter().map(|asked| (&asked.checks, questions.folds(asked))), known);
        Self { questions, index }
    }

    /// Answers all of them, as far as these rows of a chunk go.
    fn answer(&self, scan: &mut Scan, chunk: &Chunk, rows: &Bits, found: &mut Found) {
        let rest = scan.pass(&self.index, chunk, rows, |query, rows| {
            let asked = &self.questions.all[query];
            let holds = |row: &u16| asked.checks.hold_exactly(chunk, (*row).into());
            // As a rule they all pass, and need not be copied.
            if rows.iter().all(holds) {
                found.add(asked, chunk, rows);
            } else {
                let rows: Vec<u16> = rows.iter().copied().filter(holds).collect();
                found.add(asked, chunk, &rows);
            }
        });
        found.add_pairs(&self.questions.all, chunk, rest.pairs);
        found.add_cells(chunk, rest.cells);
    }
}

/// See the module's documentation.
pub(crate) struct Partition {
    /// What its columns keep.
    kinds: Arc<[Kind]>,
    chunks: Vec<Chunk>,
    /// All before this one are full.
    open: usize,
    /// Rows of a chunk.
    rows: usize,
    /// How many of the last chunks have come from another partition, and are still where that had them in memory.
    guests: usize,
    /// The next batch has this number, or a greater one.
    next: u64,
    scan: Scan,
}

/// So many chunks are copied before the originals are given back.
const TOGETHER: usize = 64;

impl Partition {
    /// An empty one of such columns, and of chunks of so many rows, which have to be whole blocks.
    pub fn new(kinds: Arc<[Kind]>, rows: usize) -> Self {
        debug_assert!(rows_possible(rows), "{rows} rows");
        Self { kinds, chunks: Vec::new(), open: 0, rows, guests: 0, next: 0, scan: Scan::default() }
    }

    /// A batch comes. They come in order; those in which it had no part are left out.
    pub fn come(&mut self, number: u64) {
        assert!(number >= self.next, "batches pass over each partition in order");
        self.next = number + 1;
    }

    /// Makes all changes, in order, and then answers all queries. Tells how many rows each change concerned. Of new rows it
    /// takes those of its place among the partitions.
    pub fn serve(&mut self, changes: &Changes, queries: &Queries, place: usize) -> (Vec<u64>, Found) {
        let mut counts = vec![0; changes.len()];
        let mut found = Found::new(&queries.questions, &queries.index.cells);
        // Rows have nothing to do with each other, so a chunk is changed and asked while it is in the cache.
        for chunk in 0..self.chunks.len() {
            changes.to_rows_there(self, chunk, &mut counts);
            let Self { chunks, scan, .. } = self;
            queries.answer(scan, &chunks[chunk], &chunks[chunk].live, &mut found);
        }
        let mut new: BTreeMap<usize, Bits> = BTreeMap::new();
        for (chunk, row) in changes.to_new_rows(self, place, &mut counts) {
            new.entry(chunk).or_insert_with(|| Bits::new(self.rows)).set(row.into(), true);
        }
        for (chunk, rows) in new {
            queries.answer(&mut self.scan, &self.chunks[chunk], &rows, &mut found);
        }
        found.share_out(&queries.questions.all, &queries.index.cells);
        self.forget_empty_chunks();
        (counts, found)
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// Where its chunks have them in memory.
    pub fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        self.chunks.iter().flat_map(Chunk::addresses)
    }

    /// How many chunks it has.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Gives some chunks, or all if there are fewer, to another partition. How many rows that were.
    pub fn give(&mut self, chunks: usize, other: &mut Self) -> u64 {
        let given = self.chunks.split_off(self.chunks.len().saturating_sub(chunks));
        let rows = given.iter().map(|chunk| chunk.len() as u64).sum();
        self.guests = self.guests.saturating_sub(given.len());
        other.guests += given.len();
        other.chunks.extend(given);
        self.open = self.open.min(self.chunks.len());
        rows
    }

    /// Moves what has come from others into memory of its own, which the worker that does this is the first to touch: so it
    /// lies on that worker's node.
    ///
    /// Some chunks at a time: allocators hand small pieces that a thread gives back to that very thread again, wherever they
    /// lie. So what has come is given back when its copies have been made, not between them.
    pub fn settle(&mut self) {
        let first = self.chunks.len() - self.guests;
        for guests in self.chunks[first..].chunks_mut(TOGETHER) {
            let own = guests.to_vec();
            guests.iter_mut().zip(own).for_each(|(guest, own)| *guest = own);
        }
        self.guests = 0;
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Added, Check, Checks, Planned, Rows};
    use crate::statistics::Bounds;
    use arrow_buffer::ScalarBuffer;

    fn unsigned() -> Partition {
        Partition::new([Kind::Unsigned].into(), 64)
    }

    fn change(partition: &mut Partition, changes: &[Planned]) -> Vec<u64> {
        let mut known = Statistics::new(&[Kind::Unsigned]);
        known.note(&[Bounds { least: 0, greatest: 10_000 }], &[]);
        let changes = Changes::new(changes.to_vec(), known.settle(), |rows| [rows].into());
        partition.serve(&changes, &Queries::new(Questions::default(), known.settle()), 0).0
    }

    fn insert(from: u64, count: u64) -> Planned {
        let words: ScalarBuffer<u64> = (from..from + count).collect();
        let column = Added { words, nulls: None, texts: None };
        Planned::Insert(Rows { columns: vec![column], count: count as usize })
    }

    fn delete(low: u64, high: u64) -> Planned {
        let check = Check::Keys { column: 0, kind: Kind::Unsigned, low, high };
        Planned::Delete(Checks(vec![check], Vec::new()))
    }

    #[test]
    fn what_rows_leave_is_used_again() {
        let mut partition = unsigned();
        assert_eq!(change(&mut partition, &[insert(0, 640)]), [640]);
        assert_eq!(partition.chunks(), 10);
        // A little of each chunk goes, and as much comes.
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

    /// Some more than are copied together.
    #[test]
    fn guests_settle() {
        let (mut one, mut other) = (unsigned(), unsigned());
        change(&mut one, &[insert(0, 64 * 200)]);
        change(&mut one, &[delete(50, 60)]);
        change(&mut other, &[insert(0, 64)]);
        one.give(150, &mut other);
        let addresses = |partition: &Partition| partition.addresses().collect::<Vec<_>>();
        let before = addresses(&other);
        other.settle();
        let after = addresses(&other);
        // Each chunk has three pieces. Only the first was there before.
        assert_eq!((before.len(), after.len()), (151 * 3, 151 * 3));
        let same = before.iter().zip(&after).filter(|(before, after)| before == after).count();
        assert_eq!((same, &before[..3]), (3, &after[..3]));
        other.settle();
        assert_eq!(addresses(&other), after);
        assert_eq!((one.rows(), other.rows()), (50 * 64 - 11, 151 * 64));
        assert_eq!(change(&mut other, &[delete(0, 64 * 49), delete(64 * 49, 64 * 200)]), [64, 150 * 64]);
    }

    #[test]
    fn chunks_are_given_with_their_rows() {
        let (mut one, mut other) = (unsigned(), unsigned());
        change(&mut one, &[insert(0, 640)]);
        change(&mut one, &[delete(600, 609)]);
        assert_eq!(one.give(3, &mut other), 3 * 64 - 10);
        assert_eq!((one.chunks(), other.chunks()), (7, 3));
        // Both go on with what they have.
        assert_eq!(change(&mut one, &[insert(2000, 1), delete(0, 1000)]), [1, 7 * 64]);
        assert_eq!(change(&mut other, &[insert(3000, 20), delete(0, 1000)]), [20, 3 * 64 - 10]);
        assert_eq!(one.give(100, &mut other), 1);
        assert_eq!((one.chunks(), other.chunks()), (0, 2));
        assert_eq!(change(&mut one, &[insert(0, 65)]), [65]);
    }
}
