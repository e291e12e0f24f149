//! Where the keys of each command are among its arguments, and what it does with them: what COMMAND
//! INFO says, and COMMAND GETKEYSANDFLAGS.

use super::super::{Command, KeyPositions};
use crate::resp::{Args, parse_integer};

/// Where some keys of a command are, and what it does with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeySpec {
    /// Redis' words: how it accesses the keys, and what it does to their values.
    pub(super) flags: &'static str,
    pub(super) place: KeyPlace,
    pub(super) notes: Option<&'static str>,
}

/// Where keys are.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyPlace {
    /// From `first` to `last` in steps. `last` is relative to the first, or negative from the end.
    Range { first: usize, last: isize, step: usize },
    /// As many as the argument at `count` says, right after it.
    Counted { count: usize },
    /// After a word that is at or behind a position: a range, or the first of `limit` equal parts
    /// of what follows.
    After { word: &'static str, from: usize, last: isize, step: usize, limit: usize },
    /// That takes a function.
    Unknown,
}

const fn place(place: KeyPlace, flags: &'static str) -> KeySpec {
    KeySpec { flags, place, notes: None }
}

const fn key(first: usize, flags: &'static str) -> KeySpec {
    keys(first, 0, 1, flags)
}

const fn keys(first: usize, last: isize, step: usize, flags: &'static str) -> KeySpec {
    place(KeyPlace::Range { first, last, step }, flags)
}

const fn counted(count: usize, flags: &'static str) -> KeySpec {
    place(KeyPlace::Counted { count }, flags)
}

const fn after(
    word: &'static str,
    from: usize,
    last: isize,
    step: usize,
    limit: usize,
    flags: &'static str,
) -> KeySpec {
    place(KeyPlace::After { word, from, last, step, limit }, flags)
}

const fn anywhere(flags: &'static str) -> KeySpec {
    place(KeyPlace::Unknown, flags)
}

impl KeySpec {
    const fn noted(mut self, notes: &'static str) -> Self {
        self.notes = Some(notes);
        self
    }

    /// Returns true if the argument at `at` is a key of this kind.
    fn covers(&self, args: Args<'_>, at: usize) -> bool {
        let in_range = |first: usize, last: isize, step: usize| {
            let last = if last < 0 { args.len().saturating_add_signed(last) } else { first + last as usize };
            (first..=last).contains(&at) && (at - first).is_multiple_of(step)
        };
        match self.place {
            KeyPlace::Range { first, last, step } => in_range(first, last, step),
            KeyPlace::Counted { count } => {
                let keys =
                    args.get(count).and_then(parse_integer).and_then(|keys| usize::try_from(keys).ok());
                keys.is_some_and(|keys| at > count && at - count <= keys)
            }
            KeyPlace::After { word, from, last, step, limit } => {
                let found = (from..args.len()).find(|&at| args.is(at, word));
                found.map(|word| word + 1).is_some_and(|first| match limit {
                    0 => in_range(first, last, step),
                    parts => (first..first + (args.len() - first) / parts).contains(&at),
                })
            }
            KeyPlace::Unknown => true,
        }
    }
}

/// Returns where the keys of a command are; empty if it has none, or if there is no entry.
pub(super) fn specs_of(command: &Command) -> &'static [KeySpec] {
    let entry = SPECS.iter().find(|(names, _)| names.contains(&command.name));
    entry.map_or(&[], |(_, specs)| specs)
}

/// Returns what a request does with its key at `at`, in Redis' words.
pub(super) fn flags_of(command: &Command, args: Args<'_>, at: usize) -> &'static str {
    match command.name {
        "set" if args.skip(3).iter().any(|arg| arg.eq_ignore_ascii_case(b"get")) => "RW access update",
        "set" => "OW update",
        "bitfield" if only_reads(args) => "RO access",
        "bitfield" => "RW access update",
        _ => {
            // Of those that a function finds the last one is meant: the others follow from values.
            let mut covering = specs_of(command).iter().filter(|spec| spec.covers(args, at));
            let first = covering.next();
            let is_known = first.is_some_and(|spec| !matches!(spec.place, KeyPlace::Unknown));
            let spec = if is_known { first } else { covering.next_back().or(first) };
            spec.map_or(access_of(command), |spec| spec.flags)
        }
    }
}

/// Returns how a command accesses its keys, as far as its own flags tell.
pub(super) fn access_of(command: &Command) -> &'static str {
    if command.holds_alone() { "RW" } else { "RO" }
}

