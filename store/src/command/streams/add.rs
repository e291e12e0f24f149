//! XADD, XSETID.

use super::super::{Call, CommandError, CommandResult, EventClass};
use super::ids::{self, NewId};
use super::trim::{TrimOptions, exact_words};
use super::{group_changed, read, write, write_id};
use crate::resp::parse_integer;
use crate::value::{AppendError, Stream, StreamId, StreamState, Value};

const NOT_AFTER_LAST: CommandError =
    CommandError::fixed("ERR The ID specified in XADD is equal or smaller than the target stream top item");

/// Returns the ID of the next entry.
fn next_id(new: NewId, last: StreamId, now: u64) -> Result<StreamId, CommandError> {
    Ok(match new {
        NewId::Given(id) => id,
        NewId::Auto if now > last.ms => StreamId { ms: now, seq: 0 },
        NewId::Auto => last.next().unwrap_or(last),
        NewId::AutoSeq(ms) if ms == last.ms => {
            StreamId { ms, seq: last.seq.checked_add(1).ok_or(NOT_AFTER_LAST)? }
        }
        NewId::AutoSeq(ms) => StreamId { ms, seq: 0 },
    })
}

pub(super) fn xadd(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key) = (call.args, call.args.at(1));
    let (mut options, mut has_nomkstream) = (TrimOptions::default(), false);
    let mut new = None;
    let mut at = 2;
    while at < args.len() {
        let taken = if args.at(at) == b"*" { 0 } else { options.read(args, at)? };
        at += taken;
        if taken > 0 {
            continue;
        }
        if args.is(at, "nomkstream") {
            has_nomkstream = true;
            at += 1;
            continue;
        }
        new = Some(if args.at(at) == b"*" { NewId::Auto } else { ids::new(args.at(at))? });
        break;
    }
    let trim = options.finish(call, false)?;
    let pairs = args.skip(at + 1);
    let Some(new) = new.filter(|_| !pairs.is_empty() && pairs.len().is_multiple_of(2)) else {
        return Err(CommandError::wrong_arity("xadd"));
    };
    if new == NewId::Given(StreamId::MIN) {
        return Err(CommandError::fixed("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let last = read(call, key)?.map(|stream| stream.log().state().last_id);
    if last.is_none() && has_nomkstream {
        call.reply.null();
        return call.done();
    }
    let (is_new, last) = (last.is_none(), last.unwrap_or_default());
    if last == StreamId::MAX {
        return Err(CommandError::fixed(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let id = next_id(new, last, call.now())?;
    if id <= last {
        return Err(NOT_AFTER_LAST);
    }
    let limits = call.limits();
    let fields = (0..pairs.len() / 2).map(|pair| (pairs.at(2 * pair), pairs.at(2 * pair + 1)));
    let stream = call.keys.get_or_insert_with(key, || Value::Stream(Box::default())).as_stream_mut()?;
    match stream.log_mut().append(id, fields, &limits) {
        Ok(()) => {}
        Err(AppendError::NotAfterLast) => return Err(NOT_AFTER_LAST),
        Err(AppendError::TooLarge) => {
            if is_new {
                call.keys.delete(key);
            }
            return Err(CommandError::fixed("ERR Elements are too large to be stored"));
        }
    }
    let trimmed = trim.as_ref().map(|trim| stream.log_mut().take_trimmed(trim));
    let (removed, parts) = trimmed.unwrap_or_default();
    let words = trim.map(|trim| exact_words(&trim, stream.log()));
    call.keys.leave_removed(parts);
    call.changed(EventClass::Stream, "xadd", key);
    if removed > 0 {
        call.changed(EventClass::Stream, "xtrim", key);
    }
    if !matches!(new, NewId::Given(_)) || trim.is_some_and(|trim| trim.is_approximate) {
        let words = words.iter().flatten().map(String::as_bytes);
        let text = id.to_string();
        let front = [&b"XADD"[..], key].into_iter().chain(words).chain([text.as_bytes()]);
        call.replay(front.chain(pairs.iter()));
    }
    write_id(call.reply, id);
    call.done()
}

pub(super) fn xsetid(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key) = (call.args, call.args.at(1));
    let id = ids::strict(args.at(2), 0)?;
    let (mut entries_added, mut max_deleted_id) = (None, StreamId::MIN);
    let mut options = args.skip(3);
    while !options.is_empty() {
        let value = options.get(1).ok_or(CommandError::SYNTAX)?;
        if options.is(0, "entriesadded") {
            let added = parse_integer(value).ok_or(CommandError::NOT_AN_INTEGER)?;
            let added = u64::try_from(added);
            entries_added =
                Some(added.map_err(|_| CommandError::fixed("ERR entries_added must be positive"))?);
        } else if options.is(0, "maxdeletedid") {
            max_deleted_id = ids::strict(value, 0)?;
            if id < max_deleted_id {
                return Err(CommandError::fixed(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                ));
            }
        } else {
            return Err(CommandError::SYNTAX);
        }
        options = options.skip(2);
    }
    let stream: &mut Stream = write(call, key)?.ok_or(CommandError::NO_SUCH_KEY)?;
    let log = stream.log_mut();
    if log.last().is_some_and(|last| id < last) {
        return Err(CommandError::fixed(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        ));
    }
    if entries_added.is_some_and(|added| added < log.len() as u64) {
        return Err(CommandError::fixed(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    let mut state: StreamState = *log.state();
    state.last_id = id;
    state.entries_added = entries_added.unwrap_or(state.entries_added);
    if max_deleted_id > StreamId::MIN {
        state.max_deleted_id = max_deleted_id;
    }
    log.set_state(state);
    group_changed(call, "xsetid", key);
    call.ok()
}
