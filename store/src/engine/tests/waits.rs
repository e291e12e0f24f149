//! Sessions that wait, by the commands of `command::probes`.

use super::{Store, replies, run, settings, text};
use crate::keyspace::Waiting;
use crate::resp::Requests;
use crate::server::Unblock;
use std::sync::atomic::{AtomicBool, Ordering};
use xtasking_testing::{Setting, eventually, on_each};

#[test]
fn a_change_serves_those_that_wait_in_order() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let waiting: Vec<_> = (0..3).map(|_| store.block(&["TAKE a b 0", "PING"]).1).collect();
        let mut client = store.engine.client();
        for (number, handle) in waiting.into_iter().enumerate() {
            let key = if number == 1 { "b" } else { "a" };
            assert_eq!(run(&mut client, &format!("SET {key} {number}")), "+OK\\r\\n");
            let expected = format!("*2\\r\\n$1\\r\\n{key}\\r\\n$1\\r\\n{number}\\r\\n+PONG\\r\\n");
            assert_eq!(replies(handle), expected);
            // It was taken before another command could see it.
            assert_eq!(run(&mut client, "DBSIZE"), ":0\\r\\n");
        }
        assert_eq!(run(&mut client, "SET a x"), "+OK\\r\\n");
        assert_eq!(run(&mut client, "EXISTS a"), ":1\\r\\n");
    });
}

#[test]
fn those_that_wait_for_one_key_are_served_in_order() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let waiting: Vec<_> = (0..3).map(|_| store.block(&["TAKE a 0"]).1).collect();
        let mut client = store.engine.client();
        for (number, handle) in waiting.into_iter().enumerate() {
            run(&mut client, &format!("SET a {number}"));
            assert_eq!(replies(handle), format!("*2\\r\\n$1\\r\\na\\r\\n$1\\r\\n{number}\\r\\n"));
        }
    });
}

#[test]
fn a_key_that_changes_during_a_run_for_another_one_is_not_missed() {
    let store = Store::new(Setting::Threads { workers: 1 }, 4);
    let (client, _waits) = store.block(&["TAKE a b 0"]);
    let blocked = &store.engine.inner.blocked;
    let waiting = Waiting { ticket: blocked.next_ticket() - 1, client, heeds_removal: false };
    let parked = blocked.take_to_run(waiting, b"a", |_| true).expect("the batch");
    assert!(blocked.take_to_run(waiting, b"b", |_| true).is_none());
    assert_eq!(blocked.insert(parked).expect("a session"), [b"b".as_slice().into()]);
    let parked = blocked.take_to_run(waiting, b"a", |_| true).expect("the batch, as before");
    assert_eq!(blocked.insert(parked).expect("a session"), []);
}

#[test]
fn a_killed_connection_runs_no_further_request() {
    let store = Store::new(Setting::Threads { workers: 1 }, 4);
    let rt = store.engine.runtime();
    let mut session = store.engine.session("");
    session.is_in_dialogue = true;
    let kill = format!("CLIENT KILL ID {}", session.id());
    let mut requests = Requests::default();
    (0..100_000).for_each(|_| requests.push(["INCR", "n"]));
    let (promise, end) = rt.promise();
    store.engine.submit(rt, session, requests, move |finished, _| promise.fulfil(finished.done));
    let mut client = store.engine.client();
    assert_eq!(run(&mut client, &kill), ":1\\r\\n");
    let counted = run(&mut client, "GET n");
    let done = end.join().expect("a session");
    assert_eq!(run(&mut client, "GET n"), counted);
    assert!(done < 100_000 && (done == 0 || counted.contains(&done.to_string())), "{done}, {counted}");
}

#[test]
fn a_transaction_serves_when_it_is_done() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let (_, waiting) = store.block(&["TAKE a 0"]);
        let mut client = store.engine.client();
        // What is gone at the end of the transaction serves nothing.
        for line in ["MULTI", "SET a 1", "DEL a", "EXEC", "MULTI", "SET a 2", "APPEND a 3"] {
            run(&mut client, line);
        }
        assert_eq!(run(&mut client, "EXEC"), "*2\\r\\n+OK\\r\\n:2\\r\\n");
        assert_eq!(replies(waiting), "*2\\r\\n$1\\r\\na\\r\\n$2\\r\\n23\\r\\n");
        // Inside of one nothing waits.
        run(&mut client, "MULTI");
        run(&mut client, "TAKE a 0");
        assert_eq!(run(&mut client, "EXEC"), "*1\\r\\n*-1\\r\\n");
    });
}

