//! Commands on whole databases.

use super::super::{Call, CommandError, CommandResult};
use crate::resp::parse_integer;

/// Reads whether to wait for the memory to be freed. It is freed afterwards in any
/// case, in parts.
fn check_flush_options(call: &Call<'_, '_>) -> Result<(), CommandError> {
    match call.args.len() {
        1 => Ok(()),
        2 if call.args.is(1, "async") || call.args.is(1, "sync") => Ok(()),
        _ => Err(CommandError::SYNTAX),
    }
}

/// Ends a command that has removed keys, or found none. It is replayed in any case.
fn flushed(call: &mut Call<'_, '_>, removed: usize) -> CommandResult {
    call.effects.count_changes(removed);
    call.replay(call.args.iter());
    call.ok()
}

pub(super) fn flushdb(call: &mut Call<'_, '_>) -> CommandResult {
    check_flush_options(call)?;
    let removed = call.keys.clear();
    flushed(call, removed)
}

pub(super) fn flushall(call: &mut Call<'_, '_>) -> CommandResult {
    check_flush_options(call)?;
    let mut removed = 0;
    for database in 0..call.server.databases {
        call.keys.select(database);
        removed += call.keys.clear();
    }
    call.keys.select(call.session.database);
    flushed(call, removed)
}

pub(super) fn swapdb(call: &mut Call<'_, '_>) -> CommandResult {
    let index = |at: usize, error: &'static str| {
        let number = parse_integer(call.args.at(at)).filter(|number| i32::try_from(*number).is_ok());
        number.ok_or(CommandError::fixed(error))
    };
    let first = index(1, "ERR invalid first DB index")?;
    let second = index(2, "ERR invalid second DB index")?;
    let (first, second) = (call.database(first)?, call.database(second)?);
    if first != second {
        call.keys.select(first);
        // The setting is of numbers of databases.
        if call.keys.swap_with(second) && !planted!("order-swapped-with-keys") {
            call.effects.note_orders_due();
        }
        call.keys.select(call.session.database);
    }
    call.effects.count_changes(1);
    call.ok()
}
