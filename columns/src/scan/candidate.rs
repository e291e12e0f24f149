//! A query that a row may concern, and its next test.

use crate::chunk::Chunk;
use crate::plan::Check;
use crate::value::{Keys, Kind};

/// A query that is entered, with its next test, if that is one of keys. It lies beside those that are found together with it,
/// so that most rows are done with at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub query: u32,
    /// Of what, if there is such a test.
    column: u32,
    keys: Keys,
    low: u64,
    width: u64,
}

/// There is none.
const NOTHING: u32 = u32::MAX;

impl Candidate {
    /// Of what is left to be tested of a query.
    pub fn new(query: u32, rest: &[Check]) -> Self {
        match rest.first() {
            Some(&Check::Keys { column, kind, low, high }) => {
                Self { query, column: column as u32, keys: kind.keys(), low, width: high - low }
            }
            _ => Self { query, column: NOTHING, keys: Kind::Unsigned.keys(), low: 0, width: 0 },
        }
    }

    /// Whether a row passes that test.
    #[inline(always)]
    pub fn passes(&self, chunk: &Chunk, row: u16) -> bool {
        if self.column == NOTHING {
            return true;
        }
        let (column, row) = (&chunk.columns[self.column as usize], usize::from(row));
        self.keys.of(column.words()[row]).wrapping_sub(self.low) <= self.width && column.valid.get(row)
    }

    /// What is left of it then.
    pub fn after(rest: &[Check]) -> &[Check] {
        match rest {
            [Check::Keys { .. }, after @ ..] => after,
            _ => rest,
        }
    }
}
