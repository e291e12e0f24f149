//! Finds a record that lies in the buffer of a file as a whole, so that it need not be copied.

use super::codes::{EXPIRY_MS, EXPIRY_SECONDS, FREQUENCY, IDLE};
use super::extent::{is_known, pass_value};
use super::input::{Bytes, Input, Length, Pass};
use super::reader::{of_ms, of_seconds};
use super::record::RecordView;
use std::ops::Range;

/// Where a record is, in bytes from its start.
#[derive(Debug)]
pub(super) struct RecordPlace {
    key: Range<usize>,
    value: Range<usize>,
    code: u8,
    expires_at: Option<u64>,
    idle_seconds: Option<u64>,
}

/// Finds the record with which bytes begin. Returns `None` if it is not there as a whole, has a key
/// that is not plain text, or is none: then it is read in the other way, which says what is wrong.
pub(super) fn find(bytes: &[u8]) -> Option<RecordPlace> {
    let mut input = Input::new(bytes, 0);
    let (mut expires_at, mut idle_seconds) = (None, None);
    let code = loop {
        match input.byte().ok()? {
            EXPIRY_MS => expires_at = Some(of_ms(input.array().ok()?)),
            EXPIRY_SECONDS => expires_at = Some(of_seconds(input.array().ok()?)),
            IDLE => idle_seconds = Some(input.length().ok()?),
            FREQUENCY => drop(input.byte().ok()?),
            code if is_known(code) => break code,
            _ => return None,
        }
    };
    let Length::Plain(length) = input.length_or_code().ok()? else { return None };
    let position = |input: &Input<'_>| bytes.len() - input.left();
    let start = position(&input);
    input.pass(length).ok()?;
    let end = position(&input);
    pass_value(code, &mut input).ok()?;
    Some(RecordPlace { key: start..end, value: end..position(&input), code, expires_at, idle_seconds })
}

impl RecordPlace {
    /// Returns the length of the record.
    pub(super) fn len(&self) -> usize {
        self.value.end
    }

    /// Returns the record of a database whose bytes these are. They begin at this offset.
    pub(super) fn view(self, database: u64, bytes: &[u8], start: u64) -> RecordView<'_> {
        RecordView {
            database,
            key: &bytes[self.key],
            expires_at: self.expires_at,
            idle_seconds: self.idle_seconds,
            code: self.code,
            offset: start + self.value.start as u64,
            bytes: &bytes[self.value],
        }
    }
}
