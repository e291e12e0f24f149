//! XCLAIM, and how pending entries get another consumer.

use super::super::{Call, CommandError, CommandResult};
use super::replay::{self, Names};
use super::{group_changed, ids, read_group, write_entry, write_id};
use crate::resp::{Reply, parse_integer};
use crate::value::{ConsumerGroup, StreamEntry, StreamId, Value, one_more};

/// Pending entries that get a consumer.
pub(super) struct Claims<'a> {
    pub(super) names: Names<'a>,
    pub(super) now: u64,
    /// The time of delivery that they get.
    pub(super) delivered_at: u64,
    /// How often they were delivered then; `None` if it is once more.
    pub(super) deliveries: Option<u64>,
    /// Whether the reply has no more than their IDs.
    pub(super) is_id_only: bool,
    /// When the consumer was active; set with the first of them.
    seen_at: Option<u64>,
    has_new_consumer: bool,
    /// The entries that the consumer got, and how often each was delivered.
    deliveries_by_id: Vec<(StreamId, u64)>,
    /// IDs that were pending of entries that the stream does not have. They are pending no longer.
    removed_ids: Vec<StreamId>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(names: Names<'a>, now: u64, delivered_at: u64, is_id_only: bool) -> Self {
        Self {
            names,
            now,
            delivered_at,
            deliveries: None,
            is_id_only,
            seen_at: None,
            has_new_consumer: false,
            deliveries_by_id: Vec::new(),
            removed_ids: Vec::new(),
        }
    }

    /// Returns the number of entries that the consumer got.
    pub(super) fn len(&self) -> usize {
        self.deliveries_by_id.len()
    }

    /// Returns the IDs that were pending of entries that the stream does not have.
    pub(super) fn removed_ids(&self) -> &[StreamId] {
        &self.removed_ids
    }

    /// Gives the consumer an entry that was delivered `before` times until now, and writes it.
    pub(super) fn claim(
        &mut self,
        group: &mut ConsumerGroup,
        entry: &StreamEntry<'_>,
        before: u64,
        reply: &mut Reply,
    ) {
        if self.seen_at.is_none() {
            self.see(group, self.now);
        }
        let counted = if self.is_id_only { before } else { one_more(before) };
        let deliveries = self.deliveries.unwrap_or(counted);
        group.deliver(entry.id, self.names.consumer, self.delivered_at, deliveries);
        self.deliveries_by_id.push((entry.id, deliveries));
        match self.is_id_only {
            true => write_id(reply, entry.id),
            false => write_entry(reply, entry),
        }
    }

    /// Notes that the consumer was active.
    fn see(&mut self, group: &mut ConsumerGroup, at: u64) {
        self.has_new_consumer |= group.see_consumer(self.names.consumer, at);
        self.seen_at = Some(at);
    }

    /// Removes the pending entry of an ID that the stream does not have.
    pub(super) fn remove_pending(&mut self, group: &mut ConsumerGroup, id: StreamId) {
        if group.acknowledge(id) {
            self.removed_ids.push(id);
        }
    }

    /// Reports the changes of the group.
    pub(super) fn report(self, call: &mut Call<'_, '_>) {
        let names = self.names;
        if self.has_new_consumer {
            group_changed(call, "xgroup-createconsumer", names.key);
        }
        call.effects.count_changes(self.deliveries_by_id.len() + self.removed_ids.len());
        if !self.removed_ids.is_empty() {
            replay::acknowledged(call, names, &self.removed_ids);
        }
        let Some(seen_at) = self.seen_at else { return };
        if self.deliveries_by_id.is_empty() {
            replay::seen(call, names, seen_at);
            call.effects.count_changes(1);
        }
        for run in self.deliveries_by_id.chunk_by(|one, other| one.1 == other.1) {
            let ids: Vec<StreamId> = run.iter().map(|(id, _)| *id).collect();
            replay::deliveries(call, names, &ids, Some(run[0].1), self.delivered_at, seen_at);
        }
    }
}

/// The options of XCLAIM.
struct ClaimOptions {
    least_idle: u64,
    ids: Vec<StreamId>,
    /// The time of delivery, which may be out of range.
    delivered_at: Option<i64>,
    deliveries: Option<u64>,
    /// Whether entries that are not pending become so.
    is_forced: bool,
    is_id_only: bool,
    last_id: StreamId,
    /// When the consumer was active, if the log says so.
    seen_at: Option<u64>,
}

