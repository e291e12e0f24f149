//! Messages of each mode, about each kind of change.

use super::{messages, run, settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_testing::on_each;

/// Opens a session that speaks version 3 of the protocol and tracks keys with these options.
fn tracker(engine: &Engine, options: &str) -> Client {
    let mut client = engine.client();
    run(&mut client, "HELLO 3");
    assert_eq!(run(&mut client, format!("CLIENT TRACKING ON {options}").trim()), "+OK");
    client
}

fn with_engine(check: impl Fn(&Runtime, &Engine)) {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        check(&rt, &engine);
    });
}

#[test]
fn a_change_is_told_once_to_those_that_have_read() {
    with_engine(|_, engine| {
        let (mut reader, mut other) = (tracker(engine, ""), engine.client());
        run(&mut other, "MSET a 1 b 2");
        assert_eq!(run(&mut reader, "GET a | GET none"), "1 _");
        assert_eq!(run(&mut other, "SET b 3"), "+OK");
        assert_eq!(messages(&mut reader), "", "it was not read");
        run(&mut other, "SET a 2 | SET a 3");
        assert_eq!(messages(&mut reader), ">2 invalidate *1 a");
        run(&mut other, "SET none 1");
        assert_eq!(messages(&mut reader), ">2 invalidate *1 none", "that it was missing was read");
        // Of any database, as in Redis.
        run(&mut reader, "GET a");
        run(&mut other, "SELECT 3 | SET a 1");
        assert_eq!(messages(&mut reader), ">2 invalidate *1 a");
        run(&mut reader, "GET a | CLIENT TRACKING OFF");
        run(&mut other, "SET a 4");
        assert_eq!(messages(&mut reader), "");
    });
}

#[test]
fn messages_about_own_changes_come_right_after_the_reply() {
    with_engine(|_, engine| {
        let mut client = tracker(engine, "");
        run(&mut client, "MSET a 1 b 2 | MGET a b");
        assert_eq!(run(&mut client, "INCR a | PING"), ":2 >2 invalidate *1 a +PONG");
        let changed = run(&mut client, "GET a | MULTI | INCR a | GET b | EXEC | PING");
        assert_eq!(changed, "2 +OK +QUEUED +QUEUED *2 :3 2 >2 invalidate *1 a +PONG");
        assert_eq!(run(&mut client, "GET b | CLIENT REPLY OFF | SET b 3 | PING"), "2 >2 invalidate *1 b");
        assert_eq!(run(&mut client, "CLIENT REPLY ON"), "+OK");
        // A key that a transaction reads after it has changed it is noted.
        run(&mut client, "MULTI | SET a 5 | GET a | EXEC");
        run(&mut engine.client(), "SET a 6");
        assert_eq!(messages(&mut client), ">2 invalidate *1 a");
        // Tracking that a transaction begins holds for its own changes.
        let mut late = engine.client();
        run(&mut late, "HELLO 3");
        let begun = run(&mut late, "MULTI | CLIENT TRACKING ON | GET a | SET a 7 | EXEC");
        assert!(begun.ends_with("*3 +OK 6 +OK >2 invalidate *1 a"), "{begun}");
    });
}

#[test]
fn the_end_of_one_session_is_not_that_of_another() {
    with_engine(|_, engine| {
        let (mut one, mut two) = (tracker(engine, ""), tracker(engine, ""));
        let (mut three, mut other) = (tracker(engine, "BCAST PREFIX b"), engine.client());
        for client in [&mut one, &mut two] {
            run(client, "MGET a b c");
        }
        run(&mut one, "CLIENT TRACKING OFF");
        run(&mut other, "SET a 1");
        assert_eq!(messages(&mut one), "");
        assert_eq!(messages(&mut two), ">2 invalidate *1 a");
        drop(three);
        run(&mut other, "SET b 1");
        assert_eq!(messages(&mut two), ">2 invalidate *1 b");
        // What was noted goes with the last one only.
        run(&mut two, "CLIENT TRACKING OFF | CLIENT TRACKING ON");
        run(&mut other, "SET c 1");
        assert_eq!(messages(&mut two), "");
        three = tracker(engine, "");
        run(&mut two, "GET c");
        drop(three);
        run(&mut other, "SET c 2");
        assert_eq!(messages(&mut two), ">2 invalidate *1 c");
    });
}

