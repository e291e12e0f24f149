//! XLEN, XRANGE, XREVRANGE.

use super::super::CommandError;
use super::{ids, write_entries};
use crate::resp::{Args, Reply, parse_integer};
use crate::value::{Stream, StreamId, ValueRef};

pub(super) fn xlen(value: Option<ValueRef<'_>>, _: Args<'_>, reply: &mut Reply) -> Result<(), CommandError> {
    reply.count(value.map(ValueRef::as_stream).transpose()?.map_or(0, |stream| stream.log().len()));
    Ok(())
}

/// Reads the options after a range. Returns the number of entries; `None` for all.
fn count(mut options: Args<'_>) -> Result<Option<usize>, CommandError> {
    let mut count = None;
    while !options.is_empty() {
        let value = options.get(1).filter(|_| options.is(0, "count")).ok_or(CommandError::SYNTAX)?;
        let number = parse_integer(value).ok_or(CommandError::NOT_AN_INTEGER)?;
        // Redis takes -1, which stands for all inside of it, for none too.
        count = Some(usize::try_from(number).unwrap_or(0));
        options = options.skip(2);
    }
    Ok(count)
}

/// Returns the stream to be shown, and of how many entries; writes the reply if there is none.
fn begin<'v>(
    value: Option<ValueRef<'v>>,
    count: Option<usize>,
    reply: &mut Reply,
) -> Result<Option<(&'v Stream, usize)>, CommandError> {
    let Some(stream) = value.map(ValueRef::as_stream).transpose()? else {
        reply.array(0);
        return Ok(None);
    };
    if count == Some(0) {
        reply.null_array();
        return Ok(None);
    }
    Ok(Some((stream, count.unwrap_or(usize::MAX))))
}

/// Reads a range.
fn bounds(start: &[u8], end: &[u8]) -> Result<(StreamId, StreamId), CommandError> {
    Ok((ids::range_start(start)?, ids::range_end(end)?))
}

pub(super) fn xrange(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let (from, to) = bounds(args.at(2), args.at(3))?;
    if let Some((stream, count)) = begin(value, count(args.skip(4))?, reply)? {
        write_entries(reply, stream.log().range(from, to).take(count));
    }
    Ok(())
}

pub(super) fn xrevrange(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let (from, to) = bounds(args.at(3), args.at(2))?;
    if let Some((stream, count)) = begin(value, count(args.skip(4))?, reply)? {
        write_entries(reply, stream.log().range_back(from, to).take(count));
    }
    Ok(())
}