impl ClaimOptions {
    fn parse(call: &Call<'_, '_>) -> Result<Self, CommandError> {
        let args = call.args;
        let invalid = |what: &str| CommandError::new(format!("ERR Invalid {what} argument for XCLAIM"));
        let least_idle = parse_integer(args.at(4)).ok_or_else(|| invalid("min-idle-time"))?;
        let ids: Vec<StreamId> = args.skip(5).iter().map_while(|arg| ids::strict(arg, 0).ok()).collect();
        let mut options = args.skip(5 + ids.len());
        let mut own = Self {
            least_idle: u64::try_from(least_idle).unwrap_or(0),
            ids,
            delivered_at: None,
            deliveries: None,
            is_forced: false,
            is_id_only: false,
            last_id: StreamId::MIN,
            seen_at: None,
        };
        while !options.is_empty() {
            let integer = |name: &str| {
                let value = options.get(1).filter(|_| options.is(0, name))?;
                Some(parse_integer(value).ok_or_else(|| invalid(&format!("{name} option"))))
            };
            let mut taken = 2;
            if options.is(0, "force") {
                own.is_forced = true;
                taken = 1;
            } else if options.is(0, "justid") {
                own.is_id_only = true;
                taken = 1;
            } else if let Some(idle) = integer("IDLE") {
                own.delivered_at = Some((call.now() as i64).wrapping_sub(idle?));
            } else if let Some(time) = integer("TIME") {
                own.delivered_at = Some(time?);
            } else if let Some(count) = integer("RETRYCOUNT") {
                own.deliveries = u64::try_from(count?).ok();
            } else if let Some(time) = integer("SEEN") {
                own.seen_at = u64::try_from(time?).ok();
            } else if let Some(id) = options.get(1).filter(|_| options.is(0, "lastid")) {
                own.last_id = ids::strict(id, 0)?;
            } else {
                let before = "ERR Unrecognized XCLAIM option '";
                return Err(CommandError::with_arg(before, options.at(0), "'"));
            }
            options = options.skip(taken);
        }
        Ok(own)
    }

    /// Returns the time of delivery that entries get. Only a clock that stands, while the log is
    /// replayed, is behind it.
    fn delivered_at(&self, now: u64) -> u64 {
        let time = self.delivered_at.and_then(|time| u64::try_from(time).ok());
        time.filter(|time| *time <= now || now == 0).unwrap_or(now)
    }
}

pub(super) fn xclaim(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, now) = (call.args, call.now());
    let (key, name) = (args.at(1), args.at(2));
    read_group(call, key, name)?;
    let options = ClaimOptions::parse(call)?;
    let names = Names { key, group: name, consumer: args.at(3) };
    let mut claims = Claims::new(names, now, options.delivered_at(now), options.is_id_only);
    claims.deliveries = options.deliveries;
    let stream = call.keys.get_mut(key).map(Value::as_stream_mut).transpose()?;
    let reply = &mut *call.reply;
    let start = reply.len();
    let position = stream.and_then(|stream| {
        stream.change_group(name, |log, group| {
            let is_ahead = options.last_id > group.last_id;
            group.last_id = group.last_id.max(options.last_id);
            for &id in &options.ids {
                let pending = group.pending(id).map(|pending| (pending.idle(now), pending.deliveries));
                let Some(entry) = log.get(id) else {
                    claims.remove_pending(group, id);
                    continue;
                };
                let before = match pending {
                    Some((idle, before)) if idle >= options.least_idle => before,
                    None if options.is_forced => 1,
                    _ => continue,
                };
                claims.claim(group, &entry, before, reply);
            }
            if let Some(at) = options.seen_at {
                claims.see(group, at);
            }
            is_ahead.then_some((group.last_id, group.entries_read))
        })
    });
    reply.insert_array(start, claims.len());
    claims.report(call);
    if let Some((last_id, entries_read)) = position.flatten() {
        call.effects.count_changes(1);
        replay::position(call, names, last_id, entries_read);
    }
    call.done()
}
