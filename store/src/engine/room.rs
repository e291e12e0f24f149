//! Commands that are refused when there is too little memory, and no key can be evicted.

use crate::command::{Command, CommandError, Flags, resolve};
use crate::session::Session;

/// Returns true if a command may be refused as there is too little memory.
pub(super) fn needs_room(command: &Command, session: &Session) -> bool {
    let denies = |command: &Command| command.flags.has(Flags::DENYOOM);
    match (&session.transaction, command.name) {
        (Some(transaction), "exec") => {
            let requests = &transaction.requests;
            (0..requests.len()).any(|index| resolve(requests.args(index)).is_ok_and(denies))
        }
        // What is queued takes memory too.
        (Some(_), name) => !matches!(name, "discard" | "quit" | "reset"),
        (None, _) => denies(command),
    }
}

/// Refuses a command that [needs room](needs_room): EXEC by itself.
#[cold]
pub(super) fn check_room(command: &Command, session: &mut Session) -> Result<(), CommandError> {
    match session.transaction.as_mut().filter(|_| command.name == "exec") {
        Some(transaction) => {
            transaction.refusal = Some(CommandError::OUT_OF_MEMORY);
            Ok(())
        }
        None => Err(CommandError::OUT_OF_MEMORY),
    }
}
