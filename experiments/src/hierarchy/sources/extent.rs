//! Whether the lengths that a MARISA trie tells of its parts are those of the file: who reads it makes room for what they say,
//! and there is not always as much.
//!
//! A file is a head of 16 bytes and a trie. A *block* is its length in 8 bytes, the bytes, and zeros up to a multiple of 8;
//! *bits* are a block, how many bits there are and how many of them are ones in 4 bytes each, and three more blocks. A trie is
//! bits three times, two blocks, 16 bytes, a block of tails with their bits, the next trie if there are ones among the third
//! bits and no tails, a block, and 8 bytes.

/// A trie is never said to be of more levels.
const LEVELS: u32 = 127;

/// Whether the file is as long as it says.
pub(super) fn fits(file: &[u8]) -> bool {
    let mut rest = Rest(file);
    rest.skip(16).and_then(|_| rest.trie(LEVELS)).is_some() && rest.0.is_empty()
}

/// What comes.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (skipped, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(skipped)
    }

    /// How long it is.
    fn block(&mut self) -> Option<usize> {
        let length = u64::from_le_bytes(*self.skip(8)?.first_chunk()?);
        let length = usize::try_from(length).ok()?;
        self.skip(length.checked_next_multiple_of(8)?)?;
        Some(length)
    }

    /// Whether there are ones.
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
