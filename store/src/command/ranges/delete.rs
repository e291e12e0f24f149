//! RANGEDEL.

use super::super::{Call, CommandError, CommandResult, EventClass, Reach};
use super::bounds::{KeyBounds, NOT_ORDERED, limit, order_swapped};
use crate::keyspace::KeyCut;
use crate::resp::Args;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The error if the user may write some keys only.
const MAY_NOT_WRITE: CommandError = CommandError::fixed("NOPERM RANGEDEL takes the right to write all keys");

/// Any key may be deleted.
pub(super) fn reach(_: Args<'_>) -> Option<Reach> {
    Some(Reach { is_write: true, refusal: MAY_NOT_WRITE })
}

/// Keys of a DEL that is replayed.
const KEYS_OF_REPLAY: usize = 1024;

/// It is replayed as a range: its size in the log does not depend on the number of keys.
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
    order_swapped(call);
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
    call.count(removed)
}

/// Deletes the keys between two cuts, shard by shard. Returns their number. If it is stopped
/// halfway by a panic, the keys are replayed that are gone.
fn delete_between(call: &mut Call<'_, '_>, from: KeyCut<'_>, to: KeyCut<'_>) -> usize {
    let mut removed = Vec::new();
    // Unwind safe: no value is left in a state that is not sound, and what is gone is noted.
    let outcome = catch_unwind(AssertUnwindSafe(|| delete_all(call, from, to, &mut removed)));
    if let Err(panic) = outcome {
        if planted!("rangedel-replayed-though-stopped") {
            replay(call, from, to);
            resume_unwind(panic);
        }
        // The last one is perhaps still there, or was not told of.
        removed.pop_if(|key| call.keys.contains(key));
        for keys in removed.chunks(KEYS_OF_REPLAY) {
            call.replay([&b"DEL"[..]].into_iter().chain(keys.iter().map(|key| &**key)));
        }
        removed.last().into_iter().for_each(|key| call.keys.note_change(key));
        resume_unwind(panic);
    }
    if !removed.is_empty() {
        replay(call, from, to);
    }
    removed.len()
}

/// Deletes the keys between two cuts. Each is among the removed ones before it is gone: these are
/// kept to the end, and take less memory than their entries did.
fn delete_all(call: &mut Call<'_, '_>, from: KeyCut<'_>, to: KeyCut<'_>, removed: &mut Vec<Box<[u8]>>) {
    let mut at = 0;
    while let Some(keys) = call.keys.shard_range(at, from, to) {
        removed.reserve(keys.len());
        for key in keys {
            removed.push(key);
            let key = &removed[removed.len() - 1];
            if call.keys.delete(key) {
                call.changed(EventClass::Generic, "del", key);
            } else {
                removed.pop();
            }
        }
        at += 1;
    }
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
