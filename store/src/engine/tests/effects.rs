//! What is to be replayed of commands: also of those that expire keys, and of those that panic.

use super::{Store, replies, run, settings};
use crate::engine::Client;
use std::sync::atomic::Ordering;
use xtasking_testing::{on_each, silence_tasks};

#[test]
fn an_expired_key_that_is_overwritten_is_reported() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        run(&mut client, "SET a 1 PX 10");
        store.time.fetch_add(10, Ordering::SeqCst);
        run(&mut client, "APPEND a x");
        let log = std::mem::take(&mut *store.effects.lock().unwrap());
        assert_eq!(log, ["0: SET a 1 PXAT 1000010", "0: DEL a", "0: APPEND a x"]);
    });
}

/// A value that has expired from the beginning stays until it is met, so that what is replayed
/// leads to the same.
#[test]
fn an_expired_key_that_gets_an_expired_value_is_reported_once() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        for option in ["NX", "GET"] {
            run(&mut client, "SET a 1 PXAT 5");
            run(&mut client, &format!("SET a 2 {option} PXAT 5"));
            assert_eq!(run(&mut client, "RPUSH a x"), ":1\\r\\n");
            let log = std::mem::take(&mut *store.effects.lock().unwrap());
            let expected = ["0: SET a 1 PXAT 5", "0: DEL a", "0: SET a 2 PXAT 5", "0: DEL a", "0: RPUSH a x"];
            assert_eq!(log, expected, "{option}");
            run(&mut client, "DEL a");
            store.effects.lock().unwrap().clear();
        }
    });
}

#[test]
fn keys_that_expire_are_gone_and_reported() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        for number in 0..100 {
            run(&mut client, &format!("SET key:{number} 1 PX {}", if number < 50 { 10 } else { 1000 }));
        }
        let mut watcher = store.engine.client();
        run(&mut watcher, "WATCH key:99");
        store.time.fetch_add(10, Ordering::SeqCst);
        assert_eq!(run(&mut client, "GET key:7"), "$-1\\r\\n");
        assert_eq!(run(&mut client, "TTL key:7"), ":-2\\r\\n");
        assert_eq!(run(&mut client, "DEBUG SET-ACTIVE-EXPIRE 0"), "+OK\\r\\n");
        store.engine.remove_expired(&store.rt);
        assert_eq!(run(&mut client, "DBSIZE"), ":100\\r\\n");
        assert_eq!(run(&mut client, "DEBUG SET-ACTIVE-EXPIRE 1"), "+OK\\r\\n");
        // Each shard has its turn, and a turn looks at some of the entries.
        store.until(|| {
            store.engine.remove_expired(&store.rt);
            store.engine.client().run(["DBSIZE"]).unwrap() == b":50\r\n"
        });
        let log = std::mem::take(&mut *store.effects.lock().unwrap());
        assert_eq!(log.iter().filter(|line| line.starts_with("0: DEL key:")).count(), 50);
        // A write to an expired key removes it first.
        store.time.fetch_add(1000, Ordering::SeqCst);
        assert_eq!(run(&mut client, "APPEND key:60 x"), ":1\\r\\n");
        let log = std::mem::take(&mut *store.effects.lock().unwrap());
        // Tasks of the last cycle may still remove others.
        let about: Vec<_> = log.iter().filter(|line| line.contains("key:60")).collect();
        assert_eq!(about, ["0: DEL key:60", "0: APPEND key:60 x"]);
        // A watched key that expires is a changed one.
        run(&mut watcher, "MULTI");
        run(&mut watcher, "SET seen 1");
        assert_eq!(run(&mut watcher, "EXEC"), "*-1\\r\\n");
    });
}

#[test]
fn effects_are_what_is_to_be_replayed() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        for line in [
            "SET a 1",
            "SET b 1 EX 1",
            "GET a",
            "INCRBYFLOAT a 0.5",
            "EXPIRE a 1",
            "GETEX a PERSIST",
            "GETDEL a",
            "DEL nothing",
            "EXPIRE b -1",
            "SELECT 2",
            "MULTI",
            "SET c 1",
            "APPEND c 2",
            "EXEC",
            "FLUSHDB",
        ] {
            run(&mut client, line);
        }
        let log = std::mem::take(&mut *store.effects.lock().unwrap());
        let expected = [
            "0: SET a 1",
            "0: SET b 1 PXAT 1001000",
            "0: SET a 1.5 KEEPTTL",
            "0: PEXPIREAT a 1001000",
            "0: PERSIST a",
            "0: DEL a",
            "0: DEL b",
            "2: SET c 1",
            "2: APPEND c 2",
            "2: FLUSHDB",
        ];
        assert_eq!(log, expected);
    });
}

#[test]
fn sources_that_have_expired_are_reported_before_what_is_stored() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        for (source, command) in [
            ("SADD s 1", "SUNIONSTORE d t s"),
            ("ZADD s 1 x", "ZUNIONSTORE d 2 t s"),
            ("ZADD s 1 x", "ZRANGESTORE d s 0 -1"),
            ("SET s 1", "BITOP OR d t s"),
            ("RPUSH s 1", "SORT s STORE d"),
        ] {
            for line in ["FLUSHALL", source, "PEXPIRE s 10", "SET d 1"] {
                run(&mut client, line);
            }
            store.time.fetch_add(10, Ordering::SeqCst);
            std::mem::take(&mut *store.effects.lock().unwrap());
            assert_eq!(run(&mut client, command), ":0\\r\\n");
            let log = std::mem::take(&mut *store.effects.lock().unwrap());
            assert_eq!(log, ["0: DEL s".to_owned(), format!("0: {command}")]);
        }
    });
}

