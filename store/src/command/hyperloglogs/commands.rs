//! PFADD, PFCOUNT and PFMERGE.

use super::sketch::{Encoding, Registers, Sketch, estimate_of, no_registers};
use crate::command::strings::read_string;
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::keyspace::Keys;
use crate::resp::Args;
use crate::server::Setting;
use crate::value::{StringRef, StringValue, Value};
use std::borrow::Cow;

/// Finds a sketch to read it.
pub(super) fn read<'k>(
    keys: &'k Keys<'_>,
    key: &[u8],
) -> Result<Option<Sketch<Cow<'k, [u8]>>>, CommandError> {
    read_string(keys, key)?.map(StringRef::bytes).map(Sketch::check).transpose()
}

/// Sets the bytes of a key, which keeps its expiry.
pub(super) fn write(call: &mut Call<'_, '_>, key: &[u8], sketch: Sketch<Vec<u8>>) -> CommandResult {
    let make = || Value::String(StringValue::Growing(Vec::new()));
    *call.keys.get_or_insert_with(key, make).as_string_mut()?.make_growing() = sketch.into_bytes();
    call.done()
}

/// Returns the bytes up to which a sketch is sparse.
fn limit(call: &Call<'_, '_>) -> usize {
    usize::try_from(call.server.settings.number(Setting::HllSparseMaxBytes)).unwrap_or(0)
}

pub(super) fn pfadd(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, limit) = (call.args.at(1), limit(call));
    // A copy of one that is damaged, so that it stays as it was.
    let found = read(call.keys, key)?
        .map(|sketch| (!sketch.is_sound() && !planted!("damaged-half-changed")).then(|| sketch.to_owned()));
    let mut has_changed = found.is_none();
    let is_taken = matches!(found, Some(None));
    let mut sketch = match found {
        None => Sketch::new(),
        Some(Some(copy)) => copy,
        Some(None) => take(call, key)?,
    };
    for element in call.args.skip(2).iter() {
        has_changed |= sketch.add(element, limit)?;
    }
    if has_changed {
        sketch.outdate();
    }
    if has_changed || is_taken {
        write(call, key, sketch)?;
    }
    if has_changed {
        call.changed(EventClass::String, "pfadd", key);
    }
    call.integer(has_changed.into())
}

/// Takes the bytes of a sketch that is there, to be written again.
fn take(call: &mut Call<'_, '_>, key: &[u8]) -> Result<Sketch<Vec<u8>>, CommandError> {
    let value = call.keys.get_mut(key).map(Value::as_string_mut).transpose()?;
    Sketch::check(value.map(|value| std::mem::take(value.make_growing())).unwrap_or_default())
}

/// Returns the registers of the union of sketches, and whether one is dense.
fn union(keys: &Keys<'_>, names: Args<'_>) -> Result<(Registers, bool), CommandError> {
    let (mut registers, mut is_dense) = (no_registers(), false);
    for name in names.iter() {
        if let Some(sketch) = read(keys, name)? {
            is_dense |= sketch.encoding() == Encoding::Dense;
            sketch.merge_into(&mut registers)?;
        }
    }
    Ok((registers, is_dense))
}

pub(super) fn pfcount(call: &mut Call<'_, '_>) -> CommandResult {
    let keys = call.args.skip(1);
    if keys.len() > 1 {
        let (registers, _) = union(call.keys, keys)?;
        return call.integer(estimate_of(&registers) as i64);
    }
    let Some(sketch) = read(call.keys, keys.at(0))? else { return call.integer(0) };
    if let Some(noted) = sketch.noted_estimate() {
        return call.integer(noted as i64);
    }
    let estimate = sketch.estimate()?;
    // The key changes, though the command is one that reads: not while nothing can be logged.
    let is_refused = call.server.log.get().is_some_and(|log| log.error().is_some());
    if !is_refused {
        note_estimate(call, keys.at(0), estimate)?;
    }
    call.integer(estimate as i64)
}

/// Notes an estimate in the sketch. There is no event of that, as in Redis.
fn note_estimate(call: &mut Call<'_, '_>, key: &[u8], estimate: u64) -> Result<(), CommandError> {
    let mut sketch = take(call, key)?;
    sketch.note_estimate(estimate);
    write(call, key, sketch)?;
    call.keys.note_change(key);
    call.effects.count_changes(1);
    Ok(())
}

pub(super) fn pfmerge(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, limit) = (call.args.at(1), limit(call));
    let (registers, is_dense) = union(call.keys, call.args.skip(1))?;
    // Looked up above.
    let value = call.keys.peek(key).map(|entry| entry.value().as_string()).transpose()?;
    let sketch = value.map(StringRef::bytes).map(Sketch::check).transpose()?;
    let mut sketch = sketch.map_or_else(Sketch::new, |sketch| sketch.to_owned());
    if is_dense {
        sketch.make_dense()?;
    }
    for (index, &number) in registers.iter().enumerate().filter(|(_, number)| **number > 0) {
        sketch.raise(index, number, limit)?;
    }
    sketch.outdate();
    write(call, key, sketch)?;
    call.changed(EventClass::String, "pfadd", key);
    call.ok()
}
