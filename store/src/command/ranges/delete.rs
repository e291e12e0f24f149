//! RANGEDEL.

use super::super::rights::allows_all_keys;
use super::super::{Call, CommandError, CommandResult, EventClass};
use super::bounds::{KeyBounds, NOT_ORDERED, limit};
use crate::keyspace::KeyCut;

/// The error if the user may write some keys only.
const MAY_NOT_WRITE: CommandError = CommandError::fixed("NOPERM RANGEDEL takes the right to write all keys");

/// Deletes shard by shard, so that at most the keys of one are copied. It is replayed as a range:
/// its size in the log does not depend on the number of keys.
pub(super) fn rangedel(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let bounds = KeyBounds::read(args)?;
    let (mut most, mut may_scan, mut at) = (None, false, 3);
    while at < args.len() {
        if args.is(at, "scan") {
            may_scan = true;
        } else if args.is(at, "limit") {
            at += 1;
            most = Some(limit(call, at)?);
        } else {
            return Err(CommandError::SYNTAX);
        }
        at += 1;
    }
    if !allows_all_keys(call, true) {
        return Err(MAY_NOT_WRITE);
    }
    let from = bounds.from();
    if !call.keys.is_ordered() && (!may_scan || most.is_some()) {
        return Err(NOT_ORDERED);
    }
    let last: Option<Box<[u8]>> = match most {
        Some(0) => return call.integer(0),
        Some(most) => {
            call.keys.range(from, bounds.to(), false).and_then(|mut keys| keys.nth(most - 1)).map(Into::into)
        }
        None => None,
    };
    let to = last.as_deref().map_or(bounds.to(), KeyCut::After);
    let removed = delete_between(call, from, to);
    call.integer(removed)
}

fn delete_between(call: &mut Call<'_, '_>, from: KeyCut<'_>, to: KeyCut<'_>) -> i64 {
    let (mut removed, mut at) = (0, 0);
    while let Some(keys) = call.keys.shard_range(at, from, to) {
        for key in keys {
            if removed == 0 && call.keys.contains(&key) {
                // Before the first one is gone: a panic later must not let the request be replayed
                // as it was sent.
                replay(call, from, to);
            }
            if call.keys.delete(&key) {
                call.changed(EventClass::Generic, "del", &key);
                removed += 1;
            }
        }
        at += 1;
    }
    removed
}

/// Notes what is to be replayed: a range of keys, with the last one in place of a limit. The
/// database may be without order then.
fn replay(call: &mut Call<'_, '_>, from: KeyCut<'_>, to: KeyCut<'_>) {
    let to = if planted!("rangedel-replayed-without-bound") { KeyCut::End } else { to };
    let (from, to) = (bound(from, b'[', b'('), bound(to, b'(', b'['));
    call.replay([b"RANGEDEL", &from[..], &to, b"SCAN"]);
}

/// Returns a cut as an argument. A bound begins with `before` if the cut is before its key, and
/// with `after` if it is behind it.
fn bound(cut: KeyCut<'_>, before: u8, after: u8) -> Vec<u8> {
    let (first, key): (u8, &[u8]) = match cut {
        KeyCut::Start => (b'-', b""),
        KeyCut::End => (b'+', b""),
        KeyCut::Before(key) => (before, key),
        KeyCut::After(key) => (after, key),
    };
    [&[first], key].concat()
}
