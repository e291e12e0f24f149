//! Arguments, errors, and what others learn of a deletion.

use super::{builder, bulks, check, run};
use std::sync::{Arc, Mutex};
use xtasking::Runtime;
use xtasking_store::command::Effects;
use xtasking_store::engine::Client;
use xtasking_store::log::OpenError;
use xtasking_store::resp::Requests;

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

const NOT_ORDERED: &str =
    "-ERR the keys of this database are not in order: see the setting ordered-databases\r\n";

#[test]
fn arguments_say_which_keys() {
    let rt = runtime();
    let mut client = builder().build(&rt).client();
    for (key, value) in [("b", "2"), ("a", "1"), ("ab", "text"), ("c", "3")] {
        run(&mut client, &format!("SET {key} {value}"));
    }
    run(&mut client, "RPUSH ac element");
    for (line, expected) in [
        ("RANGE - +", "a ab ac b c"),
        ("RANGE + -", ""),
        ("RANGE (a [b", "ab ac b"),
        ("RANGE [a (b", "a ab ac"),
        ("range prefix a", "a ab ac"),
        ("RANGE PREFIX a REV LIMIT 2", "ac ab"),
        ("RANGE - + LIMIT 0", ""),
        ("RANGE - + LIMIT 2 AFTER ab", "ac b"),
        ("RANGE - + REV AFTER b LIMIT 2", "ac ab"),
        ("RANGE (b + AFTER a", "c"),
        ("RANGE - (b REV AFTER c", "ac ab a"),
        ("RANGE [ab [b VALUES LIMIT 1", "ab text"),
    ] {
        assert_eq!(bulks(&run(&mut client, line)).join(" "), expected, "{line}");
    }
    // Only strings have values here, as for MGET.
    assert_eq!(run(&mut client, "RANGE [ac [b VALUES"), "*4\r\n$2\r\nac\r\n$-1\r\n$1\r\nb\r\n$1\r\n2\r\n");
    assert_eq!(run(&mut client, "RANGECOUNT (a (c"), ":3\r\n");
    assert_eq!(run(&mut client, "RANGECOUNT PREFIX a"), ":3\r\n");
    assert_eq!(run(&mut client, "COMMAND GETKEYS RANGE - +"), "-ERR The command has no key arguments\r\n");
    // A prefix may end with the greatest byte, and need not be text.
    for key in [&b"\xff"[..], b"\xff\xff", b"\xfe", b"d\xff", b"d\xff\x00", b"e", b""] {
        client.run([b"SET", key, b"x"]).unwrap();
    }
    let mut count = |prefix: &[u8]| client.run([b"RANGECOUNT", &b"PREFIX"[..], prefix]).unwrap();
    assert_eq!(count(b"\xff"), b":2\r\n");
    assert_eq!(count(b"d\xff"), b":2\r\n");
    assert_eq!(count(b"d"), b":2\r\n");
    assert_eq!(count(b""), b":12\r\n");
}

#[test]
fn errors_say_what_is_wrong() {
    let rt = runtime();
    let mut client = builder().build(&rt).client();
    for (line, error) in [
        ("RANGE a b", "-ERR min or max not valid string range item\r\n"),
        ("RANGECOUNT - b", "-ERR min or max not valid string range item\r\n"),
        ("RANGE - + LIMIT", "-ERR syntax error\r\n"),
        ("RANGE - + LIMIT x", "-ERR value is not an integer or out of range\r\n"),
        ("RANGE - + LIMIT -1", "-ERR value is out of range, must be positive\r\n"),
        ("RANGE - + AFTER", "-ERR syntax error\r\n"),
        ("RANGE - + BACKWARDS", "-ERR syntax error\r\n"),
        ("RANGEDEL - + REV", "-ERR syntax error\r\n"),
        ("RANGE -", "-ERR wrong number of arguments for 'range' command\r\n"),
        (
            "CONFIG SET ordered-databases 3",
            "-ERR CONFIG SET failed (possibly related to argument \
         'ordered-databases') - there is no database 3\r\n",
        ),
        (
            "CONFIG SET ordered-databases first",
            "-ERR CONFIG SET failed (possibly related to argument \
         'ordered-databases') - argument must be numbers of databases, or 'all'\r\n",
        ),
    ] {
        assert_eq!(run(&mut client, line), error, "{line}");
    }
    run(&mut client, "SELECT 1");
    for line in ["RANGE - +", "RANGECOUNT - +", "RANGEDEL - +", "RANGEDEL - + SCAN LIMIT 3"] {
        assert_eq!(run(&mut client, line), NOT_ORDERED, "{line}");
    }
    assert!(run(&mut client, "CONFIG GET ordered-databases").ends_with("$3\r\n0 2\r\n"));
}

