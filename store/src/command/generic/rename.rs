//! Commands that give a value another key, or another database.

use super::super::{Call, CommandError, CommandResult, EventClass};
use crate::resp::Args;

const SAME_OBJECT: CommandError = CommandError::fixed("ERR source and destination objects are the same");

pub(super) fn rename(call: &mut Call<'_, '_>) -> CommandResult {
    if !call.keys.contains(call.args.at(1)) {
        return Err(CommandError::NO_SUCH_KEY);
    }
    move_value(call);
    call.ok()
}

pub(super) fn renamenx(call: &mut Call<'_, '_>) -> CommandResult {
    if !call.keys.contains(call.args.at(1)) {
        return Err(CommandError::NO_SUCH_KEY);
    }
    if call.keys.contains(call.args.at(2)) {
        return call.integer(0);
    }
    move_value(call);
    call.integer(1)
}

/// Moves the value from the first key to the second, with its expiry.
fn move_value(call: &mut Call<'_, '_>) {
    let (from, to) = (call.args.at(1), call.args.at(2));
    if from == to {
        return;
    }
    let expires_at = call.keys.expires_at(from);
    if let Some(value) = call.keys.remove(from) {
        call.keys.put_until(to, value, expires_at);
        call.changed(EventClass::Generic, "rename_from", from);
        call.changed(EventClass::Generic, "rename_to", to);
    }
}

/// The options of COPY: the destination's database, and whether it may be there.
fn read_copy_options(args: Args<'_>, call: &Call<'_, '_>) -> Result<(usize, bool), CommandError> {
    let (mut database, mut replaces) = (call.keys.database(), false);
    let mut at = 3;
    while at < args.len() {
        if args.is(at, "replace") {
            replaces = true;
        } else if args.is(at, "db") && at + 1 < args.len() {
            at += 1;
            database = call.database_arg(at)?;
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 1;
    }
    Ok((database, replaces))
}

pub(super) fn copy(call: &mut Call<'_, '_>) -> CommandResult {
    let (database, replaces) = read_copy_options(call.args, call)?;
    let (from, to) = (call.args.at(1), call.args.at(2));
    if database == call.keys.database() && from == to {
        return Err(SAME_OBJECT);
    }
    let Some(entry) = call.keys.look(from) else { return call.integer(0) };
    let (value, expires_at) = (entry.value().to_value(), entry.expires_at());
    call.keys.select(database);
    if call.keys.contains(to) && !replaces {
        return call.integer(0);
    }
    call.keys.put_until(to, value, expires_at);
    call.changed(EventClass::Generic, "copy_to", to);
    call.integer(1)
}

pub(super) fn move_key(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(1);
    let (own, other) = (call.keys.database(), call.database_arg(2)?);
    if own == other {
        return Err(SAME_OBJECT);
    }
    let expires_at = call.keys.expires_at(key);
    call.keys.select(other);
    let is_taken = call.keys.contains(key);
    call.keys.select(own);
    if is_taken {
        return call.integer(0);
    }
    let Some(value) = call.keys.remove(key) else { return call.integer(0) };
    call.changed(EventClass::Generic, "move_from", key);
    call.keys.select(other);
    call.keys.put_until(key, value, expires_at);
    call.changed(EventClass::Generic, "move_to", key);
    call.integer(1)
}
