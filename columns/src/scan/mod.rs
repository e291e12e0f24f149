//! The queries that a row concerns.
//!
//! Each query of a batch is entered in an index by one of its tests, the one that the fewest rows pass as far as the bounds
//! of the columns tell. A pass over a chunk looks each row's values up, which gives pairs of a query and a row; sorted by
//! query they are what is left to be tested.

mod index;
mod points;
mod spans;

pub(crate) use index::{Bounds, Index};

use crate::chunk::Chunk;

/// A pass over chunks: what it needs of memory.
#[derive(Default)]
pub(crate) struct Scan {
    pairs: Vec<Pair>,
    /// Where the rows of each query begin.
    starts: Vec<u32>,
    rows: Vec<u16>,
    passed: Vec<u16>,
}

/// A query, or rather its number, and a row that passes the test that the query is entered by.
pub(crate) type Pair = (u32, u16);

/// So many pairs are sorted at once, so that these stay in a cache.
const PAIRS: usize = 1 << 15;

impl Scan {
    /// Tells each query which rows of a chunk pass all its tests; those of one query may come in several parts.
    pub fn pass(&mut self, index: &Index, chunk: &Chunk, mut each: impl FnMut(usize, &[u16])) {
        let Self { pairs, starts, rows, passed } = self;
        index.find(chunk, pairs, PAIRS, |pairs| {
            sort(pairs, index.len(), starts, rows);
            pairs.clear();
            for query in 0..index.len() {
                let found = &rows[starts[query] as usize..starts[query + 1] as usize];
                if !found.is_empty() {
                    index.refine(query, chunk, found.iter().copied(), passed);
                    each(query, passed);
                }
            }
        });
        for &query in index.others() {
            passed.clear();
            chunk.live.for_each(|row| passed.push(row as u16));
            let all = std::mem::take(passed);
            index.refine(query as usize, chunk, all.iter().copied(), passed);
            each(query as usize, passed);
        }
    }

    /// All pairs of a query and a row of the chunk that passes all its tests, by row and then by query.
    pub fn by_row(&mut self, index: &Index, chunk: &Chunk) -> Vec<(u16, u32)> {
        let mut all = Vec::new();
        self.pass(index, chunk, |query, rows| all.extend(rows.iter().map(|&row| (row, query as u32))));
        all.sort_unstable();
        all
    }
}

/// Sorts pairs by query, by counting.
fn sort(pairs: &[Pair], queries: usize, starts: &mut Vec<u32>, rows: &mut Vec<u16>) {
    starts.clear();
    starts.resize(queries + 1, 0);
    for &(query, _) in pairs {
        starts[query as usize] += 1;
    }
    let mut sum = 0;
    for start in starts.iter_mut() {
        sum += *start;
        *start = sum;
    }
    rows.clear();
    rows.resize(pairs.len(), 0);
    // From behind, so that each start ends where it belongs, and rows keep their order.
    for &(query, row) in pairs.iter().rev() {
        let start = &mut starts[query as usize];
        *start -= 1;
        rows[*start as usize] = row;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_sorted_by_query_and_keep_their_order() {
        let pairs = [(3, 1), (0, 2), (3, 3), (1, 4), (3, 5), (0, 6)];
        let (mut starts, mut rows) = (Vec::new(), Vec::new());
        sort(&pairs, 5, &mut starts, &mut rows);
        assert_eq!((starts, rows), (vec![0, 2, 3, 3, 6, 6], vec![2, 6, 4, 1, 3, 5]));
    }
}
