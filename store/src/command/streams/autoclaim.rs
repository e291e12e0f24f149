//! XAUTOCLAIM.

use super::super::{Call, CommandError, CommandResult};
use super::claim::Claims;
use super::replay::Names;
use super::{ids, read_group, write_id};
use crate::resp::{Reply, parse_integer};
use crate::value::{StreamId, Value};

/// The most entries that a consumer gets, if the command does not say how many.
const COUNT: usize = 100;
/// The pending entries that are examined for each one that it may get.
const PENDING_PER_CLAIM: usize = 10;
/// The greatest COUNT.
const MAX_COUNT: i64 = i64::MAX / 16;

pub(super) fn xautoclaim(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, now) = (call.args, call.now());
    let (key, name) = (args.at(1), args.at(2));
    let least_idle = parse_integer(args.at(4))
        .ok_or(CommandError::fixed("ERR Invalid min-idle-time argument for XAUTOCLAIM"))?;
    let least_idle = u64::try_from(least_idle).unwrap_or(0);
    let from = ids::range_start(args.at(5))?;
    let (mut count, mut is_id_only) = (COUNT, false);
    let mut options = args.skip(6);
    while !options.is_empty() {
        if let Some(value) = options.get(1).filter(|_| options.is(0, "count")) {
            let number = parse_integer(value).filter(|number| (1..=MAX_COUNT).contains(number));
            count = number.ok_or(CommandError::fixed("ERR COUNT must be > 0"))? as usize;
            options = options.skip(2);
        } else if options.is(0, "justid") {
            is_id_only = true;
            options = options.skip(1);
        } else {
            return Err(CommandError::SYNTAX);
        }
    }
    read_group(call, key, name)?;
    let mut claims = Claims::new(Names { key, group: name, consumer: args.at(3) }, now, now, is_id_only);
    let stream = call.keys.get_mut(key).map(Value::as_stream_mut).transpose()?;
    let reply = &mut *call.reply;
    let start = reply.len();
    let next = stream.and_then(|stream| {
        stream.change_group(name, |log, group| {
            let mut next = Some(from);
            for _ in 0..count.saturating_mul(PENDING_PER_CLAIM) {
                if claims.len() + claims.removed_ids().len() == count {
                    break;
                }
                let found = next.and_then(|next| group.pending_from(next).next());
                let (id, pending) = found?;
                let (idle, before) = (pending.idle(now), pending.deliveries);
                next = id.next();
                match log.get(id) {
                    None => claims.remove_pending(group, id),
                    Some(entry) if idle >= least_idle => claims.claim(group, &entry, before, reply),
                    Some(_) => {}
                }
            }
            next.and_then(|next| group.pending_from(next).next()).map(|(id, _)| id)
        })
    });
    reply.insert_array(start, claims.len());
    let mut front = Reply::new(reply.protocol());
    front.array(3);
    write_id(&mut front, next.flatten().unwrap_or(StreamId::MIN));
    reply.insert(start, front.as_bytes());
    reply.array(claims.removed_ids().len());
    claims.removed_ids().iter().for_each(|id| write_id(reply, *id));
    claims.report(call);
    call.done()
}
