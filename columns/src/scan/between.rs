//! Comparing all words of a chunk, many at once.

use crate::chunk::Bits;
use multiversion::multiversion;

/// Which words are at least `low`, and greater by at most `width`: a bit for each, in blocks.
///
/// Words are compared one behind the other, which compilers turn into instructions for many; so there is a version for each
/// set of these that processors have. To look words up in a table, or to compare those of some rows alone, is no faster with
/// them: gathering takes as long as loading one after another.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt",
    "aarch64+neon"
))]
pub(super) fn bits(words: &[u64], low: u64, width: u64) -> Vec<u64> {
    let (blocks, rest) = words.as_chunks::<{ Bits::BLOCK }>();
    debug_assert!(rest.is_empty(), "chunks have whole blocks");
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
        fn as_comparing_each(words in proptest::collection::vec(0u64..20, 128), low in 0u64..30, width in 0u64..30) {
            let is_in = |row: usize| (low..=low + width).contains(&words[row]);
            let found = bits(&words, low, width);
            prop_assert!((0..128).all(|row| (found[row / 64] >> (row % 64) & 1 != 0) == is_in(row)));
            prop_assert_eq!(bits(&words, 0, u64::MAX), [u64::MAX; 2]);
        }
    }
}
