//! Commands that wait for entries.

use super::run;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use xtasking::Runtime;
use xtasking_store::Engine;

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

/// Runs a command that waits on a thread of its own, then `wake` once it waits, and returns its
/// reply.
fn waiting(engine: &Engine, command: &str, wake: impl FnOnce(&mut xtasking_store::engine::Client)) -> String {
    let mut client = engine.client();
    let mut waker = engine.client();
    let command = command.to_owned();
    let waiter = thread::spawn(move || run(&mut client, &command));
    while !run(&mut waker, "INFO clients").contains("blocked_clients:1") {
        thread::yield_now();
    }
    wake(&mut waker);
    waiter.join().expect("a reply")
}

fn after(engine: &Engine, command: &str, wake: &[&str]) -> String {
    waiting(engine, command, |waker| wake.iter().for_each(|line| drop(run(waker, line))))
}

const GONE: &str = "-UNBLOCKED the stream key no longer exists";
const READ: &str = "XREADGROUP GROUP g alice BLOCK 0 STREAMS s >";

#[test]
fn an_entry_serves_what_waits() {
    let rt = runtime();
    let engine = Engine::builder().shards(4).build(&rt);
    run(&mut engine.client(), "XADD s 1-1 a b");
    let entry = |key: &str, id: &str| format!("*1 *2 $1 {key} *1 *2 $3 {id} *2 $1 a $1 b");
    // `$` stays what it was when the command began to wait. A removal does not end its wait.
    let woken = ["XDEL s 1-1", "XADD t 1-1 a b", "DEL s", "SET s text", "DEL s", "XADD s 5-1 a b"];
    assert_eq!(after(&engine, "XREAD BLOCK 0 STREAMS s $", &woken), entry("s", "5-1"));
    assert_eq!(after(&engine, "XREAD BLOCK 0 STREAMS u s 0 $", &["XADD s 6-1 a b"]), entry("s", "6-1"));
    run(&mut engine.client(), "XGROUP CREATE s g $");
    assert_eq!(after(&engine, READ, &["XADD s 7-1 a b"]), entry("s", "7-1"));
    assert_eq!(run(&mut engine.client(), "XPENDING s g"), "*4 :1 $3 7-1 $3 7-1 *1 *2 $5 alice $1 1");
    // An entry that is gone again before the end of the transaction serves nothing.
    let lines = ["MULTI", "XADD s 8-1 a b", "XDEL s 8-1", "EXEC", "XADD s 9-1 a b"];
    assert_eq!(after(&engine, "XREAD BLOCK 0 STREAMS s 7-1", &lines), entry("s", "9-1"));
    let mut client = engine.client();
    for (line, reply) in [("MULTI", "+OK"), ("XREAD BLOCK 0 STREAMS s $", "+QUEUED"), ("EXEC", "*1 *-1")] {
        assert_eq!(run(&mut client, line), reply);
    }
}

#[test]
fn a_reader_of_a_group_learns_that_it_is_gone() {
    let rt = runtime();
    let engine = Engine::builder().shards(4).build(&rt);
    let no_group = "-NOGROUP the consumer group this client was blocked on no longer exists";
    for (wake, reply) in [
        (&["DEL s"][..], GONE),
        (&["SET s text"], GONE),
        (&["MULTI", "DEL s", "RPUSH s a", "EXEC"], GONE),
        (&["FLUSHDB"], GONE),
        (&["FLUSHALL"], GONE),
        (&["SWAPDB 0 1"], GONE),
        (&["RENAME s other"], GONE),
        (&["XGROUP DESTROY s g"], no_group),
        (&["XADD other 1-1 a b", "RENAME other s"], no_group),
    ] {
        run(&mut engine.client(), "FLUSHALL");
        run(&mut engine.client(), "XGROUP CREATE s g 0 MKSTREAM");
        assert_eq!(after(&engine, READ, wake), reply, "{wake:?}");
        assert!(run(&mut engine.client(), "INFO clients").contains("blocked_clients:0"));
    }
}

#[test]
fn a_reader_of_a_group_learns_that_the_stream_has_expired() {
    let rt = runtime();
    let time = Arc::new(AtomicU64::new(1_000_000));
    let clock = time.clone();
    // Each cycle of active expiry visits this shard.
    let engine = Engine::builder().shards(1).clock(move || clock.load(Ordering::SeqCst)).build(&rt);
    for is_active in [true, false] {
        run(&mut engine.client(), "XGROUP CREATE s g 0 MKSTREAM");
        run(&mut engine.client(), "PEXPIRE s 1000");
        let reply = waiting(&engine, READ, |waker| {
            time.fetch_add(1000, Ordering::SeqCst);
            if is_active {
                engine.remove_expired(&rt);
            } else {
                // It only meets the key.
                assert_eq!(run(waker, "XADD s NOMKSTREAM * f v"), "$-1");
            }
        });
        assert_eq!(reply, GONE);
    }
}

#[test]
fn a_reader_of_a_group_learns_that_the_stream_was_evicted() {
    let rt = runtime();
    let builder = Engine::builder().shards(4).process_memory(|| None);
    let engine = builder.setting("maxmemory-policy", "allkeys-random").build(&rt);
    // By the task of the timer, and by a command that needs room.
    for is_timer in [true, false] {
        run(&mut engine.client(), "XGROUP CREATE s g 0 MKSTREAM");
        let reply = waiting(&engine, READ, |waker| {
            run(waker, "CONFIG SET maxmemory 1");
            if is_timer {
                engine.bound_memory(&rt);
            } else {
                run(waker, "SET other text");
            }
        });
        assert_eq!(reply, GONE);
        run(&mut engine.client(), "CONFIG SET maxmemory 0");
    }
}

#[test]
fn watchers_do_not_see_changes_of_groups() {
    let rt = runtime();
    let engine = Engine::builder().shards(4).build(&rt);
    let (mut client, mut other) = (engine.client(), engine.client());
    run(&mut client, "XADD s 1-1 a b");
    for (change, reply) in [
        ("XGROUP CREATE s g 0", "*1 +PONG"),
        ("XREADGROUP GROUP g alice STREAMS s >", "*1 +PONG"),
        ("XCLAIM s g bob 0 1-1", "*1 +PONG"),
        ("XACK s g 1-1", "*1 +PONG"),
        ("XSETID s 5-1", "*1 +PONG"),
        ("XGROUP DESTROY s g", "*1 +PONG"),
        ("XTRIM s MAXLEN 5", "*1 +PONG"),
        ("XADD s 6-1 a b", "*-1"),
        ("XTRIM s MAXLEN 1", "*-1"),
        ("XDEL s 6-1", "*-1"),
        ("XGROUP CREATE t g 0 MKSTREAM", "*-1"),
    ] {
        for line in ["WATCH s t", "MULTI", "PING"] {
            run(&mut client, line);
        }
        run(&mut other, change);
        assert_eq!(run(&mut client, "EXEC"), reply, "{change}");
    }
}
