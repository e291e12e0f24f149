//! SAVE, BGSAVE, BGREWRITEAOF and LASTSAVE.

use super::super::{
    Block, Call, CommandError, CommandResult, NullReply, Outcome, SnapshotRequest, WakeCondition,
};
use crate::server::SnapshotKind;

const IN_PROGRESS: CommandError = CommandError::fixed("ERR Background save already in progress");
const REWRITING: CommandError =
    CommandError::fixed("ERR Background append only file rewriting already in progress");

/// Asks for a snapshot.
fn request(call: &mut Call<'_, '_>, request: SnapshotRequest) -> Result<(), CommandError> {
    if !call.server.persistence.begin(request.kind(), call.now()) {
        let is_base = call.server.persistence.status().kind == SnapshotKind::Base;
        return Err(if is_base { REWRITING } else { IN_PROGRESS });
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
    Ok(Outcome::Block(Block {
        keys: Vec::new(),
        others: Vec::new(),
        deadline: None,
        null: NullReply::Array,
        heeds_removal: false,
        condition: WakeCondition::Value,
    }))
}

/// Begins a snapshot.
pub(super) fn bgsave(call: &mut Call<'_, '_>) -> CommandResult {
    match call.args.len() {
        1 => {}
        2 if call.args.is(1, "schedule") => {}
        _ => return Err(CommandError::SYNTAX),
    }
    request(call, SnapshotRequest::Begin(SnapshotKind::File))?;
    call.reply.simple("Background saving started");
    call.done()
}

/// Begins to make the log shorter.
pub(super) fn bgrewriteaof(call: &mut Call<'_, '_>) -> CommandResult {
    if call.server.log.get().is_none() {
        return Err(CommandError::fixed("ERR There is no log: the setting appendonly is no"));
    }
    request(call, SnapshotRequest::Begin(SnapshotKind::Base))?;
    call.reply.simple("Background append only file rewriting started");
    call.done()
}

pub(super) fn lastsave(call: &mut Call<'_, '_>) -> CommandResult {
    let at = call.server.persistence.status().last_save / 1000;
    call.integer(i64::try_from(at).unwrap_or(i64::MAX))
}
