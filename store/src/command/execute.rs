//! Runs a command that was found, and turns its errors into replies.

use super::diagnostics::show;
use super::lookups::lookups_of;
use super::{Block, Call, NullReply, Outcome, caught};
use crate::keyspace::LookupUse;
use crate::resp::Reply;

/// How a command ended: what it waits for, if it blocks; and whether its reply is an error.
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) block: Option<Block>,
    pub(crate) has_failed: bool,
}

/// Runs a command. An error becomes the reply, in place of what the command has written.
pub(crate) fn execute(call: &mut Call<'_, '_>) -> Executed {
    let (command, before) = (call.command, call.reply.len());
    let database = call.keys.database();
    call.effects.begin_command();
    note_lookups(call);
    let outcome = caught::run(command, call);
    call.keys.select(database);
    call.tell_misses();
    // Those of a command that has failed, and has taken the key away again.
    call.keys.forget_inserted();
    for expired in call.keys.take_expired() {
        call.effects.note_expired(expired.database, &expired.key);
    }
    call.effects.end_command(database, call.args);
    call.effects.invalidate(call.server, call.keys, Some(call.session.id()));
    if call.session.notes_reads() && !planted!("reads-noted-before-hold") {
        call.session.note_reads(call.server, command, call.args);
    }
    // A command that waits is shown when the wait ends.
    if call.is_queued || !matches!(outcome, Ok(Outcome::Block(_))) {
        show(call.server, call.session, command, call.args, call.now());
    }
    match outcome {
        Ok(Outcome::Done) => Executed { block: None, has_failed: false },
        Ok(Outcome::Block(block)) => Executed { block: Some(block), has_failed: false },
        Err(error) => {
            call.reply.truncate(before);
            call.reply.error(error.text());
            call.server.statistics.count_error(call.session.lane, error.text());
            Executed { block: None, has_failed: true }
        }
    }
}

/// Says what becomes of the lookups of a command.
fn note_lookups(call: &mut Call<'_, '_>) {
    let becomes = match lookups_of(call.command, call.args) {
        LookupUse::Told if !call.effects.records_misses() => LookupUse::Counted,
        becomes => becomes,
    };
    call.keys.note_lookups(becomes);
}

/// Writes the reply of a command that has waited until its deadline: in RESP2 always a null array.
pub(crate) fn write_timeout(null: NullReply, reply: &mut Reply) {
    match null {
        NullReply::Bulk | NullReply::Array => reply.null_array(),
        NullReply::Ok => reply.ok(),
        NullReply::Zero => reply.integer(0),
    }
}

/// Writes the reply of a command that would wait in a transaction.
pub(crate) fn write_null(null: NullReply, reply: &mut Reply) {
    match null {
        NullReply::Bulk => reply.null(),
        NullReply::Array => reply.null_array(),
        NullReply::Ok => reply.ok(),
        NullReply::Zero => reply.integer(0),
    }
}
