//! Commands on numbers in fields.

use super::write_or_make;
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::parse_integer;
use crate::value::Extended;

pub(super) fn hincrby(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, field, limits) = (call.args.at(1), call.args.at(2), call.limits());
    let increment = call.integer_arg(3)?;
    let hash = write_or_make(call, key)?;
    let old = match hash.get(field) {
        Some(old) => parse_integer(old).ok_or(CommandError::fixed("ERR hash value is not an integer"))?,
        None => 0,
    };
    let new = old.checked_add(increment);
    let new = new.ok_or(CommandError::fixed("ERR increment or decrement would overflow"))?;
    hash.set(field, new.to_string().as_bytes(), &limits);
    call.changed(EventClass::Hash, "hincrby", key);
    call.integer(new)
}

pub(super) fn hincrbyfloat(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, field, limits) = (call.args.at(1), call.args.at(2), call.limits());
    let increment = Extended::parse(call.args.at(3)).ok_or(CommandError::NOT_A_FLOAT)?;
    if !increment.is_finite() {
        return Err(CommandError::fixed("ERR value is NaN or Infinity"));
    }
    let hash = write_or_make(call, key)?;
    let old = Extended::parse(hash.get(field).unwrap_or(b"0"));
    let old = old.ok_or(CommandError::fixed("ERR hash value is not a float"))?;
    let new = old.checked_add(increment);
    let new = new.ok_or(CommandError::fixed("ERR increment would produce NaN or Infinity"))?.to_string();
    hash.set(field, new.as_bytes(), &limits);
    call.changed(EventClass::Hash, "hincrbyfloat", key);
    // The sum depends on the arithmetic; the result does not.
    call.replay([b"HSET", key, field, new.as_bytes()]);
    call.reply.bulk(new.as_bytes());
    call.done()
}
