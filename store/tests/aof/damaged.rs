//! Files that are torn, damaged, or have what the store has not.

use super::whole::{command, file};
use super::{ask, contents, engine, load, runtime};
use xtasking_store::Engine;
use xtasking_store::aof::{AofEnd, AofError, AofErrorKind};
use xtasking_testing::watchdog;

#[test]
fn a_torn_command_is_left_out_or_refused() {
    let _watched = watchdog();
    let rt = runtime();
    for name in ["plain.aof", "preamble.aof"] {
        let whole = contents(name);
        let start = whole.len() - command("APPEND text _and_more").len();
        assert!(whole[start..].starts_with(b"*3\r\n$6\r\nAPPEND"));
        for end in start..whole.len() {
            let (engine, torn) = (engine(&rt), (end - start) as u64);
            let loaded = load(&engine, &whole[..end], AofEnd::MayBeTorn).unwrap();
            assert_eq!((loaded.bytes, loaded.torn), (start as u64, torn), "{name} to {end}");
            assert_eq!(ask(&engine, 0, "GET text"), "$5\r\nvalue\r\n", "{name} to {end}");
            if torn > 0 {
                let error = load(&super::engine(&rt), &whole[..end], AofEnd::Whole).unwrap_err();
                assert!(matches!(error.kind, AofErrorKind::Torn), "{error}");
                assert_eq!(error.offset, start as u64);
            }
        }
    }
}

#[test]
fn a_transaction_without_its_end_is_left_out() {
    let _watched = watchdog();
    let rt = runtime();
    let before = file(&["SELECT 2", "SET key 1"]);
    let transaction = file(&["MULTI", "SET key 2", "SELECT 3", "SET key 3", "EXEC"]);
    let whole = [&before[..], &transaction].concat();
    for end in before.len()..whole.len() {
        let engine = engine(&rt);
        let loaded = load(&engine, &whole[..end], AofEnd::MayBeTorn).unwrap();
        let torn = (end - before.len()) as u64;
        assert_eq!((loaded.bytes, loaded.torn, loaded.commands), (before.len() as u64, torn, 1), "{end}");
        assert_eq!(ask(&engine, 2, "GET key"), "$1\r\n1\r\n", "{end}");
        assert_eq!(ask(&engine, 3, "DBSIZE"), ":0\r\n", "{end}");
    }
    let engine = engine(&rt);
    assert_eq!(load(&engine, &whole, AofEnd::Whole).unwrap().commands, 3);
    assert_eq!(ask(&engine, 2, "GET key"), "$1\r\n2\r\n");
    assert_eq!(ask(&engine, 3, "GET key"), "$1\r\n3\r\n");
}

/// No byte that is another one is taken for a torn end, unless it makes what follows an argument.
#[test]
fn damage_is_refused_with_its_place() {
    let _watched = watchdog();
    let rt = runtime();
    let whole = file(&["SET one 1", "SET two 2", "SET three 3"]);
    let second = command("SET one 1").len();
    for at in second..second + command("SET two 2").len() {
        let mut damaged = whole.clone();
        damaged[at] = b'~';
        match load(&engine(&rt), &damaged, AofEnd::MayBeTorn) {
            // It is part of an argument.
            Ok(loaded) => assert_eq!((loaded.commands, loaded.torn), (3, 0), "{at}"),
            Err(error) => {
                let is_near = (second as u64..=at as u64 + 3).contains(&error.offset);
                assert!(is_near, "{at}: {error}");
                let is_told = matches!(error.kind, AofErrorKind::Malformed(_) | AofErrorKind::Refused { .. });
                assert!(is_told, "{at}: {error}");
            }
        }
    }
    let mut snapshot = contents("preamble.aof");
    snapshot[60] ^= 1;
    let error = load(&engine(&rt), &snapshot, AofEnd::MayBeTorn).unwrap_err();
    assert!(!matches!(error.kind, AofErrorKind::Torn), "{error}");
    let error = load(&engine(&rt), &snapshot[..40], AofEnd::MayBeTorn).unwrap_err();
    assert!(matches!(error.kind, AofErrorKind::Snapshot(_)), "{error}");
}

