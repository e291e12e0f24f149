//! From one list to another.

use super::{parse_end, pop_event, push_event, read, write, write_or_make};
use crate::command::operands;
use crate::command::{
    Block, Call, CommandError, CommandResult, EventClass, NullReply, Outcome, WakeCondition,
};
use crate::value::End;

/// From an end of a list to an end of another.
#[derive(Clone, Copy)]
struct Transfer<'a> {
    source: &'a [u8],
    from: End,
    destination: &'a [u8],
    to: End,
}

impl<'a> Transfer<'a> {
    /// Reads the arguments of LMOVE and BLMOVE.
    fn parse(call: &Call<'a, '_>) -> Result<Self, CommandError> {
        let end = |index| parse_end(call.args.at(index)).ok_or(CommandError::SYNTAX);
        let (from, to) = (end(3)?, end(4)?);
        Ok(Self { source: call.args.at(1), from, destination: call.args.at(2), to })
    }

    /// Reads the arguments of RPOPLPUSH and BRPOPLPUSH.
    fn from_tail_to_head(call: &Call<'a, '_>) -> Self {
        let (source, destination) = (call.args.at(1), call.args.at(2));
        Self { source, from: End::Right, destination, to: End::Left }
    }

    /// Moves an element and writes it. Returns false, and writes nothing, if there is no source.
    fn run(self, call: &mut Call<'_, '_>) -> Result<bool, CommandError> {
        let limits = call.limits();
        if read(call, self.source)?.is_none() {
            return Ok(false);
        }
        read(call, self.destination)?;
        let Some(source) = write(call, self.source)? else { return Ok(false) };
        let Some(element) = source.pop(self.from, &limits) else { return Ok(false) };
        let is_empty = source.is_empty() && self.source != self.destination;
        write_or_make(call, self.destination)?.push(self.to, &element, &limits);
        call.changed(EventClass::List, push_event(self.to), self.destination);
        call.shrunk(EventClass::List, pop_event(self.from), self.source, is_empty);
        call.reply.bulk(&element);
        Ok(true)
    }

    /// Does as [`run`](Self::run), or waits for the source.
    fn run_or_wait(self, call: &mut Call<'_, '_>, deadline: Option<u64>) -> CommandResult {
        // Another type does not end the wait.
        let may_run = call.ready.is_none() || read(call, self.source).is_ok();
        if may_run && self.run(call)? {
            let name = |end| if end == End::Left { &b"LEFT"[..] } else { b"RIGHT" };
            call.replay([b"LMOVE", self.source, self.destination, name(self.from), name(self.to)]);
            return call.done();
        }
        Ok(Outcome::Block(Block {
            keys: vec![self.source.into()],
            others: if planted!("destination-unheld") { vec![] } else { vec![self.destination.into()] },
            deadline,
            null: NullReply::Bulk,
            heeds_removal: false,
            condition: WakeCondition::List,
        }))
    }

    /// Does as [`run`](Self::run), or writes null.
    fn run_or_null(self, call: &mut Call<'_, '_>) -> CommandResult {
        if !self.run(call)? {
            call.reply.null();
        }
        call.done()
    }
}

pub(super) fn lmove(call: &mut Call<'_, '_>) -> CommandResult {
    Transfer::parse(call)?.run_or_null(call)
}

pub(super) fn rpoplpush(call: &mut Call<'_, '_>) -> CommandResult {
    Transfer::from_tail_to_head(call).run_or_null(call)
}

pub(super) fn blmove(call: &mut Call<'_, '_>) -> CommandResult {
    let transfer = Transfer::parse(call)?;
    let deadline = operands::deadline(call, call.args.at(5))?;
    transfer.run_or_wait(call, deadline)
}

pub(super) fn brpoplpush(call: &mut Call<'_, '_>) -> CommandResult {
    let deadline = operands::deadline(call, call.args.at(3))?;
    Transfer::from_tail_to_head(call).run_or_wait(call, deadline)
}
