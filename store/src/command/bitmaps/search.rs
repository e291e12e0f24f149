//! BITCOUNT and BITPOS.

use super::super::{Call, CommandError, CommandResult};
use super::bits::{bit, read};
use crate::resp::parse_integer;
use std::ops::Range;

/// Reads whether indices count bits, and not bytes.
fn counts_bits(arg: &[u8]) -> Result<bool, CommandError> {
    match arg.to_ascii_lowercase().as_slice() {
        b"bit" => Ok(true),
        b"byte" => Ok(false),
        _ => Err(CommandError::SYNTAX),
    }
}

/// Returns the bits between two indices, both included. Negative ones count from the end; those
/// before the first are the first, unlike in lists.
fn bits_between(start: i64, end: i64, counts_bits: bool, bytes: usize) -> Range<usize> {
    let unit = if counts_bits { 1 } else { 8 };
    let total = (bytes * 8 / unit) as i64;
    let from_start = |index: i64| if index < 0 { index.saturating_add(total).max(0) } else { index };
    let (start, end) = (from_start(start), from_start(end).min(total - 1));
    if start > end { 0..0 } else { start as usize * unit..(end as usize + 1) * unit }
}

pub(super) fn bitcount(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let Some(bytes) = read(call, args.at(1))? else { return call.integer(0) };
    let range = match args.len() {
        2 => 0..bytes.len() * 8,
        4 | 5 => {
            let (start, end) = (call.integer_arg(2)?, call.integer_arg(3)?);
            if start < 0 && end < 0 && start > end {
                0..0
            } else {
                let counts_bits = args.get(4).map_or(Ok(false), counts_bits)?;
                bits_between(start, end, counts_bits, bytes.len())
            }
        }
        _ => return Err(CommandError::SYNTAX),
    };
    let count = count_ones(&bytes, range);
    call.count(count)
}

/// Counts the bits of a range that are 1.
fn count_ones(bytes: &[u8], range: Range<usize>) -> usize {
    let whole = range.start.next_multiple_of(8)..range.end / 8 * 8;
    if whole.start >= whole.end {
        return range.filter(|&offset| bit(bytes, offset)).count();
    }
    let ends = (range.start..whole.start).chain(whole.end..range.end);
    let between = &bytes[whole.start / 8..whole.end / 8];
    let ones = |word: &[u8; 8]| u64::from_ne_bytes(*word).count_ones() as usize;
    let (words, rest) = between.as_chunks();
    let rest = rest.iter().map(|byte| byte.count_ones() as usize);
    words.iter().map(ones).sum::<usize>()
        + rest.sum::<usize>()
        + ends.filter(|&offset| bit(bytes, offset)).count()
}

pub(super) fn bitpos(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let is_set = match parse_integer(args.at(2)).ok_or(CommandError::NOT_AN_INTEGER)? {
        0 => false,
        1 => true,
        _ => return Err(CommandError::fixed("ERR The bit argument must be 1 or 0.")),
    };
    let Some(bytes) = read(call, args.at(1))? else { return call.integer(if is_set { -1 } else { 0 }) };
    if args.len() > 6 {
        return Err(CommandError::SYNTAX);
    }
    let start = if args.len() > 3 { call.integer_arg(3)? } else { 0 };
    let counts_bits = args.get(5).map_or(Ok(false), counts_bits)?;
    let end = if args.len() > 4 { call.integer_arg(4)? } else { -1 };
    let range = bits_between(start, end, counts_bits, bytes.len());
    let position = match first(&bytes, range.clone(), is_set) {
        Some(position) => position as i64,
        // Zeros follow a string of ones, unless its end is given.
        None if !is_set && args.len() < 5 && !range.is_empty() => range.end as i64,
        None => -1,
    };
    call.integer(position)
}

/// Returns the first bit of a range that is 1, or 0.
fn first(bytes: &[u8], range: Range<usize>, is_set: bool) -> Option<usize> {
    let without = if is_set { 0 } else { 0xff };
    let mut at = range.start;
    while at < range.end {
        if at.is_multiple_of(8) {
            // Whole bytes without such a bit.
            let skipped = bytes[at / 8..].iter().take_while(|byte| **byte == without).count();
            at += skipped * 8;
        }
        if at >= range.end {
            return None;
        }
        if bit(bytes, at) == is_set {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{bit, bits_between, count_ones, first};

    #[test]
    fn indices_before_the_first_are_the_first() {
        assert_eq!(bits_between(i64::MIN, -7, false, 2), 0..8);
        assert_eq!(bits_between(-1, i64::MAX, false, 2), 8..16);
        assert_eq!(bits_between(3, 4, true, 2), 3..5);
        assert_eq!(bits_between(0, -1, false, 0), 0..0);
        assert_eq!(bits_between(5, 2, false, 2), 0..0);
    }

    #[test]
    fn bytes_and_words_are_the_same_as_bits() {
        let bytes: Vec<u8> = (0..40u8).map(|at| at.wrapping_mul(37)).chain([0, 0, 0xff, 0xff, 1]).collect();
        for start in 0..bytes.len() * 8 {
            for end in (start..bytes.len() * 8 + 1).step_by(3) {
                let ones = (start..end).filter(|&at| bit(&bytes, at)).count();
                assert_eq!(count_ones(&bytes, start..end), ones, "{start}..{end}");
                for is_set in [false, true] {
                    let found = (start..end).find(|&at| bit(&bytes, at) == is_set);
                    assert_eq!(first(&bytes, start..end, is_set), found, "{start}..{end}");
                }
            }
        }
    }
}
