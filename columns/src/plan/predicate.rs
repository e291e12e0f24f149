//! Predicates on one column of a row, and their conjunction.

use crate::chunk::{Chunk, Column};
use crate::value::WordKind;
use std::ops::Bound;
use std::sync::Arc;

/// A predicate on a column of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordPredicate {
    /// The word's key lies in `low..=high`. A null does not match.
    Keys { column: usize, kind: WordKind, low: u64, high: u64 },
    /// The row is null, or is not null.
    Null { column: usize, is_null: bool },
}

impl WordPredicate {
    pub fn column(self) -> usize {
        match self {
            Self::Keys { column, .. } | Self::Null { column, .. } => column,
        }
    }

    /// Returns true if a row matches. Loads the word and its validity together, without a branch
    /// between them.
    #[inline(always)]
    pub fn matches(&self, chunk: &Chunk, row: usize) -> bool {
        let column = &chunk.columns[self.column()];
        let (word, is_valid) = (column.words()[row], column.valid.get(row));
        match *self {
            Self::Keys { kind, low, high, .. } => is_valid & (low..=high).contains(&kind.key(word)),
            Self::Null { is_null, .. } => is_valid != is_null,
        }
    }
}

/// The part of a predicate on texts that their words cannot decide. It is evaluated only for rows
/// whose words match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextPredicate {
    Equals(Arc<str>),
    /// The text lies between two bounds, whose prefixes are `low` and `high`.
    Between {
        from: Bound<Arc<str>>,
        to: Bound<Arc<str>>,
        low: u64,
        high: u64,
    },
}

impl TextPredicate {
    /// Returns true if a row of a column matches.
    pub fn matches(&self, column: &Column, row: usize) -> bool {
        match self {
            Self::Equals(text) => column.text(row) == &**text,
            Self::Between { from, to, low, high } => {
                // Where the prefix differs from a bound's, the prefix alone has decided.
                let word = column.words()[row];
                let after = match from {
                    Bound::Included(from) => word != *low || column.text(row) >= &**from,
                    Bound::Excluded(from) => word != *low || column.text(row) > &**from,
                    Bound::Unbounded => true,
                };
                after
                    && match to {
                        Bound::Included(to) => word != *high || column.text(row) <= &**to,
                        Bound::Excluded(to) => word != *high || column.text(row) < &**to,
                        Bound::Unbounded => true,
                    }
            }
        }
    }
}

/// Predicates that a row must all match: first those on words, then those on texts, each with the
/// column of the text's prefixes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conjunction {
    pub words: Vec<WordPredicate>,
    pub texts: Vec<(usize, TextPredicate)>,
}

impl Conjunction {
    /// Returns true if a row matches all predicates.
    pub fn matches(&self, chunk: &Chunk, row: usize) -> bool {
        self.words.iter().all(|predicate| predicate.matches(chunk, row)) && self.texts_match(chunk, row)
    }

    /// Returns true if a row whose words match also matches the predicates on texts.
    #[inline]
    pub fn texts_match(&self, chunk: &Chunk, row: usize) -> bool {
        self.texts.iter().all(|(column, predicate)| predicate.matches(&chunk.columns[*column], row))
    }
}
