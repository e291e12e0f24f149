//! Commands that only have subcommands, and the help on these.

use super::arguments::{Argument, arguments_of};
use super::{Call, Command, CommandError, CommandResult, Flags};

/// The function of a command that only has subcommands. A request with a subcommand runs that
/// instead, and one without is refused for its number of arguments.
pub(super) fn container(_: &mut Call<'_, '_>) -> CommandResult {
    Err(CommandError::SYNTAX)
}

/// Returns the entry of the subcommand that lists the others with what they do, by
/// [`list_subcommands`]. `since` is that of Redis.
pub(super) const fn help(
    name: &'static str,
    run: fn(&mut Call<'_, '_>) -> CommandResult,
    since: &'static str,
) -> Command {
    Command::new(name, 2, run).flags(&[Flags::LOADING, Flags::STALE]).doc(
        since,
        "O(1)",
        "Show helpful text about the different subcommands",
    )
}

/// Lists the subcommands of the container that a request names, which is one of a family: each with
/// its arguments, and what it does.
pub(super) fn list_subcommands(call: &mut Call<'_, '_>, family: &[Command]) -> CommandResult {
    let named = call.args.at(0);
    let is_named = |command: &&Command| command.name.as_bytes().eq_ignore_ascii_case(named);
    let container = family.iter().find(is_named).ok_or(CommandError::SYNTAX)?;
    let mut subcommands: Vec<&Command> = container.subcommands.iter().collect();
    subcommands.sort_unstable_by_key(|subcommand| subcommand.name);
    let name = container.name.to_ascii_uppercase();
    call.reply.array(1 + 2 * subcommands.len());
    call.reply.simple(&format!("{name} <subcommand> [<arg> ...]. Subcommands are:"));
    for subcommand in subcommands {
        let name = subcommand.name.rsplit('|').next().unwrap_or(subcommand.name);
        let arguments = arguments_of(subcommand.name).iter().map(Argument::to_string);
        let words: Vec<_> = std::iter::once(name.to_ascii_uppercase()).chain(arguments).collect();
        call.reply.simple(&words.join(" "));
        call.reply.simple(&format!("    {}.", subcommand.summary.trim_end_matches('.')));
    }
    call.done()
}
