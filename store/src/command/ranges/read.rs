//! RANGE and RANGECOUNT.

use super::super::{Call, CommandError, CommandResult, Reach};
use super::bounds::{KeyBounds, NOT_ORDERED, limit, order_swapped};
use crate::keyspace::KeyCut;
use crate::resp::Args;
use crate::value::ValueRef;

/// The error for values, if the user may read some keys only. The keys are seen by KEYS as well.
const MAY_NOT_READ: CommandError = CommandError::fixed("NOPERM VALUES takes the right to read all keys");

/// The options of RANGE.
struct RangeOptions<'a> {
    is_reverse: bool,
    has_values: bool,
    limit: usize,
    /// The last key of the page before.
    after: Option<&'a [u8]>,
}

impl<'a> RangeOptions<'a> {
    fn read(args: Args<'a>, call: &Call<'_, '_>) -> Result<Self, CommandError> {
        let mut options = Self { is_reverse: false, has_values: false, limit: usize::MAX, after: None };
        let mut at = 3;
        while let Some(name) = args.get(at) {
            match name.to_ascii_lowercase().as_slice() {
                b"rev" => options.is_reverse = true,
                b"values" => options.has_values = true,
                b"limit" => {
                    at += 1;
                    options.limit = limit(call, at)?;
                }
                b"after" => {
                    at += 1;
                    options.after = Some(args.get(at).ok_or(CommandError::SYNTAX)?);
                }
                _ => return Err(CommandError::SYNTAX),
            }
            at += 1;
        }
        Ok(options)
    }

    /// Cuts off what pages before had.
    fn rest<'c>(&self, from: KeyCut<'c>, to: KeyCut<'c>) -> (KeyCut<'c>, KeyCut<'c>)
    where
        'a: 'c,
    {
        let Some(after) = self.after else { return (from, to) };
        if self.is_reverse {
            let end = KeyCut::Before(after);
            (from, if end.is_before(&to) { end } else { to })
        } else {
            let start = KeyCut::After(after);
            (if from.is_before(&start) { start } else { from }, to)
        }
    }
}

/// Values are read of any key.
pub(super) fn reach(args: Args<'_>) -> Option<Reach> {
    let mut at = 3;
    while at < args.len() {
        if args.is(at, "values") {
            return Some(Reach { is_write: false, refusal: MAY_NOT_READ });
        }
        at += if args.is(at, "limit") || args.is(at, "after") { 2 } else { 1 };
    }
    None
}

pub(super) fn range(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let bounds = KeyBounds::read(args)?;
    let options = RangeOptions::read(args, call)?;
    order_swapped(call);
    let (from, to) = options.rest(bounds.from(), bounds.to());
    let keys = call.keys.range(from, to, options.is_reverse).ok_or(NOT_ORDERED)?;
    let found: Vec<&[u8]> = keys.take(options.limit).collect();
    call.reply.array(found.len() * if options.has_values { 2 } else { 1 });
    let is_tracked = options.has_values && call.session.notes_reads();
    for key in found {
        call.reply.bulk(key);
        if options.has_values {
            if is_tracked {
                call.server.note_read(key, call.session.id());
            }
            match call.keys.get(key).map(ValueRef::as_string) {
                Some(Ok(value)) => value.write_to(call.reply),
                Some(Err(_)) | None => call.reply.null(),
            }
        }
    }
    call.done()
}

pub(super) fn rangecount(call: &mut Call<'_, '_>) -> CommandResult {
    let bounds = KeyBounds::read(call.args)?;
    order_swapped(call);
    let count = call.keys.count_range(bounds.from(), bounds.to()).ok_or(NOT_ORDERED)?;
    call.count(count)
}
