//! Comparison of all words of a column by SIMD instructions.

use crate::chunk::Bitmap;
use multiversion::multiversion;

/// Returns a bitmap, in blocks, of the words in `low..=low + width`.
///
/// The compiler vectorises this loop, in a version for each instruction set. Lookups in a table,
/// and comparisons of scattered rows, do not gain from vectorisation: a gather takes as long as
/// single loads.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
    "aarch64+neon"
))]
pub(super) fn bits_in_range(words: &[u64], low: u64, width: u64) -> Vec<u64> {
    let (blocks, rest) = words.as_chunks::<{ Bitmap::BLOCK_BITS }>();
    debug_assert!(rest.is_empty(), "chunks consist of whole blocks");
    let bits = blocks.iter().map(|block| {
        let mut bits = 0;
        for (row, &word) in block.iter().enumerate() {
            bits |= u64::from(word.wrapping_sub(low) <= width) << row;
        }
        bits
    });
    bits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_match_single_comparisons(
            words in proptest::collection::vec(0u64..20, 128),
            low in 0u64..30,
            width in 0u64..30,
        ) {
            let is_in = |row: usize| (low..=low + width).contains(&words[row]);
            let found = bits_in_range(&words, low, width);
            prop_assert!((0..128).all(|row| (found[row / 64] >> (row % 64) & 1 != 0) == is_in(row)));
            prop_assert_eq!(bits_in_range(&words, 0, u64::MAX), [u64::MAX; 2]);
        }
    }
}
