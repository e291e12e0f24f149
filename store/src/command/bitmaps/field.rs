//! BITFIELD: its arguments, and what it does.

use super::super::{Call, CommandError, CommandResult, EventClass};
use super::bits::{grow, offset, read};
use super::field_type::{FieldType, Overflow};
use crate::resp::parse_integer;

/// An operation on a field.
#[derive(Clone, Copy, Debug)]
struct Operation {
    field: FieldType,
    offset: usize,
    action: Action,
}

/// What an operation does.
#[derive(Clone, Copy, Debug)]
enum Action {
    Get,
    Set(i64, Overflow),
    Add(i64, Overflow),
}

impl Operation {
    /// Returns the offset of its last bit if it writes.
    fn last_written(&self) -> Option<usize> {
        match self.action {
            Action::Get => None,
            _ => Some(self.offset + self.field.bits() as usize - 1),
        }
    }

    /// Returns the reply, and what is to be written; no reply if the number does not fit.
    fn run(&self, old: i128) -> (Option<i128>, Option<i128>) {
        match self.action {
            Action::Get => (Some(old), None),
            Action::Set(number, overflow) => {
                let new = self.field.fit(self.field.number(number), overflow);
                (new.map(|_| old), new)
            }
            Action::Add(number, overflow) => {
                let new = self.field.fit(old + i128::from(number), overflow);
                (new, new)
            }
        }
    }
}

/// Reads the operations.
fn parse(call: &Call<'_, '_>) -> Result<Vec<Operation>, CommandError> {
    let mut operations = Vec::new();
    let mut overflow = Overflow::Wrap;
    let mut args = call.args.skip(2);
    while !args.is_empty() {
        if args.is(0, "overflow") && args.len() > 1 {
            overflow = parse_overflow(args.at(1))?;
            args = args.skip(2);
            continue;
        }
        let is_get = args.is(0, "get");
        let taken = if is_get { 3 } else { 4 };
        let is_known = is_get || args.is(0, "set") || args.is(0, "incrby");
        if !is_known || args.len() < taken {
            return Err(CommandError::SYNTAX);
        }
        let field = FieldType::parse(args.at(1))?;
        let offset = offset(call, args.at(2), Some(field.bits()))?;
        let number = || parse_integer(args.at(3)).ok_or(CommandError::NOT_AN_INTEGER);
        let action = match is_get {
            true => Action::Get,
            false if args.is(0, "set") => Action::Set(number()?, overflow),
            false => Action::Add(number()?, overflow),
        };
        operations.push(Operation { field, offset, action });
        args = args.skip(taken);
    }
    Ok(operations)
}

fn parse_overflow(arg: &[u8]) -> Result<Overflow, CommandError> {
    match arg.to_ascii_lowercase().as_slice() {
        b"wrap" => Ok(Overflow::Wrap),
        b"sat" => Ok(Overflow::Saturate),
        b"fail" => Ok(Overflow::Fail),
        _ => Err(CommandError::fixed("ERR Invalid OVERFLOW type specified")),
    }
}

pub(super) fn bitfield(call: &mut Call<'_, '_>) -> CommandResult {
    let operations = parse(call)?;
    match operations.iter().filter_map(Operation::last_written).max() {
        Some(last) => change(call, &operations, last),
        None => look(call, &operations),
    }
}

pub(super) fn bitfield_ro(call: &mut Call<'_, '_>) -> CommandResult {
    let operations = parse(call)?;
    if operations.iter().any(|operation| operation.last_written().is_some()) {
        return Err(CommandError::fixed("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    look(call, &operations)
}

/// Runs operations that only read.
fn look(call: &mut Call<'_, '_>, operations: &[Operation]) -> CommandResult {
    let bytes = read(call, call.args.at(1))?.unwrap_or_default();
    let values: Vec<_> =
        operations.iter().map(|operation| Some(operation.field.read(&bytes, operation.offset))).collect();
    reply(call, &values)
}

/// Runs operations of which some write, the last of them up to the bit `last`.
fn change(call: &mut Call<'_, '_>, operations: &[Operation], last: usize) -> CommandResult {
    let key = call.args.at(1);
    let (bytes, mut has_changed) = grow(call, key, last)?;
    let mut values = Vec::with_capacity(operations.len());
    for operation in operations {
        let Operation { field, offset, .. } = *operation;
        let old = field.read(bytes, offset);
        let (value, new) = operation.run(old);
        if let Some(new) = new {
            field.write(bytes, offset, new);
            has_changed |= new != old;
        }
        values.push(value);
    }
    if has_changed {
        call.changed(EventClass::String, "setbit", key);
    }
    reply(call, &values)
}

/// Writes the values, null for a number that did not fit.
fn reply(call: &mut Call<'_, '_>, values: &[Option<i128>]) -> CommandResult {
    call.reply.array(values.len());
    for value in values {
        match value {
            // Fields have up to 64 bits with a sign, or 63 without.
            Some(number) => call.reply.integer(*number as i64),
            None => call.reply.null(),
        }
    }
    call.done()
}
