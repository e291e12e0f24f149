//! Commands on streams.
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `ids` | IDs among the arguments |
//! | `add` | XADD, XSETID |
//! | `trim` | XTRIM, XDEL, and how XADD trims |
//! | `range` | XLEN, XRANGE, XREVRANGE |
//! | `read` | XREAD, XREADGROUP |
//! | `deliver` | what XREADGROUP changes in a group |
//! | `groups` | XGROUP, XACK |
//! | `pending` | XPENDING |
//! | `claim` | XCLAIM |
//! | `autoclaim` | XAUTOCLAIM |
//! | `info` | XINFO |
//! | `replay` | what is replayed of changes in groups |
//!
//! The log has no IDs or times that a replay would make anew. A group's changes are replayed by
//! XCLAIM with the option SEEN, which Redis does not have: when the consumer was last active.

mod add;
mod autoclaim;
mod claim;
mod deliver;
mod groups;
mod ids;
mod info;
mod pending;
mod range;
mod read;
mod replay;
mod table;
mod trim;

pub(super) use table::COMMANDS;

use super::error::printed;
use super::{Call, CommandError, EventClass};
use crate::resp::Reply;
use crate::value::{ConsumerGroup, Stream, StreamEntry, StreamId, Value, ValueRef};

/// Returns the stream of a key to be read, if there is such a key.
fn read<'a>(call: &'a Call<'_, '_>, key: &[u8]) -> Result<Option<&'a Stream>, CommandError> {
    call.keys.get(key).map(ValueRef::as_stream).transpose()
}

/// Returns the stream of a key to be changed, if there is such a key.
fn write<'a>(call: &'a mut Call<'_, '_>, key: &[u8]) -> Result<Option<&'a mut Stream>, CommandError> {
    call.keys.get_mut(key).map(Value::as_stream_mut).transpose()
}

/// Returns a group of a stream to be read.
fn read_group<'a>(
    call: &'a Call<'_, '_>,
    key: &[u8],
    group: &[u8],
) -> Result<(&'a Stream, &'a ConsumerGroup), CommandError> {
    let stream = read(call, key)?;
    let found = stream.and_then(|stream| Some((stream, stream.group(group)?)));
    found.ok_or_else(|| no_such_key_or_group(key, group))
}

/// Returns the error that there is no such key, or no such group.
fn no_such_key_or_group(key: &[u8], group: &[u8]) -> CommandError {
    quoted(["NOGROUP No such key '", "' or consumer group '", "'"], [key, group])
}

/// Returns the error that a key has no such group.
fn no_such_group(key: &[u8], group: &[u8]) -> CommandError {
    quoted(["NOGROUP No such consumer group '", "' for key name '", "'"], [group, key])
}

/// Returns an error with two arguments in its midst, as C prints them.
fn quoted(texts: [&str; 3], args: [&[u8]; 2]) -> CommandError {
    let [first, second] = args.map(|arg| printed(arg, usize::MAX));
    let [before, between, after] = texts.map(str::as_bytes);
    CommandError::from_bytes([before, first, between, second, after].concat())
}

/// Returns the error of options or numbers of arguments that a subcommand does not take.
fn wrong_subcommand(call: &Call<'_, '_>, container: &str) -> CommandError {
    let before = "ERR unknown subcommand or wrong number of arguments for '";
    CommandError::with_arg(before, printed(call.args.at(1), 128), &format!("'. Try {container} HELP."))
}

/// Notes a change of a group: as in Redis, sessions that watch the key do not see it.
fn group_changed(call: &mut Call<'_, '_>, event: &'static str, key: &[u8]) {
    call.effects.note_change(EventClass::Stream, event, call.keys.database(), key);
}

/// Writes an ID.
fn write_id(reply: &mut Reply, id: StreamId) {
    let (mut ms, mut seq) = (itoa::Buffer::new(), itoa::Buffer::new());
    let (ms, seq) = (ms.format(id.ms).as_bytes(), seq.format(id.seq).as_bytes());
    // Two numbers of 20 digits at most.
    let mut text = [b'-'; 41];
    text[..ms.len()].copy_from_slice(ms);
    let end = ms.len() + 1 + seq.len();
    text[ms.len() + 1..end].copy_from_slice(seq);
    reply.bulk(&text[..end]);
}

/// Writes an entry: its ID, and its fields with their values.
fn write_entry(reply: &mut Reply, entry: &StreamEntry<'_>) {
    reply.array(2);
    write_id(reply, entry.id);
    reply.array(2 * entry.len());
    for (name, value) in entry.fields() {
        name.write_to(reply);
        value.write_to(reply);
    }
}

/// Writes entries as an array.
fn write_entries<'e>(reply: &mut Reply, entries: impl Iterator<Item = StreamEntry<'e>>) {
    let start = reply.len();
    let count = entries.map(|entry| write_entry(reply, &entry)).count();
    reply.insert_array(start, count);
}

/// Returns a number in the form of a reply.
fn signed(number: u64) -> i64 {
    number as i64
}
