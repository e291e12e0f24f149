//! Commands to replay, as the bytes in which the log has them.
//!
//! A *unit* is the number of its commands, and each of them: its database, the number of its
//! arguments, and the arguments with their lengths. Numbers are in LEB128: seven bits a byte, the
//! low ones first.

use crate::resp::{Args, Requests};
use smallvec::SmallVec;
use std::iter;

/// Commands to replay, in order, each with its database.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    bytes: Vec<u8>,
    len: usize,
}

/// Bytes that are no units of effects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Malformed;

/// The arguments of a command.
type Words<'a> = SmallVec<[&'a [u8]; 8]>;

/// Appends a number.
#[inline]
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

/// Takes the number of what follows off the front: each takes a byte at least.
fn take_length(bytes: &mut &[u8]) -> Result<usize, Malformed> {
    let length = usize::try_from(take_number(bytes)?).map_err(|_| Malformed)?;
    if length > bytes.len() { Err(Malformed) } else { Ok(length) }
}

fn put_command<A: AsRef<[u8]>>(out: &mut Vec<u8>, database: usize, args: impl IntoIterator<Item = A>) {
    put_number(out, database as u64);
    let count_at = out.len();
    out.push(0);
    let mut count = 0;
    for arg in args {
        let arg = arg.as_ref();
        put_number(out, arg.len() as u64);
        out.extend_from_slice(arg);
        count += 1;
    }
    match u8::try_from(count) {
        Ok(count) if count < 0x80 => out[count_at] = count,
        _ => {
            let mut number = Vec::new();
            put_number(&mut number, count);
            out.splice(count_at..=count_at, number);
        }
    }
}

/// Takes a command off the front: its database, and its arguments.
fn take_command<'a>(bytes: &mut &'a [u8]) -> Result<(usize, Words<'a>), Malformed> {
    let database = usize::try_from(take_number(bytes)?).map_err(|_| Malformed)?;
    let mut args = Words::new();
    for _ in 0..take_length(bytes)? {
        let length = take_length(bytes)?;
        let (arg, rest) = bytes.split_at(length);
        *bytes = rest;
        args.push(arg);
    }
    Ok((database, args))
}

/// Passes the commands of units to `visit`, each with its database, in order.
///
/// # Errors
///
/// If the bytes are no units, or `visit` fails.
pub(crate) fn visit_units<E: From<Malformed>>(
    mut units: &[u8],
    mut visit: impl FnMut(usize, Args<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut requests = Requests::default();
    while !units.is_empty() {
        visit_unit(&mut units, &mut requests, &mut visit)?;
    }
    Ok(())
}

/// Takes a unit off the front, and passes its commands to `visit`, each with its database, in
/// order. `requests` is memory.
///
/// # Errors
///
/// If the bytes are no unit, or `visit` fails.
pub(crate) fn visit_unit<E: From<Malformed>>(
    units: &mut &[u8],
    requests: &mut Requests,
    mut visit: impl FnMut(usize, Args<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for _ in 0..take_length(units)? {
        let (database, args) = take_command(units)?;
        requests.clear();
        requests.push(args);
        visit(database, requests.args(0))?;
    }
    Ok(())
}

impl Commands {
    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no commands.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over the commands: the database of each, and its arguments.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Vec<&[u8]>)> {
        let mut rest = &self.bytes[..];
        iter::from_fn(move || {
            take_command(&mut rest).ok().map(|(database, args)| (database, args.into_vec()))
        })
    }

    /// Appends the commands as a unit.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_number(out, self.len as u64);
        out.extend_from_slice(&self.bytes);
    }

    #[inline]
    pub(crate) fn push<A: AsRef<[u8]>>(&mut self, database: usize, args: impl IntoIterator<Item = A>) {
        put_command(&mut self.bytes, database, args);
        self.len += 1;
    }

    /// Inserts a command before the one of this index.
    pub(crate) fn insert<A: AsRef<[u8]>>(
        &mut self,
        index: usize,
        database: usize,
        args: impl IntoIterator<Item = A>,
    ) {
        let at = self.offset(index);
        let mut inserted = Vec::new();
        put_command(&mut inserted, database, args);
        self.bytes.splice(at..at, inserted);
        self.len += 1;
    }

    /// Removes the commands from this index on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(self.offset(len));
        self.len = len;
    }

    /// Returns where the command of an index begins.
    fn offset(&self, index: usize) -> usize {
        let mut rest = &self.bytes[..];
        let skipped = (0..index).all(|_| take_command(&mut rest).is_ok());
        debug_assert!(skipped, "there are so many commands");
        self.bytes.len() - rest.len()
    }

    /// Removes all commands, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_commands_are_removed() {
        let mut commands = Commands::default();
        (0..3).for_each(|number| commands.push(number, ["SET", "key", "value"]));
        commands.truncate(1);
        assert_eq!((commands.len(), commands.iter().count()), (1, 1));
        commands.push(7, ["DEL", "key"]);
        assert_eq!(commands.iter().map(|(database, _)| database).collect::<Vec<_>>(), [0, 7]);
    }

    fn shown(commands: &Commands) -> Vec<(usize, Vec<Vec<u8>>)> {
        let owned = |args: Vec<&[u8]>| args.into_iter().map(<[u8]>::to_vec).collect();
        commands.iter().map(|(database, args)| (database, owned(args))).collect()
    }

    #[test]
    fn a_command_is_inserted_between_others() {
        let mut commands = Commands::default();
        commands.push(1, ["a", "b"]);
        commands.push(2, ["c"]);
        commands.insert(1, 3, ["d", "e"]);
        let mut expected = Commands::default();
        commands.iter().for_each(|(database, args)| expected.push(database, args));
        assert_eq!(shown(&commands), shown(&expected));
        let databases: Vec<_> = commands.iter().map(|(database, _)| database).collect();
        assert_eq!((databases, commands.len()), (vec![1, 3, 2], 3));
        commands.clear();
        assert!(commands.is_empty() && commands.iter().next().is_none());
    }

    #[test]
    fn units_are_read_as_they_were_written() {
        let (mut unit, mut short) = (Commands::default(), Commands::default());
        let many: Vec<String> = (0..300).map(|number| "x".repeat(number)).collect();
        unit.push(0, &many);
        unit.push(1000, ["DEL", ""]);
        unit.push(3, ["FLUSHDB"]);
        short.push(1, ["DEL", "key"]);
        let mut bytes = Vec::new();
        unit.write(&mut bytes);
        short.write(&mut bytes);
        let mut read = Vec::new();
        let visit = |database, args: Args<'_>| {
            read.push((database, args.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()));
            Ok::<_, Malformed>(())
        };
        visit_units(&bytes, visit).unwrap();
        assert_eq!(read, [shown(&unit), shown(&short)].concat());
        assert_eq!(read[0].1.len(), 300);
        let is_read = |len: &usize| visit_units(&bytes[..*len], |_, _| Ok::<_, Malformed>(())).is_ok();
        assert_eq!((1..bytes.len()).filter(is_read).count(), 1, "only between the units");
    }
}