#[test]
fn a_change_of_very_many_keys_drops_all_of_a_cache() {
    // One runtime: there is much to copy.
    let rt = settings().next().unwrap().build();
    let engine = &Engine::builder().shards(4).build(&rt);
    let (mut client, mut all) = (tracker(engine, ""), tracker(engine, "BCAST"));
    let mut other = engine.client();
    // 36 MiB of keys: more than may wait for a session.
    let keys: Vec<_> = (0..9_u8).map(|number| vec![number + b'0'; 4 << 20]).collect();
    let command = |name: &'static [u8]| std::iter::once(name).chain(keys.iter().map(|key| &**key));
    client.run(command(b"MGET")).unwrap();
    let pairs = keys.iter().flat_map(|key| [&**key, b"1"]);
    assert_eq!(other.run(std::iter::once(&b"MSET"[..]).chain(pairs)).unwrap(), b"+OK\r\n");
    for client in [&mut client, &mut all] {
        assert!(messages(client).starts_with(">2 invalidate _"), "it was not to drop all");
        assert!(!client.session().unwrap().is_closing);
        assert_eq!(run(client, "PING"), "+PONG");
        assert_eq!(
            run(&mut other, &format!("CLIENT LIST ID {}", client.id().unwrap())).matches("id=").count(),
            1
        );
    }
    run(&mut client, "GET a");
    run(&mut other, "SET a 1");
    for client in [&mut client, &mut all] {
        assert_eq!(messages(client), ">2 invalidate *1 a");
    }
}

#[test]
fn messages_about_other_changes_come_before_the_new_value() {
    with_engine(|_, engine| {
        let (mut reader, mut other) = (tracker(engine, ""), engine.client());
        run(&mut other, "SET a 1");
        run(&mut reader, "GET a");
        run(&mut other, "SET a 2");
        assert_eq!(run(&mut reader, "GET a"), ">2 invalidate *1 a 2");
    });
}

#[test]
fn a_session_need_not_hear_of_its_own_changes() {
    with_engine(|_, engine| {
        let (mut quiet, mut other) = (tracker(engine, "NOLOOP"), engine.client());
        assert_eq!(run(&mut quiet, "GET a | SET a 1 | GET b"), "_ +OK _");
        run(&mut other, "SET a 2 | SET b 2");
        assert_eq!(messages(&mut quiet), ">2 invalidate *1 b", "its own change of a has ended the note");
    });
}

#[test]
fn opting_is_about_the_next_command_or_transaction() {
    with_engine(|_, engine| {
        let mut other = engine.client();
        let mut touch = move || run(&mut other, "MSET a 1 b 1 c 1");
        let mut client = tracker(engine, "OPTIN");
        run(&mut client, "GET a | CLIENT CACHING YES | GET b | GET c");
        touch();
        assert_eq!(messages(&mut client), ">2 invalidate *1 b");
        run(&mut client, "CLIENT CACHING YES | CLIENT ID | MULTI | GET a | GET b | EXEC | GET c");
        touch();
        assert_eq!(messages(&mut client), ">2 invalidate *1 a >2 invalidate *1 b");
        let info = run(&mut client, "CLIENT CACHING YES | CLIENT TRACKINGINFO");
        assert_eq!(info, "+OK %3 flags ~3 on optin caching-yes redirect :0 prefixes *0");
        assert!(run(&mut client, "CLIENT CACHING NO").starts_with("-ERR CLIENT CACHING NO is only valid"));
        assert!(run(&mut client, "CLIENT TRACKING ON OPTOUT").starts_with("-ERR You can't switch OPTIN"));
        let mut client = tracker(engine, "OPTOUT");
        run(&mut client, "GET a | CLIENT CACHING NO | GET b | GET c");
        touch();
        assert_eq!(messages(&mut client), ">2 invalidate *1 a >2 invalidate *1 c");
    });
}

