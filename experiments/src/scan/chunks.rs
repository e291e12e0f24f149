//! Chooses the rows of a chunk of the column store: the knowledge base knows how many the
//! first-level cache asks for.

use std::fmt;
use xtasking_columns::{Table, TableBuilder};
use xtasking_knowledge::system::System;
use xtasking_knowledge::{Bytes, Knowledge};

/// The rows of a chunk, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    pub rows: usize,
    why: String,
}

impl Chunks {
    /// Chooses for the CPUs that this process may use.
    pub fn here() -> Self {
        let facts = System::here().facts().map_err(|error| error.to_string());
        Self::of(facts.map(Knowledge::new))
    }

    /// Chooses for a known machine, or for an unknown one and the reason why it is unknown.
    fn of(knowledge: Result<Knowledge, String>) -> Self {
        let sizes = knowledge.and_then(|known| known.cache_size(1).map_err(|unknown| unknown.to_string()));
        match sizes {
            Ok(sizes) => {
                let why = format!("a column takes half of the first-level cache. {}", sizes.why().join(" "));
                Self { rows: Table::chunk_rows_for(sizes.share()), why }
            }
            Err(why) => {
                let cache = TableBuilder::L1_CACHE_BYTES;
                let why = format!("for a first-level cache of {}. {why}", Bytes(cache));
                Self { rows: Table::chunk_rows_for(cache), why }
            }
        }
    }
}

impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunks of {} rows: {}", self.rows, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_knowledge::facts::Facts;

    #[test]
    fn the_first_level_cache_determines_the_rows() {
        // Two threads of a core share its cache of 32 KiB.
        let chunks = Chunks::of(Ok(Knowledge::new(Facts::symmetric(1, 1, 2, 2))));
        assert_eq!(chunks.rows, 1024);
        assert_eq!(
            chunks.to_string(),
            "chunks of 1024 rows: a column takes half of the first-level cache. \
             Level 1: CPUs 0-3 see 32 KiB, shared by 2 CPUs: 16 KiB for each."
        );
        let chunks =
            Chunks::of(Ok(Knowledge::new(Facts { caches: Vec::new(), ..Facts::symmetric(1, 1, 2, 1) })));
        assert_eq!(chunks.rows, 2048);
        assert!(
            chunks.to_string().contains("for a first-level cache of 32 KiB. No cache of level 1"),
            "{chunks}"
        );
        let text = Chunks::of(Err("Unknown machine.".to_string())).to_string();
        assert_eq!(text, "chunks of 2048 rows: for a first-level cache of 32 KiB. Unknown machine.");
    }
}