/// The start says so, as other settings that are wrong.
#[test]
fn databases_that_are_not_there_end_the_start() {
    let rt = runtime();
    for (value, why) in [("99", "there is no database 99"), ("x", "argument must be numbers of databases")] {
        let Err(error) = builder().setting("ordered-databases", value).open(&rt) else {
            panic!("it has started")
        };
        assert!(matches!(error, OpenError::Setting(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("ordered-databases cannot be {value}: {why}")), "{text}");
    }
    let unknown = builder().setting("no-such", "1").open(&rt).err().map(|error| error.to_string());
    assert_eq!(unknown.as_deref(), Some("there is no setting no-such"));
}

/// Sessions that track keys learn of changes of what RANGE with VALUES has shown them.
#[test]
fn values_of_a_range_are_tracked() {
    let rt = runtime();
    let engine = builder().build(&rt);
    let (mut reader, mut writer) = (engine.client(), engine.client());
    run(&mut writer, "MSET a 1 b 2 c 3");
    run(&mut reader, "HELLO 3");
    run(&mut reader, "CLIENT TRACKING ON");
    run(&mut reader, "RANGE - + LIMIT 1");
    run(&mut writer, "SET a 4");
    assert!(reader.take_messages().is_empty());
    run(&mut reader, "RANGE [b + VALUES LIMIT 1");
    run(&mut writer, "MSET a 5 c 6");
    assert!(reader.take_messages().is_empty());
    run(&mut writer, "DEL b");
    let message = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nb\r\n";
    assert_eq!(reader.take_messages(), message);
}

/// The order belongs to the number of the database, whatever keys are there.
#[test]
fn swapped_databases_keep_their_settings() {
    let rt = runtime();
    let mut client = builder().build(&rt).client();
    run(&mut client, "MSET a 1 b 2");
    run(&mut client, "SELECT 1");
    run(&mut client, "MSET c 3 d 4 e 5");
    run(&mut client, "SWAPDB 0 1");
    assert_eq!(run(&mut client, "RANGE - +"), NOT_ORDERED);
    run(&mut client, "SELECT 0");
    check(&mut client);
    run(&mut client, "SWAPDB 0 2");
    check(&mut client);
    run(&mut client, "SELECT 2");
    assert_eq!(run(&mut client, "RANGECOUNT - +"), ":3\r\n");
    check(&mut client);
}

/// What comes after SWAPDB in a transaction sees the orders that the settings demand.
#[test]
fn databases_that_a_transaction_swaps_are_in_order_within_it() {
    let rt = runtime();
    let mut client = builder().build(&rt).client();
    run(&mut client, "MSET a 1 b 2");
    run(&mut client, "SELECT 1");
    run(&mut client, "MSET d 3 c 4 e 5");
    for line in
        ["SELECT 0", "MULTI", "SWAPDB 0 1", "RANGE - +", "RANGECOUNT - (e", "RANGEDEL - [c", "RANGE - +"]
    {
        run(&mut client, line);
    }
    let expected =
        "*5\r\n+OK\r\n*3\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n:2\r\n:1\r\n*2\r\n$1\r\nd\r\n$1\r\ne\r\n";
    assert_eq!(run(&mut client, "EXEC"), expected);
    check(&mut client);
    run(&mut client, "SELECT 1");
    assert_eq!(run(&mut client, "RANGE - +"), NOT_ORDERED);
    assert_eq!(run(&mut client, "DBSIZE"), ":2\r\n");
}

fn fill(client: &mut Client) {
    let mut requests = Requests::default();
    (0..500).for_each(|number| requests.push(["SET", &format!("key:{number:03}"), "x"]));
    client.run_all(requests).unwrap();
}

#[test]
fn a_deletion_is_told_to_all() {
    let rt = runtime();
    let (units, events) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (sink, told) = (units.clone(), events.clone());
    let follow = move |effects: &Effects| {
        let text = |args: Vec<&[u8]>| {
            args.iter().map(|arg| arg.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
        };
        sink.lock().unwrap().extend(effects.commands.iter().map(|(_, args)| text(args)));
        told.lock().unwrap().extend(
            effects.events.iter().map(|event| format!("{} {}", event.name, event.key.escape_ascii())),
        );
    };
    let engine = builder().on_effects(follow).build(&rt);
    let (mut client, mut watcher) = (engine.client(), engine.client());
    fill(&mut client);
    for (line, reply, effect) in [
        ("RANGEDEL [key:100 (key:150", ":50\r\n", "RANGEDEL [key:100 (key:150 SCAN"),
        ("RANGEDEL (key:150 + LIMIT 3", ":3\r\n", "RANGEDEL (key:150 [key:153 SCAN"),
        ("RANGEDEL PREFIX key:2", ":100\r\n", "RANGEDEL [key:2 (key:3 SCAN"),
        ("RANGEDEL - [key:004", ":5\r\n", "RANGEDEL - [key:004 SCAN"),
    ] {
        units.lock().unwrap().clear();
        events.lock().unwrap().clear();
        run(&mut watcher, "WATCH key:001 key:101 key:151 key:250");
        assert_eq!(run(&mut client, line), reply, "{line}");
        run(&mut watcher, "MULTI");
        assert_eq!(run(&mut watcher, "EXEC"), "*-1\r\n", "{line}");
        assert_eq!(*units.lock().unwrap(), [effect]);
        let events = std::mem::take(&mut *events.lock().unwrap());
        assert!(events.iter().all(|event| event.starts_with("del key:")), "{events:?}");
        assert_eq!(reply, format!(":{}\r\n", events.len()));
        check(&mut client);
    }
    // Nothing more is told if there is nothing to delete.
    units.lock().unwrap().clear();
    assert_eq!(run(&mut client, "RANGEDEL PREFIX key:2"), ":0\r\n");
    assert_eq!(run(&mut client, "RANGEDEL - + LIMIT 0"), ":0\r\n");
    assert!(units.lock().unwrap().is_empty());
    // Without an order the keys are looked at one by one, if that is asked for.
    run(&mut client, "CONFIG SET ordered-databases 1");
    assert_eq!(run(&mut client, "RANGEDEL PREFIX key:3 SCAN"), ":100\r\n");
    assert!(!run(&mut client, "KEYS *").contains("key:3"));
}

#[test]
fn a_range_in_a_transaction_sees_what_was_done_before() {
    let rt = runtime();
    let mut client = builder().build(&rt).client();
    let mut requests = Requests::default();
    for line in ["MULTI", "MSET b 1 a 2", "RANGE - +", "RANGEDEL - [a", "RANGECOUNT - +", "EXEC"] {
        requests.push(line.split(' '));
    }
    let replies = String::from_utf8(client.run_all(requests).unwrap()).unwrap();
    assert!(replies.ends_with("*4\r\n+OK\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n:1\r\n:1\r\n"), "{replies}");
}

/// Its shards are held to be read, so the order is made after it.
#[test]
fn a_transaction_that_demands_an_order_only_reads_its_shards() {
    let rt = runtime();
    let mut client = builder().build(&rt).client();
    run(&mut client, "SET a 1");
    run(&mut client, "CONFIG SET ordered-databases 1");
    let mut requests = Requests::default();
    for line in ["MULTI", "CONFIG SET ordered-databases 0", "RANGE - +", "EXEC", "RANGE - +"] {
        requests.push(line.split(' '));
    }
    let replies = String::from_utf8(client.run_all(requests).unwrap()).unwrap();
    assert!(replies.ends_with(&format!("*2\r\n+OK\r\n{NOT_ORDERED}*1\r\n$1\r\na\r\n")), "{replies}");
}
