//! Composite keys: the words of several columns, combined into one word.

use crate::chunk::{Bitmap, Chunk};
use crate::statistics::Statistics;
use crate::value::WordKind;
use multiversion::multiversion;

/// A composite key. It maps the values of its columns in a row to one *composite word*.
///
/// If the bounds of all columns fit into 64 bits together, each column gets bits of its own: the
/// key is *exact*, and equal words mean equal values. Otherwise the values are hashed, and
/// different values may, rarely, have the same word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CompositeKey {
    parts: Box<[KeyPart]>,
    pub is_exact: bool,
}

/// A column of a composite key. With `bin_bits` above 0, its keys are divided into *bins* of keys
/// that differ only in that many low bits, so that ranges can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeyPart {
    column: usize,
    kind: WordKind,
    /// Number of low bits that a bin ignores.
    bin_bits: u32,
    least: u64,
    /// Position of the column's bits in an exact composite word.
    shift: u32,
}

/// A column for a composite key, and the number of low bits that its bins ignore.
pub(super) type KeyColumn = (usize, WordKind, u32);

/// Multiplicative hashing moves low bits up, as in [hash lookups](super::hash_lookup).
const FIBONACCI_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rows whose composite words are computed together.
const BLOCK_ROWS: usize = 256;

/// Appends the value of one more column to a composite word.
#[inline(always)]
fn append(composite: u64, value: u64, shift: u32, is_exact: bool) -> u64 {
    if is_exact {
        composite | value << shift
    } else {
        (composite.rotate_left(31) ^ value).wrapping_mul(FIBONACCI_MULTIPLIER)
    }
}

impl CompositeKey {
    /// Creates a key of at least two columns. It is exact if the columns' bounds fit into 64 bits.
    pub fn new(columns: impl Iterator<Item = KeyColumn>, statistics: &Statistics) -> Self {
        let mut width = 0;
        let part = |(column, kind, bits): KeyColumn| {
            let bounds = statistics.bounds(column);
            let part =
                KeyPart { column, kind, bin_bits: bits, least: bounds.least, shift: width % u64::BITS };
            width += u64::BITS - (bounds.greatest.saturating_sub(bounds.least) >> bits).leading_zeros();
            part
        };
        let parts = columns.map(part).collect();
        Self { parts, is_exact: width <= u64::BITS }
    }

    /// Creates a key of a single column, whose words are used as they are.
    pub fn single(column: usize) -> Self {
        let part = KeyPart { column, kind: WordKind::Unsigned, bin_bits: 0, least: 0, shift: 0 };
        Self { parts: [part].into(), is_exact: true }
    }

    /// Returns the first column.
    pub fn first(&self) -> usize {
        self.parts[0].column
    }

    /// Returns true if the key has a column without bins.
    pub fn has_exact(&self, column: usize) -> bool {
        self.parts.iter().any(|part| part.column == column && part.bin_bits == 0)
    }

    /// Returns the composite words of rows whose keys lie in these ranges, one for each column,
    /// within the column's bounds. Only the last range may cover several bins.
    pub fn words_for(&self, keys: &[(u64, u64)]) -> impl Iterator<Item = u64> {
        let mut composite = 0;
        let Some((&last, others)) = self.parts.split_last() else {
            unreachable!("a key has at least one column")
        };
        for (part, &(key, _)) in others.iter().zip(keys) {
            composite = append(composite, part.value(key), part.shift, self.is_exact);
        }
        let (from, to) = keys[others.len()];
        (last.value(from)..=last.value(to))
            .map(move |value| append(composite, value, last.shift, self.is_exact))
    }

    /// Returns the range of keys of a column that a composite word stands for, if the column is in
    /// bins.
    pub fn range(&self, column: usize, composite: u64) -> Option<(u64, u64)> {
        let last =
            self.parts.last().filter(|last| self.is_exact && last.column == column && last.bin_bits > 0)?;
        let low = (composite >> last.shift << last.bin_bits).wrapping_add(last.least);
        Some((low, low.saturating_add((1 << last.bin_bits) - 1)))
    }

    /// Returns the words of all rows of a chunk. Composite words are written to `keys_buffer`.
    pub fn chunk_words<'a>(&self, chunk: &'a Chunk, keys_buffer: &'a mut Vec<u64>) -> &'a [u64] {
        if let [part] = *self.parts {
            return chunk.columns[part.column].words();
        }
        keys_buffer.resize(chunk.columns[self.first()].words().len(), 0);
        // In blocks, so that they stay in the L1 cache.
        for (block, keys_buffer) in keys_buffer.chunks_mut(BLOCK_ROWS).enumerate() {
            for (place, part) in self.parts.iter().enumerate() {
                let words = &chunk.columns[part.column].words()[block * BLOCK_ROWS..];
                append_column(keys_buffer, words, *part, place == 0, self.is_exact);
            }
        }
        keys_buffer
    }

