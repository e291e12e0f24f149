//! Which keys and channels a request names, and what for.
//!
//! Mostly the flags of the command say whether it reads or writes. Redis counts as reading only
//! what shows a part of the value: to ask whether a key is there, or how large it is, takes a right
//! on the key of either kind.

use crate::command::{Command, Flags};
use crate::resp::Args;

/// The keys and channels that a request names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(super) keys: Vec<KeyNeed>,
    pub(super) channels: Vec<ChannelNeed>,
}

/// A key that a request names, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyNeed {
    /// Its place among the arguments.
    pub(super) at: usize,
    pub(super) needs_read: bool,
    pub(super) needs_write: bool,
}

/// A channel to which a request publishes or listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChannelNeed {
    /// Its place among the arguments.
    pub(super) at: usize,
    /// Whether it is a pattern.
    pub(super) is_pattern: bool,
}

/// Whether a command reads and writes a key.
type Use = (bool, bool);

const EITHER: Use = (false, false);
const READS: Use = (true, false);
const WRITES: Use = (false, true);
const BOTH: Use = (true, true);

/// Returns what a request needs. It has at least as many arguments as the arity demands.
pub(crate) fn needs_of(command: &Command, args: Args<'_>) -> Needs {
    let (first, others) = uses(command, args);
    let keys = command.keys.positions(args).into_iter().enumerate().map(|(index, at)| {
        let (needs_read, needs_write) = if index == 0 { first } else { others };
        KeyNeed { at, needs_read, needs_write }
    });
    let channels = match command.name {
        "publish" => 1..2,
        "subscribe" | "psubscribe" => 1..args.len(),
        _ => 0..0,
    };
    let is_pattern = command.name == "psubscribe";
    let channels = channels.map(|at| ChannelNeed { at, is_pattern });
    Needs { keys: keys.collect(), channels: channels.collect() }
}

/// Returns true if a request BITFIELD has no operation but GET, with a type and an offset each.
fn only_gets(args: Args<'_>) -> bool {
    let operations = args.skip(2);
    operations.len().is_multiple_of(3) && (0..operations.len()).step_by(3).all(|at| operations.is(at, "get"))
}

/// Returns how a request uses its first key, and how the others.
fn uses(command: &Command, args: Args<'_>) -> (Use, Use) {
    let all = |one: Use| (one, one);
    match command.name {
        "exists" | "hexists" | "hlen" | "hstrlen" | "llen" | "memory|usage" | "object|encoding"
        | "object|freq" | "object|idletime" | "object|refcount" | "scard" | "sismember" | "strlen"
        | "touch" | "type" | "watch" | "xlen" | "zcard" => all(EITHER),
        "blmpop" | "blpop" | "brpop" | "bzmpop" | "bzpopmax" | "bzpopmin" | "decr" | "decrby" | "getdel"
        | "getex" | "getset" | "hincrby" | "hincrbyfloat" | "incr" | "incrby" | "incrbyfloat" | "lmpop"
        | "lpop" | "move" | "rpop" | "setbit" | "spop" | "zincrby" | "zmpop" | "zpopmax" | "zpopmin" => {
            all(BOTH)
        }
        "set" => all(if (3..args.len()).any(|at| args.is(at, "get")) { BOTH } else { WRITES }),
        "bitfield" => all(if only_gets(args) { READS } else { BOTH }),
        "blmove" | "brpoplpush" | "lmove" | "rename" | "renamenx" | "rpoplpush" | "smove" => (BOTH, WRITES),
        "copy" | "georadius" | "georadiusbymember" | "sort" => (READS, WRITES),
        "bitop" | "geosearchstore" | "sdiffstore" | "sinterstore" | "sunionstore" | "zdiffstore"
        | "zinterstore" | "zrangestore" | "zunionstore" => (WRITES, READS),
        "pfmerge" => (BOTH, READS),
        "pfdebug" | "xreadgroup" => all(READS),
        _ if command.flags.has(Flags::WRITE) => all(WRITES),
        _ if command.flags.has(Flags::READONLY) => all(READS),
        _ => all(EITHER),
    }
}
