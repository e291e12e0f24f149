//! Units of effects as bytes.
//!
//! A *unit* is what one command or transaction changed: commands to replay, each with its database.
//! Numbers are in LEB128: seven bits a byte, the low ones first.

use super::error::Malformed;
use crate::command::Commands;
use crate::resp::{Args, Requests};

/// Appends a number.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front.
fn take_number(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

fn take_length(bytes: &mut &[u8]) -> Result<usize, Malformed> {
    let length = usize::try_from(take_number(bytes)?).map_err(|_| Malformed)?;
    // An element takes a byte at least.
    if length > bytes.len() { Err(Malformed) } else { Ok(length) }
}

/// Appends a unit: the number of its commands, and each with its database and its arguments.
pub(super) fn encode(out: &mut Vec<u8>, commands: &Commands) {
    put_number(out, commands.len() as u64);
    for (database, args) in commands.iter() {
        put_number(out, database as u64);
        put_number(out, args.len() as u64);
        for arg in args.iter() {
            put_number(out, arg.len() as u64);
            out.extend_from_slice(arg);
        }
    }
}

/// Passes the commands of units to `visit`, each with its database, in order.
///
/// # Errors
///
/// If the bytes are no units, or `visit` fails.
pub(crate) fn decode<E: From<Malformed>>(
    mut units: &[u8],
    mut visit: impl FnMut(usize, Args<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut requests = Requests::default();
    while !units.is_empty() {
        for _ in 0..take_length(&mut units)? {
            let database = usize::try_from(take_number(&mut units)?).map_err(|_| Malformed)?;
            let mut args = smallvec::SmallVec::<[&[u8]; 8]>::new();
            for _ in 0..take_length(&mut units)? {
                let length = take_length(&mut units)?;
                let (arg, rest) = units.split_at(length);
                units = rest;
                args.push(arg);
            }
            requests.clear();
            requests.push(args);
            visit(database, requests.args(0))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_as_they_were_written() {
        let long = "x".repeat(300);
        let (mut unit, mut short) = (Commands::default(), Commands::default());
        for (database, command) in
            [(0, vec!["SET", "key", &long]), (1000, vec!["DEL", ""]), (3, vec!["FLUSHDB"])]
        {
            unit.push(database, command);
        }
        short.push(1, ["DEL", "key"]);
        let mut bytes = Vec::new();
        encode(&mut bytes, &unit);
        encode(&mut bytes, &short);
        let shown =
            |database: usize, args: Args<'_>| (database, args.iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
        let mut read = Vec::new();
        let visit = |database, args: Args<'_>| {
            read.push(shown(database, args));
            Ok::<_, Malformed>(())
        };
        decode(&bytes, visit).unwrap();
        let written = unit.iter().chain(short.iter()).map(|(database, args)| shown(database, args));
        assert_eq!(read, written.collect::<Vec<_>>());
        let cut =
            (1..bytes.len()).filter(|&len| decode(&bytes[..len], |_, _| Ok::<_, Malformed>(())).is_ok());
        assert_eq!(cut.count(), 1, "only between the units");
    }
}