#[test]
fn prefixes_get_all_changes_of_a_command_in_one_message() {
    with_engine(|_, engine| {
        let mut client = tracker(engine, "BCAST PREFIX u: PREFIX v: NOLOOP");
        let mut other = engine.client();
        run(&mut other, "MSET u:2 1 u:1 1 w 1 v 1 v: 1");
        assert_eq!(messages(&mut client), ">2 invalidate *2 u:1 u:2 >2 invalidate *1 v:");
        assert_eq!(run(&mut client, "SET u:1 1 | GET u:2"), "+OK 1");
        assert_eq!(messages(&mut client), "", "these were its own");
        run(&mut other, "MULTI | SET u:1 2 | DEL u:1 u:2 | EXEC");
        assert_eq!(messages(&mut client), ">2 invalidate *2 u:1 u:2");
        assert!(run(&mut client, "CLIENT TRACKING ON BCAST PREFIX u:1").starts_with(
            "-ERR Prefix 'u:1' overlaps with an existing prefix 'u:'. Prefixes for a single client"
        ));
        assert!(run(&mut client, "CLIENT TRACKING ON").starts_with("-ERR You can't switch BCAST mode"));
        assert_eq!(run(&mut client, "CLIENT TRACKING ON BCAST PREFIX w"), "+OK");
        let info = run(&mut client, "CLIENT TRACKINGINFO");
        assert_eq!(info, "%3 flags ~2 on bcast redirect :0 prefixes *3 u: v: w");
        let counts = run(&mut other, "INFO");
        assert!(counts.contains("tracking_total_prefixes:3 ") && counts.contains("tracking_clients:1 "));
        assert!(run(&mut other, "CLIENT LIST").contains(" flags=tB "));
        drop(client);
        assert!(run(&mut other, "INFO stats").contains("tracking_total_prefixes:0"));
    });
}

#[test]
fn messages_go_to_another_session_and_its_end_is_told() {
    with_engine(|_, engine| {
        let (mut listener, mut other) = (engine.client(), engine.client());
        run(&mut listener, "SUBSCRIBE __redis__:invalidate");
        let id = listener.id().unwrap();
        let mut client = tracker(engine, &format!("REDIRECT {id}"));
        run(&mut client, "GET a");
        run(&mut other, "SET a 1");
        assert_eq!(messages(&mut listener), "*3 message __redis__:invalidate *1 a");
        assert_eq!(run(&mut client, "CLIENT GETREDIR"), format!(":{id}"));
        run(&mut other, "FLUSHALL");
        assert_eq!(messages(&mut listener), "*3 message __redis__:invalidate $-1");
        assert!(run(&mut other, "CLIENT LIST").contains(&format!(" redir={id} ")));
        run(&mut client, "GET a");
        drop(listener);
        run(&mut other, "SET a 2");
        assert_eq!(messages(&mut client), format!(">2 tracking-redir-broken :{id}"));
        let info = run(&mut client, "CLIENT TRACKINGINFO");
        assert_eq!(info, format!("%3 flags ~2 on broken_redirect redirect :{id} prefixes *0"));
        assert!(run(&mut other, "CLIENT LIST").contains(" flags=tR "));
        let refused = run(&mut client, "CLIENT TRACKING ON REDIRECT 999");
        assert_eq!(refused, "-ERR The client ID you want redirect to does not exist");
        // In version 2 of the protocol there is no other way.
        run(&mut client, "CLIENT TRACKING ON | GET a | HELLO 2");
        run(&mut other, "SET a 3");
        assert_eq!(messages(&mut client), "");
    });
}

#[test]
fn all_kinds_of_changes_are_told() {
    with_engine(|_, engine| {
        let (mut client, mut other) = (tracker(engine, ""), engine.client());
        for (change, told) in [
            ("RENAME a b", ">2 invalidate *1 a >2 invalidate *1 b"),
            ("MOVE a 1", ">2 invalidate *1 a"),
            ("COPY a b REPLACE", ">2 invalidate *1 b"),
            ("EXPIRE a 100", ">2 invalidate *1 a"),
            ("SORT l STORE a", ">2 invalidate *1 a"),
            ("LPUSH l 1", ">2 invalidate *1 l"),
            ("PFADD h x", ">2 invalidate *1 h"),
            ("FLUSHDB", ">2 invalidate _"),
            ("FLUSHALL ASYNC", ">2 invalidate _"),
            ("SWAPDB 0 1", ">2 invalidate _"),
            ("SADD l 1", ""),
            ("DEL none", ""),
        ] {
            run(&mut other, "FLUSHALL");
            run(&mut client, "PING");
            run(&mut other, "MSET a 1 b 2 | RPUSH l 3 4");
            run(&mut client, "MGET a b | LRANGE l 0 -1 | PFCOUNT h | GET none | EXISTS none");
            run(&mut other, change);
            assert_eq!(messages(&mut client), told, "{change}");
        }
    });
}

