//! Files that Redis has written are loaded here, and the other way round.

use super::Target;
use super::contents::{contents, fill};
use super::redis::{Connection, Server};
use std::fs;
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::LoadProgress;
use xtasking_store::rdb::{RdbError, RdbErrorKind, RdbReader, RdbWriter, Record};
use xtasking_store::value::{CompactLimits, StringValue, Value};

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

fn load(engine: &Engine, file: &[u8]) -> Result<LoadProgress, RdbError> {
    engine.load(file, |_| {})
}

/// Gives some keys an expiry, and puts some keys into another database.
fn expire_and_move(target: &mut Connection, keys: &[String]) {
    for (number, key) in keys.iter().enumerate() {
        if number % 3 == 0 {
            target.line(&format!("PEXPIREAT {key} {}", 4_000_000_000_000_u64 + number as u64));
        }
        if number % 4 == 0 {
            target.line(&format!("COPY {key} {key} DB 5"));
        }
    }
}

#[test]
fn a_file_of_redis_is_loaded() {
    let Some(server) = Server::start() else { return };
    let mut redis = server.connect();
    let keys = fill(&mut redis);
    expire_and_move(&mut redis, &keys);
    for compression in ["yes", "no"] {
        redis.line(&format!("CONFIG SET rdbcompression {compression}"));
        assert_eq!(redis.line("SAVE"), b"+OK\r\n");
        let file = fs::read(server.folder().join("dump.rdb")).unwrap();
        let rt = runtime();
        let engine = Engine::builder().shards(8).build(&rt);
        let mut told = 0;
        let loaded = engine.load(&file[..], |progress| told = progress.bytes).unwrap();
        assert_eq!((loaded.bytes, told), (file.len() as u64, file.len() as u64));
        let mut own = engine.client();
        for database in ["0", "5"] {
            own.line(&format!("SELECT {database}"));
            redis.line(&format!("SELECT {database}"));
            assert_eq!(own.line("DBSIZE"), redis.line("DBSIZE"));
            for key in &keys {
                assert_eq!(contents(&mut own, key), contents(&mut redis, key), "{key}");
            }
        }
        redis.line("SELECT 0");
    }
}