#[test]
fn chains_over_several_shards_are_served() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 64);
        let chain: Vec<_> =
            (0..8).map(|number| store.block(&[&format!("TAKETO k{number} k{} 0", number + 1)]).1).collect();
        let (_, last) = store.block(&["TAKE k8 0"]);
        let mut client = store.engine.client();
        assert_eq!(run(&mut client, "SET k0 far"), "+OK\\r\\n");
        chain.into_iter().for_each(|handle| assert_eq!(replies(handle), "+OK\\r\\n"));
        assert_eq!(replies(last), "*2\\r\\n$2\\r\\nk8\\r\\n$3\\r\\nfar\\r\\n");
        assert_eq!(run(&mut client, "DBSIZE"), ":0\\r\\n");
    });
}

#[test]
fn waits_end_at_their_deadline_or_when_asked() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let (_, short) = store.block(&["TAKE a b 100", "PING"]);
        let (asked, error) = store.block(&["TAKE a 0"]);
        let (gone, closed) = store.block(&["TAKE a 0", "SET never 1"]);
        assert_eq!(store.engine.end_waits(&store.rt), Some(1_000_100));
        store.time.fetch_add(100, Ordering::SeqCst);
        assert_eq!(store.engine.end_waits(&store.rt), None);
        assert_eq!(replies(short), "*-1\\r\\n+PONG\\r\\n");
        let mut client = store.engine.client();
        assert_eq!(run(&mut client, &format!("CLIENT UNBLOCK {asked} ERROR")), ":1\\r\\n");
        assert_eq!(replies(error), "-UNBLOCKED client unblocked via CLIENT UNBLOCK\\r\\n");
        assert_eq!(run(&mut client, &format!("CLIENT UNBLOCK {asked}")), ":0\\r\\n");
        assert!(store.engine.unblock(&store.rt, gone, Unblock::Close));
        assert!(closed.join().unwrap().session.is_closing);
        // None waits any more.
        assert_eq!(run(&mut client, "SET a 1"), "+OK\\r\\n");
        assert_eq!(run(&mut client, "EXISTS a never"), ":1\\r\\n");
    });
}

#[test]
fn a_sleep_blocks_the_session_alone() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let (_, asleep) = store.block(&["DEBUG SLEEP 0.25"]);
        let mut client = store.engine.client();
        assert_eq!(run(&mut client, "PING"), "+PONG\\r\\n");
        store.time.fetch_add(250, Ordering::SeqCst);
        store.engine.end_waits(&store.rt);
        assert_eq!(replies(asleep), "+OK\\r\\n");
    });
}

#[test]
fn a_session_that_is_gone_does_not_wait() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        let submit = |session, lines: &[&str]| {
            let mut requests = Requests::default();
            lines.iter().for_each(|line| requests.push(line.split(' ')));
            let (promise, handle) = store.rt.promise();
            store.engine.submit(&store.rt, session, requests, move |finished, _| promise.fulfil(finished));
            handle
        };
        let left = store.engine.session("");
        assert!(!store.engine.unblock(&store.rt, left.id(), Unblock::Close));
        let left = submit(left, &["TAKE a 0", "SET never 1"]).join().unwrap();
        let killed = store.engine.session("");
        assert_eq!(run(&mut client, &format!("CLIENT KILL ID {}", killed.id())), ":1\\r\\n");
        let killed = submit(killed, &["SET a 1", "TAKE a 0", "TAKE a 0", "SET never 1"]);
        run(&mut client, "SET b 1");
        let killed = killed.join().unwrap();
        for (finished, expected) in [(left, ""), (killed, "+OK\\r\\n*2\\r\\n$1\\r\\na\\r\\n$1\\r\\n1\\r\\n")]
        {
            assert!(finished.session.is_closing);
            assert_eq!(text(&finished.replies), expected);
            store.engine.close(&store.rt, finished.session);
        }
        assert_eq!(run(&mut client, "SET a 2"), "+OK\\r\\n");
        assert_eq!(run(&mut client, "EXISTS a never"), ":1\\r\\n");
    });
}

#[test]
fn a_wait_that_was_ended_is_not_served() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        let (first, ended) = store.block(&["TAKE a 0"]);
        let (_, served) = store.block(&["TAKE a 0"]);
        // In one command, so that the wait is ended and still listed when the key changes.
        run(&mut client, "MULTI");
        run(&mut client, &format!("CLIENT UNBLOCK {first}"));
        run(&mut client, "SET a 1");
        assert_eq!(run(&mut client, "EXEC"), "*2\\r\\n:1\\r\\n+OK\\r\\n");
        assert_eq!(replies(ended), "*-1\\r\\n");
        assert_eq!(replies(served), "*2\\r\\n$1\\r\\na\\r\\n$1\\r\\n1\\r\\n");
    });
}

