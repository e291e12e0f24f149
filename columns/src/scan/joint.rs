//! Words of several columns made into one.

use crate::chunk::{Bits, Chunk};
use crate::statistics::Statistics;
use crate::value::Kind;
use multiversion::multiversion;

/// Columns that are put together: what they have in a row becomes one *joint word*.
///
/// Where there is room for all that they have ever had, each has bits of its own in it, so that rows have the same joint word
/// if, and only if, they have the same in all columns. Otherwise they are mixed, and others may have the same word, though
/// hardly ever.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Joint {
    parts: Box<[Part]>,
    pub is_exact: bool,
}

/// A column that is put together with others. Perhaps by *bins*, of which each has so many keys in a row as differ in their
/// lower bits alone: so ranges can be asked for together with words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    column: usize,
    kind: Kind,
    /// How many bits these are.
    bits: u32,
    least: u64,
    /// Where its bits in the joint word begin.
    shift: u32,
}

/// A column that is to be put together with others, and how many lower bits of its keys are left out.
pub(super) type Wanted = (usize, Kind, u32);

/// Multiplying by it mixes lower bits into upper ones, as for [points](super::points).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rows whose joint words are made together.
const BLOCK: usize = 256;

/// Adds what one more column has to a word.
#[inline(always)]
fn add(joint: u64, what: u64, shift: u32, is_exact: bool) -> u64 {
    if is_exact { joint | what << shift } else { (joint.rotate_left(31) ^ what).wrapping_mul(MIX) }
}

impl Joint {
    /// Of these columns, of which there are two at least, in rows of which this is known.
    pub fn new(columns: impl Iterator<Item = Wanted>, known: &Statistics) -> Self {
        let mut width = 0;
        let part = |(column, kind, bits): Wanted| {
            let bounds = known.bounds(column);
            let part = Part { column, kind, bits, least: bounds.least, shift: width % u64::BITS };
            width += u64::BITS - (bounds.greatest.saturating_sub(bounds.least) >> bits).leading_zeros();
            part
        };
        let parts = columns.map(part).collect();
        Self { parts, is_exact: width <= u64::BITS }
    }

    /// Of a single column, whose words are as they are.
    pub fn alone(column: usize) -> Self {
        let part = Part { column, kind: Kind::Unsigned, bits: 0, least: 0, shift: 0 };
        Self { parts: [part].into(), is_exact: true }
    }

    /// Its first column.
    pub fn first(&self) -> usize {
        self.parts[0].column
    }

    /// Whether a column is put together, key by key, with others.
    pub fn has(&self, column: usize) -> bool {
        self.parts.iter().any(|part| part.column == column && part.bits == 0)
    }

    /// The joint words of rows that have these keys: of each column any from the first to the last, all of which some row may
    /// have had. Only the last column may have more than one that count as different.
    pub fn of(&self, keys: &[(u64, u64)]) -> impl Iterator<Item = u64> {
        let mut joint = 0;
        let Some((&last, others)) = self.parts.split_last() else { unreachable!("there is a column") };
        for (part, &(key, _)) in others.iter().zip(keys) {
            joint = add(joint, part.of(key), part.shift, self.is_exact);
        }
        let (from, to) = keys[others.len()];
        (last.of(from)..=last.of(to)).map(move |what| add(joint, what, last.shift, self.is_exact))
    }

    /// From which key to which those are of a column that have a joint word, if that column is put to it by bins.
    pub fn range(&self, column: usize, joint: u64) -> Option<(u64, u64)> {
        let last =
            self.parts.last().filter(|last| self.is_exact && last.column == column && last.bits > 0)?;
        let low = (joint >> last.shift << last.bits).wrapping_add(last.least);
        Some((low, low.saturating_add((1 << last.bits) - 1)))
    }

    /// The words of all rows of a chunk; those that are put together are put into `joints`.
    pub fn words<'a>(&self, chunk: &'a Chunk, joints: &'a mut Vec<u64>) -> &'a [u64] {
        if let [part] = *self.parts {
            return chunk.columns[part.column].words();
        }
        joints.resize(chunk.columns[self.first()].words().len(), 0);
        // A few at a time, so that they stay in the first cache.
        for (block, joints) in joints.chunks_mut(BLOCK).enumerate() {
            for (place, part) in self.parts.iter().enumerate() {
                let words = &chunk.columns[part.column].words()[block * BLOCK..];
                put(joints, words, *part, place == 0, self.is_exact);
            }
        }
        joints
    }

