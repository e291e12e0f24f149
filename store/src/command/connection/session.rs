//! Commands on the state of the session.

use super::super::transactions::forget_watched;
use super::super::{Call, CommandError, CommandResult};
use super::tracking;
use crate::resp::Protocol;
use crate::session::Replies;

pub(super) fn ping(call: &mut Call<'_, '_>) -> CommandResult {
    match call.args.len() {
        1 | 2 if call.session.is_only_listening() => {
            call.reply.array(2);
            call.reply.bulk(b"pong");
            call.reply.bulk(call.args.get(1).unwrap_or_default());
        }
        1 => call.reply.simple("PONG"),
        2 => call.reply.bulk(call.args.at(1)),
        _ => return Err(CommandError::wrong_arity("ping")),
    }
    call.done()
}

pub(super) fn echo(call: &mut Call<'_, '_>) -> CommandResult {
    call.reply.bulk(call.args.at(1));
    call.done()
}

pub(super) fn select(call: &mut Call<'_, '_>) -> CommandResult {
    call.session.database = call.database_arg(1)?;
    call.ok()
}

pub(super) fn quit(call: &mut Call<'_, '_>) -> CommandResult {
    call.session.is_closing = true;
    call.ok()
}

pub(super) fn reset(call: &mut Call<'_, '_>) -> CommandResult {
    forget_watched(call);
    call.session.stop_listening(call.server);
    tracking::end(call);
    // In the version of the protocol in which they were asked for. Later the client takes each line
    // for a reply.
    if !planted!("message-after-reset") {
        call.session.write_messages(call.reply);
    }
    let session = &mut *call.session;
    session.transaction = None;
    session.database = 0;
    session.protocol = Protocol::Two;
    session.replies = Replies::On;
    session.log_out(&call.server.acl);
    session.client.update(|state| state.name.clear());
    call.reply.set_protocol(Protocol::Two);
    call.reply.simple("RESET");
    call.done()
}
