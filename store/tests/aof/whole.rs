//! Files as Redis has written them.

use super::{ask, check, contents, engine, load, path, runtime};
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::aof::{AofEnd, Manifest};
use xtasking_store::log::Options;
use xtasking_store::rdb::RdbWriter;
use xtasking_store::value::{StringValue, Value};
use xtasking_testing::watchdog;

/// Loads the files that a manifest names.
fn load_directory(engine: &Engine, directory: &str) {
    let manifest = contents(&format!("{directory}/appendonly.aof.manifest"));
    let manifest = Manifest::parse(&manifest).unwrap();
    assert_eq!(manifest.files().len(), 2);
    for name in manifest.files() {
        let file = contents(&format!("{directory}/{name}"));
        let loaded = load(engine, &file, AofEnd::Whole).unwrap();
        assert_eq!((loaded.bytes, loaded.torn), (file.len() as u64, 0));
    }
}

#[test]
fn directories_and_single_files_are_loaded() {
    let _watched = watchdog();
    let rt = runtime();
    for directory in ["snapshot", "commands"] {
        let engine = engine(&rt);
        load_directory(&engine, directory);
        check(&engine, directory);
    }
    for (name, has_snapshot) in [("preamble.aof", true), ("plain.aof", false)] {
        let (engine, file) = (engine(&rt), contents(name));
        let mut told = 0;
        let loaded = engine.load_aof(&file[..], AofEnd::Whole, |progress| told = progress.bytes).unwrap();
        assert_eq!((loaded.bytes, told), (file.len() as u64, file.len() as u64), "{name}");
        assert_eq!(loaded.keys > 0, has_snapshot, "{name}");
        check(&engine, name);
    }
    assert!(path("plain.aof").exists());
}

/// The log has what the file has, transactions as units.
#[test]
fn a_log_that_begins_with_a_file_has_all_of_it() {
    let _watched = watchdog();
    let rt = runtime();
    for name in ["preamble.aof", "plain.aof"] {
        let disk = SimulatedDisk::new(1);
        let open = || Engine::builder().shards(8).log(disk.clone(), Options::default()).open(&rt).unwrap();
        let engine = open();
        load(&engine, &contents(name), AofEnd::Whole).unwrap();
        check(&engine, name);
        engine.log().unwrap().close().unwrap();
        drop(engine);
        check(&open(), &format!("{name} after a start"));
    }
}

/// Returns the bytes of a command of words.
pub fn command(line: &str) -> Vec<u8> {
    let words: Vec<_> = line.split(' ').collect();
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    words.iter().for_each(|word| bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes()));
    bytes
}

/// Returns a file of commands.
pub fn file(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| command(line)).collect()
}

/// Nothing expires while commands run, and spans of time begin now.
#[test]
fn what_expires_is_gone_afterwards_and_spans_begin_now() {
    let _watched = watchdog();
    let rt = runtime();
    let engine = Engine::builder().shards(8).clock(|| 5_000_000).build(&rt);
    let lines = [
        "SET past 1 PXAT 4000000",
        // It was there when Redis ran this.
        "INCR past",
        "PEXPIREAT past 4500000",
        "SET expire 1",
        "EXPIRE expire 100",
        "PEXPIRE expire 200000",
        "SETEX setex 100 1",
        "PSETEX psetex 100000 1",
        "SET set 1 NX EX 100",
        "SET ex EX PXAT 6000000",
        "SET getex 1",
        "GETEX getex PX 100000",
        "SET plain 1",
        // A span of a key that has expired by now.
        "SET again 1 PXAT 4000000",
        "EXPIRE again 100",
        "SET once 1 PXAT 4000000",
        "GETEX once PX 100000",
        "SET twice 1 PXAT 4000000",
        "SET twice 2 XX EX 100",
    ];
    load(&engine, &file(&lines), AofEnd::Whole).unwrap();
    for (line, reply) in [
        ("GET past", "$-1\r\n"),
        ("PEXPIRETIME expire", ":5200000\r\n"),
        ("PEXPIRETIME setex", ":5100000\r\n"),
        ("PEXPIRETIME psetex", ":5100000\r\n"),
        ("PEXPIRETIME set", ":5100000\r\n"),
        ("PEXPIRETIME ex", ":6000000\r\n"),
        ("GET ex", "$2\r\nEX\r\n"),
        ("PEXPIRETIME getex", ":5100000\r\n"),
        ("TTL plain", ":-1\r\n"),
        ("PEXPIRETIME again", ":5100000\r\n"),
        ("PEXPIRETIME once", ":5100000\r\n"),
        ("GET twice", "$1\r\n2\r\n"),
        ("OBJECT IDLETIME plain", ":0\r\n"),
    ] {
        assert_eq!(ask(&engine, 0, line), reply, "{line}");
    }
}

