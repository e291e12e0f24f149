//! ROLE and WAIT: there are no replicas.

use super::super::{Block, Call, CommandError, CommandResult, NullReply, Outcome, WakeCondition};

pub(super) fn role(call: &mut Call<'_, '_>) -> CommandResult {
    call.reply.array(3);
    call.reply.bulk(b"master");
    call.reply.integer(0);
    call.reply.array(0);
    call.done()
}

/// Waits for replicas, which do not come, up to the end of its time.
pub(super) fn wait(call: &mut Call<'_, '_>) -> CommandResult {
    let replicas = call.integer_arg(1)?;
    let fixed = CommandError::fixed;
    let milliseconds =
        call.integer_arg(2).map_err(|_| fixed("ERR timeout is not an integer or out of range"))?;
    let milliseconds = u64::try_from(milliseconds).map_err(|_| fixed("ERR timeout is negative"))?;
    if replicas <= 0 {
        return call.integer(0);
    }
    let deadline = (milliseconds > 0).then(|| call.now().saturating_add(milliseconds));
    let (keys, others) = (Vec::new(), Vec::new());
    let null = NullReply::Zero;
    let condition = WakeCondition::Value;
    Ok(Outcome::Block(Block { keys, others, deadline, null, heeds_removal: false, condition }))
}
