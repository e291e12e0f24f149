//! XREAD and XREADGROUP: entries after those that a client has, of several streams.

use super::super::{Block, Call, CommandError, CommandResult, NullReply, Outcome, WakeCondition};
use super::deliver::{Delivery, deliver};
use super::{ids, quoted, read, write_entries};
use crate::resp::{Args, Protocol, parse_integer};
use crate::value::{ConsumerGroup, Stream, StreamId, ValueRef};

/// The most entries that a command gets which has waited, if it does not say how many.
const COUNT_AFTER_WAIT: usize = 1000;
/// Stands for what was delivered to no consumer of the group.
const UNDELIVERED: StreamId = StreamId::MAX;

/// The arguments.
struct ReadArgs<'a> {
    /// If the command may wait: until when, or for ever.
    wait: Option<Option<u64>>,
    /// The most entries of each stream.
    count: Option<usize>,
    keys: Args<'a>,
    ids: Args<'a>,
    /// The group and the consumer.
    group: Option<(&'a [u8], &'a [u8])>,
    /// Whether deliveries need no acknowledgement.
    is_no_ack: bool,
}

pub(super) fn xread(call: &mut Call<'_, '_>) -> CommandResult {
    run(call, false)
}

pub(super) fn xreadgroup(call: &mut Call<'_, '_>) -> CommandResult {
    run(call, true)
}

/// Returns the positions of the keys.
pub(super) fn keys(args: Args<'_>) -> Vec<usize> {
    let mut at = 1;
    while at < args.len() && !args.is(at, "streams") {
        at += match args.at(at).to_ascii_lowercase().as_slice() {
            b"block" | b"count" => 2,
            b"group" => 3,
            b"noack" => 1,
            _ => return Vec::new(),
        };
    }
    let rest = args.len().saturating_sub(at + 1);
    if rest.is_multiple_of(2) { (at + 1..at + 1 + rest / 2).collect() } else { Vec::new() }
}

/// Returns true if a call with these arguments may wait: it has the option BLOCK.
pub(super) fn may_wait(args: Args<'_>) -> bool {
    let mut options = (1..args.len()).take_while(|at| !args.is(*at, "streams"));
    options.any(|at| args.is(at, "block"))
}

/// Reads the ms that a command may wait. Returns when to give up; `None` is never.
fn deadline(call: &Call<'_, '_>, arg: &[u8]) -> Result<Option<u64>, CommandError> {
    let ms = parse_integer(arg);
    let ms = ms.ok_or(CommandError::fixed("ERR timeout is not an integer or out of range"))?;
    let ms = u64::try_from(ms).map_err(|_| CommandError::fixed("ERR timeout is negative"))?;
    match ms.checked_add(call.now()).filter(|at| i64::try_from(*at).is_ok()) {
        None => Err(CommandError::fixed("ERR timeout is out of range")),
        Some(at) => Ok((ms > 0).then_some(at)),
    }
}

impl<'a> ReadArgs<'a> {
    fn parse(call: &Call<'a, '_>, has_group: bool) -> Result<Self, CommandError> {
        let args = call.args;
        let none = args.take(0);
        let mut own = Self { wait: None, count: None, keys: none, ids: none, group: None, is_no_ack: false };
        let only_group = |option: &str| {
            CommandError::new(format!(
                "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
            ))
        };
        let mut at = 1;
        loop {
            let more = args.len().saturating_sub(at + 1);
            if args.is(at, "block") && more > 0 {
                own.wait = Some(deadline(call, args.at(at + 1))?);
                at += 2;
            } else if args.is(at, "count") && more > 0 {
                let count = parse_integer(args.at(at + 1)).ok_or(CommandError::NOT_AN_INTEGER)?;
                own.count = usize::try_from(count).ok().filter(|count| *count > 0);
                at += 2;
            } else if args.is(at, "streams") && more > 0 {
                if !more.is_multiple_of(2) {
                    return Err(CommandError::fixed(
                        "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be \
                         specified.",
                    ));
                }
                own.keys = args.skip(at + 1).take(more / 2);
                own.ids = args.skip(at + 1 + more / 2);
                break;
            } else if args.is(at, "group") && more > 1 {
                if !has_group {
                    return Err(only_group("GROUP"));
                }
                own.group = Some((args.at(at + 1), args.at(at + 2)));
                at += 3;
            } else if args.is(at, "noack") {
                if !has_group {
                    return Err(only_group("NOACK"));
                }
                own.is_no_ack = true;
                at += 1;
            } else {
                return Err(CommandError::SYNTAX);
            }
        }
        if has_group && own.group.is_none() {
            return Err(CommandError::fixed("ERR Missing GROUP option for XREADGROUP"));
        }
        Ok(own)
    }

    /// Reads after which entries to begin, of each stream.
    fn positions(&self, call: &Call<'_, '_>) -> Result<Vec<StreamId>, CommandError> {
        let pairs = self.keys.iter().zip(self.ids.iter());
        pairs.map(|(key, id)| self.position(call, key, id)).collect()
    }

