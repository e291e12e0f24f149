//! Times of expiry among the arguments of a command.

use super::CommandError;
use crate::resp::parse_integer;

/// How a time is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeUnit {
    /// In seconds, not milliseconds.
    pub(super) is_seconds: bool,
    /// Counted from now, not from 1970.
    pub(super) is_relative: bool,
}

impl TimeUnit {
    pub(super) const SECONDS: Self = Self { is_seconds: true, is_relative: true };
    pub(super) const MILLISECONDS: Self = Self { is_seconds: false, is_relative: true };
    pub(super) const SECONDS_AT: Self = Self { is_seconds: true, is_relative: false };
    pub(super) const MILLISECONDS_AT: Self = Self { is_seconds: false, is_relative: false };

    /// Returns the unit that a word of SET or GETEX names.
    pub(super) fn from_option(word: &[u8]) -> Option<Self> {
        let units = [
            ("ex", Self::SECONDS),
            ("px", Self::MILLISECONDS),
            ("exat", Self::SECONDS_AT),
            ("pxat", Self::MILLISECONDS_AT),
        ];
        units.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word)).map(|(_, unit)| *unit)
    }

    /// Converts a time to ms since 1970, which may be before; `None` if it is too large.
    pub(super) fn to_milliseconds(self, time: i64, now: u64) -> Option<i64> {
        let time = if self.is_seconds { time.checked_mul(1000)? } else { time };
        if self.is_relative { time.checked_add_unsigned(now) } else { Some(time) }
    }

    /// Reads a time that has to be positive, as SET takes it. Returns it in ms since 1970.
    pub(super) fn read_positive(self, text: &[u8], now: u64, name: &str) -> Result<u64, CommandError> {
        let time = parse_integer(text).ok_or(CommandError::NOT_AN_INTEGER)?;
        let at = (time > 0).then(|| self.to_milliseconds(time, now)).flatten();
        at.and_then(|at| u64::try_from(at).ok()).ok_or_else(|| CommandError::invalid_expiry(name))
    }
}
