//! DEBUG, as far as it is about the store.

use super::super::{
    Block, Call, CommandError, CommandResult, NullReply, Outcome, SnapshotRequest, WakeCondition,
};
use super::persistence::save_for;
use crate::resp::{Args, parse_double};
use crate::server::Setting;

/// The key of DEBUG OBJECT.
pub(super) fn debug_keys(args: Args<'_>) -> Vec<usize> {
    if args.len() == 3 && args.is(1, "object") { vec![2] } else { Vec::new() }
}

pub(super) fn debug(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    if call.server.settings.number(Setting::EnableDebugCommand) == 0 {
        return Err(CommandError::fixed(
            "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can \
             run it from a local connection, otherwise you need to set this option in the configuration \
             file, and then restart the server.",
        ));
    }
    if args.len() == 3 && args.is(1, "sleep") {
        let seconds = parse_double(args.at(2)).unwrap_or(0.0).max(0.0);
        let deadline = Some(call.now().saturating_add((seconds * 1000.0) as u64));
        let block = Block {
            keys: Vec::new(),
            others: Vec::new(),
            deadline,
            null: NullReply::Ok,
            heeds_removal: false,
            condition: WakeCondition::Value,
        };
        return Ok(Outcome::Block(block));
    }
    if args.len() == 2 && args.is(1, "reload") {
        return save_for(call, SnapshotRequest::Reload);
    }
    if args.len() == 3 && args.is(1, "set-active-expire") {
        call.server.settings.set_expires_actively(args.at(2) != b"0");
        return call.ok();
    }
    if args.len() == 3 && args.is(1, "object") {
        return show_object(call);
    }
    let before = "ERR unknown subcommand or wrong number of arguments for '";
    Err(CommandError::with_arg(before, args.at(1), "'. Try DEBUG HELP."))
}

fn show_object(call: &mut Call<'_, '_>) -> CommandResult {
    let entry = call.keys.peek(call.args.at(2)).ok_or(CommandError::NO_SUCH_KEY)?;
    let idle = call.keys.idle_seconds(entry);
    let text =
        format!("Value at:0x0 refcount:1 encoding:{} lru_seconds_idle:{idle}", entry.value().encoding());
    call.reply.simple(&text);
    call.done()
}
