//! The memory of a table.

use super::bucket::Bucket;
use crate::tables::memory::zeroed_words;
use std::sync::atomic::AtomicU64;

/// Zeroed words for buckets. No page is touched before a bucket on it.
pub(super) struct Memory {
    words: Box<[AtomicU64]>,
    count: usize,
}

/// Words of a bucket.
const WORDS: usize = size_of::<Bucket>() / size_of::<AtomicU64>();

impl Memory {
    /// Allocates `count` buckets.
    pub(super) fn zeroed(count: usize) -> Self {
        // One more, as the first bucket begins at a multiple of its size. Zeroed memory of a larger
        // alignment would be touched at once.
        Self { words: zeroed_words((count + 1) * WORDS), count }
    }

    /// Returns the buckets.
    #[inline(always)]
    pub(super) fn buckets(&self) -> &[Bucket] {
        // SAFETY: a bucket consists of atomic words, without padding, and any words are valid.
        let (_, buckets, _) = unsafe { self.words.align_to::<Bucket>() };
        &buckets[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_buckets_as_asked_for() {
        for count in [1, 2, 1000] {
            let memory = Memory::zeroed(count);
            assert_eq!(memory.buckets().len(), count);
            assert!(memory.buckets()[count - 1].insert(1, 2) == Some(true));
        }
    }
}
