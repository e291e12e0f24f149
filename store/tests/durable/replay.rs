//! What is there after a start.

use super::{builder, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::log::Options;
use xtasking_testing::watchdog;

const BEGIN: u64 = 1_000_000_000;

fn open(rt: &Runtime, disk: &SimulatedDisk, time: &Arc<AtomicU64>) -> Engine {
    let clock = time.clone();
    let builder = builder().clock(move || clock.load(Ordering::SeqCst));
    builder.log(disk.clone(), Options::default()).open(rt).unwrap()
}

/// All types, expiry, databases and transactions come back.
#[test]
fn what_was_written_is_there_after_a_start() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(BEGIN)));
    let engine = open(&rt, &disk, &time);
    let mut client = engine.client();
    for line in [
        "SET text value",
        "INCRBYFLOAT number 1.5",
        "RPUSH list a b c",
        "LPOP list",
        "HSET hash field 1",
        "SADD set a b c",
        "ZADD zset 1.5 a 2 b",
        "SETBIT bits 9 1",
        "SET short 1 PX 1000",
        "SET long 1 EX 1000",
        "EXPIRE hash 500",
        "SELECT 1",
        "MULTI",
        "SET there 1",
        "SELECT 0",
        "SET here 1",
        "EXEC",
        "DEL gone",
    ] {
        assert!(!run(&mut client, line).starts_with('-'), "{line}");
    }
    let popped = run(&mut client, "SPOP set");
    let popped = popped.lines().nth(1).unwrap().to_owned();
    drop(client);
    engine.log().unwrap().close().unwrap();
    drop(engine);
    // One key has expired meanwhile, and nothing has removed it.
    time.fetch_add(10_000, Ordering::SeqCst);
    let engine = open(&rt, &disk, &time);
    assert!(engine.log().unwrap().recovered().bytes > 0);
    let mut client = engine.client();
    for (line, reply) in [
        ("GET text", "$5\r\nvalue\r\n"),
        ("GET number", "$3\r\n1.5\r\n"),
        ("LRANGE list 0 -1", "*2\r\n$1\r\nb\r\n$1\r\nc\r\n"),
        ("HGETALL hash", "*2\r\n$5\r\nfield\r\n$1\r\n1\r\n"),
        ("PEXPIRETIME hash", ":1000500000\r\n"),
        ("ZSCORE zset a", "$3\r\n1.5\r\n"),
        ("GETBIT bits 9", ":1\r\n"),
        ("GET short", "$-1\r\n"),
        ("PTTL long", ":990000\r\n"),
        ("SCARD set", ":2\r\n"),
        ("GET here", "$1\r\n1\r\n"),
        ("OBJECT IDLETIME text", ":0\r\n"),
        ("SELECT 1", "+OK\r\n"),
        ("GET there", "$1\r\n1\r\n"),
    ] {
        assert_eq!(run(&mut client, line), reply, "{line}");
    }
    run(&mut client, "SELECT 0");
    assert_eq!(run(&mut client, &format!("SISMEMBER set {popped}")), ":0\r\n");
    let info = run(&mut client, "INFO persistence");
    assert!(info.contains("loading:0\r\n") && info.contains("rdb_changes_since_last_save:0\r\n"), "{info}");
}

/// Units on shards of different workers are replayed side by side, and those on several shards
/// between them. If these are many, all are replayed one by one.
#[test]
fn units_are_replayed_in_their_order() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(4).build().unwrap();
    for interval in [701, 5] {
        let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(BEGIN)));
        let engine = open(&rt, &disk, &time);
        let mut client = engine.client();
        let mut contents = vec![String::new(); 40];
        for number in 0..4000 {
            let at = number * 7 % contents.len();
            let other = (at + number % 11 + 1) % contents.len();
            let line = if number % interval == interval - 1 && !contents[at].is_empty() {
                contents[other] = std::mem::take(&mut contents[at]);
                format!("RENAME key:{at} key:{other}")
            } else {
                contents[at] += &format!("{number},");
                format!("APPEND key:{at} {number},")
            };
            assert!(!run(&mut client, &line).starts_with('-'), "{line}");
        }
        drop(client);
        engine.log().unwrap().close().unwrap();
        drop(engine);
        let engine = open(&rt, &disk, &time);
        let mut client = engine.client();
        for (number, contents) in contents.iter().enumerate() {
            let reply = run(&mut client, &format!("GET key:{number}"));
            assert_eq!(reply.lines().nth(1).unwrap_or_default(), contents, "key:{number}");
        }
    }
}

/// The removal of an expired key is replayed, so that what comes later finds none.
#[test]
fn keys_that_expire_are_logged_as_removed() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(BEGIN)));
    for (start, expected) in [":1\r\n", ":1\r\n", ":1\r\n"].iter().enumerate() {
        let engine = open(&rt, &disk, &time);
        let mut client = engine.client();
        assert_eq!(run(&mut client, "INCR count"), *expected, "start {start}");
        run(&mut client, "PEXPIRE count 1000");
        time.fetch_add(1000, Ordering::SeqCst);
        run(&mut client, &format!("INCR marker:{start}"));
        if start == 1 {
            engine.remove_expired(&rt);
        }
        drop(client);
        engine.log().unwrap().close().unwrap();
    }
}

/// A store without `appendonly` says so, and its settings cannot be changed into one.
#[test]
fn the_log_is_turned_on_at_the_start_only() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(BEGIN)));
    let (without, with) = (builder().build(&rt), open(&rt, &disk, &time));
    for (engine, own, other) in [(&without, "no", "yes"), (&with, "yes", "no")] {
        let mut client = engine.client();
        assert!(run(&mut client, "CONFIG GET appendonly").contains(&format!("\r\n{own}\r\n")));
        assert_eq!(run(&mut client, &format!("CONFIG SET appendonly {own}")), "+OK\r\n");
        let refused = run(&mut client, &format!("CONFIG SET appendonly {other}"));
        assert!(refused.contains("can't set immutable config"), "{refused}");
    }
    assert!(run(&mut without.client(), "INFO persistence").contains("aof_enabled:0"));
    assert!(run(&mut without.client(), "SHUTDOWN").starts_with("-ERR "));
}
