//! What COMMAND says of each command, beside Redis.

use super::fixed::words;
use super::redis::Server;
use super::reply::Value;
use super::{encode, run, show};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::command::commands;

/// They take an option of Redis 7.2, so that the number of their arguments is another one.
const NEWER: &[&str] = &["zrank", "zrevrank"];

/// Requests whose keys are to be found, with what is done to them.
const KEYS: &[&str] = &[
    "SET a b",
    "SET a b EX 1 GET",
    "GET a",
    "MSET a 1 b 2",
    "BITFIELD a GET u8 0",
    "BITFIELD a OVERFLOW SAT GET u8 0 SET u8 0 1",
    "BITOP AND a b c",
    "SORT a BY x GET y",
    "SORT a STORE b",
    "SORT_RO a",
    "GEORADIUS a 1 1 1 m STORE b",
    "GEORADIUS a 1 1 1 m",
    "GEORADIUSBYMEMBER a b 1 m STOREDIST c",
    "ZUNIONSTORE a 2 b c",
    "ZINTER 2 a b",
    "LMPOP 2 a b LEFT",
    "BLMPOP 0 2 a b LEFT",
    "BLPOP a b 0",
    "COPY a b",
    "RENAME a b",
    "PFCOUNT a b",
    "PFMERGE a b c",
    "SINTERSTORE a b",
    "OBJECT ENCODING a",
    "DEL a b",
    "PING",
    "GET",
    "NOTHING",
    "ZINTER x a b",
];

/// What COMMAND INFO says of a command, but for its subcommands: these are asked for themselves.
fn described(reply: &[u8], is_newer: bool) -> Vec<Value> {
    let Value::Array(mut all) = sorted(Value::parse(reply)) else { panic!("no array: {}", show(reply)) };
    let Some(Value::Array(mut info)) = all.pop() else { return all };
    info.pop();
    if is_newer {
        info.remove(1);
    }
    info
}

/// What COMMAND DOCS says of a command, but for its subcommands: these are asked for themselves.
/// The store has no history of its commands, and says in its own words what they do and how long
/// they take.
fn documented(reply: &[u8], is_newer: bool) -> Vec<(Value, Value)> {
    let Value::Array(named) = sorted(Value::parse(reply)) else { panic!("no map: {}", show(reply)) };
    let Some(Value::Array(fields)) = named.into_iter().nth(1) else { return Vec::new() };
    let left_out: &[&[u8]] = match is_newer {
        true => &[b"summary", b"complexity", b"history", b"subcommands", b"arguments"],
        false => &[b"summary", b"complexity", b"history", b"subcommands"],
    };
    let pairs = fields.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone()));
    pairs.filter(|(name, _)| !left_out.iter().any(|left| *name == Value::Bulk(left.to_vec()))).collect()
}

/// Sorts what has no order: the sets of flags and categories.
fn sorted(value: Value) -> Value {
    let Value::Array(values) = value else { return value };
    let mut values: Vec<Value> = values.into_iter().map(sorted).collect();
    if values.iter().all(|value| matches!(value, Value::Line(_))) {
        values.sort_by_key(|value| format!("{value:?}"));
    }
    Value::Array(values)
}

#[test]
fn commands_are_described_as_in_redis() {
    let Some(server) = Server::start() else { return };
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    let engine = Engine::builder().shards(1).build(&rt);
    let (mut own, mut theirs) = (engine.client(), server.connect());
    let mut ask = |line: &str| {
        let request = encode(&words(line));
        theirs.send(&request);
        (run(&mut own, &request), theirs.receive())
    };
    ask("HELLO 3");
    let mut differences = Vec::new();
    let all = commands()
        .filter(|command| command.group != "order")
        .flat_map(|command| std::iter::once(command).chain(command.subcommands));
    for command in all {
        let is_newer = NEWER.contains(&command.name);
        let (own, theirs) = ask(&format!("COMMAND INFO {}", command.name));
        if described(&own, is_newer) != described(&theirs, is_newer) {
            differences.push(format!(
                "{}\n  Redis: {}\n  store: {}",
                command.name,
                show(&theirs),
                show(&own)
            ));
        }
        let (own, theirs) = ask(&format!("COMMAND DOCS {}", command.name));
        let (own, theirs) = (documented(&own, is_newer), documented(&theirs, is_newer));
        assert!(!own.is_empty() && !theirs.is_empty(), "{}", command.name);
        for field in theirs.iter().filter(|field| !own.contains(field)) {
            differences.push(format!("{}\n  Redis: {field:?}", command.name));
        }
        for field in own.iter().filter(|field| !theirs.contains(field)) {
            differences.push(format!("{}\n  store: {field:?}", command.name));
        }
    }
    // A name of the store's own that Redis has would be taken.
    for command in commands().filter(|command| command.group == "order") {
        let (_, theirs) = ask(&format!("COMMAND INFO {}", command.name));
        assert_eq!(show(&theirs), show(b"*1\r\n_\r\n"), "{}", command.name);
    }
    for line in KEYS {
        for what in ["GETKEYS", "GETKEYSANDFLAGS"] {
            let (own, theirs) = ask(&format!("COMMAND {what} {line}"));
            if own != theirs {
                differences.push(format!(
                    "{what} {line}\n  Redis: {}\n  store: {}",
                    show(&theirs),
                    show(&own)
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
