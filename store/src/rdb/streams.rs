//! Streams: blocks as listpacks, what is known of the entries, and the groups.
//!
//! IDs are two lengths, but those of pending entries and of blocks 16 bytes. Times are 8 bytes,
//! the low ones first.

use super::RdbError;
use super::codes::{STREAM, STREAM_3};
use super::encode::{Sink, put_count, put_string};
use super::input::{Bytes, Input, Pass};
use crate::value::{ConsumerGroup, EntryLog, MAX_STREAM_COUNT, Stream, StreamId, StreamState};

/// Bytes of an ID.
const ID: u64 = 16;
/// Bytes of a time.
const TIME: u64 = 8;

/// Writes a stream.
pub(super) fn put_stream(sink: &mut impl Sink, stream: &Stream) {
    put_count(sink, stream.log().blocks().len());
    stream.log().blocks().for_each(|(id, block)| put_block(sink, id, block));
    put_stream_tail(sink, stream);
}

/// Writes a block of a stream.
pub(super) fn put_block(sink: &mut impl Sink, id: StreamId, block: &[u8]) {
    put_count(sink, ID as usize);
    sink.put(&id.to_bytes());
    put_count(sink, block.len());
    sink.put(block);
}

/// Writes what is after the blocks of a stream.
pub(super) fn put_stream_tail(sink: &mut impl Sink, stream: &Stream) {
    let log = stream.log();
    let StreamState { last_id, first_id, max_deleted_id, entries_added } = *log.state();
    put_count(sink, log.len());
    [last_id, first_id, max_deleted_id].into_iter().for_each(|id| put_id(sink, id));
    put_number(sink, entries_added);
    put_count(sink, stream.groups().len());
    for (name, group) in stream.groups() {
        put_string(sink, name);
        put_group(sink, group);
    }
}

fn put_number(sink: &mut impl Sink, number: u64) {
    put_count(sink, number as usize);
}

fn put_id(sink: &mut impl Sink, id: StreamId) {
    put_number(sink, id.ms);
    put_number(sink, id.seq);
}

fn put_group(sink: &mut impl Sink, group: &ConsumerGroup) {
    put_id(sink, group.last_id);
    // All ones are -1: not known.
    put_number(sink, group.entries_read.unwrap_or(u64::MAX));
    put_count(sink, group.pending_len());
    for (id, pending) in group.pending_from(StreamId::MIN) {
        sink.put(&id.to_bytes());
        sink.put(&pending.delivered_at.to_le_bytes());
        put_number(sink, pending.deliveries);
    }
    put_count(sink, group.consumers().len());
    for (name, consumer) in group.consumers() {
        put_string(sink, name);
        sink.put(&consumer.seen_at.to_le_bytes());
        put_count(sink, consumer.pending_len());
        consumer.pending_from(StreamId::MIN).for_each(|id| sink.put(&id.to_bytes()));
    }
}

/// Reads a stream of a type.
pub(super) fn decode_stream(code: u8, input: &mut Input<'_>) -> Result<Stream, RdbError> {
    let mut blocks = Vec::new();
    for _ in 0..input.length()? {
        let id = input.string()?;
        let id = <[u8; ID as usize]>::try_from(&*id);
        let id = id.map_err(|_| input.malformed("the ID of a block of a stream has not 16 bytes"))?;
        blocks.push((StreamId::from_bytes(id), input.string()?.into_owned()));
    }
    let log = EntryLog::from_blocks(blocks.into_iter());
    let mut log = log.ok_or_else(|| input.malformed("a block of a stream is malformed"))?;
    if input.length()? != log.len() as u64 {
        return Err(input.malformed("a stream states another number of entries than its blocks have"));
    }
    let mut state = StreamState { last_id: read_id(input)?, ..StreamState::default() };
    if log.last().is_some_and(|last| state.last_id < last) {
        return Err(input.malformed("the last ID of a stream is less than that of an entry"));
    }
    if code == STREAM {
        let first = log.range(StreamId::MIN, StreamId::MAX).next();
        state.first_id = first.map_or(StreamId::MIN, |entry| entry.id);
        state.entries_added = log.len() as u64;
    } else {
        state.first_id = read_id(input)?;
        state.max_deleted_id = read_id(input)?;
        state.entries_added = read_count(input)?;
    }
    log.set_state(state);
    let mut stream = Stream::new(log);
    for _ in 0..input.length()? {
        let name = input.string()?;
        let group = decode_group(code, input, stream.log())?;
        if !stream.add_group(&name, group) {
            return Err(input.malformed("a stream has a group twice"));
        }
    }
    Ok(stream)
}

