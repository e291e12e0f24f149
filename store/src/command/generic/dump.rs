//! DUMP and RESTORE.

use super::super::{Call, CommandError, CommandResult, EventClass};
use crate::rdb::{self, RdbErrorKind};
use crate::value::Value;

pub(super) fn dump(call: &mut Call<'_, '_>) -> CommandResult {
    match call.keys.get(call.args.at(1)) {
        Some(value) => call.reply.bulk(&rdb::dump(value)),
        None => call.reply.null(),
    }
    call.done()
}

/// The options of RESTORE.
#[derive(Debug, Default)]
struct RestoreOptions {
    replaces: bool,
    /// The time of expiry is counted from 1970.
    is_absolute: bool,
    idle_seconds: Option<u64>,
    /// The counter of accesses.
    count: Option<u8>,
}

impl RestoreOptions {
    fn read(call: &Call<'_, '_>) -> Result<Self, CommandError> {
        let (args, mut options) = (call.args, Self::default());
        let mut at = 4;
        while at < args.len() {
            let has_value = at + 1 < args.len();
            if args.is(at, "replace") {
                options.replaces = true;
            } else if args.is(at, "absttl") {
                options.is_absolute = true;
            } else if args.is(at, "idletime") && has_value && options.count.is_none() {
                at += 1;
                let idle = u64::try_from(call.integer_arg(at)?);
                let idle =
                    idle.map_err(|_| CommandError::fixed("ERR Invalid IDLETIME value, must be >= 0"))?;
                options.idle_seconds = Some(idle);
            } else if args.is(at, "freq") && has_value && options.idle_seconds.is_none() {
                at += 1;
                let count = u8::try_from(call.integer_arg(at)?);
                let text = "ERR Invalid FREQ value, must be >= 0 and <= 255";
                options.count = Some(count.map_err(|_| CommandError::fixed(text))?);
            } else {
                return Err(CommandError::SYNTAX);
            }
            at += 1;
        }
        Ok(options)
    }
}

/// Returns the value of a dump.
fn read_value(call: &Call<'_, '_>, dump: &[u8]) -> Result<Value, CommandError> {
    rdb::restore(dump, &call.server.settings.value_limits()).map_err(|error| {
        let is_footer = matches!(error.kind, RdbErrorKind::Version(_) | RdbErrorKind::Checksum { .. });
        CommandError::fixed(match is_footer || dump.len() < rdb::FOOTER {
            true => "ERR DUMP payload version or checksum are wrong",
            false => "ERR Bad data format",
        })
    })
}

pub(super) fn restore(call: &mut Call<'_, '_>) -> CommandResult {
    let options = RestoreOptions::read(call)?;
    let (key, dump) = (call.args.at(1), call.args.at(3));
    if !options.replaces && call.keys.contains(key) {
        return Err(CommandError::fixed("BUSYKEY Target key name already exists."));
    }
    let time = u64::try_from(call.integer_arg(2)?);
    let time = time.map_err(|_| CommandError::fixed("ERR Invalid TTL value, must be >= 0"))?;
    let value = read_value(call, dump)?;
    let expires_at = match time {
        0 => None,
        time if options.is_absolute => Some(time),
        time => Some(time.saturating_add(call.now())),
    };
    if expires_at.is_some_and(|at| at <= call.now()) {
        return restore_expired(call, key);
    }
    call.keys.put_until(key, value, expires_at);
    if let Some(idle) = options.idle_seconds {
        call.keys.set_idle_seconds(key, idle);
    }
    if let Some(count) = options.count {
        call.keys.set_count(key, count);
    }
    call.changed(EventClass::Generic, "restore", key);
    replay(call, expires_at.filter(|_| !options.is_absolute));
    call.ok()
}

/// Ends the restoring of a value that has expired: a key that it would replace is removed.
fn restore_expired(call: &mut Call<'_, '_>, key: &[u8]) -> CommandResult {
    if call.keys.delete(key) {
        call.changed(EventClass::Generic, "del", key);
        call.replay([&b"DEL"[..], key]);
    }
    call.ok()
}

/// Says what is to be replayed: the command itself, or the same with this time of expiry.
fn replay(call: &mut Call<'_, '_>, expires_at: Option<u64>) {
    let Some(at) = expires_at else { return };
    let at = at.to_string();
    let mut args: Vec<&[u8]> = call.args.iter().collect();
    args[2] = at.as_bytes();
    args.push(b"ABSTTL");
    call.replay(args);
}
