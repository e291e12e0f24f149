//! CLIENT: the own connection.

use super::super::{Call, CommandError, CommandResult};
use crate::server::Unblock;
use crate::session::Replies;

/// Names the connection; an empty name is none.
pub(super) fn set_name(call: &mut Call<'_, '_>, name: &[u8]) -> Result<(), CommandError> {
    if !name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        let text = "ERR Client names cannot contain spaces, newlines or special characters.";
        return Err(CommandError::fixed(text));
    }
    call.session.client.update(|state| state.name = name.to_vec());
    Ok(())
}

pub(super) fn setname(call: &mut Call<'_, '_>) -> CommandResult {
    set_name(call, call.args.at(2))?;
    call.ok()
}

pub(super) fn getname(call: &mut Call<'_, '_>) -> CommandResult {
    let name = call.session.client.state().name;
    call.reply.bulk_or_null(if name.is_empty() { None } else { Some(&name) });
    call.done()
}

pub(super) fn id(call: &mut Call<'_, '_>) -> CommandResult {
    call.integer(i64::try_from(call.session.id()).unwrap_or(i64::MAX))
}

pub(super) fn reply(call: &mut Call<'_, '_>) -> CommandResult {
    if call.args.is(2, "on") {
        call.session.replies = Replies::On;
        return call.ok();
    }
    call.session.replies = match () {
        () if call.args.is(2, "off") => Replies::Off,
        () if call.args.is(2, "skip") && call.session.replies != Replies::Off => Replies::SkipNext,
        () if call.args.is(2, "skip") => Replies::Off,
        () => return Err(CommandError::SYNTAX),
    };
    call.done()
}

pub(super) fn no_evict(call: &mut Call<'_, '_>) -> CommandResult {
    let is_spared = call.args.is(2, "on");
    if !is_spared && !call.args.is(2, "off") {
        return Err(CommandError::SYNTAX);
    }
    call.session.client.update(|state| state.is_spared = is_spared);
    call.ok()
}

pub(super) fn unblock(call: &mut Call<'_, '_>) -> CommandResult {
    let how = match call.args.len() {
        3 => Unblock::Timeout,
        4 if call.args.is(3, "timeout") => Unblock::Timeout,
        4 if call.args.is(3, "error") => Unblock::Error,
        4 => return Err(CommandError::fixed("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
        _ => return Err(CommandError::wrong_arity("client|unblock")),
    };
    let id = call.integer_arg(2)?;
    let was_blocked = u64::try_from(id).is_ok_and(|id| call.server.clients.unblock(id, how));
    call.integer(was_blocked.into())
}
