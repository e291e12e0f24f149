//! Commands that only have subcommands.

use super::{Call, CommandError, CommandResult};

/// The function of such a command. A request with a subcommand runs that instead, and one without
/// is refused for its number of arguments.
pub(super) fn container(_: &mut Call<'_, '_>) -> CommandResult {
    Err(CommandError::SYNTAX)
}
