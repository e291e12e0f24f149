//! What DUMP returns here RESTORE takes there, and back.

use super::Target;
use super::contents::{contents, fill};
use super::redis::Server;
use super::reply::Value;
use std::sync::{Arc, Mutex};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::resp::Requests;

/// Restores all keys of one in the other, and compares what they have.
fn carry(from: &mut impl Target, to: &mut impl Target, keys: &[String]) {
    for key in keys {
        let Value::Bulk(dump) = Value::parse(&from.ask(&[b"DUMP", key.as_bytes()])) else {
            panic!("{key} has no dump")
        };
        let reply = to.ask(&[b"RESTORE", key.as_bytes(), b"0", &dump, b"REPLACE"]);
        assert_eq!(reply, b"+OK\r\n", "{key}: {}", reply.escape_ascii());
        assert_eq!(contents(to, key), contents(from, key), "{key}");
        let encoding = format!("OBJECT ENCODING {key}");
        let (own, theirs) = (to.line(&encoding), from.line(&encoding));
        // Lists and sets may be listpacks here only, as in Redis 7.2; a dump says nothing of bytes
        // that were changed in place.
        let is_newer = [&own, &theirs].iter().any(|encoding| encoding.ends_with(b"listpack\r\n"));
        assert!(own == theirs || is_newer || key == "string:grown", "{key}: {}", own.escape_ascii());
    }
}

#[test]
fn dumps_go_both_ways() {
    let Some(server) = Server::start() else { return };
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(8).build(&rt);
    let (mut own, mut redis) = (engine.client(), server.connect());
    let keys = fill(&mut own);
    carry(&mut own, &mut redis, &keys);
    own.line("FLUSHALL");
    redis.line("FLUSHALL");
    assert_eq!(fill(&mut redis), keys);
    carry(&mut redis, &mut own, &keys);
}

#[test]
fn strings_that_redis_has_compressed_are_restored() {
    let Some(server) = Server::start() else { return };
    let rt = Runtime::builder().workers(1).build().unwrap();
    let (mut own, mut redis) = (Engine::builder().shards(8).build(&rt).client(), server.connect());
    redis.line("CONFIG SET rdbcompression yes");
    redis.line("CONFIG SET list-compress-depth 1");
    let mut random = xtasking_testing::Random(5);
    let mut keys = Vec::new();
    for number in 0..200 {
        let key = format!("string:{number}");
        // Words of a small alphabet, so that there are references of all lengths and distances.
        let length = random.below(20_000) as usize + 1;
        let alphabet = 1 + random.below(20);
        let value: Vec<u8> = (0..length).map(|_| b'a' + random.below(alphabet) as u8).collect();
        redis.ask(&[b"SET", key.as_bytes(), &value]);
        keys.push(key);
    }
    carry(&mut redis, &mut own, &keys);
}

/// Replies to a command with options are the same.
fn compare(own: &mut impl Target, redis: &mut impl Target, args: &[&[u8]]) {
    let shown = args.iter().map(|arg| arg.escape_ascii().to_string()).collect::<Vec<_>>().join(" ");
    let (reply, expected) = (own.ask(args), redis.ask(args));
    assert_eq!(reply.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{shown}");
}

#[test]
fn options_and_errors_of_restore_are_those_of_redis() {
    let Some(server) = Server::start() else { return };
    let rt = Runtime::builder().workers(1).build().unwrap();
    let (mut own, mut redis) = (Engine::builder().shards(8).build(&rt).client(), server.connect());
    redis.line("SET source 10");
    let Value::Bulk(dump) = Value::parse(&redis.line("DUMP source")) else { panic!("no dump") };
    let mut wrong = dump.clone();
    wrong[1] ^= 1;
    let mut version = dump.clone();
    version[dump.len() - 10] = 0x55;
    let options: &[&str] = &[
        "",
        "REPLACE",
        "replace absttl",
        "ABSTTL",
        "IDLETIME 1000",
        "IDLETIME -1",
        "IDLETIME x",
        "IDLETIME",
        "FREQ 100",
        "FREQ 256",
        "FREQ -1",
        "FREQ",
        "IDLETIME 10 FREQ 10",
        "FREQ 10 IDLETIME 10",
        "NOTHING",
        "REPLACE IDLETIME 7",
    ];
    let late = b"99999999999999";
    for time in [&b"0"[..], b"-1", b"x", b"1", late, b"100000"] {
        for option in options {
            for payload in [&dump[..], &wrong, &version, b"", b"123456789", &[7; 40]] {
                for is_there in [false, true] {
                    own.line("DEL k");
                    redis.line("DEL k");
                    if is_there {
                        own.line("SET k old");
                        redis.line("SET k old");
                    }
                    let words = option.split_whitespace().map(str::as_bytes);
                    let args: Vec<&[u8]> =
                        [b"RESTORE", &b"k"[..], time, payload].into_iter().chain(words).collect();
                    compare(&mut own, &mut redis, &args);
                    // Other times may be near their end.
                    if time != b"1" || option.to_ascii_lowercase().contains("absttl") {
                        compare(&mut own, &mut redis, &[b"GET", b"k"]);
                    }
                }
            }
        }
    }
    own.ask(&[b"RESTORE", b"idle", b"0", &dump, b"IDLETIME", b"1000"]);
    let reply = own.line("OBJECT IDLETIME idle");
    assert!(reply.starts_with(b":10"), "{}", reply.escape_ascii());
    compare(&mut own, &mut redis, &[b"DUMP", b"none"]);
    compare(&mut own, &mut redis, &[b"RESTORE", b"k", b"0"]);
}

#[test]
fn the_effects_of_restore_have_its_effect() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let record = Arc::new(Mutex::new(Vec::new()));
    let told = record.clone();
    let follow = move |effects: &xtasking_store::command::Effects| {
        told.lock().unwrap().extend(effects.commands.iter().map(|(_, command)| Requests::one(command)));
    };
    let now = 1_000_000;
    let engine = Engine::builder().shards(4).clock(move || now).on_effects(follow).build(&rt);
    let mut client = engine.client();
    client.line("SET source value");
    let Value::Bulk(dump) = Value::parse(&client.line("DUMP source")) else { panic!("no dump") };
    for (key, time, options) in [
        ("plain", "0", &[][..]),
        ("relative", "500", &[]),
        ("absolute", "1000700", &["ABSTTL"]),
        ("source", "300", &["REPLACE", "IDLETIME", "3"]),
        ("past", "7", &["ABSTTL"]),
    ] {
        let options = options.iter().map(|option: &&str| option.as_bytes());
        let args: Vec<&[u8]> =
            [b"RESTORE", key.as_bytes(), time.as_bytes(), &dump].into_iter().chain(options).collect();
        assert_eq!(client.ask(&args), b"+OK\r\n");
    }
    client.line("SET gone 1");
    assert_eq!(client.ask(&[b"RESTORE", b"gone", b"1", &dump, b"REPLACE", b"ABSTTL"]), b"+OK\r\n");
    let replica = Engine::builder().shards(4).clock(|| 0).build(&rt);
    let mut replica = replica.client();
    for command in std::mem::take(&mut *record.lock().unwrap()) {
        let reply = replica.run_all(command).unwrap();
        assert!(!reply.starts_with(b"-"), "{}", reply.escape_ascii());
    }
    for question in ["GET", "PEXPIRETIME"] {
        for key in ["plain", "relative", "absolute", "source", "past", "gone"] {
            let line = format!("{question} {key}");
            assert_eq!(replica.line(&line), client.line(&line), "{line}");
        }
    }
}
