//! SAVE, BGSAVE and LASTSAVE.

use super::super::{Block, Call, CommandError, CommandResult, NullReply, Outcome};

const IN_PROGRESS: CommandError = CommandError::fixed("ERR Background save already in progress");

/// Begins a snapshot, and waits for its end.
pub(super) fn save(call: &mut Call<'_, '_>) -> CommandResult {
    if !call.server.persistence.begin(call.now()) {
        return Err(IN_PROGRESS);
    }
    call.effects.request_snapshot(true);
    Ok(Outcome::Block(Block { keys: Vec::new(), others: Vec::new(), deadline: None, null: NullReply::Ok }))
}

/// Begins a snapshot.
pub(super) fn bgsave(call: &mut Call<'_, '_>) -> CommandResult {
    match call.args.len() {
        1 => {}
        2 if call.args.is(1, "schedule") => {}
        _ => return Err(CommandError::SYNTAX),
    }
    if !call.server.persistence.begin(call.now()) {
        return Err(IN_PROGRESS);
    }
    call.effects.request_snapshot(false);
    call.reply.simple("Background saving started");
    call.done()
}

pub(super) fn lastsave(call: &mut Call<'_, '_>) -> CommandResult {
    let at = call.server.persistence.status().last_save / 1000;
    call.integer(i64::try_from(at).unwrap_or(i64::MAX))
}
