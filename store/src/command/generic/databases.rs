//! Commands on whole databases.

use super::super::{Call, CommandError, CommandResult};
use crate::resp::parse_integer;
use std::ops::Range;

/// Reads whether to wait for the memory to be freed. It is freed afterwards in any case, in parts.
fn check_flush_options(call: &Call<'_, '_>) -> Result<(), CommandError> {
    match call.args.len() {
        1 => Ok(()),
        2 if call.args.is(1, "async") || call.args.is(1, "sync") => Ok(()),
        _ => Err(CommandError::SYNTAX),
    }
}

/// Removes all keys of databases. It is replayed in any case. The keys go at the end, when nothing
/// can stop it halfway, and their memory is freed after it was noted.
fn flush(call: &mut Call<'_, '_>, databases: Range<usize>) -> CommandResult {
    let cleared = call.keys.clear_databases(databases);
    call.effects.count_changes(cleared.len());
    call.replay(call.args.iter());
    call.keys.leave_cleared(cleared);
    call.ok()
}

pub(super) fn flushdb(call: &mut Call<'_, '_>) -> CommandResult {
    check_flush_options(call)?;
    let database = call.keys.database();
    flush(call, database..database + 1)
}

pub(super) fn flushall(call: &mut Call<'_, '_>) -> CommandResult {
    check_flush_options(call)?;
    flush(call, 0..call.server.databases)
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