fn read_id(input: &mut Input<'_>) -> Result<StreamId, RdbError> {
    Ok(StreamId { ms: input.length()?, seq: input.length()? })
}

/// Reads a count. Redis' may be beyond those that commands take.
fn read_count(input: &mut Input<'_>) -> Result<u64, RdbError> {
    Ok(input.length()?.min(MAX_STREAM_COUNT))
}

/// Reads a time, which may be before 1970.
fn read_time(input: &mut Input<'_>) -> Result<u64, RdbError> {
    Ok(u64::try_from(i64::from_le_bytes(input.array()?)).unwrap_or(0))
}

fn decode_group(code: u8, input: &mut Input<'_>, log: &EntryLog) -> Result<ConsumerGroup, RdbError> {
    let last_id = read_id(input)?;
    let entries_read = match code {
        STREAM => log.entries_up_to(last_id),
        _ => Some(input.length()?).filter(|read| *read != u64::MAX).map(|read| read.min(MAX_STREAM_COUNT)),
    };
    let mut group = ConsumerGroup::new(last_id, entries_read);
    let mut pending = std::collections::BTreeMap::new();
    for _ in 0..input.length()? {
        let id = StreamId::from_bytes(input.array()?);
        if pending.insert(id, (read_time(input)?, read_count(input)?)).is_some() {
            return Err(input.malformed("a group has a pending entry twice"));
        }
    }
    for _ in 0..input.length()? {
        let name = input.string()?;
        let seen_at = read_time(input)?;
        if code == STREAM_3 {
            // When it last read something, which Redis 7.0 does not have.
            read_time(input)?;
        }
        if !group.create_consumer(&name, seen_at) {
            return Err(input.malformed("a group has a consumer twice"));
        }
        for _ in 0..input.length()? {
            let id = StreamId::from_bytes(input.array()?);
            let found = pending.remove(&id);
            let (delivered_at, deliveries) =
                found.ok_or_else(|| input.malformed("an entry of a consumer is not pending in its group"))?;
            group.deliver(id, &name, delivered_at, deliveries);
        }
    }
    match pending.is_empty() {
        true => Ok(group),
        false => Err(input.malformed("a pending entry belongs to no consumer")),
    }
}

/// Passes a stream of a type on.
pub(super) fn pass_stream(code: u8, stream: &mut impl Pass) -> Result<(), RdbError> {
    for _ in 0..stream.length()? {
        stream.pass_string()?;
        stream.pass_string()?;
    }
    // The number of entries and an ID; then two IDs more, and the number that were added.
    for _ in 0..if code == STREAM { 3 } else { 8 } {
        stream.length()?;
    }
    for _ in 0..stream.length()? {
        stream.pass_string()?;
        // An ID, and the number of entries that were read.
        for _ in 0..if code == STREAM { 2 } else { 3 } {
            stream.length()?;
        }
        for _ in 0..stream.length()? {
            stream.pass(ID + TIME)?;
            stream.length()?;
        }
        for _ in 0..stream.length()? {
            stream.pass_string()?;
            stream.pass(if code == STREAM_3 { 2 * TIME } else { TIME })?;
            for _ in 0..stream.length()? {
                stream.pass(ID)?;
            }
        }
    }
    Ok(())
}
