//! Which commands look keys up to read them, as Redis counts it.

use super::{Command, Flags, KeyPositions};
use crate::keyspace::LookupUse;
use crate::resp::Args;

/// Commands that write, are not quick, and read other keys or the value before.
const READING_WRITERS: &[&str] = &[
    "copy",
    "georadius",
    "georadiusbymember",
    "geosearchstore",
    "pfmerge",
    "sdiffstore",
    "sinterstore",
    "sort",
    "sunionstore",
    "xreadgroup",
    "zdiffstore",
    "zinterstore",
    "zrangestore",
    "zunionstore",
];

/// Returns true if a request BITFIELD only reads.
fn only_reads(args: Args<'_>) -> bool {
    (2..args.len()).all(|at| !args.is(at, "set") && !args.is(at, "incrby"))
}

/// Returns what becomes of the lookups of a request.
#[inline]
pub(super) fn lookups_of(command: &Command, args: Args<'_>) -> LookupUse {
    let is_told = match command {
        // Of these some are about the value and not what is in it.
        Command { keys: KeyPositions::Range { first: 2.., .. }, .. } => return lookups_after_word(command),
        Command { name: "set", .. } => (3..args.len()).any(|at| args.is(at, "get")),
        Command { name: "bitfield", .. } => only_reads(args),
        _ if command.flags.has(Flags::READONLY) => true,
        Command { is_quick: true, name, .. } => {
            matches!(*name, "getdel" | "getex" | "getset" | "xack" | "xautoclaim" | "xclaim")
        }
        Command { name, .. } => READING_WRITERS.contains(name),
    };
    if is_told { LookupUse::Told } else { LookupUse::Ignored }
}

/// Returns what becomes of the lookups of a command whose keys come after another word.
fn lookups_after_word(command: &Command) -> LookupUse {
    match command.name {
        "object|encoding" | "object|freq" | "object|idletime" | "object|refcount" => LookupUse::Counted,
        "memory|usage" | "pfdebug" => LookupUse::Ignored,
        "bitop" => LookupUse::Told,
        _ if command.flags.has(Flags::READONLY) => LookupUse::Told,
        _ => LookupUse::Ignored,
    }
}
