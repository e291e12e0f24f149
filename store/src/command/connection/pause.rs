//! CLIENT PAUSE and UNPAUSE.

use super::super::{Call, CommandError, CommandResult};
use crate::server::PauseScope;

pub(super) fn pause(call: &mut Call<'_, '_>) -> CommandResult {
    let held = match call.args.len() {
        3 => PauseScope::All,
        4 if call.args.is(3, "all") => PauseScope::All,
        4 if call.args.is(3, "write") => PauseScope::Writes,
        4 => return Err(CommandError::fixed("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(CommandError::SYNTAX),
    };
    let milliseconds = call
        .integer_arg(2)
        .map_err(|_| CommandError::fixed("ERR timeout is not an integer or out of range"))?;
    let milliseconds =
        u64::try_from(milliseconds).map_err(|_| CommandError::fixed("ERR timeout is negative"))?;
    let until = call.now().saturating_add(milliseconds);
    if i64::try_from(until).is_err() {
        return Err(CommandError::fixed("ERR timeout is out of range"));
    }
    call.server.pause(held, call.now(), until);
    call.ok()
}

/// Ends the pause. What it has held goes on after this request.
pub(super) fn unpause(call: &mut Call<'_, '_>) -> CommandResult {
    call.effects.request_unpause();
    call.ok()
}
