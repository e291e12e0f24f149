//! Words of several columns made into one.

use crate::chunk::{Bits, Chunk};

/// Multiplying by it mixes lower bits into upper ones, as for [points](super::points).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Adds the word of one more column.
#[inline(always)]
fn join(joint: u64, word: u64) -> u64 {
    (joint.rotate_left(31) ^ word).wrapping_mul(MIX)
}

/// The joint word of these. Others may have the same, but hardly ever do.
pub(super) fn of(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, join)
}

/// The joint words of all rows of a chunk, in these columns.
pub(super) fn of_rows(columns: &[usize], chunk: &Chunk, joints: &mut Vec<u64>) {
    joints.clear();
    joints.extend(chunk.columns[columns[0]].words().iter().map(|&word| join(0, word)));
    for &column in &columns[1..] {
        let words = chunk.columns[column].words();
        joints.iter_mut().zip(words).for_each(|(joint, &word)| *joint = join(*joint, word));
    }
}

/// Which rows of a block have a value in each of these columns.
#[inline(always)]
pub(super) fn valid(columns: &[usize], chunk: &Chunk, rows: &Bits, block: usize) -> u64 {
    columns.iter().fold(rows.block(block), |rows, &column| rows & chunk.columns[column].valid.block(block))
}
