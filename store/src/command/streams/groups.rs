//! XGROUP, XACK.

use super::super::{Call, CommandError, CommandResult};
use super::replay::{self, Names};
use super::{group_changed, ids, no_such_group, read, write, wrong_subcommand};
use crate::resp::parse_integer;
use crate::value::{ConsumerGroup, StreamId, Value};

const NO_KEY: CommandError = CommandError::fixed(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the \
     MKSTREAM option to create an empty stream automatically.",
);

/// The options of CREATE and SETID.
#[derive(Default)]
struct GroupOptions {
    has_mkstream: bool,
    entries_read: Option<u64>,
}

impl GroupOptions {
    fn read(call: &Call<'_, '_>, is_create: bool) -> Result<Self, CommandError> {
        let (args, mut options) = (call.args, Self::default());
        let mut at = 5;
        while at < args.len() {
            if is_create && args.is(at, "mkstream") {
                options.has_mkstream = true;
                at += 1;
            } else if args.is(at, "entriesread") && at + 1 < args.len() {
                let read = parse_integer(args.at(at + 1)).ok_or(CommandError::NOT_AN_INTEGER)?;
                if read < -1 {
                    return Err(CommandError::fixed("ERR value for ENTRIESREAD must be positive or -1"));
                }
                options.entries_read = u64::try_from(read).ok();
                at += 2;
            } else {
                return Err(wrong_subcommand(call, "XGROUP"));
            }
        }
        Ok(options)
    }
}

pub(super) fn create(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let (key, name) = (args.at(2), args.at(3));
    let options = GroupOptions::read(call, true)?;
    let last = read(call, key)?.map(|stream| stream.log().state().last_id);
    if last.is_none() && !options.has_mkstream {
        return Err(NO_KEY);
    }
    if args.len() > 8 {
        return Err(wrong_subcommand(call, "XGROUP"));
    }
    let id = match args.at(4) {
        b"$" => last.unwrap_or_default(),
        arg => ids::strict(arg, 0)?,
    };
    let stream = call.keys.get_or_insert_with(key, || Value::Stream(Box::default())).as_stream_mut()?;
    if !stream.add_group(name, ConsumerGroup::new(id, options.entries_read)) {
        return Err(CommandError::fixed("BUSYGROUP Consumer Group name already exists"));
    }
    if last.is_none() {
        call.keys.note_change(key);
        call.tell_insertions();
    }
    group_changed(call, "xgroup-create", key);
    call.ok()
}

/// Returns the error that a key has no stream with a group, if that is so.
fn check_group(call: &Call<'_, '_>, key: &[u8], name: &[u8]) -> Result<(), CommandError> {
    let stream = read(call, key)?.ok_or(NO_KEY)?;
    stream.group(name).map(|_| ()).ok_or_else(|| no_such_group(key, name))
}

/// Changes the group that a command names. It is there.
fn change<R>(
    call: &mut Call<'_, '_>,
    change: impl FnOnce(&mut ConsumerGroup) -> R,
) -> Result<R, CommandError> {
    let (key, name) = (call.args.at(2), call.args.at(3));
    let changed = write(call, key)?.and_then(|stream| stream.change_group(name, |_, group| change(group)));
    changed.ok_or_else(|| no_such_group(key, name))
}

pub(super) fn setid(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let (key, name) = (args.at(2), args.at(3));
    let entries_read = GroupOptions::read(call, false)?.entries_read;
    check_group(call, key, name)?;
    if args.len() > 7 {
        return Err(wrong_subcommand(call, "XGROUP"));
    }
    let id = match args.at(4) {
        b"$" => read(call, key)?.map_or(StreamId::MIN, |stream| stream.log().state().last_id),
        arg => ids::any(arg, 0)?,
    };
    change(call, |group| (group.last_id, group.entries_read) = (id, entries_read))?;
    group_changed(call, "xgroup-setid", key);
    call.ok()
}

pub(super) fn destroy(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, name) = (call.args.at(2), call.args.at(3));
    if !write(call, key)?.ok_or(NO_KEY)?.remove_group(name) {
        return call.integer(0);
    }
    group_changed(call, "xgroup-destroy", key);
    // Those that wait for entries of the group get an error.
    call.keys.wake_waiting(key);
    call.integer(1)
}

pub(super) fn createconsumer(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, group, consumer) = (call.args.at(2), call.args.at(3), call.args.at(4));
    check_group(call, key, group)?;
    let now = call.now();
    let is_new = change(call, |group| group.create_consumer(consumer, now))?;
    if is_new {
        group_changed(call, "xgroup-createconsumer", key);
        replay::seen(call, Names { key, group, consumer }, now);
    }
    call.integer(is_new.into())
}

pub(super) fn delconsumer(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, group, consumer) = (call.args.at(2), call.args.at(3), call.args.at(4));
    check_group(call, key, group)?;
    let removed = change(call, |group| group.remove_consumer(consumer))?;
    if removed.is_some() {
        group_changed(call, "xgroup-delconsumer", key);
    }
    call.count(removed.unwrap_or(0))
}

pub(super) fn xack(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key, name) = (call.args, call.args.at(1), call.args.at(2));
    if read(call, key)?.is_none_or(|stream| stream.group(name).is_none()) {
        return call.count(0);
    }
    let ids = ids::all(args.skip(3).iter())?;
    let stream = write(call, key)?;
    let acknowledge = |group: &mut ConsumerGroup| ids.iter().filter(|id| group.acknowledge(**id)).count();
    let count = stream.and_then(|stream| stream.change_group(name, |_, group| acknowledge(group)));
    let count = count.unwrap_or(0);
    call.effects.count_changes(count);
    call.count(count)
}