    /// Returns the rows of a block that are not null in any of the columns.
    #[inline(always)]
    pub fn valid(&self, chunk: &Chunk, rows: &Bitmap, block: usize) -> u64 {
        let valid = self.parts.iter().map(|part| chunk.columns[part.column].valid.block(block));
        valid.fold(rows.block(block), |rows, valid| rows & valid)
    }
}

impl KeyPart {
    /// Returns the value of a key in the composite word: its bin, or its distance from the least
    /// key.
    #[inline(always)]
    fn value(self, key: u64) -> u64 {
        key.wrapping_sub(self.least) >> self.bin_bits
    }
}

/// Appends a column's values to composite words, which the first column initialises.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn append_column(keys_buffer: &mut [u64], words: &[u64], part: KeyPart, is_first: bool, is_exact: bool) {
    let keys = part.kind.keys();
    let rows = keys_buffer.iter_mut().zip(words);
    match (is_first, is_exact) {
        (true, true) => {
            rows.for_each(|(composite, &word)| *composite = append(0, part.value(keys.encode(word)), 0, true))
        }
        (false, true) => {
            rows.for_each(|(composite, &word)| {
                *composite = append(*composite, part.value(keys.encode(word)), part.shift, true)
            });
        }
        (true, false) => rows
            .for_each(|(composite, &word)| *composite = append(0, part.value(keys.encode(word)), 0, false)),
        (false, false) => rows.for_each(|(composite, &word)| {
            *composite = append(*composite, part.value(keys.encode(word)), 0, false)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Cell;
    use crate::statistics::KeyBounds;
    use proptest::prelude::*;

    proptest! {
        /// Rows in range have one of the composite words, and other rows have none of them.
        #[test]
        fn composite_words_match_like_their_keys(
            rows in proptest::collection::vec((0u64..3, 0u64..3, any::<u8>()), 64),
            wanted in (0u64..3, 0u64..3, any::<u8>(), any::<u8>()),
            bits in 0u32..8,
            is_float: bool,
            is_wide: bool,
        ) {
            let last = if is_float { WordKind::Float } else { WordKind::Int };
            let kinds = [WordKind::Int, WordKind::Unsigned, last];
            let third = |byte: u8| {
                let number = i64::from(byte) - 100;
                if is_float { (number as f64).to_bits() } else { number.cast_unsigned() }
            };
            let mut chunk = Chunk::new(&kinds, rows.len());
            for &(a, b, c) in &rows {
                chunk.push([a, b, third(c)].map(|word| Cell { word: Some(word), text: "" }));
            }
            // With floats, a bin holds the numbers of one sign and exponent.
            let bits = if is_float { 52 } else { bits };
            let key = |column: usize, word: u64| kinds[column].key(word);
            let last = if is_wide { u64::MAX } else { key(1, 2) };
            let mut statistics = Statistics::new(&kinds);
            statistics.record(
                &[
                    KeyBounds { least: key(0, 0), greatest: key(0, 2) },
                    KeyBounds { least: key(1, 0), greatest: last },
                    KeyBounds { least: key(2, third(0)), greatest: key(2, third(255)) },
                ],
                &[],
            );
            let ends = [wanted.2, wanted.3].map(|byte| key(2, third(byte)));
            let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let of = [wanted.0, wanted.1].map(|word| (word, word));
            let mut key_ranges = vec![(key(0, of[0].0), key(0, of[0].0)), of[1], (low, high)];
            let mut columns = vec![(0, kinds[0], 0), (1, kinds[1], 0), (2, kinds[2], bits)];
            let mut keys_buffer = Vec::new();
            let bin = |key: u64| (key - statistics.bounds(2).least) >> bits;
            for has_bins in [true, false] {
                let composite = CompositeKey::new(columns.iter().copied(), &statistics);
                prop_assert_eq!(composite.is_exact, !is_wide);
                let words: Vec<u64> = composite.words_for(&key_ranges).collect();
                for (row, word) in composite.chunk_words(&chunk, &mut keys_buffer).iter().enumerate() {
                    let (a, b, c) = rows[row];
                    let is_near = (bin(low)..=bin(high)).contains(&bin(key(2, third(c))));
                    let is_asked = (a, b) == (wanted.0, wanted.1) && (!has_bins || is_near);
                    prop_assert_eq!(words.contains(word), is_asked);
                }
                key_ranges.pop();
                columns.pop();
            }
        }
    }
}
