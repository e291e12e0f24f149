//! A key that is searched in a node.

/// A key, and what a search in a node with some prefix needs of it.
pub(super) struct Probe<'k> {
    /// The whole key.
    pub key: &'k [u8],
    /// Bytes of the node's prefix.
    pub prefix: usize,
    /// The first word behind the prefix.
    pub head: u64,
}

impl<'k> Probe<'k> {
    #[inline(always)]
    pub fn new(key: &'k [u8], prefix: usize) -> Self {
        Self { key, prefix, head: word_at(key, prefix) }
    }

    /// The key behind the prefix; empty if the key is shorter, which only a reader of a torn node
    /// finds.
    #[inline(always)]
    pub fn rest(&self) -> &'k [u8] {
        self.key.get(self.prefix..).unwrap_or(&[])
    }

    /// A word of the key behind the prefix.
    #[inline(always)]
    pub fn rest_word(&self, at: usize) -> u64 {
        word_at(self.key, self.prefix + 8 * at)
    }
}

/// Returns the eight bytes from `at` on as a number, the first byte as the most significant one.
/// Zeros follow the last byte.
#[inline(always)]
pub(super) fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..) {
        Some([a, b, c, d, e, f, g, h, ..]) => u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        Some(rest) => rest.iter().rev().fold(0, |word, &byte| (word >> 8) | (u64::from(byte) << 56)),
        None => 0,
    }
}

/// Returns the number of bytes with which both begin.
pub(super) fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
