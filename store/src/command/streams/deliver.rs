//! What XREADGROUP changes in a group: entries are delivered to a consumer.

use super::super::{Call, CommandError};
use super::replay::{self, Names};
use super::{group_changed, write_entry, write_id};
use crate::resp::Reply;
use crate::value::{ConsumerGroup, EntryLog, StreamId, Value, one_more};

/// What is delivered to a consumer.
pub(super) struct Delivery<'a> {
    pub(super) key: &'a [u8],
    pub(super) group: &'a [u8],
    pub(super) consumer: &'a [u8],
    /// Where to begin.
    pub(super) from: StreamId,
    /// The most entries.
    pub(super) count: usize,
    /// Whether deliveries need no acknowledgement.
    pub(super) is_no_ack: bool,
    /// Whether the entries are those that it has not acknowledged.
    pub(super) is_history: bool,
}

/// Delivers entries, and writes them.
pub(super) fn deliver(call: &mut Call<'_, '_>, delivery: &Delivery<'_>) -> Result<(), CommandError> {
    let Delivery { key, group: name, consumer, is_no_ack, is_history, .. } = *delivery;
    let now = call.now();
    let stream = call.keys.get_mut(key).map(Value::as_stream_mut).transpose()?;
    let reply = &mut *call.reply;
    let changed = stream.and_then(|stream| {
        stream.change_group(name, |log, group| {
            let before = group.last_id;
            let is_new = group.see_consumer(consumer, now);
            let ids = match is_history {
                true => delivery.repeat(log, group, reply, now),
                false => delivery.begin(log, group, reply, now),
            };
            (is_new, ids, (group.last_id != before).then_some((group.last_id, group.entries_read)))
        })
    });
    let Some((is_new, ids, position)) = changed else { return Ok(()) };
    if is_new {
        group_changed(call, "xgroup-createconsumer", key);
    }
    call.effects.count_changes(1);
    let names = Names { key, group: name, consumer };
    if ids.is_empty() || is_no_ack && !is_history {
        replay::seen(call, names, now);
    } else {
        replay::deliveries(call, names, &ids, (!is_history).then_some(1), now, now);
    }
    if let Some((last_id, entries_read)) = position {
        replay::position(call, names, last_id, entries_read);
    }
    Ok(())
}

impl Delivery<'_> {
    /// Delivers entries that no consumer of the group had. Returns their IDs.
    fn begin(&self, log: &EntryLog, group: &mut ConsumerGroup, reply: &mut Reply, now: u64) -> Vec<StreamId> {
        let (start, mut ids) = (reply.len(), Vec::new());
        for entry in log.range(self.from, StreamId::MAX).take(self.count) {
            if entry.id > group.last_id {
                group.entries_read = log.count_read(entry.id, group.entries_read);
                group.last_id = entry.id;
            }
            write_entry(reply, &entry);
            if !self.is_no_ack {
                group.deliver(entry.id, self.consumer, now, 1);
            }
            ids.push(entry.id);
        }
        reply.insert_array(start, ids.len());
        ids
    }

    /// Delivers entries again that the consumer has not acknowledged. Returns the IDs of those that
    /// are still there.
    fn repeat(
        &self,
        log: &EntryLog,
        group: &mut ConsumerGroup,
        reply: &mut Reply,
        now: u64,
    ) -> Vec<StreamId> {
        let pending = group.consumer(self.consumer).into_iter();
        let pending = pending.flat_map(|consumer| consumer.pending_from(self.from));
        let mut ids: Vec<StreamId> = pending.take(self.count).collect();
        reply.array(ids.len());
        ids.retain(|&id| {
            let Some(entry) = log.get(id) else {
                reply.array(2);
                write_id(reply, id);
                reply.null_array();
                return false;
            };
            write_entry(reply, &entry);
            let deliveries = group.pending(id).map_or(0, |pending| pending.deliveries);
            group.deliver(id, self.consumer, now, one_more(deliveries));
            true
        });
        ids
    }
}
