//! Checks that the lengths stored in a MARISA trie fit the file: the reader allocates what they
//! say, without a check of its own.
//!
//! A file is a header of 16 bytes and a trie. A *block* is its length in 8 bytes, the bytes, and
//! padding to a multiple of 8. A *bit vector* is a block, the number of bits and of ones in 4 bytes
//! each, and three more blocks. A trie is three bit vectors, two blocks, 16 bytes, a block of tails
//! with their bit vector, the next trie if the third bit vector has ones and there are no tails, a
//! block, and 8 bytes.

/// Maximal number of nested tries.
const LEVELS: u32 = 127;

/// Returns true if all lengths stored in `file` fit its size.
pub(super) fn fits(file: &[u8]) -> bool {
    let mut rest = Rest(file);
    rest.skip(16).and_then(|_| rest.trie(LEVELS)).is_some() && rest.0.is_empty()
}

/// The bytes still to parse.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(skipped)
    }

    /// Skips a block and returns its length.
    fn block(&mut self) -> Option<usize> {
        let length = u64::from_le_bytes(*self.skip(8)?.first_chunk()?);
        let length = usize::try_from(length).ok()?;
        self.skip(length.checked_next_multiple_of(8)?)?;
        Some(length)
    }

    /// Skips a bit vector; returns true if it has ones.
    fn bits(&mut self) -> Option<bool> {
        self.block()?;
        let ones = &self.skip(8)?[4..];
        for _ in 0..3 {
            self.block()?;
        }
        Some(ones != [0; 4])
    }

    fn trie(&mut self, levels: u32) -> Option<()> {
        self.bits()?;
        self.bits()?;
        let linked = self.bits()?;
        self.block()?;
        self.block()?;
        self.skip(16)?;
        let tails = self.block()?;
        self.bits()?;
        if linked && tails == 0 {
            self.trie(levels.checked_sub(1)?)?;
        }
        self.block()?;
        self.skip(8).map(|_| ())
    }
}
