//! Files as Redis has written them.

use super::{ask, check, contents, engine, load, path, runtime};
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::aof::{AofEnd, Manifest};
use xtasking_store::log::Options;
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
        ("OBJECT IDLETIME plain", ":0\r\n"),
    ] {
        assert_eq!(ask(&engine, 0, line), reply, "{line}");
    }
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
