//! The same random commands are sent to Redis and to the store. Then keys go from one to the other
//! by DUMP and RESTORE.

use super::redis::{Connection, Server};
use super::reply::Value;
use super::scripts::{KEYS, Scripts};
use super::{Target, scripts};
use xtasking::Runtime;
use xtasking_store::Engine;

/// Names whose values differ: times, and the shape of a tree.
const OWN_NUMBERS: &[&str] = &["seen-time", "idle", "radix-tree-nodes"];
/// Times in ms since 1970 are greater. Those of commands are less.
const LEAST_TIME: i64 = 1_000_000_000_000;

/// A reply without what depends on the time.
fn masked(value: Value) -> Value {
    let number = |line: &str| line.strip_prefix(':').and_then(|text| text.parse::<i64>().ok());
    match value {
        Value::Line(line) if number(&line).is_some_and(|number| number > LEAST_TIME) => {
            Value::Line(":time".to_owned())
        }
        Value::Array(all) => {
            let mut masked: Vec<Value> = all.into_iter().map(masked).collect();
            for at in 1..masked.len() {
                let is_own = |name: &str| masked[at - 1] == Value::Bulk(name.as_bytes().to_vec());
                if OWN_NUMBERS.iter().any(|name| is_own(name)) {
                    masked[at] = Value::Line(":own".to_owned());
                }
            }
            // An entry of XPENDING: the ID, the consumer, the ms since it was delivered, the count.
            if let [Value::Bulk(_), Value::Bulk(_), idle @ Value::Line(_), Value::Line(_)] = &mut masked[..] {
                *idle = Value::Line(":idle".to_owned());
            }
            Value::Array(masked)
        }
        other => other,
    }
}

fn ask(target: &mut impl Target, words: &[String]) -> Value {
    let args: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    masked(Value::parse(&target.ask(&args)))
}

fn everything(target: &mut impl Target, key: &str) -> Value {
    masked(Value::parse(&target.line(&format!("XINFO STREAM {key} FULL COUNT 0"))))
}

/// Restores a key of one in the other, and returns all that both have of it.
fn carry(from: &mut impl Target, to: &mut impl Target, key: &str) -> (Value, Value) {
    if let Value::Bulk(dump) = Value::parse(&from.ask(&[b"DUMP", key.as_bytes()])) {
        let reply = to.ask(&[b"RESTORE", b"carried", b"0", &dump, b"REPLACE"]);
        assert_eq!(reply, b"+OK\r\n", "{key}: {}: {}", reply.escape_ascii(), dump.escape_ascii());
    } else {
        to.line("DEL carried");
    }
    (everything(from, key), everything(to, "carried"))
}

fn run_script(seed: u64, redis: &mut Connection) {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(2).build(&rt);
    let mut own = engine.client();
    redis.line("FLUSHALL");
    for setting in ["stream-node-max-entries 100", "stream-node-max-bytes 4096"] {
        redis.line(&format!("CONFIG SET {setting}"));
    }
    let mut scripts = Scripts::new(seed);
    if seed % 2 == 1 {
        own.line("HELLO 3");
    }
    redis.line(if seed % 2 == 1 { "HELLO 3" } else { "HELLO 2" });
    let mut history = Vec::new();
    for _ in 0..150 {
        let words = scripts.command();
        let (expected, reply) = (ask(redis, &words), ask(&mut own, &words));
        history.push(words.join(" "));
        assert_eq!(reply, expected, "seed {seed}\n{}", history.join("\n"));
    }
    for key in KEYS {
        let (theirs, carried) = carry(redis, &mut own, key);
        assert_eq!(carried, theirs, "seed {seed}, from Redis\n{}", history.join("\n"));
        let (ours, carried) = carry(&mut own, redis, key);
        assert_eq!(carried, ours, "seed {seed}, to Redis\n{}", history.join("\n"));
    }
}

#[test]
fn replies_are_those_of_redis_and_dumps_go_both_ways() {
    let Some(server) = Server::start_with(&["--rdbcompression", "yes"]) else { return };
    let mut redis = server.connect();
    let first = std::env::var("XTASKING_STORE_SEED").map_or(0, |text| text.parse().expect("a seed"));
    (first..first + 10 * scripts()).for_each(|seed| run_script(seed, &mut redis));
}