/// Deliveries have the times of the file, and consumers are seen when it is loaded.
#[test]
fn consumers_of_streams_are_seen_when_the_file_is_loaded() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = SimulatedDisk::new(1);
    let open = |now: u64| {
        let builder = Engine::builder().shards(8).clock(move || now);
        builder.log(disk.clone(), Options::default()).open(&rt).unwrap()
    };
    let engine = open(5_000_000);
    let lines = [
        "XADD stream 1-1 field value",
        "XGROUP CREATE stream group 0",
        "XCLAIM stream group bob 0 1-1 TIME 4000000 RETRYCOUNT 1 FORCE JUSTID",
        "XGROUP CREATECONSUMER stream group eve",
    ];
    load(&engine, &file(&lines), AofEnd::Whole).unwrap();
    let idle = |engine: &Engine| {
        let reply = ask(engine, 0, "XINFO CONSUMERS stream group");
        let lines: Vec<_> = reply.lines().collect();
        let after = |pair: &[&str]| (pair[0] == "idle").then(|| pair[1].to_owned());
        lines.windows(2).filter_map(after).collect::<Vec<_>>()
    };
    assert_eq!(idle(&engine), [":0", ":0"]);
    let pending = "*1\r\n*4\r\n$3\r\n1-1\r\n$3\r\nbob\r\n:1000000\r\n:1\r\n";
    assert_eq!(ask(&engine, 0, "XPENDING stream group - + 9"), pending);
    engine.log().unwrap().close().unwrap();
    drop(engine);
    assert_eq!(idle(&open(5_000_007)), [":7", ":7"]);
}

/// In the log a key without an expiry has the time 0.
#[test]
fn a_key_that_expires_at_zero_does_not_live_for_ever() {
    let _watched = watchdog();
    let rt = runtime();
    let mut writer = RdbWriter::new(Vec::new());
    writer.select(0).unwrap();
    writer.record(b"past", &Value::String(StringValue::new(b"1")), Some(0)).unwrap();
    writer.record(b"key", &Value::String(StringValue::new(b"1")), None).unwrap();
    let snapshot = writer.finish().unwrap();
    let disk = SimulatedDisk::new(1);
    let open = || Engine::builder().shards(8).log(disk.clone(), Options::default()).open(&rt).unwrap();
    let engine = open();
    load(&engine, &snapshot, AofEnd::Whole).unwrap();
    engine.log().unwrap().close().unwrap();
    drop(engine);
    assert_eq!(ask(&open(), 0, "EXISTS past key"), ":1\r\n");
}

/// More than one task gets.
#[test]
fn commands_of_many_tasks_run_in_their_order() {
    let _watched = watchdog();
    let rt = runtime();
    let engine = engine(&rt);
    let value = "x".repeat(100);
    let line = |number: u64| format!("RPUSH list:{} {number}:{value}", number % 10);
    let mut bytes: Vec<u8> = (0..30_000).flat_map(|number| command(&line(number))).collect();
    bytes.extend(command("MULTI"));
    bytes.extend((30_000..60_000).flat_map(|number| command(&line(number))));
    bytes.extend(command("EXEC"));
    let mut calls = 0;
    let loaded = engine.load_aof(&bytes[..], AofEnd::Whole, |_| calls += 1).unwrap();
    assert_eq!((loaded.commands, loaded.bytes), (60_000, bytes.len() as u64));
    assert!(calls > 3, "the progress was told {calls} times");
    for list in 0..10 {
        assert_eq!(ask(&engine, 0, &format!("LLEN list:{list}")), ":6000\r\n");
        let elements = ask(&engine, 0, &format!("LRANGE list:{list} 0 -1"));
        let numbers = elements.lines().filter_map(|line| line.split_once(':')?.0.parse::<u64>().ok());
        assert!(numbers.eq((0..6000).map(|number| 10 * number + list)), "list:{list}");
    }
}