#[test]
fn a_wait_for_a_bulk_string_ends_with_the_null_of_an_array() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let (_, waiting) = store.block(&["BLMOVE a b LEFT LEFT 0.1"]);
        store.time.fetch_add(100, Ordering::SeqCst);
        store.engine.end_waits(&store.rt);
        assert_eq!(replies(waiting), "*-1\\r\\n");
        let mut client = store.engine.client();
        run(&mut client, "MULTI");
        run(&mut client, "BLMOVE a b LEFT LEFT 0");
        assert_eq!(run(&mut client, "EXEC"), "*1\\r\\n$-1\\r\\n");
    });
}

#[test]
fn a_reply_that_is_not_wanted_is_that_of_the_command_also_after_a_wait() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        let (_, skipped) = store.block(&["CLIENT REPLY SKIP", "TAKE a 0", "PING"]);
        let (_, off) = store.block(&["CLIENT REPLY OFF", "TAKE b 100", "CLIENT REPLY ON"]);
        run(&mut client, "SET a 1");
        store.time.fetch_add(100, Ordering::SeqCst);
        store.engine.end_waits(&store.rt);
        assert_eq!(replies(skipped), "+PONG\\r\\n");
        assert_eq!(replies(off), "+OK\\r\\n");
    });
}

#[test]
fn a_move_to_another_shard_comes_before_later_requests_of_the_session() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 64);
        let mut client = store.engine.client();
        for number in 0..8 {
            let (_, waiting) = store.block(&[&format!("TAKETO a to{number} 0")]);
            let mut requests = Requests::one(["SET", "a", "1"]);
            requests.push(["EXISTS", "a"]);
            assert_eq!(client.run_all(requests).unwrap(), b"+OK\r\n:0\r\n");
            assert_eq!(replies(waiting), "+OK\\r\\n");
        }
    });
}

#[test]
fn a_stream_that_is_read_from_two_places_wakes_its_reader_for_the_first() {
    let store = Store::new(Setting::Threads { workers: 2 }, 4);
    let (_, handle) = store.block(&["XREAD BLOCK 0 STREAMS stream stream 100-0 1-0"]);
    assert_eq!(run(&mut store.engine.client(), "XADD stream 5-0 field value"), "$3\\r\\n5-0\\r\\n");
    eventually("the reader has the entry", || handle.is_finished());
    assert!(replies(handle).contains("5-0"));
}

#[test]
fn commands_that_would_wait_again_do_not_run() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 4);
        let mut client = store.engine.client();
        run(&mut client, "XGROUP CREATE stream group $ MKSTREAM");
        run(&mut client, "XGROUP CREATE stream other $");
        let read = |group: &str| format!("XREADGROUP GROUP {group} c BLOCK 0 STREAMS stream >");
        let mut waiting: Vec<_> = (0..4).map(|_| store.block(&[&read("group")])).collect();
        let other = store.block(&[&read("other")]);
        let late = store.block(&["XREAD BLOCK 0 STREAMS stream 9999999999999-0"]);
        let list = store.block(&["BLPOP list 0"]);
        run(&mut client, "CONFIG SET slowlog-log-slower-than 0");
        run(&mut client, "SLOWLOG RESET");
        run(&mut client, "XADD stream 1-0 field value");
        run(&mut client, "SET list string");
        let log = run(&mut client, "SLOWLOG GET -1");
        let counts = ["XREADGROUP", "XREAD\\r", "BLPOP"].map(|name| log.matches(name).count());
        assert_eq!(counts, [2, 0, 0], "{log}");
        for handle in [waiting.remove(0).1, other.1] {
            assert!(replies(handle).contains("value"));
        }
        // The end of the group ends all waits for it, and no others.
        run(&mut client, "XGROUP DESTROY stream group");
        for (_, handle) in waiting {
            assert!(replies(handle).starts_with("-NOGROUP"));
        }
        run(&mut client, "DEL list");
        assert_eq!(run(&mut client, "RPUSH list a"), ":1\\r\\n");
        assert!(replies(list.1).contains("list"));
        assert_eq!(
            run(&mut client, "XADD stream 9999999999999-1 field last"),
            "$15\\r\\n9999999999999-1\\r\\n"
        );
        assert!(replies(late.1).contains("last"));
    });
}

/// CLIENT UNBLOCK and CLIENT LIST see such a session as blocked all the time.
#[test]
fn a_session_stays_blocked_while_others_are_served() {
    let store = Store::new(Setting::Threads { workers: 2 }, 4);
    let (id, _handle) = store.block(&["XREAD BLOCK 0 STREAMS stream 9999999999999-0"]);
    let info = store.engine.server().clients.get(id).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                assert!(info.is_blocked());
            }
        });
        let mut client = store.engine.client();
        for number in 1..2000 {
            run(&mut client, &format!("XADD stream {number}-0 field value"));
        }
        is_over.store(true, Ordering::SeqCst);
        watcher.join().unwrap();
    });
}
