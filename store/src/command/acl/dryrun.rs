//! ACL DRYRUN.

use super::super::{Call, Command, CommandError, CommandResult, find};
use crate::acl::Denial;
use crate::resp::Args;

/// Finds the command of a request; with a subcommand, if it names one that there is not, nothing.
fn find_whole(args: Args<'_>) -> Option<&'static Command> {
    let command = find(args.at(0))?;
    match args.get(1).filter(|_| !command.subcommands.is_empty()) {
        Some(name) => command.subcommand(name),
        None => Some(command),
    }
}

pub(super) fn dryrun(call: &mut Call<'_, '_>) -> CommandResult {
    let (name, args) = (call.args.at(2), call.args.skip(3));
    let no_user = || CommandError::with_arg("ERR User '", name, "' not found");
    let user = call.server.acl.user(name).ok_or_else(no_user)?;
    let no_command = || CommandError::with_arg("ERR Command '", args.at(0), "' not found");
    let command = find_whole(args).ok_or_else(no_command)?;
    if !command.accepts(args.len()) {
        return Err(CommandError::wrong_arity(command.name));
    }
    let denied = |text: &str, name: &[u8], kind: &str| {
        [format!("This user has no permissions to {text} the '").as_bytes(), name, kind.as_bytes()].concat()
    };
    let text = match user.check(command, args) {
        Ok(()) => return call.ok(),
        Err(Denial::Command) => denied("run", command.name.as_bytes(), "' command"),
        Err(Denial::Key(at)) => denied("access", args.at(at), "' key"),
        Err(Denial::Channel(at)) => denied("access", args.at(at), "' channel"),
    };
    call.reply.bulk(&text);
    call.done()
}