/// Returns true if a BITFIELD has only parts that read.
fn only_reads(args: Args<'_>) -> bool {
    let mut at = 2;
    while at < args.len() {
        at += match () {
            () if args.is(at, "get") && at + 2 < args.len() => 3,
            () if args.is(at, "overflow") && at + 1 < args.len() => 2,
            () => return false,
        };
    }
    true
}

/// Returns what COMMAND INFO says of keys: the entry, or what follows from their positions.
pub(super) fn shown_specs(command: &Command) -> Vec<KeySpec> {
    let known = specs_of(command);
    match command.keys {
        KeyPositions::Range { first, last, step } if known.is_empty() => {
            let last = if last < 0 { last } else { last - first as isize };
            vec![keys(first, last, step, access_of(command))]
        }
        _ => known.to_vec(),
    }
}

/// The specifications that commands have in common, in the order in which their keys are.
#[rustfmt::skip]
static SPECS: &[(&[&str], &[KeySpec])] = &[
    (&["append", "hsetnx", "linsert", "lpush", "lpushx", "pfadd", "rpush", "rpushx", "sadd"], &[
        key(1, "RW insert")
    ]),
    (&[
        "bitcount", "bitfield_ro", "bitpos", "dump", "expiretime", "geodist", "geohash", "geopos",
        "georadius_ro", "georadiusbymember_ro", "geosearch", "get", "getbit", "getrange", "hget", "hgetall",
        "hkeys", "hmget", "hrandfield", "hscan", "hvals", "lindex", "lpos", "lrange", "pexpiretime", "pttl",
        "smembers", "smismember", "srandmember", "sscan", "substr", "ttl", "xpending", "xrange",
        "xrevrange", "zcount", "zlexcount", "zmscore", "zrandmember", "zrange", "zrangebylex",
        "zrangebyscore", "zrank", "zrevrange", "zrevrangebylex", "zrevrangebyscore", "zrevrank", "zscan",
        "zscore"
    ], &[
        key(1, "RO access")
    ]),
    (&["bitfield"], &[
        key(1, "RW access update variable_flags")
            .noted("This command allows both access and modification of the key"),
    ]),
    (&["bitop"], &[key(2, "OW update"), keys(3, -1, 1, "RO access")]),
    (&["blmove", "brpoplpush", "lmove", "rpoplpush", "smove"], &[
        key(1, "RW access delete"), key(2, "RW insert")
    ]),
    (&["blmpop", "bzmpop"], &[counted(2, "RW access delete")]),
    (&["blpop", "brpop", "bzpopmax", "bzpopmin"], &[keys(1, -2, 1, "RW access delete")]),
    (&["copy"], &[key(1, "RO access"), key(2, "OW update")]),
    (&[
        "decr", "decrby", "getset", "hincrby", "hincrbyfloat", "incr", "incrby", "incrbyfloat", "move",
        "setbit", "zincrby"
    ], &[
        key(1, "RW access update")
    ]),
    (&["del", "unlink"], &[keys(1, -1, 1, "RM delete")]),
    (&["exists", "touch", "watch"], &[keys(1, -1, 1, "RO")]),
    (&[
        "expire", "expireat", "geoadd", "hmset", "hset", "lset", "persist", "pexpire", "pexpireat",
        "setrange", "xack", "xclaim", "xsetid", "zadd"
    ], &[
        key(1, "RW update")
    ]),
    (&["georadius"], &[
        key(1, "RO access"),
        after("STORE", 6, 0, 1, 0, "OW update"),
        after("STOREDIST", 6, 0, 1, 0, "OW update"),
    ]),
    (&["georadiusbymember"], &[
        key(1, "RO access"),
        after("STORE", 5, 0, 1, 0, "OW update"),
        after("STOREDIST", 5, 0, 1, 0, "OW update"),
    ]),
    (&["geosearchstore", "zrangestore"], &[key(1, "OW update"), key(2, "RO access")]),
    (&["getdel", "lpop", "rpop", "spop", "zpopmax", "zpopmin"], &[key(1, "RW access delete")]),
    (&["getex"], &[key(1, "RW access update").noted("RW and UPDATE because it changes the TTL")]),
    (&[
        "hdel", "lrem", "ltrim", "srem", "xautoclaim", "xdel", "xtrim", "zrem", "zremrangebylex",
        "zremrangebyrank", "zremrangebyscore"
    ], &[
        key(1, "RW delete")
    ]),
    (&["hexists", "hlen", "hstrlen", "llen", "scard", "sismember", "strlen", "type", "xlen", "zcard"], &[
        key(1, "RO")
    ]),
    (&["lcs"], &[keys(1, 1, 1, "RO access")]),
    (&["lmpop", "zmpop"], &[counted(1, "RW access delete")]),
    (&["memory|usage", "object|encoding", "object|freq", "object|idletime", "object|refcount"], &[
        key(2, "RO")
    ]),
    (&["mget", "sdiff", "sinter", "sunion"], &[keys(1, -1, 1, "RO access")]),
    (&["mset"], &[keys(1, -1, 2, "OW update")]),
    (&["msetnx"], &[keys(1, -1, 2, "OW insert")]),
    (&["pfcount"], &[
        keys(1, -1, 1, "RW access")
            .noted("RW because it may change the internal representation of the key, and \
             propagate to replicas"),
    ]),
    (&["pfdebug"], &[key(2, "RW access")]),
    (&["pfmerge"], &[key(1, "RW access insert"), keys(2, -1, 1, "RO access")]),
    (&["psetex", "restore", "setex"], &[key(1, "OW update")]),
    (&["rename"], &[key(1, "RW access delete"), key(2, "OW update")]),
    (&["renamenx"], &[key(1, "RW access delete"), key(2, "OW insert")]),
    (&["sdiffstore", "sunionstore"], &[key(1, "OW update"), keys(2, -1, 1, "RO access")]),
    (&["set"], &[
        key(1, "RW access update variable_flags").noted("RW and ACCESS due to the optional `GET` argument"),
    ]),
    (&["setnx"], &[key(1, "OW insert")]),
    (&["sintercard", "zdiff", "zinter", "zintercard", "zunion"], &[counted(1, "RO access")]),
    (&["sinterstore"], &[key(1, "RW update"), keys(2, -1, 1, "RO access")]),
    (&["sort"], &[
        key(1, "RO access"),
        anywhere("RO access")
            .noted("For the optional BY/GET keyword. It is marked 'unknown' because the key \
             names derive from the content of the key we sort"),
        anywhere("OW update")
            .noted("For the optional STORE keyword. It is marked 'unknown' because the keyword \
             can appear anywhere in the argument array"),
    ]),
    (&["sort_ro"], &[
        key(1, "RO access"),
        anywhere("RO access")
            .noted("For the optional BY/GET keyword. It is marked 'unknown' because the key \
             names derive from the content of the key we sort"),
    ]),
    (&["xadd"], &[
        key(1, "RW update").noted("UPDATE instead of INSERT because of the optional trimming feature")
    ]),
    (&["xgroup|create", "xgroup|createconsumer"], &[key(2, "RW insert")]),
    (&["xgroup|delconsumer", "xgroup|destroy"], &[key(2, "RW delete")]),
    (&["xgroup|setid"], &[key(2, "RW update")]),
    (&["xinfo|consumers", "xinfo|groups", "xinfo|stream"], &[key(2, "RO access")]),
    (&["xread"], &[after("STREAMS", 1, -1, 1, 2, "RO access")]),
    (&["xreadgroup"], &[after("STREAMS", 4, -1, 1, 2, "RO access")]),
    (&["zdiffstore", "zinterstore", "zunionstore"], &[key(1, "OW update"), counted(2, "RO access")]),
];

#[cfg(test)]
mod tests {
    use super::super::super::table::commands;
    use super::{KeyPlace, specs_of};
    use crate::resp::Requests;

    /// The keys of ranges are those whose shards a command holds.
    #[test]
    fn the_keys_are_where_the_table_of_commands_has_them() {
        let mut requests = Requests::default();
        requests.push(["x"; 9]);
        let args = requests.args(0);
        for command in commands().flat_map(|command| std::iter::once(command).chain(command.subcommands)) {
            let specs = specs_of(command);
            let are_ranges = specs.iter().all(|spec| matches!(spec.place, KeyPlace::Range { .. }));
            if specs.is_empty() || !are_ranges || command.arity > 0 && command.arity != 9 && specs.len() > 1 {
                continue;
            }
            let covered: Vec<_> =
                (1..9).filter(|at| specs.iter().any(|spec| spec.covers(args, *at))).collect();
            let held = command.keys.positions(args);
            assert!(held.is_empty() || covered == held, "{}: {covered:?}, {held:?}", command.name);
        }
    }
}
