//! Defines the outcome of an operation.

use super::effort::Effort;
use super::parts::Atomic;
use std::fmt;

/// The answer of an operation. It depends only on the state of the world and on the operation's
/// seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Number of objects concerned: the benchmark's own result.
    pub count: u64,
    /// A digest of what was read or written, in any order: other data have another digest.
    pub sum: u64,
    /// The effort, besides finding the objects.
    pub effort: Effort,
}

impl Answer {
    /// Adds one more object.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(value);
    }

    /// Adds one more atomic part.
    #[inline]
    pub fn add_part(&mut self, part: &Atomic) {
        // Odd factors, so that swapped fields change the digest.
        let fields = [part.id as i32, part.date, part.x, part.y].map(|field| field as u64);
        let factors =
            [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];
        let terms =
            fields.into_iter().zip(factors).map(|(field, factor): (_, u64)| field.wrapping_mul(factor));
        self.add(terms.fold(0, u64::wrapping_add));
        self.effort.parts += 1;
    }

    /// Adds one more object, with its date.
    #[inline]
    pub fn add_dated(&mut self, id: u32, date: i32) {
        self.add((u64::from(id) << 32).wrapping_add_signed(date.into()));
    }
}

/// Why an operation failed. It has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationFailure {
    /// No object has the id.
    Missing,
    /// There are too few free ids.
    NoId,
    /// The base assembly has no components.
    NoComponent,
    /// The root has no siblings, and stays.
    Root,
    /// The only child of its parent stays.
    OnlyChild,
}

impl fmt::Display for OperationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "no object has the id",
            Self::NoId => "there are too few free ids",
            Self::NoComponent => "the base assembly has no components",
            Self::Root => "the root has no siblings and cannot be deleted",
            Self::OnlyChild => "an only child cannot be deleted",
        })
    }
}

/// The outcome of an operation.
pub type Outcome = Result<Answer, OperationFailure>;

/// Why a search ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// A node cannot be seen yet.
    Unseen,
    /// The operation fails.
    Failure(OperationFailure),
}

impl From<OperationFailure> for SearchStop {
    fn from(failure: OperationFailure) -> Self {
        Self::Failure(failure)
    }
}

/// The result of a search.
pub type SearchResult<T> = Result<T, SearchStop>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_depends_on_each_field_of_a_part() {
        let part = Atomic { id: 1, date: 2, x: 3, y: 4 };
        let others = [
            Atomic { id: 2, ..part },
            Atomic { date: 1, ..part },
            Atomic { x: 4, y: 3, ..part },
            Atomic { x: 5, ..part },
        ];
        let answer = |part| {
            let mut answer = Answer::default();
            answer.add_part(&part);
            answer
        };
        assert_eq!(answer(part), answer(part));
        assert!(others.into_iter().all(|other| answer(other) != answer(part)));
    }
}
