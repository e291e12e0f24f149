//! XPENDING.

use super::super::{Call, CommandError, CommandResult};
use super::{ids, read_group, signed, write_id};
use crate::resp::{Reply, parse_integer};
use crate::value::{ConsumerGroup, StreamId};

/// Which pending entries are shown.
struct PendingFilter<'a> {
    least_idle: u64,
    from: StreamId,
    to: StreamId,
    count: usize,
    consumer: Option<&'a [u8]>,
}

impl<'a> PendingFilter<'a> {
    fn parse(call: &Call<'a, '_>) -> Result<Self, CommandError> {
        let args = call.args;
        let integer = |at| parse_integer(args.at(at)).ok_or(CommandError::NOT_AN_INTEGER);
        let (mut least_idle, mut at) = (0, 3);
        if args.is(3, "idle") {
            least_idle = u64::try_from(integer(4)?).unwrap_or(0);
            if args.len() < 8 {
                return Err(CommandError::SYNTAX);
            }
            at = 5;
        }
        let count = usize::try_from(integer(at + 2)?).unwrap_or(0);
        let from = ids::range_start(args.at(at))?;
        let to = ids::range_end(args.at(at + 1))?;
        Ok(Self { least_idle, from, to, count, consumer: args.get(at + 3) })
    }

    fn write(&self, reply: &mut Reply, group: &ConsumerGroup, now: u64) {
        let (start, mut shown) = (reply.len(), 0);
        let consumer = self.consumer.map(|name| group.consumer(name));
        let of_consumer =
            consumer.into_iter().flatten().flat_map(|consumer| consumer.pending_from(self.from));
        let of_consumer = of_consumer.filter_map(|id| Some((id, group.pending(id)?)));
        let of_group = self.consumer.is_none().then(|| group.pending_from(self.from));
        let pending = of_consumer.chain(of_group.into_iter().flatten());
        let pending = pending.take_while(|(id, _)| *id <= self.to);
        let pending = pending.filter(|(_, pending)| pending.idle(now) >= self.least_idle);
        for (id, pending) in pending.take(self.count) {
            reply.array(4);
            write_id(reply, id);
            reply.bulk(pending.consumer());
            reply.integer(signed(pending.idle(now)));
            reply.integer(signed(pending.deliveries));
            shown += 1;
        }
        reply.insert_array(start, shown);
    }
}

pub(super) fn xpending(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key, name) = (call.args, call.args.at(1), call.args.at(2));
    let filter = match args.len() {
        3 => None,
        6..=9 => Some(PendingFilter::parse(call)?),
        _ => return Err(CommandError::SYNTAX),
    };
    read_group(call, key, name)?;
    let now = call.now();
    let stream = call.keys.peek(key).map(|entry| entry.value().as_stream()).transpose()?;
    if let Some(group) = stream.and_then(|stream| stream.group(name)) {
        match filter {
            Some(filter) => filter.write(call.reply, group, now),
            None => write_summary(call.reply, group),
        }
    }
    call.done()
}

/// Writes how many entries are pending, the first and the last, and how many each consumer has.
fn write_summary(reply: &mut Reply, group: &ConsumerGroup) {
    reply.array(4);
    reply.count(group.pending_len());
    let mut ends = group.pending_from(StreamId::MIN);
    let Some((first, _)) = ends.next() else {
        reply.null();
        reply.null();
        return reply.null_array();
    };
    write_id(reply, first);
    write_id(reply, ends.next_back().map_or(first, |(last, _)| last));
    let consumers = || group.consumers().filter(|(_, consumer)| consumer.pending_len() > 0);
    reply.array(consumers().count());
    for (name, consumer) in consumers() {
        reply.array(2);
        reply.bulk(name);
        reply.bulk_integer(consumer.pending_len() as i64);
    }
}
