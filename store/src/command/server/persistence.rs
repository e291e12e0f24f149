//! SAVE, BGSAVE and LASTSAVE.

use super::super::{Block, Call, CommandError, CommandResult, NullReply, Outcome, SnapshotRequest};

const IN_PROGRESS: CommandError = CommandError::fixed("ERR Background save already in progress");

/// Asks for a snapshot.
fn request(call: &mut Call<'_, '_>, request: SnapshotRequest) -> Result<(), CommandError> {
    if !call.server.persistence.begin(call.now()) {
        return Err(IN_PROGRESS);
    }
    call.effects.request_snapshot(request);
    Ok(())
}

/// Begins a snapshot, and waits for its end.
pub(super) fn save(call: &mut Call<'_, '_>) -> CommandResult {
    save_for(call, SnapshotRequest::Wait)
}

/// Begins a snapshot, and waits.
pub(super) fn save_for(call: &mut Call<'_, '_>, wanted: SnapshotRequest) -> CommandResult {
    request(call, wanted)?;
    // CLIENT UNBLOCK ends the wait with a null.
    Ok(Outcome::Block(Block { keys: Vec::new(), others: Vec::new(), deadline: None, null: NullReply::Array }))
}

/// Begins a snapshot.
pub(super) fn bgsave(call: &mut Call<'_, '_>) -> CommandResult {
    match call.args.len() {
        1 => {}
        2 if call.args.is(1, "schedule") => {}
        _ => return Err(CommandError::SYNTAX),
    }
    request(call, SnapshotRequest::Begin)?;
    call.reply.simple("Background saving started");
    call.done()
}

pub(super) fn lastsave(call: &mut Call<'_, '_>) -> CommandResult {
    let at = call.server.persistence.status().last_save / 1000;
    call.integer(i64::try_from(at).unwrap_or(i64::MAX))
}
