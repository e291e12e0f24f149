//! BITOP.

use super::super::{Call, CommandError, CommandResult, EventClass};
use super::bits::read;
use crate::value::{StringValue, Value};

/// What BITOP does with the bytes of two strings.
type Combine = fn(u8, u8) -> u8;

/// What it does; `None` is NOT, of one string.
fn parse(name: &[u8]) -> Result<Option<Combine>, CommandError> {
    match name.to_ascii_lowercase().as_slice() {
        b"and" => Ok(Some(|one, other| one & other)),
        b"or" => Ok(Some(|one, other| one | other)),
        b"xor" => Ok(Some(|one, other| one ^ other)),
        b"not" => Ok(None),
        _ => Err(CommandError::SYNTAX),
    }
}

pub(super) fn bitop(call: &mut Call<'_, '_>) -> CommandResult {
    let (destination, sources) = (call.args.at(2), call.args.skip(3));
    let combine = parse(call.args.at(1))?;
    if combine.is_none() && sources.len() != 1 {
        return Err(CommandError::fixed("ERR BITOP NOT must be called with a single source key."));
    }
    let mut strings = Vec::with_capacity(sources.len());
    for key in sources.iter() {
        strings.push(read(call, key)?.unwrap_or_default());
    }
    let longest = strings.iter().map(|bytes| bytes.len()).max().unwrap_or(0);
    let mut strings = strings.into_iter();
    let mut result = strings.next().unwrap_or_default().into_owned();
    result.resize(longest, 0);
    match combine {
        None => result.iter_mut().for_each(|byte| *byte = !*byte),
        // A string that is shorter goes on with zeros.
        Some(combine) => strings.for_each(|bytes| {
            let padded = bytes.iter().copied().chain(std::iter::repeat(0));
            result.iter_mut().zip(padded).for_each(|(byte, other)| *byte = combine(*byte, other));
        }),
    }
    if longest > 0 {
        call.keys.put(destination, Value::String(StringValue::Growing(result)));
        call.changed(EventClass::String, "set", destination);
    } else if call.keys.delete(destination) {
        call.changed(EventClass::Generic, "del", destination);
    }
    call.count(longest)
}
