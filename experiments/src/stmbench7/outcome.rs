//! What becomes of an operation.

use super::effort::Effort;
use super::parts::Atomic;
use std::fmt;

/// What an operation tells. It depends on the state of the world and on the operation's seed, and on nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many things it was about: the benchmark's own result.
    pub count: u64,
    /// What it has read or written, in any order, so that reading something else tells something else.
    pub sum: u64,
    /// What that took, besides finding it.
    pub effort: Effort,
}

impl Answer {
    /// One more thing.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(value);
    }

    /// One more atomic part.
    #[inline]
    pub fn add_part(&mut self, part: &Atomic) {
        // Odd factors, so that no two fields stand in for one another.
        let fields = [part.id as i32, part.date, part.x, part.y].map(|field| field as u64);
        let factors =
            [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];
        let terms =
            fields.into_iter().zip(factors).map(|(field, factor): (_, u64)| field.wrapping_mul(factor));
        self.add(terms.fold(0, u64::wrapping_add));
        self.effort.parts += 1;
    }

    /// One more object, with its date.
    #[inline]
    pub fn add_dated(&mut self, id: u32, date: i32) {
        self.add((u64::from(id) << 32).wrapping_add_signed(date.into()));
    }
}

/// Why an operation has failed. It has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// No object has that id.
    Missing,
    /// No id is free, or not so many.
    NoId,
    /// The base assembly has no components.
    NoComponent,
    /// The root has no siblings, and stays.
    Root,
    /// The only child of its parent stays.
    OnlyChild,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "no object has that id",
            Self::NoId => "there are not enough free ids",
            Self::NoComponent => "the base assembly has no components",
            Self::Root => "the root has no siblings, and stays",
            Self::OnlyChild => "an only child stays",
        })
    }
}

/// What becomes of an operation.
pub type Outcome = Result<Answer, Failed>;

/// Why a search has ended before it found everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something cannot be seen yet.
    Unseen,
    /// The operation fails.
    Failed(Failed),
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// What a search has found, as far as it came.
pub type Found<T> = Result<T, Stop>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_of_a_part_counts() {
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
