//! SHUTDOWN.

use super::super::{Call, CommandError, CommandResult};
use crate::server::{LastSnapshot, Shutdown};

/// Ends the server, if it has said how. The client gets no reply but the end of its connection.
pub(super) fn shutdown(call: &mut Call<'_, '_>) -> CommandResult {
    let words = call.args.skip(1);
    let has = |word: &str| (0..words.len()).any(|at| words.is(at, word));
    let known = ["save", "nosave", "now", "force", "abort"];
    let is_known = (0..words.len()).all(|at| known.iter().any(|word| words.is(at, word)));
    if !is_known || has("save") && has("nosave") || has("abort") && words.len() > 1 {
        return Err(CommandError::SYNTAX);
    }
    if has("abort") {
        return Err(CommandError::fixed("ERR No shutdown in progress."));
    }
    let snapshot = match (has("save"), has("nosave")) {
        (true, _) => LastSnapshot::Yes,
        (_, true) => LastSnapshot::No,
        _ => LastSnapshot::AsSet,
    };
    if !call.server.shut_down(Shutdown { snapshot, is_forced: has("force") }) {
        return Err(CommandError::fixed("ERR The program that has the store inside is not ended by clients"));
    }
    call.session.is_closing = true;
    call.done()
}
