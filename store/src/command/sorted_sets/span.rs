//! Intervals of ranks, scores or names, and which members are in them.

use crate::command::CommandError;
use crate::command::operands::index_range;
use crate::resp::{parse_double, parse_integer};
use crate::value::SortedSet;
use std::ops::Range;

/// What an interval is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Rank,
    Score,
    Name,
}

/// An interval in a sorted set.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span<'a> {
    /// Both included; negative ones count from the end.
    Rank(i64, i64),
    Score(ScoreEnd, ScoreEnd),
    /// Meaningful if all scores are equal.
    Name(NameEnd<'a>, NameEnd<'a>),
}

/// An end of an interval of scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoreEnd {
    score: f64,
    is_excluded: bool,
}

/// An end of an interval of names.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum NameEnd<'a> {
    /// Before all names.
    Least,
    /// After all names.
    Greatest,
    Included(&'a [u8]),
    Excluded(&'a [u8]),
}

impl ScoreEnd {
    fn parse(arg: &[u8]) -> Option<Self> {
        let (is_excluded, text) = match arg {
            [b'(', text @ ..] => (true, text),
            text => (false, text),
        };
        Some(Self { score: parse_as_c(text)?, is_excluded })
    }
}

/// Reads a number as C's `strtod` does, which Redis calls here without checks of its own: spaces
/// may come before it, nothing is zero, a number beyond the range is infinite, and one that is too
/// near zero is zero.
fn parse_as_c(text: &[u8]) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    let text = text.trim_ascii_start();
    parse_double(text).or_else(|| {
        let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        (number.is_infinite() || number == 0.0).then_some(number)
    })
}

impl<'a> NameEnd<'a> {
    fn parse(arg: &'a [u8]) -> Option<Self> {
        match arg {
            b"-" => Some(Self::Least),
            b"+" => Some(Self::Greatest),
            [b'[', name @ ..] => Some(Self::Included(name)),
            [b'(', name @ ..] => Some(Self::Excluded(name)),
            _ => None,
        }
    }

    /// Reads both ends of an interval.
    pub(in super::super) fn parse_both(min: &'a [u8], max: &'a [u8]) -> Result<(Self, Self), CommandError> {
        match (Self::parse(min), Self::parse(max)) {
            (Some(min), Some(max)) => Ok((min, max)),
            _ => Err(CommandError::fixed("ERR min or max not valid string range item")),
        }
    }

    /// Returns true if a name is before an interval that begins here.
    fn is_after(self, name: &[u8]) -> bool {
        match self {
            Self::Least => false,
            Self::Greatest => true,
            Self::Included(start) => name < start,
            Self::Excluded(start) => name <= start,
        }
    }

    /// Returns true if a name is not yet after an interval that ends here.
    fn is_not_before(self, name: &[u8]) -> bool {
        match self {
            Self::Least => false,
            Self::Greatest => true,
            Self::Included(end) => name <= end,
            Self::Excluded(end) => name < end,
        }
    }
}

impl<'a> Span<'a> {
    /// Reads the ends of an interval.
    pub(super) fn parse(axis: Axis, min: &'a [u8], max: &'a [u8]) -> Result<Self, CommandError> {
        match axis {
            Axis::Rank => {
                let rank = |arg| parse_integer(arg).ok_or(CommandError::NOT_AN_INTEGER);
                Ok(Self::Rank(rank(min)?, rank(max)?))
            }
            Axis::Score => match (ScoreEnd::parse(min), ScoreEnd::parse(max)) {
                (Some(min), Some(max)) => Ok(Self::Score(min, max)),
                _ => Err(CommandError::fixed("ERR min or max is not a float")),
            },
            Axis::Name => NameEnd::parse_both(min, max).map(|(min, max)| Self::Name(min, max)),
        }
    }

    /// Returns the ranks of the members in the interval. If `is_reverse`, the ranks in the interval
    /// count from the last member.
    pub(super) fn ranks(self, set: &SortedSet, is_reverse: bool) -> Range<usize> {
        let range = match self {
            Self::Rank(start, stop) => {
                let range = index_range(start, stop, set.len());
                if is_reverse { set.len() - range.end..set.len() - range.start } else { range }
            }
            Self::Score(min, max) => {
                let is_before = |score, _: &[u8]| score < min.score || min.is_excluded && score == min.score;
                let is_until = |score, _: &[u8]| score < max.score || !max.is_excluded && score == max.score;
                set.partition_point(is_before)..set.partition_point(is_until)
            }
            Self::Name(min, max) => {
                let start = set.partition_point(|_, name| min.is_after(name));
                start..set.partition_point(|_, name| max.is_not_before(name))
            }
        };
        if range.start < range.end { range } else { 0..0 }
    }
}

#[cfg(test)]
mod tests {
    use super::parse_as_c;

    #[test]
    fn ends_are_read_as_c_does() {
        let good =
            [("", 0.0), (" 1", 1.0), ("1e999", f64::INFINITY), ("-inf", f64::NEG_INFINITY), ("0x10", 16.0)];
        for (text, number) in good {
            assert_eq!(parse_as_c(text.as_bytes()), Some(number), "{text}");
        }
        for text in [" ", "1 ", "nan", "x", "1e"] {
            assert_eq!(parse_as_c(text.as_bytes()), None, "{text}");
        }
    }
}