#[test]
fn keys_that_expire_or_are_evicted_are_told() {
    on_each(settings(), |setting| {
        let (rt, now) = (setting.build(), Arc::new(AtomicU64::new(1000)));
        let clock = now.clone();
        let builder = Engine::builder().shards(4).process_memory(|| None);
        let engine = builder.clock(move || clock.load(Ordering::Relaxed)).build(&rt);
        let (mut client, mut other) = (tracker(&engine, ""), engine.client());
        let mut quiet = tracker(&engine, "BCAST NOLOOP");
        run(&mut other, "SET a 1 PX 10 | SET b 1 PX 10");
        assert_eq!(run(&mut client, "MGET a b"), "*2 1 1");
        assert_eq!(messages(&mut quiet), ">2 invalidate *1 a >2 invalidate *1 b");
        now.store(2000, Ordering::Relaxed);
        // That it has expired is no change by the session whose command meets it.
        assert_eq!(run(&mut quiet, "DEL a"), ":0 >2 invalidate *1 a");
        assert_eq!(messages(&mut client), ">2 invalidate *1 a");
        for _ in 0..10 {
            engine.remove_expired(&rt);
        }
        while run(&mut other, "DBSIZE") != ":0" {}
        assert_eq!(messages(&mut client), ">2 invalidate *1 b");
        assert_eq!(messages(&mut quiet), ">2 invalidate *1 b");
        run(&mut other, "SET a 1");
        run(&mut client, "GET a");
        run(&mut other, "CONFIG SET maxmemory-policy allkeys-lru | CONFIG SET maxmemory 1");
        engine.bound_memory(&rt);
        while run(&mut other, "DBSIZE") != ":0" {}
        assert_eq!(messages(&mut client), ">2 invalidate *1 a");
    });
}

#[test]
fn a_command_that_has_waited_tells_its_own_changes_after_its_reply() {
    with_engine(|rt, engine| {
        let mut other = engine.client();
        run(&mut other, "RPUSH to x");
        let session = engine.session("");
        let mut requests = xtasking_store::resp::Requests::one(["HELLO", "3"]);
        for line in ["CLIENT TRACKING ON", "LRANGE to 0 -1", "BLMOVE from to LEFT LEFT 0", "PING"] {
            requests.push(line.split(' '));
        }
        let (promise, handle) = rt.promise();
        engine.submit(rt, session, requests, move |finished, _| promise.fulfil(finished));
        while !run(&mut other, "INFO clients").contains("blocked_clients:1 ") {}
        run(&mut other, "RPUSH from y");
        let finished = handle.join().unwrap();
        let replies = super::shown(&finished.replies);
        assert!(replies.ends_with("*1 x y >2 invalidate *1 to +PONG"), "{replies}");
        engine.close(rt, finished.session);
    });
}

/// Lets a session track `x` and the list `s`, and wait for an element of `s`; then runs `change` in
/// another one. Returns the replies and the messages to the first one from its wait on.
fn waited(rt: &Runtime, engine: &Engine, wait: &str, change: impl FnOnce(&mut Client)) -> String {
    let mut other = engine.client();
    let session = engine.session("");
    let mut requests = xtasking_store::resp::Requests::one(["HELLO", "3"]);
    for line in ["CLIENT TRACKING ON", "GET x", "LRANGE s 0 -1", "ECHO waits", wait, "PING"] {
        requests.push(line.split(' '));
    }
    let (promise, handle) = rt.promise();
    engine.submit(rt, session, requests, move |finished, _| promise.fulfil(finished));
    while !run(&mut other, "INFO clients").contains("blocked_clients:1 ") {}
    change(&mut other);
    let finished = handle.join().unwrap();
    engine.close(rt, finished.session);
    super::shown(&finished.replies).split("waits ").nth(1).unwrap().to_owned()
}

