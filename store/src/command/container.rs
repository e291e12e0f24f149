//! Commands that only have subcommands.

use super::{Call, CommandError, CommandResult};

/// The function of such a command. A request with a subcommand runs that instead, and one without
/// is refused for its number of arguments.
pub(super) fn container(_: &mut Call<'_, '_>) -> CommandResult {
    Err(CommandError::SYNTAX)
}

/// Writes lines of help on the subcommands.
pub(super) fn help(call: &mut Call<'_, '_>, lines: &[&str]) -> CommandResult {
    call.reply.array(lines.len());
    lines.iter().for_each(|line| call.reply.simple(line));
    call.done()
}