    /// Which rows of a block have a value in each of the columns.
    #[inline(always)]
    pub fn valid(&self, chunk: &Chunk, rows: &Bits, block: usize) -> u64 {
        let valid = self.parts.iter().map(|part| chunk.columns[part.column].valid.block(block));
        valid.fold(rows.block(block), |rows, valid| rows & valid)
    }
}

impl Part {
    /// What is put together of a key.
    #[inline(always)]
    fn of(self, key: u64) -> u64 {
        key.wrapping_sub(self.least) >> self.bits
    }
}

/// Puts what a column has into joint words, to what is there already unless it is the first.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn put(joints: &mut [u64], words: &[u64], part: Part, is_first: bool, is_exact: bool) {
    let keys = part.kind.keys();
    let rows = joints.iter_mut().zip(words);
    match (is_first, is_exact) {
        (true, true) => rows.for_each(|(joint, &word)| *joint = add(0, part.of(keys.of(word)), 0, true)),
        (false, true) => {
            rows.for_each(|(joint, &word)| *joint = add(*joint, part.of(keys.of(word)), part.shift, true));
        }
        (true, false) => rows.for_each(|(joint, &word)| *joint = add(0, part.of(keys.of(word)), 0, false)),
        (false, false) => {
            rows.for_each(|(joint, &word)| *joint = add(*joint, part.of(keys.of(word)), 0, false))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Cell;
    use crate::statistics::Bounds;
    use proptest::prelude::*;

    proptest! {
        /// Rows that are asked for have one of the joint words, and others have none of them.
        #[test]
        fn as_comparing_each_key(
            rows in proptest::collection::vec((0u64..3, 0u64..3, any::<u8>()), 64),
            asked in (0u64..3, 0u64..3, any::<u8>(), any::<u8>()),
            bits in 0u32..8,
            is_float: bool,
            is_wide: bool,
        ) {
            let kinds = [Kind::Int, Kind::Unsigned, if is_float { Kind::Float } else { Kind::Int }];
            let third = |byte: u8| {
                let number = i64::from(byte) - 100;
                if is_float { (number as f64).to_bits() } else { number.cast_unsigned() }
            };
            let mut chunk = Chunk::new(&kinds, rows.len());
            for &(a, b, c) in &rows {
                chunk.push([a, b, third(c)].map(|word| Cell { word: Some(word), text: "" }));
            }
            // Of numbers that are not whole those of one sign and power of two are one.
            let bits = if is_float { 52 } else { bits };
            let key = |column: usize, word: u64| kinds[column].key(word);
            let last = if is_wide { u64::MAX } else { key(1, 2) };
            let mut known = Statistics::new(&kinds);
            known.note(
                &[
                    Bounds { least: key(0, 0), greatest: key(0, 2) },
                    Bounds { least: key(1, 0), greatest: last },
                    Bounds { least: key(2, third(0)), greatest: key(2, third(255)) },
                ],
                &[],
            );
            let ends = [asked.2, asked.3].map(|byte| key(2, third(byte)));
            let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let of = [asked.0, asked.1].map(|word| (word, word));
            let mut wanted = vec![(key(0, of[0].0), key(0, of[0].0)), of[1], (low, high)];
            let mut columns = vec![(0, kinds[0], 0), (1, kinds[1], 0), (2, kinds[2], bits)];
            let mut joints = Vec::new();
            let bin = |key: u64| (key - known.bounds(2).least) >> bits;
            for has_bins in [true, false] {
                let joint = Joint::new(columns.iter().copied(), &known);
                prop_assert_eq!(joint.is_exact, !is_wide);
                let words: Vec<u64> = joint.of(&wanted).collect();
                for (row, word) in joint.words(&chunk, &mut joints).iter().enumerate() {
                    let (a, b, c) = rows[row];
                    let is_near = (bin(low)..=bin(high)).contains(&bin(key(2, third(c))));
                    let is_asked = (a, b) == (asked.0, asked.1) && (!has_bins || is_near);
                    prop_assert_eq!(words.contains(word), is_asked);
                }
                wanted.pop();
                columns.pop();
            }
        }
    }
}
