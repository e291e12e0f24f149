//! EXPIRE, TTL and their siblings.

use super::super::expiry::TimeUnit;
use super::super::{Call, CommandError, CommandResult, EventClass};
use crate::resp::Args;

/// Under which conditions a new expiry is set.
#[derive(Debug, Default)]
struct Conditions {
    has_none: bool,
    has_one: bool,
    is_later: bool,
    is_earlier: bool,
}

impl Conditions {
    fn read(args: Args<'_>) -> Result<Self, CommandError> {
        let mut conditions = Self::default();
        for word in args.skip(3).iter() {
            match word.to_ascii_lowercase().as_slice() {
                b"nx" => conditions.has_none = true,
                b"xx" => conditions.has_one = true,
                b"gt" => conditions.is_later = true,
                b"lt" => conditions.is_earlier = true,
                _ => return Err(CommandError::with_arg("ERR Unsupported option ", word, "")),
            }
        }
        let Self { has_none, has_one, is_later, is_earlier } = conditions;
        if has_none && (has_one || is_later || is_earlier) {
            let text = "ERR NX and XX, GT or LT options at the same time are not compatible";
            return Err(CommandError::fixed(text));
        }
        if is_later && is_earlier {
            let text = "ERR GT and LT options at the same time are not compatible";
            return Err(CommandError::fixed(text));
        }
        Ok(conditions)
    }

    /// Returns true if they hold. A key without an expiry has one that is infinitely late.
    fn hold(&self, old: Option<u64>, new: i64) -> bool {
        let old = old.map(|old| i64::try_from(old).unwrap_or(i64::MAX));
        !(self.has_none && old.is_some()
            || self.has_one && old.is_none()
            || self.is_later && old.is_none_or(|old| new <= old)
            || self.is_earlier && old.is_some_and(|old| new >= old))
    }
}

pub(super) fn expire(call: &mut Call<'_, '_>) -> CommandResult {
    set_expiry(call, TimeUnit::SECONDS, "expire")
}

pub(super) fn pexpire(call: &mut Call<'_, '_>) -> CommandResult {
    set_expiry(call, TimeUnit::MILLISECONDS, "pexpire")
}

pub(super) fn expireat(call: &mut Call<'_, '_>) -> CommandResult {
    set_expiry(call, TimeUnit::SECONDS_AT, "expireat")
}

pub(super) fn pexpireat(call: &mut Call<'_, '_>) -> CommandResult {
    set_expiry(call, TimeUnit::MILLISECONDS_AT, "pexpireat")
}

fn set_expiry(call: &mut Call<'_, '_>, unit: TimeUnit, name: &str) -> CommandResult {
    let key = call.args.at(1);
    let conditions = Conditions::read(call.args)?;
    let time = call.integer_arg(2)?;
    let expires_at = unit.to_milliseconds(time, call.now());
    let expires_at = expires_at.ok_or_else(|| CommandError::invalid_expiry(name))?;
    let Some(entry) = call.keys.peek(key) else { return call.integer(0) };
    if !conditions.hold(entry.expires_at(), expires_at) {
        return call.integer(0);
    }
    match u64::try_from(expires_at).ok().filter(|at| *at > call.now()) {
        Some(at) => {
            call.keys.set_expiry(key, Some(at));
            call.changed(EventClass::Generic, "expire", key);
            call.replay([&b"PEXPIREAT"[..], key, at.to_string().as_bytes()]);
        }
        None => {
            call.keys.delete(key);
            call.changed(EventClass::Generic, "del", key);
            call.replay([&b"DEL"[..], key]);
        }
    }
    call.integer(1)
}

pub(super) fn ttl(call: &mut Call<'_, '_>) -> CommandResult {
    show_expiry(call, TimeUnit::SECONDS)
}

pub(super) fn pttl(call: &mut Call<'_, '_>) -> CommandResult {
    show_expiry(call, TimeUnit::MILLISECONDS)
}

pub(super) fn expiretime(call: &mut Call<'_, '_>) -> CommandResult {
    show_expiry(call, TimeUnit::SECONDS_AT)
}

pub(super) fn pexpiretime(call: &mut Call<'_, '_>) -> CommandResult {
    show_expiry(call, TimeUnit::MILLISECONDS_AT)
}

fn show_expiry(call: &mut Call<'_, '_>, unit: TimeUnit) -> CommandResult {
    let Some(entry) = call.keys.look(call.args.at(1)) else { return call.integer(-2) };
    let Some(at) = entry.expires_at() else { return call.integer(-1) };
    let time = if unit.is_relative { at.saturating_sub(call.now()) } else { at };
    let shown = if unit.is_seconds { (time + 500) / 1000 } else { time };
    call.integer(i64::try_from(shown).unwrap_or(i64::MAX))
}

pub(super) fn persist(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(1);
    if call.keys.expires_at(key).is_none() {
        return call.integer(0);
    }
    call.keys.set_expiry(key, None);
    call.changed(EventClass::Generic, "persist", key);
    call.integer(1)
}