#[test]
fn a_command_that_panics_gets_an_error_and_its_changes_are_replayed() {
    silence_tasks();
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let waiting = store.block(&["TAKE a 0", "PING"]).1;
        let lines =
            ["SET old 1", "PANIC a old gone", "MULTI", "PANIC b", "SET c 1", "EXEC", "PANICREAD c", "PING"];
        let finished = store.send(&lines).1;
        let error = "-ERR internal error: the command has panicked\\r\\n";
        let queued = "+OK\\r\\n+QUEUED\\r\\n+QUEUED\\r\\n*2\\r\\n";
        let expected = format!("+OK\\r\\n{error}{queued}{error}+OK\\r\\n{error}+PONG\\r\\n");
        assert_eq!(replies(finished), expected);
        assert_eq!(replies(waiting), "*2\\r\\n$1\\r\\na\\r\\n$4\\r\\nhalf\\r\\n+PONG\\r\\n");
        // What the keys are now is replayed, as the commands have not said what they changed.
        let effects = std::mem::take(&mut *store.effects.lock().unwrap());
        let beginnings =
            effects.iter().map(|effect| effect.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" "));
        let panicked = ["0: DEL a", "0: RESTORE a", "0: DEL old", "0: RESTORE old", "0: DEL gone"];
        let others = ["0: DEL a", "0: DEL b", "0: RESTORE b", "0: SET c"];
        let expected: Vec<_> = ["0: SET old"].into_iter().chain(panicked).chain(others).collect();
        assert_eq!(beginnings.collect::<Vec<_>>(), expected);
        assert!(effects.iter().any(|effect| effect.starts_with("0: RESTORE b") && effect.contains("half")));
        let mut client = store.engine.client();
        assert_eq!(run(&mut client, "GET b"), "$4\\r\\nhalf\\r\\n");
    });
}

#[test]
fn a_command_that_panics_in_another_database_is_replayed_in_both() {
    silence_tasks();
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        assert_eq!(run(&mut client, "SET a 1"), "+OK\\r\\n");
        assert!(run(&mut client, "PANICIN a 2").starts_with("-ERR internal error"));
        assert_eq!(run(&mut client, "EXISTS a"), ":0\\r\\n");
        let effects = std::mem::take(&mut *store.effects.lock().unwrap());
        let beginnings =
            effects.iter().map(|effect| effect.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" "));
        let expected = ["0: SET a", "2: DEL a", "2: RESTORE a", "0: DEL a"];
        assert_eq!(beginnings.collect::<Vec<_>>(), expected);
    });
}

/// Returns the names of all keys of the database, in order.
fn names(client: &mut Client) -> Vec<String> {
    let reply = run(client, "KEYS *");
    let mut names: Vec<_> = reply.split("\\r\\n").skip(2).step_by(2).map(str::to_owned).collect();
    names.sort();
    names
}

/// A key whose change cannot be noted stops commands on all keys halfway.
fn with_unnotable_key(store: &Store, client: &mut Client) -> Client {
    for line in ["SET a 1", "SET b 1", "SELECT 1", "MSET a 1 b 1 c 1 unnotable 1 x 1 y 1"] {
        run(client, line);
    }
    let mut watcher = store.engine.client();
    run(&mut watcher, "SELECT 1");
    run(&mut watcher, "WATCH unnotable");
    store.effects.lock().unwrap().clear();
    watcher
}

#[test]
fn a_flush_that_panics_has_removed_nothing() {
    silence_tasks();
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        let _watcher = with_unnotable_key(&store, &mut client);
        for line in ["FLUSHALL", "FLUSHDB"] {
            assert!(run(&mut client, line).starts_with("-ERR internal error"), "{line}");
            assert_eq!(run(&mut client, "DBSIZE"), ":6\\r\\n", "{line}");
            run(&mut client, "SELECT 0");
            assert_eq!(run(&mut client, "DBSIZE"), ":2\\r\\n", "{line}");
            run(&mut client, "SELECT 1");
        }
        assert_eq!(*store.effects.lock().unwrap(), [""; 0]);
    });
}

#[test]
fn a_deletion_of_a_range_that_panics_is_replayed_as_far_as_it_went() {
    silence_tasks();
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        let _watcher = with_unnotable_key(&store, &mut client);
        let before = names(&mut client);
        assert!(run(&mut client, "RANGEDEL - + SCAN").starts_with("-ERR internal error"));
        let effects = std::mem::take(&mut *store.effects.lock().unwrap());
        let [replayed] = &*effects else { panic!("{effects:?}") };
        let mut gone: Vec<_> = replayed.strip_prefix("1: DEL ").expect("a DEL").split(' ').collect();
        assert!(gone.contains(&"unnotable"));
        let left = names(&mut client);
        gone.extend(left.iter().map(String::as_str));
        gone.sort();
        assert_eq!(gone, before);
    });
}
