//! A growing table of words: which granule something is in, readable without a claim.

use crate::sync::{AtomicU32, AtomicU64, Relaxed};
use alloc::boxed::Box;
use core::fmt;
use once_cell::race::OnceBox;

/// A growing table of words, which tasks write and any thread reads. A word is a hint: it may have
/// changed when the reader acts on it, so the reader claims the granule that the word names before
/// it relies on it. (A [plan](crate::Granules::planned) reads the word again when its task has been
/// granted that granule.)
///
/// ```
/// use xtasking::claims::Directory;
///
/// let directory = Directory::default();
/// let first = directory.extend(100).unwrap();
/// directory.set(first + 7, 42);
/// assert_eq!((directory.get(first + 7), directory.get(first), directory.get(9_999)), (42, 0, 0));
/// ```
#[derive(Default)]
pub struct Directory {
    /// Each piece is twice as long as the one before, except that the first two are equally long.
    pieces: [OnceBox<Box<[AtomicU64]>>; PIECES],
    length: AtomicU32,
}

/// Binary logarithm of the length of the first piece.
const FIRST: u32 = 10;
const PIECES: usize = 33 - FIRST as usize;

impl Directory {
    /// Reserves `count` words, all 0, for the caller. Returns the index of the first; `None` if the
    /// table would have 2³² words or more.
    pub fn extend(&self, count: u32) -> Option<u32> {
        // Relaxed: only the indices are handed out, no data with them.
        let mut first = self.length.load(Relaxed);
        loop {
            let next = first.checked_add(count)?;
            match self.length.compare_exchange(first, next, Relaxed, Relaxed) {
                Ok(_) => return Some(first),
                Err(other) => first = other,
            }
        }
    }

    /// Returns a word; 0 unless it was set.
    pub fn get(&self, index: u32) -> u64 {
        let (piece, offset) = Self::position(index);
        // Relaxed: a hint. The claim or the lock by which the caller goes on orders the rest.
        self.pieces[piece].get().map_or(0, |words| words[offset].load(Relaxed))
    }

    /// Sets a word.
    pub fn set(&self, index: u32, word: u64) {
        let (piece, offset) = Self::position(index);
        let length = 1 << (FIRST as usize + piece.saturating_sub(1));
        let words =
            self.pieces[piece].get_or_init(|| Box::new((0..length).map(|_| AtomicU64::new(0)).collect()));
        words[offset].store(word, Relaxed);
    }

    /// Returns the piece that a word is in, and its offset there.
    fn position(index: u32) -> (usize, usize) {
        match (index >> FIRST).checked_ilog2() {
            None => (0, index as usize),
            Some(doubled) => (doubled as usize + 1, (index - (1 << (doubled + FIRST))) as usize),
        }
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("length", &self.length.load(Relaxed)).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_its_own_position() {
        let directory = Directory::default();
        let indices = || {
            (0..5000).chain((12..32).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).filter(|&at| at < 1 << 22))
        };
        indices().for_each(|index| directory.set(index, u64::from(index) + 1));
        indices().for_each(|index| assert_eq!(directory.get(index), u64::from(index) + 1));
        let (piece, offset) = Directory::position(u32::MAX);
        assert_eq!((piece, offset), (PIECES - 1, (1 << 31) - 1));
    }

    #[test]
    fn a_full_table_is_not_extended() {
        let directory = Directory::default();
        assert_eq!(directory.extend(u32::MAX - 5), Some(0));
        assert_eq!((directory.extend(6), directory.extend(5)), (None, Some(u32::MAX - 5)));
    }
}
