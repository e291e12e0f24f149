//! Where things are: words that tasks write, and anybody reads at any time.

use crate::sync::{AtomicU32, AtomicU64, Relaxed};
use alloc::boxed::Box;
use core::fmt;
use once_cell::race::OnceBox;

/// A growing table of words. What is found there is advice: who reads a word may be too late for it, and claims what it leads to
/// before relying on it. (A [plan](crate::Granules::planned) looks again when its task has what it had found.)
///
/// ```
/// use xtasking::Directory;
///
/// let directory = Directory::default();
/// let first = directory.extend(100).unwrap();
/// directory.set(first + 7, 42);
/// assert_eq!((directory.get(first + 7), directory.get(first), directory.get(9_999)), (42, 0, 0));
/// ```
#[derive(Default)]
pub struct Directory {
    /// Each twice as long as the one before, the first two alike.
    pieces: [OnceBox<Box<[AtomicU64]>>; PIECES],
    length: AtomicU32,
}

const FIRST: u32 = 10;
const PIECES: usize = 33 - FIRST as usize;

impl Directory {
    /// As many words more, all 0, which nobody else gets. Returns the number of the first; `None` if there would be 2³² or more.
    pub fn extend(&self, count: u32) -> Option<u32> {
        // Relaxed: a number is all that is given out.
        let mut first = self.length.load(Relaxed);
        loop {
            let next = first.checked_add(count)?;
            match self.length.compare_exchange(first, next, Relaxed, Relaxed) {
                Ok(_) => return Some(first),
                Err(other) => first = other,
            }
        }
    }

    /// A word; 0 unless it was set.
    pub fn get(&self, index: u32) -> u64 {
        let (piece, offset) = Self::place(index);
        // Relaxed: what it leads to is claimed, or looked at under a lock, and those order all else.
        self.pieces[piece].get().map_or(0, |words| words[offset].load(Relaxed))
    }

    /// Sets a word.
    pub fn set(&self, index: u32, word: u64) {
        let (piece, offset) = Self::place(index);
        let length = 1 << (FIRST as usize + piece.saturating_sub(1));
        let words =
            self.pieces[piece].get_or_init(|| Box::new((0..length).map(|_| AtomicU64::new(0)).collect()));
        words[offset].store(word, Relaxed);
    }

    /// The piece that a word is in, and where it is there.
    fn place(index: u32) -> (usize, usize) {
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
    fn words_have_places_of_their_own() {
        let directory = Directory::default();
        let indices = || {
            (0..5000).chain((12..32).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).filter(|&at| at < 1 << 22))
        };
        indices().for_each(|index| directory.set(index, u64::from(index) + 1));
        indices().for_each(|index| assert_eq!(directory.get(index), u64::from(index) + 1));
        let (piece, offset) = Directory::place(u32::MAX);
        assert_eq!((piece, offset), (PIECES - 1, (1 << 31) - 1));
    }

    #[test]
    fn numbers_end() {
        let directory = Directory::default();
        assert_eq!(directory.extend(u32::MAX - 5), Some(0));
        assert_eq!((directory.extend(6), directory.extend(5)), (None, Some(u32::MAX - 5)));
    }
}
