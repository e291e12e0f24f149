//! MEMORY.

use super::super::operands::count;
use super::super::{Call, CommandError, CommandResult};

/// Elements whose sizes stand for those of all, if the command does not say how many.
const SAMPLES: usize = 5;

pub(super) fn usage(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let mut samples = SAMPLES;
    let mut options = args.skip(3);
    while !options.is_empty() {
        if !options.is(0, "samples") {
            return Err(CommandError::SYNTAX);
        }
        let arg = options.get(1).ok_or(CommandError::SYNTAX)?;
        samples = count(arg).map_err(|_| match crate::resp::parse_integer(arg) {
            Some(_) => CommandError::SYNTAX,
            None => CommandError::NOT_AN_INTEGER,
        })?;
        options = options.skip(2);
    }
    match call.keys.peek(args.at(2)).map(|entry| entry.memory(samples)) {
        Some(bytes) => call.reply.count(bytes),
        None => call.reply.null(),
    }
    call.done()
}
