//! Dividing rows by the leading bits of their hash: the radix join.
//!
//! Each chunk of a side is divided by itself, so that threads share nothing. A part is then what
//! all chunks have of it.

use super::chains::Chains;
use super::rows::{JoinRow, Matches};
use crate::tables::hashing::hash;
use crate::tables::memory::prefer_huge_pages;
use std::sync::LazyLock;
use xtasking_knowledge::Knowledge;
use xtasking_knowledge::system::System;

/// How a join is divided.
#[derive(Clone, Copy)]
pub(super) struct Division {
    bits: u32,
}

/// Rows of the build side in a part. Their table takes half of the second-level cache, so that the
/// rows that are looked up pass through the other half.
static PART_ROWS: LazyLock<usize> = LazyLock::new(|| {
    /// The cache of an unknown machine.
    const DEFAULT: u64 = 512 << 10;
    let facts = System::here().facts().ok();
    let cache = facts.and_then(|facts| Some(Knowledge::new(facts).cache_size(2).ok()?.share()));
    (cache.unwrap_or(DEFAULT) as usize / 2 / Chains::BYTES_PER_ROW).max(1)
});
/// The most leading bits. More parts would be written at once than the cache has lines for.
const MAX_BITS: u32 = 11;

impl Division {
    /// Returns the division for a number of rows of the build side.
    pub(super) fn for_rows(build: usize) -> Self {
        Self::with_part_rows(build, *PART_ROWS)
    }

    fn with_part_rows(build: usize, rows: usize) -> Self {
        Self { bits: (build / rows).max(1).ilog2().min(MAX_BITS) }
    }

    /// Returns the number of parts.
    pub(super) fn parts(self) -> usize {
        1 << self.bits
    }

    #[inline(always)]
    fn part_of(self, row: &JoinRow) -> usize {
        // Shifted twice, as 64 bits at once are too many.
        (hash(row.key) >> 1 >> (63 - self.bits)) as usize
    }

    /// Divides the rows of a chunk.
    pub(super) fn divide(self, rows: &[JoinRow]) -> Chunk {
        let mut ends = vec![0; self.parts()];
        rows.iter().for_each(|row| ends[self.part_of(row)] += 1);
        let mut begin = 0;
        for end in &mut ends {
            (*end, begin) = (begin, begin + *end);
        }
        // Not of rows: the system zeroes these when they are touched first.
        let mut divided = vec![[0; 2]; rows.len()];
        prefer_huge_pages(&divided);
        for row in rows {
            let end = &mut ends[self.part_of(row)];
            divided[*end] = [row.key, row.payload];
            *end += 1;
        }
        Chunk { rows: divided, ends }
    }

    /// Joins one part of both sides.
    pub(super) fn join_part(self, build: &[Chunk], probe: &[Chunk], part: usize) -> Matches {
        let rows = |side| -> _ { Chunk::rows_of(side, part) };
        let count = build.iter().map(|chunk| chunk.part(part).len()).sum();
        let table = Chains::build(rows(build), count, self.bits);
        rows(probe).map(|row| table.probe(row)).sum()
    }
}

/// The rows of a chunk, part by part.
#[derive(Clone, Default)]
pub(super) struct Chunk {
    /// Keys with their payloads.
    rows: Vec<[u64; 2]>,
    /// Where each part ends; the next one begins there.
    ends: Vec<usize>,
}

impl Chunk {
    fn part(&self, part: usize) -> &[[u64; 2]] {
        let begin = if part == 0 { 0 } else { self.ends[part - 1] };
        &self.rows[begin..self.ends[part]]
    }

    /// Returns the rows that all chunks have of a part.
    fn rows_of(chunks: &[Self], part: usize) -> impl Iterator<Item = JoinRow> {
        let row = |&[key, payload]: &[u64; 2]| JoinRow { key, payload };
        chunks.iter().flat_map(move |chunk| chunk.part(part).iter().map(row))
    }
}

/// Returns the size of the chunks of a side: several for each worker, so that the load is even.
pub(super) fn chunk_size(rows: usize, workers: usize) -> usize {
    const CHUNKS_PER_WORKER: usize = 8;
    rows.div_ceil(CHUNKS_PER_WORKER * workers).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::rows::Sides;
    use super::*;

    #[test]
    fn parts_have_all_rows_and_no_key_twice() {
        let (sides, _) = Sides::new(40_000, 1, 5);
        let division = Division::with_part_rows(40_000, 8192);
        assert_eq!((division.parts(), Division::for_rows(1).parts()), (4, 1));
        assert!(Division::for_rows(usize::MAX).parts() == 1 << MAX_BITS && *PART_ROWS > 100);
        let chunks: Vec<_> =
            sides.build.chunks(chunk_size(40_000, 2)).map(|rows| division.divide(rows)).collect();
        assert_eq!(chunks.len(), 16);
        let mut all = Vec::new();
        for part in 0..4 {
            let rows: Vec<_> = Chunk::rows_of(&chunks, part).collect();
            assert!((8000..12_000).contains(&rows.len()), "{}", rows.len());
            assert!(rows.iter().all(|row| division.part_of(row) == part));
            all.extend(rows);
        }
        let by_key = |mut rows: Vec<JoinRow>| {
            rows.sort_unstable_by_key(|row| row.key);
            rows
        };
        assert_eq!(by_key(all), by_key(sides.build));
    }
}
