//! SET and the commands that it has replaced; GETEX.

use super::super::expiry::TimeUnit;
use super::super::{Call, CommandError, CommandResult, EventClass};
use super::get::read_string;
use crate::resp::Args;

/// Under which condition a key is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Condition {
    #[default]
    Always,
    /// Only if it is not there: NX.
    Missing,
    /// Only if it is there: XX.
    Present,
}

/// What becomes of an expiry.
#[derive(Clone, Copy, Debug, Default)]
enum Expiry<'a> {
    #[default]
    Remove,
    Keep,
    Set(TimeUnit, &'a [u8]),
}

/// The options of SET or GETEX.
#[derive(Debug, Default)]
struct Options<'a> {
    condition: Condition,
    /// `None` if no option is about it.
    expiry: Option<Expiry<'a>>,
    returns_old: bool,
}

impl<'a> Options<'a> {
    /// Returns true if a time in this unit may be named: for the first time, or once more.
    fn takes_expiry(&self, unit: TimeUnit) -> bool {
        match self.expiry {
            None => true,
            Some(Expiry::Set(before, _)) => before == unit,
            Some(Expiry::Keep | Expiry::Remove) => false,
        }
    }

    /// Reads the options from an argument on: those of SET, or those of GETEX.
    fn read(args: Args<'a>, from: usize, is_set: bool) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut at = from;
        while let Some(word) = args.get(at) {
            let next = args.get(at + 1);
            match (word.to_ascii_lowercase().as_slice(), TimeUnit::from_option(word), next) {
                (b"nx", ..) if is_set && options.condition != Condition::Present => {
                    options.condition = Condition::Missing;
                }
                (b"xx", ..) if is_set && options.condition != Condition::Missing => {
                    options.condition = Condition::Present;
                }
                (b"get", ..) if is_set => options.returns_old = true,
                (b"keepttl", ..) if is_set && !matches!(options.expiry, Some(Expiry::Set(..))) => {
                    options.expiry = Some(Expiry::Keep);
                }
                (b"persist", ..) if !is_set && !matches!(options.expiry, Some(Expiry::Set(..))) => {
                    options.expiry = Some(Expiry::Remove);
                }
                (_, Some(unit), Some(time)) if options.takes_expiry(unit) => {
                    options.expiry = Some(Expiry::Set(unit, time));
                    at += 1;
                }
                _ => return Err(CommandError::SYNTAX),
            }
            at += 1;
        }
        Ok(options)
    }
}

pub(super) fn set(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let options = Options::read(args, 3, true)?;
    let expiry = options.expiry.unwrap_or_default();
    let expires_at = match expiry {
        Expiry::Set(unit, time) => Some(unit.read_positive(time, call.now(), "set")?),
        Expiry::Keep | Expiry::Remove => None,
    };
    let key = args.at(1);
    if options.returns_old {
        let old = read_string(call.keys, key)?;
        match old {
            Some(old) => call.reply.bulk(&old.bytes()),
            None => call.reply.null(),
        }
    }
    let is_there = options.condition != Condition::Always && call.keys.contains(key);
    let is_allowed = match options.condition {
        Condition::Always => true,
        Condition::Missing => !is_there,
        Condition::Present => is_there,
    };
    if is_allowed {
        store(call, key, args.at(2), expires_at, matches!(expiry, Expiry::Keep));
    }
    match (options.returns_old, is_allowed) {
        (true, _) => {}
        (false, true) => call.reply.ok(),
        (false, false) => call.reply.null(),
    }
    call.done()
}

/// Sets a key, with an expiry perhaps.
fn store(call: &mut Call<'_, '_>, key: &[u8], value: &[u8], expires_at: Option<u64>, keeps_expiry: bool) {
    let expires_at_then = if keeps_expiry { call.keys.expires_at(key) } else { expires_at };
    call.keys.put_text(key, value, expires_at_then);
    call.changed(EventClass::String, "set", key);
    if let Some(expires_at) = expires_at {
        call.changed(EventClass::Generic, "expire", key);
        call.replay([&b"SET"[..], key, value, b"PXAT", expires_at.to_string().as_bytes()]);
    }
}

pub(super) fn setex(call: &mut Call<'_, '_>) -> CommandResult {
    set_until(call, TimeUnit::SECONDS, "setex")
}

pub(super) fn psetex(call: &mut Call<'_, '_>) -> CommandResult {
    set_until(call, TimeUnit::MILLISECONDS, "psetex")
}

fn set_until(call: &mut Call<'_, '_>, unit: TimeUnit, name: &str) -> CommandResult {
    let args = call.args;
    let expires_at = unit.read_positive(args.at(2), call.now(), name)?;
    store(call, args.at(1), args.at(3), Some(expires_at), false);
    call.ok()
}

pub(super) fn setnx(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    if call.keys.contains(args.at(1)) {
        return call.integer(0);
    }
    store(call, args.at(1), args.at(2), None, false);
    call.integer(1)
}

pub(super) fn getset(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    match read_string(call.keys, args.at(1))? {
        Some(old) => call.reply.bulk(&old.bytes()),
        None => call.reply.null(),
    }
    store(call, args.at(1), args.at(2), None, false);
    call.replay([&b"SET"[..], args.at(1), args.at(2)]);
    call.done()
}

pub(super) fn getex(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let options = Options::read(args, 2, false)?;
    let key = args.at(1);
    let Some(value) = read_string(call.keys, key)? else {
        call.reply.null();
        return call.done();
    };
    let expires_at = match options.expiry {
        Some(Expiry::Set(unit, time)) => Some((unit, unit.read_positive(time, call.now(), "getex")?)),
        _ => None,
    };
    call.reply.bulk(&value.bytes());
    match (expires_at, options.expiry) {
        (Some((unit, at)), _) if !unit.is_relative && at <= call.now() => {
            call.keys.delete(key);
            call.changed(EventClass::Generic, "del", key);
            call.replay([&b"DEL"[..], key]);
        }
        (Some((_, at)), _) => {
            call.keys.set_expiry(key, Some(at));
            call.changed(EventClass::Generic, "expire", key);
            call.replay([&b"PEXPIREAT"[..], key, at.to_string().as_bytes()]);
        }
        (None, Some(Expiry::Remove)) if call.keys.expires_at(key).is_some() => {
            call.keys.set_expiry(key, None);
            call.changed(EventClass::Generic, "persist", key);
            call.replay([&b"PERSIST"[..], key]);
        }
        _ => {}
    }
    call.done()
}

pub(super) fn mset(call: &mut Call<'_, '_>) -> CommandResult {
    if call.args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity("mset"));
    }
    set_pairs(call);
    call.ok()
}

pub(super) fn msetnx(call: &mut Call<'_, '_>) -> CommandResult {
    if call.args.len().is_multiple_of(2) {
        return Err(CommandError::wrong_arity("msetnx"));
    }
    if call.args.iter().skip(1).step_by(2).any(|key| call.keys.contains(key)) {
        return call.integer(0);
    }
    set_pairs(call);
    call.integer(1)
}

fn set_pairs(call: &mut Call<'_, '_>) {
    let args = call.args;
    for at in (1..args.len()).step_by(2) {
        store(call, args.at(at), args.at(at + 1), None, false);
    }
}
