//! PFDEBUG and PFSELFTEST.

use super::commands::{read, write};
use super::sketch::{Encoding, Sketch};
use super::sparse::{SparseRun, runs};
use super::{dense, element::REGISTERS};
use crate::command::error::printed;
use crate::command::{Call, CommandError, CommandResult};
use std::fmt::Write;

pub(super) fn pfdebug(call: &mut Call<'_, '_>) -> CommandResult {
    let key = call.args.at(2);
    let missing = CommandError::fixed("ERR The specified key does not exist");
    let sketch = read(call.keys, key)?.ok_or(missing)?;
    let encoding = sketch.encoding();
    match call.args.at(1).to_ascii_lowercase().as_slice() {
        b"getreg" => {
            let mut sketch = sketch.to_owned();
            sketch.make_dense()?;
            call.reply.array(REGISTERS);
            dense::iter(sketch.registers()).for_each(|number| call.reply.integer(number.into()));
            store_dense(call, key, sketch, encoding)
        }
        b"decode" if encoding == Encoding::Dense => {
            Err(CommandError::fixed("ERR HLL encoding is not sparse"))
        }
        b"decode" => {
            let text = decoded(sketch.registers());
            call.reply.bulk(text.trim_end().as_bytes());
            call.done()
        }
        b"encoding" => {
            call.reply.simple(if encoding == Encoding::Dense { "dense" } else { "sparse" });
            call.done()
        }
        b"todense" => {
            let mut sketch = sketch.to_owned();
            sketch.make_dense()?;
            store_dense(call, key, sketch, encoding)?;
            call.integer((encoding == Encoding::Sparse).into())
        }
        _ => {
            let name = printed(call.args.at(1), usize::MAX);
            Err(CommandError::with_arg("ERR Unknown PFDEBUG subcommand '", name, "'"))
        }
    }
}

/// Writes a sketch that was made dense.
fn store_dense(
    call: &mut Call<'_, '_>,
    key: &[u8],
    sketch: Sketch<Vec<u8>>,
    before: Encoding,
) -> CommandResult {
    if before == Encoding::Sparse {
        write(call, key, sketch)?;
        call.effects.count_changes(1);
        call.replay([&b"PFDEBUG"[..], b"TODENSE", key]);
    }
    call.done()
}

/// Returns the runs as text.
fn decoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for SparseRun { number, len, is_wide } in runs(bytes) {
        let written = match (number, is_wide) {
            (0, false) => write!(text, "z:{len} "),
            (0, true) => write!(text, "Z:{len} "),
            _ => write!(text, "v:{number},{len} "),
        };
        written.expect("a string takes all text");
    }
    text
}

/// The standard error of an estimate.
const STANDARD_ERROR: f64 = 1.04 / 128.0;
/// How many elements the test adds.
const TESTED: u64 = 100_000;

/// Adds elements to a dense sketch and to one that is sparse at first. Both have to agree, and
/// their estimates to be right.
pub(super) fn pfselftest(call: &mut Call<'_, '_>) -> CommandResult {
    let (mut own, mut other) = (Sketch::new(), Sketch::new());
    own.make_dense()?;
    let mut checked = 1;
    for count in 1..=TESTED {
        let element = count.to_le_bytes();
        let changes = (own.add(&element, usize::MAX)?, other.add(&element, 3000)?);
        if changes.0 != changes.1 {
            return Err(CommandError::fixed("ERR TESTFAILED dense and sparse registers differ"));
        }
        if count == checked {
            let (estimate, same) = (own.estimate()?, other.estimate()?);
            let most = (STANDARD_ERROR * 6.0 * count as f64).ceil();
            if estimate != same || estimate.abs_diff(count) as f64 > most {
                let text = format!("ERR TESTFAILED {count} elements were estimated as {estimate} and {same}");
                return Err(CommandError::new(text));
            }
            checked *= 10;
        }
    }
    call.ok()
}