/// Writes the records of a file again.
fn rewrite(file: &[u8]) -> Vec<u8> {
    let mut writer = RdbWriter::new(Vec::new());
    writer.origin(1_700_000_000_000).unwrap();
    let mut reader = RdbReader::new(file).unwrap();
    let mut record = Record::default();
    while reader.next(&mut record).unwrap() {
        writer.select(record.database as usize).unwrap();
        let value = record.value(&CompactLimits::default()).unwrap().unwrap();
        writer.record(&record.key, &value, record.expires_at).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn redis_loads_a_file_of_the_store() {
    let Some(server) = Server::start_with(&["--enable-debug-command", "yes"]) else { return };
    let mut redis = server.connect();
    let keys = fill(&mut redis);
    expire_and_move(&mut redis, &keys);
    assert_eq!(redis.line("SAVE"), b"+OK\r\n");
    let path = server.folder().join("dump.rdb");
    let file = rewrite(&fs::read(&path).unwrap());
    let before: Vec<_> = keys.iter().map(|key| contents(&mut redis, key)).collect();
    fs::write(&path, file).unwrap();
    let reply = redis.line("DEBUG RELOAD NOSAVE");
    assert_eq!(reply, b"+OK\r\n", "{}", reply.escape_ascii());
    let after: Vec<_> = keys.iter().map(|key| contents(&mut redis, key)).collect();
    assert_eq!(after, before);
    redis.line("SELECT 5");
    assert_eq!(redis.line("DBSIZE"), format!(":{}\r\n", keys.len().div_ceil(4)).into_bytes());
}

fn text(text: &str) -> Value {
    Value::String(StringValue::new(text.as_bytes()))
}

/// Returns a file of keys with expiries, in a database.
fn file(database: usize, keys: &[(&str, Option<u64>)]) -> Vec<u8> {
    let mut writer = RdbWriter::new(Vec::new());
    writer.select(database).unwrap();
    for (key, expires_at) in keys {
        writer.record(key.as_bytes(), &text(key), *expires_at).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn keys_that_have_expired_are_left_out() {
    let rt = runtime();
    let engine = Engine::builder().shards(4).clock(|| 5000).build(&rt);
    let file = file(0, &[("a", Some(4999)), ("b", Some(9000)), ("c", None)]);
    let loaded = load(&engine, &file).unwrap();
    assert_eq!((loaded.keys, loaded.expired, loaded.empty), (3, 1, 0));
    let mut client = engine.client();
    assert_eq!(client.line("EXISTS a b c"), b":2\r\n");
    assert_eq!(client.line("PEXPIRETIME b"), b":9000\r\n");
}

/// What comes before the error is loaded, and counted.
#[test]
fn what_is_loaded_before_an_error_is_counted() {
    let rt = runtime();
    let engine = Engine::builder().shards(1).setting("maxmemory", "1gb").build(&rt);
    load(&engine, &file(0, &[("a", None), ("b", None), ("a", None)])).unwrap_err();
    let counted = engine.server().memory.counted();
    assert!(counted > 0);
    assert_eq!(engine.client().line("DEL b"), b":1\r\n");
    assert_eq!(engine.server().memory.counted(), counted / 2);
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let rt = runtime();
    let engine = Engine::builder().shards(4).databases(4).build(&rt);
    let twice = load(&engine, &file(0, &[("a", None), ("b", None), ("a", None)])).unwrap_err();
    assert!(matches!(&twice.kind, RdbErrorKind::DuplicateKey(key) if &**key == b"a"), "{twice}");
    let database = load(&engine, &file(4, &[("x", None)])).unwrap_err();
    assert!(matches!(database.kind, RdbErrorKind::Database(4)), "{database}");
    let mut damaged = file(1, &[("key", None)]);
    damaged[15] ^= 1;
    let damaged = load(&engine, &damaged).unwrap_err();
    assert!(matches!(damaged.kind, RdbErrorKind::Checksum { .. }), "{damaged}");
    let inside = rt.task(()).submit(move |(), _| load(&engine, &file(2, &[("x", None)])).is_err());
    assert!(inside.join().unwrap(), "a worker does not wait for tasks");
}

/// A file may say that a database has more keys, or fewer, than it has.
#[test]
fn sizes_that_are_wrong_do_no_harm() {
    let rt = runtime();
    for (first, second) in [(0, 0), (1, 5000), (5000, 1), (usize::MAX, 1 << 40)] {
        let mut writer = RdbWriter::new(Vec::new());
        for (database, keys) in [(0, first), (1, second), (999, 3)] {
            writer.select(database).unwrap();
            writer.sizes(keys, 7).unwrap();
        }
        for number in 0..5000 {
            writer.select(number % 2).unwrap();
            writer.record(format!("key:{number}").as_bytes(), &text("1"), None).unwrap();
        }
        let engine = Engine::builder().shards(4).build(&rt);
        assert_eq!(load(&engine, &writer.finish().unwrap()).unwrap().keys, 5000);
        let mut client = engine.client();
        for database in 0..2 {
            client.line(&format!("SELECT {database}"));
            assert_eq!(client.line("DBSIZE"), b":2500\r\n");
            let mut keys = (database..5000).step_by(2);
            assert!(keys.all(|number| client.line(&format!("GET key:{number}")) == b"$1\r\n1\r\n"));
        }
    }
}

#[test]
fn more_than_may_be_under_way_is_loaded() {
    let mut writer = RdbWriter::new(Vec::new());
    writer.select(0).unwrap();
    let value = text(&"x".repeat(500_000));
    for number in 0..150 {
        writer.record(format!("key:{number}").as_bytes(), &value, None).unwrap();
    }
    for number in 0..20_000 {
        writer.record(format!("small:{number}").as_bytes(), &text("1"), None).unwrap();
    }
    let file = writer.finish().unwrap();
    let rt = runtime();
    let engine = Engine::builder().build(&rt);
    assert_eq!(load(&engine, &file).unwrap().keys, 20_150);
    let mut client = engine.client();
    assert_eq!(client.line("DBSIZE"), b":20150\r\n");
    assert_eq!(client.line("STRLEN key:149"), b":500000\r\n");
}