    fn position(&self, call: &Call<'_, '_>, key: &[u8], id: &[u8]) -> Result<StreamId, CommandError> {
        let stream = read(call, key)?;
        if let Some((group, _)) = self.group
            && stream.is_none_or(|stream| stream.group(group).is_none())
        {
            let texts =
                ["NOGROUP No such key '", "' or consumer group '", "' in XREADGROUP with GROUP option"];
            return Err(quoted(texts, [key, group]));
        }
        match (id, self.group.is_some()) {
            (b"$", true) => Err(CommandError::fixed(
                "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of \
                 this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID \
                 would just return an empty result set.",
            )),
            (b"$", false) => Ok(stream.map_or(StreamId::MIN, |stream| stream.log().state().last_id)),
            (b">", true) => Ok(UNDELIVERED),
            (b">", false) => Err(CommandError::fixed(
                "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> \
                 <consumer> option.",
            )),
            _ => ids::strict(id, 0),
        }
    }

    /// Writes the entries of a stream, with its key, if there are some for the client.
    fn serve(
        &self,
        call: &mut Call<'_, '_>,
        key: &[u8],
        after: StreamId,
        count: usize,
    ) -> Result<bool, CommandError> {
        let Ok(Some(stream)) = read(call, key) else { return Ok(false) };
        let group = self.group.and_then(|(name, _)| stream.group(name));
        let is_history = self.group.is_some() && after != UNDELIVERED;
        let after = if after == UNDELIVERED { group.map_or(after, |group| group.last_id) } else { after };
        if !is_history && stream.log().last().is_none_or(|last| last <= after) {
            return Ok(false);
        }
        let Some(from) = after.next() else { return Ok(false) };
        if call.reply.protocol() == Protocol::Two {
            call.reply.array(2);
        }
        call.reply.bulk(key);
        match self.group {
            Some((group, consumer)) => {
                let is_no_ack = self.is_no_ack;
                let delivery = Delivery { key, group, consumer, from, count, is_no_ack, is_history };
                deliver(call, &delivery)?;
            }
            None => {
                // Looked up again, as the reply is written to meanwhile.
                let stream = call.keys.peek(key).map(|entry| entry.value().as_stream()).transpose()?;
                if let Some(stream) = stream {
                    write_entries(call.reply, stream.log().range(from, StreamId::MAX).take(count));
                }
            }
        }
        Ok(true)
    }

    /// Waits, if the command may. `positions` are those of XREAD.
    fn wait(&self, call: &mut Call<'_, '_>) -> CommandResult {
        let Some(deadline) = self.wait else {
            call.reply.null_array();
            return call.done();
        };
        Ok(Outcome::Block(Block {
            keys: self.keys.iter().map(Into::into).collect(),
            others: Vec::new(),
            deadline,
            null: NullReply::Array,
            heeds_removal: self.group.is_some(),
            condition: match self.group {
                Some((group, _)) => WakeCondition::GroupEntries(group.into()),
                None => WakeCondition::Entries(call.session.awaited_ids.clone()),
            },
        }))
    }
}

fn run(call: &mut Call<'_, '_>, has_group: bool) -> CommandResult {
    let request = ReadArgs::parse(call, has_group)?;
    if let Some(ready) = call.ready {
        return resume(call, &request, ready);
    }
    let positions = request.positions(call)?;
    let start = call.reply.len();
    let mut served = 0;
    for (key, after) in request.keys.iter().zip(&positions) {
        let count = request.count.unwrap_or(usize::MAX);
        served += usize::from(request.serve(call, key, *after, count)?);
    }
    if served == 0 {
        // `$` is what it is now, and not when the command runs again.
        call.session.awaited_ids = positions;
        return request.wait(call);
    }
    write_head(call, start, served);
    call.done()
}

/// Writes the head of the reply before what was written from `start` on.
fn write_head(call: &mut Call<'_, '_>, start: usize, streams: usize) {
    match call.reply.protocol() {
        Protocol::Two => call.reply.insert_array(start, streams),
        Protocol::Three => call.reply.insert_map(start, streams),
    }
}

/// Runs the command again, which has waited, for one of its keys.
fn resume(call: &mut Call<'_, '_>, request: &ReadArgs<'_>, key: &[u8]) -> CommandResult {
    // The key may be there several times.
    let awaited = request.keys.iter().zip(&call.session.awaited_ids).filter(|(other, _)| *other == key);
    let Some(mut after) = awaited.map(|(_, after)| *after).min() else { return request.wait(call) };
    if planted!("dollar-forgotten") {
        after = StreamId::MIN;
    }
    if let Some((group, _)) = request.group {
        check_group(call.keys.get(key), group)?;
        after = UNDELIVERED;
    }
    let start = call.reply.len();
    if !request.serve(call, key, after, request.count.unwrap_or(COUNT_AFTER_WAIT))? {
        return request.wait(call);
    }
    write_head(call, start, 1);
    call.done()
}

/// Checks that the stream and the group are still there for which a command has waited.
fn check_group<'v>(value: Option<ValueRef<'v>>, group: &[u8]) -> Result<&'v ConsumerGroup, CommandError> {
    let stream: Option<&'v Stream> = value.and_then(|value| value.as_stream().ok());
    let stream = stream.ok_or(CommandError::fixed("UNBLOCKED the stream key no longer exists"))?;
    stream
        .group(group)
        .ok_or(CommandError::fixed("NOGROUP the consumer group this client was blocked on no longer exists"))
}