#[test]
fn messages_about_other_changes_come_before_the_end_of_a_wait() {
    with_engine(|rt, engine| {
        let change = |other: &mut Client| drop(run(other, "SET x 2 | RPUSH s y"));
        let replies = waited(rt, engine, "BLPOP s 0", change);
        assert_eq!(replies, ">2 invalidate *1 x >2 invalidate *1 s *2 s y +PONG");
        let replies = waited(rt, engine, "BLMOVE s x LEFT LEFT 0", change);
        assert!(replies.starts_with(">2 invalidate *1 x >2 invalidate *1 s -WRONGTYPE"), "{replies}");
        run(&mut engine.client(), "DEL s x");
        let replies = waited(rt, engine, "BLPOP s 0", |other| {
            let list = run(other, "CLIENT LIST");
            let waits = list.split("id=").find(|line| line.contains(" flags=bt")).unwrap();
            let id = waits.split(' ').next().unwrap();
            run(other, &format!("SET x 2 | CLIENT UNBLOCK {id} ERROR"));
        });
        assert!(replies.starts_with(">2 invalidate *1 x -UNBLOCKED "), "{replies}");
    });
}

#[test]
fn prefixes_must_not_overlap() {
    with_engine(|_, engine| {
        let mut client = tracker(engine, "BCAST PREFIX u: PREFIX x");
        for (prefixes, refusal) in [
            ("PREFIX a PREFIX c PREFIX ab", "'a' overlaps with another provided prefix 'ab'"),
            ("PREFIX ab PREFIX aa PREFIX a", "'aa' overlaps with another provided prefix 'a'"),
            ("PREFIX a PREFIX b PREFIX a", "'a' overlaps with another provided prefix 'a'"),
            ("PREFIX a PREFIX u:1 PREFIX v", "'u:1' overlaps with an existing prefix 'u:'"),
            ("PREFIX a PREFIX u", "'u' overlaps with an existing prefix 'u:'"),
            ("PREFIX x", "'x' overlaps with an existing prefix 'x'"),
        ] {
            let reply = run(&mut client, &format!("CLIENT TRACKING ON BCAST {prefixes}"));
            assert!(reply.starts_with(&format!("-ERR Prefix {refusal}")), "{prefixes}: {reply}");
        }
        let many: Vec<_> = (10_000..15_000).map(|number| format!(" PREFIX {number}")).collect();
        let command = format!("CLIENT TRACKING ON BCAST{}", many.concat());
        assert_eq!(run(&mut client, &command), "+OK");
        run(&mut engine.client(), "MSET 10007a 1 9 2 1 3");
        assert_eq!(messages(&mut client), ">2 invalidate *1 10007a");
    });
}

#[test]
fn no_more_keys_are_noted_than_may() {
    with_engine(|_, engine| {
        let (mut client, mut other) = (tracker(engine, ""), engine.client());
        let counts = |client: &mut Client| {
            let info = run(client, "INFO stats");
            let count = |name| info.split(name).nth(1).unwrap().split(' ').next().unwrap().to_owned();
            [count("tracking_total_keys:"), count("tracking_total_items:")]
        };
        (0..50).for_each(|number| drop(run(&mut client, &format!("GET {number}"))));
        assert_eq!(counts(&mut other), ["50", "50"]);
        assert_eq!(run(&mut other, "CONFIG SET tracking-table-max-keys 20"), "+OK");
        assert_eq!(counts(&mut other), ["20", "20"]);
        assert_eq!(messages(&mut client).matches(">2 invalidate *1 ").count(), 30);
        assert!(run(&mut client, "GET another").starts_with("_ >2 invalidate *1 "));
        assert_eq!(counts(&mut other), ["20", "20"]);
        drop(client);
        run(&mut other, "PING");
        assert_eq!(counts(&mut other), ["0", "0"]);
    });
}