#[test]
fn what_the_store_has_not_is_refused_with_its_place() {
    let _watched = watchdog();
    let rt = runtime();
    for (line, why) in [
        ("EVAL return 0", "the command EVAL cannot be run: ERR unknown command"),
        ("FUNCTION LOAD code", "the command FUNCTION cannot be run: ERR unknown subcommand"),
        ("SELECT 99", "the command SELECT cannot be run: there is no database 99"),
        ("SELECT one", "there is no database one"),
        ("EXEC", "the command EXEC cannot be run: there is no MULTI before it"),
        ("DEBUG SLEEP 0", "the command DEBUG cannot be run: it is no command on keys"),
        ("SHUTDOWN NOSAVE", "the command SHUTDOWN cannot be run: it is no command on keys"),
        ("SET key", "the command SET cannot be run: ERR wrong number of arguments"),
        ("LPUSH text 1", "the command LPUSH cannot be run: WRONGTYPE"),
        ("BLPOP list 0", "the command BLPOP cannot be run: it would wait"),
    ] {
        let (engine, before) = (engine(&rt), command("SET text 1"));
        let bytes = [&before[..], &command(line), &command("SET later 1")].concat();
        let error = load(&engine, &bytes, AofEnd::MayBeTorn).unwrap_err();
        assert_eq!(error.offset, before.len() as u64, "{line}");
        assert!(error.to_string().contains(why), "{line}: {error}");
        assert_eq!(ask(&engine, 0, "EXISTS text"), ":1\r\n", "{line}");
        // A command on a key is refused when it runs, and others may run beside it.
        let may_be_there = ["LPUSH", "BLPOP"].iter().any(|name| line.starts_with(name));
        assert!(may_be_there || ask(&engine, 0, "EXISTS later") == ":0\r\n", "{line}");
    }
    let nested = file(&["MULTI", "MULTI"]);
    let error = load(&engine(&rt), &nested, AofEnd::MayBeTorn).unwrap_err();
    assert!(error.to_string().contains("it stands in a transaction"), "{error}");
    // A worker does not wait for tasks.
    let own = engine(&rt);
    let inside = rt.task(()).submit(move |(), _| load(&own, &command("SET key 1"), AofEnd::Whole).is_err());
    assert!(inside.join().unwrap());
}

/// The file has commands for several times. Those before the first one that is refused run, and of
/// those after it only some that are read with it.
#[test]
fn after_a_command_that_is_refused_no_more_are_run() {
    let _watched = watchdog();
    let (rt, value) = (runtime(), "x".repeat(1 << 16));
    let fill = |key: &str| command(&format!("APPEND {key} {value}")).repeat(40);
    let before = fill("one");
    let refused = command("LPUSH one 1");
    let bytes = [&before[..], &refused, &fill("two"), &refused, &fill("three")].concat();
    let engine = engine(&rt);
    let error = load(&engine, &bytes, AofEnd::MayBeTorn).unwrap_err();
    assert!(matches!(error.kind, AofErrorKind::Refused { .. }), "{error}");
    assert_eq!(error.offset, before.len() as u64);
    assert_eq!(ask(&engine, 0, "STRLEN one"), format!(":{}\r\n", 40 << 16));
    let beside = ask(&engine, 0, "STRLEN two")[1..].trim_end().parse::<u64>().unwrap();
    assert!(beside < 20 << 16, "{beside} bytes of the commands after it");
    assert_eq!(ask(&engine, 0, "EXISTS three"), ":0\r\n");
}

/// Arguments that are as long as the setting allows are read, and no longer ones: what follows
/// would count as the torn end of one.
#[test]
fn an_argument_that_is_too_long_is_damage() {
    let _watched = watchdog();
    let rt = runtime();
    let damaged = b"*2\r\n$4\r\nINCR\r\n$2000000\r\na\r\n";
    for (longest, is_damage) in [("1999999", true), ("2000000", false)] {
        let engine = Engine::builder().shards(8).setting("proto-max-bulk-len", longest).build(&rt);
        let before = command("SET a 1");
        let loaded = load(&engine, &[&before[..], damaged].concat(), AofEnd::MayBeTorn);
        assert_eq!(loaded.as_ref().is_ok_and(|loaded| loaded.torn == damaged.len() as u64), !is_damage);
        let is_told = |error: &AofError| error.to_string().contains("longer than proto-max-bulk-len");
        assert_eq!(loaded.as_ref().is_err_and(is_told), is_damage, "{loaded:?}");
    }
}
