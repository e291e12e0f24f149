//! From the arguments of a request to its command.

use super::error::printed;
use super::table::find;
use super::{Command, CommandError, Flags};
use crate::resp::Args;
use crate::session::Session;

/// The most bytes of an unknown name, and of its arguments, in the error.
const MOST_SHOWN: usize = 128;

/// Finds the command of a request, and checks the number of its arguments.
///
/// # Errors
///
/// Redis' errors for an unknown command or subcommand, and for a wrong number of arguments.
pub fn resolve(args: Args<'_>) -> Result<&'static Command, CommandError> {
    let mut command = find(args.get(0).unwrap_or_default()).ok_or_else(|| unknown(args))?;
    if let (false, Some(name)) = (command.subcommands.is_empty(), args.get(1)) {
        command = command.subcommand(name).ok_or_else(|| unknown_subcommand(command, name))?;
    }
    match command.accepts(args.len()) {
        true => Ok(command),
        false => Err(CommandError::wrong_arity(command.name)),
    }
}

impl Command {
    /// Finds the command of a request that follows one of this command, which is mostly the same.
    #[inline]
    pub(crate) fn find_after(&'static self, args: Args<'_>) -> Option<&'static Command> {
        let is_named = args.get(0).is_some_and(|name| name.eq_ignore_ascii_case(self.name.as_bytes()));
        // The name of a subcommand has that of its container, and no request does.
        let is_command = self.subcommands.is_empty() && !self.name.contains('|');
        let is_same = is_named && is_command && self.accepts(args.len());
        if is_same { Some(self) } else { resolve(args).ok() }
    }
}

/// Finds the command or subcommand that a request names, whatever its arguments.
pub(crate) fn find_named(args: Args<'_>) -> Option<&'static Command> {
    let command = find(args.get(0)?)?;
    args.get(1).and_then(|name| command.subcommand(name)).or(Some(command))
}

/// Checks that the session may run the command now, before it is queued or run.
///
/// # Errors
///
/// Redis' errors for a session that has to authenticate.
pub fn check_access(command: &Command, is_authenticated: bool) -> Result<(), CommandError> {
    if is_authenticated || command.flags.has(Flags::NO_AUTH) {
        return Ok(());
    }
    Err(CommandError::fixed("NOAUTH Authentication required."))
}

/// Checks that a session that only listens to channels may run the command.
///
/// # Errors
///
/// Redis' error if it may not.
pub(crate) fn check_listening(command: &Command, session: &Session) -> Result<(), CommandError> {
    if !session.is_only_listening() {
        return Ok(());
    }
    let is_allowed = command.changes_listening() || matches!(command.name, "ping" | "quit" | "reset");
    if is_allowed {
        return Ok(());
    }
    Err(CommandError::new(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
         this context",
        command.name
    )))
}

fn unknown(args: Args<'_>) -> CommandError {
    let mut list = Vec::new();
    for arg in args.skip(1).iter() {
        if list.len() >= MOST_SHOWN {
            break;
        }
        let most = MOST_SHOWN - list.len();
        list.push(b'\'');
        list.extend_from_slice(printed(arg, most));
        list.extend_from_slice(b"' ");
    }
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(printed(args.get(0).unwrap_or_default(), MOST_SHOWN));
    text.extend_from_slice(b"', with args beginning with: ");
    text.extend_from_slice(&list);
    CommandError::from_bytes(text)
}

fn unknown_subcommand(container: &Command, name: &[u8]) -> CommandError {
    let after = format!("'. Try {} HELP.", container.name.to_ascii_uppercase());
    CommandError::with_arg("ERR unknown subcommand '", printed(name, MOST_SHOWN), &after)
}
