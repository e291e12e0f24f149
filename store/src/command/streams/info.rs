//! XINFO.

use super::super::{Call, CommandError, CommandResult};
use super::{no_such_group, read, signed, write_entries, write_entry, write_id, wrong_subcommand};
use crate::resp::{Reply, parse_integer};
use crate::value::{Consumer, ConsumerGroup, Stream, StreamId};

/// The entries of each kind that are shown in full, if the command does not say how many.
const COUNT: usize = 10;

/// Returns the stream of the key, which has to be there, with the reply.
fn stream<'c>(call: &'c mut Call<'_, '_>) -> Result<(&'c Stream, &'c mut Reply), CommandError> {
    let key = call.args.at(2);
    read(call, key)?.ok_or(CommandError::NO_SUCH_KEY)?;
    let Call { keys, reply, .. } = call;
    let value = keys.peek(key).map(|entry| entry.value().as_stream()).transpose()?;
    Ok((value.ok_or(CommandError::NO_SUCH_KEY)?, reply))
}

fn name(reply: &mut Reply, name: &str) {
    reply.bulk(name.as_bytes());
}

fn name_and_count(reply: &mut Reply, of: &str, count: usize) {
    name(reply, of);
    reply.count(count);
}

fn name_and_id(reply: &mut Reply, of: &str, id: StreamId) {
    name(reply, of);
    write_id(reply, id);
}

fn name_and_number(reply: &mut Reply, of: &str, number: Option<i64>) {
    name(reply, of);
    match number {
        Some(number) => reply.integer(number),
        None => reply.null(),
    }
}

pub(super) fn stream_info(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    // Errors of the key come before those of the options.
    stream(call)?;
    let is_full = args.len() > 3;
    let mut count = COUNT;
    let is_known = matches!(args.len(), 3 | 4 | 6)
        && (!is_full || args.is(3, "full"))
        && (args.len() < 6 || args.is(4, "count"));
    if !is_known {
        return Err(wrong_subcommand(call, "XINFO"));
    }
    if let Some(arg) = args.get(5) {
        let number = parse_integer(arg).ok_or(CommandError::NOT_AN_INTEGER)?;
        count = match usize::try_from(number).unwrap_or(COUNT) {
            0 => usize::MAX,
            count => count,
        };
    }
    let (stream, reply) = stream(call)?;
    let (log, state) = (stream.log(), stream.log().state());
    reply.map(if is_full { 9 } else { 10 });
    name_and_count(reply, "length", log.len());
    let blocks = log.blocks().len();
    name_and_count(reply, "radix-tree-keys", blocks);
    // There is no such tree; this is what it has about as many of.
    name_and_count(reply, "radix-tree-nodes", blocks + 1);
    name_and_id(reply, "last-generated-id", state.last_id);
    name_and_id(reply, "max-deleted-entry-id", state.max_deleted_id);
    name_and_number(reply, "entries-added", Some(signed(state.entries_added)));
    name_and_id(reply, "recorded-first-entry-id", state.first_id);
    if is_full {
        name(reply, "entries");
        write_entries(reply, log.range(StreamId::MIN, StreamId::MAX).take(count));
        name(reply, "groups");
        reply.array(stream.groups().len());
        stream.groups().for_each(|(name, group)| write_full_group(reply, stream, name, group, count));
    } else {
        name_and_count(reply, "groups", stream.groups().len());
        let first = log.range(StreamId::MIN, StreamId::MAX).next();
        let last = log.range_back(StreamId::MIN, StreamId::MAX).next();
        for (of, entry) in [("first-entry", first), ("last-entry", last)] {
            name(reply, of);
            match entry {
                Some(entry) => write_entry(reply, &entry),
                None => reply.null(),
            }
        }
    }
    call.done()
}

/// Writes the last entry that was delivered in a group, and how far that is.
fn write_position(reply: &mut Reply, stream: &Stream, group: &ConsumerGroup) {
    name_and_id(reply, "last-delivered-id", group.last_id);
    name_and_number(reply, "entries-read", group.entries_read.map(signed));
    name_and_number(reply, "lag", stream.log().lag(group.last_id, group.entries_read));
}

fn write_full_group(reply: &mut Reply, stream: &Stream, of: &[u8], group: &ConsumerGroup, count: usize) {
    reply.map(7);
    name(reply, "name");
    reply.bulk(of);
    write_position(reply, stream, group);
    name_and_count(reply, "pel-count", group.pending_len());
    name(reply, "pending");
    reply.array(group.pending_len().min(count));
    for (id, pending) in group.pending_from(StreamId::MIN).take(count) {
        reply.array(4);
        write_id(reply, id);
        reply.bulk(pending.consumer());
        reply.integer(signed(pending.delivered_at));
        reply.integer(signed(pending.deliveries));
    }
    name(reply, "consumers");
    reply.array(group.consumers().len());
    group.consumers().for_each(|(name, consumer)| write_full_consumer(reply, group, name, consumer, count));
}

fn write_full_consumer(
    reply: &mut Reply,
    group: &ConsumerGroup,
    of: &[u8],
    consumer: &Consumer,
    count: usize,
) {
    reply.map(4);
    name(reply, "name");
    reply.bulk(of);
    name_and_number(reply, "seen-time", Some(signed(consumer.seen_at)));
    name_and_count(reply, "pel-count", consumer.pending_len());
    name(reply, "pending");
    let start = reply.len();
    let pending = consumer.pending_from(StreamId::MIN).filter_map(|id| Some((id, group.pending(id)?)));
    let mut shown = 0;
    for (id, pending) in pending.take(count) {
        reply.array(3);
        write_id(reply, id);
        reply.integer(signed(pending.delivered_at));
        reply.integer(signed(pending.deliveries));
        shown += 1;
    }
    reply.insert_array(start, shown);
}

pub(super) fn groups(call: &mut Call<'_, '_>) -> CommandResult {
    let (stream, reply) = stream(call)?;
    reply.array(stream.groups().len());
    for (of, group) in stream.groups() {
        reply.map(6);
        name(reply, "name");
        reply.bulk(of);
        name_and_count(reply, "consumers", group.consumers().len());
        name_and_count(reply, "pending", group.pending_len());
        write_position(reply, stream, group);
    }
    call.done()
}

pub(super) fn consumers(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, now) = (call.args, call.now());
    let (stream, reply) = stream(call)?;
    let group = stream.group(args.at(3)).ok_or_else(|| no_such_group(args.at(2), args.at(3)))?;
    reply.array(group.consumers().len());
    for (of, consumer) in group.consumers() {
        reply.map(3);
        name(reply, "name");
        reply.bulk(of);
        name_and_count(reply, "pending", consumer.pending_len());
        name_and_number(reply, "idle", Some(signed(now.saturating_sub(consumer.seen_at))));
    }
    call.done()
}
