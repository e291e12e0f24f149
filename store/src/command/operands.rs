//! Arguments that several commands on collections have in common.

use super::{Call, CommandError};
use crate::resp::{Args, parse_integer};
use crate::value::Extended;
use std::ops::Range;

/// The sentence for a number of keys that is not one.
const FEW_KEYS: &str = "ERR numkeys should be greater than 0";

/// Reads an integer, and fails with `message` if it is none or below `least`.
pub(super) fn at_least(arg: &[u8], least: i64, message: &'static str) -> Result<i64, CommandError> {
    parse_integer(arg).filter(|&number| number >= least).ok_or(CommandError::fixed(message))
}

/// Reads an integer whose sign can be reversed.
pub(super) fn reversible(arg: &[u8]) -> Result<i64, CommandError> {
    match parse_integer(arg).ok_or(CommandError::NOT_AN_INTEGER)? {
        i64::MIN => Err(CommandError::fixed(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        )),
        number => Ok(number),
    }
}

/// Reads a count that is zero or more.
pub(super) fn count(arg: &[u8]) -> Result<usize, CommandError> {
    let count = parse_integer(arg).and_then(|count| usize::try_from(count).ok());
    count.ok_or(CommandError::NOT_POSITIVE)
}

/// Returns the range of indices from `start` to `stop`, both included. Negative ones count from the
/// end.
pub(super) fn index_range(start: i64, stop: i64, len: usize) -> Range<usize> {
    let from_end = |index: i64| {
        let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
        if index < 0 { len.checked_sub(distance) } else { Some(distance) }
    };
    let start = from_end(start).unwrap_or(0);
    let end = from_end(stop).map_or(0, |stop| stop.saturating_add(1)).min(len);
    if start < end { start..end } else { 0..0 }
}

/// Returns the index from the head; negative ones count from the end.
pub(super) fn index(index: i64, len: usize) -> Option<usize> {
    let index = if index < 0 { index + len as i64 } else { index };
    usize::try_from(index).ok().filter(|&index| index < len)
}

/// Arguments of the commands that pop from one of several keys: `numkeys key.. end [COUNT count]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MultiPop<'a, End> {
    pub(super) keys: Args<'a>,
    pub(super) end: End,
    pub(super) count: usize,
}

impl<'a, End> MultiPop<'a, End> {
    /// Reads the arguments from the number of keys at `at` on.
    pub(super) fn parse(
        args: Args<'a>,
        at: usize,
        parse_end: impl Fn(&[u8]) -> Option<End>,
    ) -> Result<Self, CommandError> {
        let keys = at_least(args.at(at), 1, FEW_KEYS)? as usize;
        let rest = args.skip(keys.saturating_add(at + 1));
        let end = rest.get(0).and_then(parse_end).ok_or(CommandError::SYNTAX)?;
        let mut count = None;
        let mut options = rest.skip(1);
        while let Some(value) = options.get(1).filter(|_| options.is(0, "count") && count.is_none()) {
            count = Some(at_least(value, 1, "ERR count should be greater than 0")? as usize);
            options = options.skip(2);
        }
        if !options.is_empty() {
            return Err(CommandError::SYNTAX);
        }
        Ok(Self { keys: args.skip(at + 1).take(keys), end, count: count.unwrap_or(1) })
    }
}

/// Reads the time that a command may wait, in seconds. Returns when to give up; `None` is never.
pub(super) fn deadline(call: &Call<'_, '_>, arg: &[u8]) -> Result<Option<u64>, CommandError> {
    let seconds = Extended::parse(arg);
    let seconds = seconds.ok_or(CommandError::fixed("ERR timeout is not a float or out of range"))?;
    match seconds.ceil_thousandfold() {
        i64::MAX => Err(CommandError::fixed("ERR timeout is out of range")),
        0 => Ok(None),
        ..0 => Err(CommandError::fixed("ERR timeout is negative")),
        milliseconds => Ok(Some(call.now().saturating_add(milliseconds.unsigned_abs()))),
    }
}

#[cfg(test)]
mod tests {
    use super::{index, index_range};

    #[test]
    fn indices_count_from_either_end() {
        assert_eq!(index_range(0, -1, 3), 0..3);
        assert_eq!(index_range(-2, 9, 3), 1..3);
        assert_eq!(index_range(-9, 0, 3), 0..1);
        assert_eq!(index_range(2, 1, 3), 0..0);
        assert_eq!(index_range(3, 5, 3), 0..0);
        assert_eq!(index_range(0, -4, 3), 0..0);
        assert_eq!(index_range(i64::MIN, i64::MAX, 3), 0..3);
        assert_eq!((index(-1, 3), index(3, 3), index(-4, 3)), (Some(2), None, None));
        assert_eq!((index(i64::MIN, 3), index(i64::MAX, 3)), (None, None));
    }
}
