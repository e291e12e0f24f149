//! A query that a row may match, with its next test.

use crate::chunk::Chunk;
use crate::plan::WordPredicate;
use crate::value::{KeyEncoding, WordKind};

/// A query in a list of the index, with its next test, if that is a range of keys. The test is
/// stored inline, so that most rows are rejected without another access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub query: u32,
    /// The column of the next test, or [`NO_COLUMN`].
    column: u32,
    keys: KeyEncoding,
    low: u64,
    width: u64,
}

/// Marks a candidate without a next test.
const NO_COLUMN: u32 = u32::MAX;

impl Candidate {
    /// Creates a candidate from the residual predicates of a query.
    pub fn new(query: u32, residual: &[WordPredicate]) -> Self {
        match residual.first() {
            Some(&WordPredicate::Keys { column, kind, low, high }) => {
                Self { query, column: column as u32, keys: kind.keys(), low, width: high - low }
            }
            _ => Self { query, column: NO_COLUMN, keys: WordKind::Unsigned.keys(), low: 0, width: 0 },
        }
    }

    /// Returns true if a row passes the next test.
    #[inline(always)]
    pub fn passes(&self, chunk: &Chunk, row: u16) -> bool {
        if self.column == NO_COLUMN {
            return true;
        }
        let (column, row) = (&chunk.columns[self.column as usize], usize::from(row));
        self.keys.encode(column.words()[row]).wrapping_sub(self.low) <= self.width && column.valid.get(row)
    }

    /// Returns the predicates that remain after the next test.
    pub fn after(residual: &[WordPredicate]) -> &[WordPredicate] {
        match residual {
            [WordPredicate::Keys { .. }, after @ ..] => after,
            _ => residual,
        }
    }
}
