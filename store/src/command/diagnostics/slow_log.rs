//! SLOWLOG.

use super::super::{Call, CommandError, CommandResult};

/// The entries that are returned without a count.
const DEFAULT_COUNT: usize = 10;

pub(super) fn get(call: &mut Call<'_, '_>) -> CommandResult {
    let most = match call.args.len() {
        2 => DEFAULT_COUNT,
        3 => read_count(call)?,
        _ => {
            let before = "ERR unknown subcommand or wrong number of arguments for '";
            return Err(CommandError::with_arg(before, call.args.at(1), "'. Try SLOWLOG HELP."));
        }
    };
    let requests = call.server.slow_log.last(most);
    let reply = &mut *call.reply;
    reply.array(requests.len());
    for request in requests {
        reply.array(6);
        for number in [request.id, request.at, request.microseconds] {
            reply.integer(i64::try_from(number).unwrap_or(i64::MAX));
        }
        reply.array(request.args.len());
        request.args.iter().for_each(|arg| reply.bulk(arg));
        reply.bulk(request.address.as_bytes());
        reply.bulk(&request.client_name);
    }
    call.done()
}

fn read_count(call: &Call<'_, '_>) -> Result<usize, CommandError> {
    const WRONG: CommandError = CommandError::fixed("ERR count should be greater than or equal to -1");
    match call.integer_arg(2).map_err(|_| WRONG)? {
        -1 => Ok(usize::MAX),
        count => usize::try_from(count).map_err(|_| WRONG),
    }
}

pub(super) fn len(call: &mut Call<'_, '_>) -> CommandResult {
    call.count(call.server.slow_log.len())
}

pub(super) fn reset(call: &mut Call<'_, '_>) -> CommandResult {
    call.server.slow_log.clear();
    call.ok()
}
