//! What is large is freed after the reply.

use super::{fill, run};
use crate::engine::freeing::PIECES_OF_TASK;
use crate::engine::{Client, Engine};
use crate::resp::Requests;
use xtasking::{Context, Priority, Promise, Runtime};
use xtasking_testing::eventually;

/// Returns how much is to be freed when a request has its reply.
fn unfreed_at_reply(engine: &Engine, rt: &Runtime, line: &str) -> u64 {
    let (promise, handle) = rt.promise();
    let own = engine.clone();
    let then = move |_, _: &mut Context| promise.fulfil(own.server().memory.unfreed());
    engine.submit(rt, engine.session(""), Requests::one(line.split(' ')), then);
    handle.join().unwrap()
}

/// Checks that what a request removes is freed after its reply.
#[track_caller]
fn check_freed_later(engine: &Engine, rt: &Runtime, line: &str) {
    assert!(unfreed_at_reply(engine, rt, line) > 0, "{line}");
    eventually("all is freed", || engine.server().memory.unfreed() == 0);
}

#[test]
fn what_is_large_is_freed_after_the_reply() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    let mut client = engine.client();
    for line in ["DEL set", "UNLINK set", "SET set small", "FLUSHDB", "FLUSHALL", "SDIFFSTORE set one two"] {
        assert!(run(&mut client, "SADD one a b").starts_with(':'));
        fill(&mut client, "SADD", "set", 3 * PIECES_OF_TASK);
        check_freed_later(&engine, &rt, line);
        assert_eq!(run(&mut client, "FLUSHALL"), "+OK\\r\\n");
    }
}

#[test]
fn long_texts_are_freed_after_the_reply() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    // One with an order, which shares the blocks.
    let engine = Engine::builder().shards(4).setting("ordered-databases", "0").build(&rt);
    let mut client = engine.client();
    let long = vec![b'x'; 1 << 20];
    let set = |client: &mut Client, text: &[u8]| client.run([b"SET", &b"text"[..], text]).unwrap();
    for line in [
        "SET text short",
        "SETEX text 100 short",
        "GETSET text short",
        "MSET other 1 text 2",
        "APPEND text more",
        "SETRANGE text 5 more",
        "SETBIT text 7 1",
        "EXPIRE text 100",
        "RENAME text other",
        "MOVE text 1",
        "GETDEL text",
        "DEL text",
        "RANGEDEL - +",
        "RPOPLPUSH list text",
    ] {
        run(&mut client, "FLUSHALL");
        eventually("all is freed", || engine.server().memory.unfreed() == 0);
        set(&mut client, &long);
        if line.starts_with("RPOPLPUSH") {
            assert_eq!(unfreed_at_reply(&engine, &rt, line), 0, "it fails");
        } else {
            check_freed_later(&engine, &rt, line);
        }
    }
    // One that was changed in place before.
    set(&mut client, &long);
    run(&mut client, "APPEND text more");
    check_freed_later(&engine, &rt, "SET text short");
    // Short ones are freed at once, and so is one whose block stays.
    set(&mut client, &[b'x'; 1000]);
    for line in ["APPEND text more", "SET text short", "SET text other", "EXPIRE text 100", "DEL text"] {
        assert_eq!(unfreed_at_reply(&engine, &rt, line), 0, "{line}");
    }
}

/// The bytes come to a block with their key, and what they come from is left.
#[test]
fn long_texts_that_were_copied_are_freed_after_the_reply() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    let mut client = engine.client();
    let long = vec![b'x'; 1 << 20];
    for (line, unfreed) in [("RENAME text other", 2), ("MOVE text 1", 2), ("COPY text other REPLACE", 1)] {
        run(&mut client, "FLUSHALL");
        eventually("all is freed", || engine.server().memory.unfreed() == 0);
        client.run([b"SET", &b"text"[..], &long]).unwrap();
        assert_eq!(unfreed_at_reply(&engine, &rt, line), unfreed, "{line}");
        eventually("all is freed", || engine.server().memory.unfreed() == 0);
    }
    assert_eq!(run(&mut client, "STRLEN other"), format!(":{}\\r\\n", 1 << 20));
}

#[test]
fn what_is_removed_from_values_is_freed_after_the_reply() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).setting("list-max-listpack-size", "4").build(&rt);
    let mut client = engine.client();
    let numbers = || (0..2000).map(|number| number.to_string());
    for (line, left) in [
        ("LTRIM value 0 9", "LLEN value"),
        ("LTRIM value -10 -1", "LLEN value"),
        ("LPOP value 1990", "LLEN value"),
        ("RPOP value 1990", "LLEN value"),
        ("SPOP value 1990", "SCARD value"),
        ("ZREMRANGEBYRANK value 10 -1", "ZCARD value"),
        ("ZREMRANGEBYSCORE value 10 3000", "ZCARD value"),
        ("ZPOPMIN value 1990", "ZCARD value"),
        ("XTRIM value MAXLEN 10", "XLEN value"),
    ] {
        run(&mut client, "DEL value");
        match &left[..1] {
            "L" => fill(&mut client, "RPUSH", "value", 2000),
            "S" => fill(&mut client, "SADD", "value", 2000),
            "Z" => {
                let pairs = numbers().flat_map(|number| [number.clone(), number]);
                client.run(["ZADD".to_owned(), "value".to_owned()].into_iter().chain(pairs)).unwrap();
            }
            _ => {
                run(&mut client, "CONFIG SET stream-node-max-entries 4");
                let add = |number| run(&mut client, &format!("XADD value {number}-1 field value"));
                assert!((0..2000).map(add).all(|reply| reply.starts_with('$')));
            }
        }
        eventually("all is freed", || engine.server().memory.unfreed() == 0);
        check_freed_later(&engine, &rt, line);
        assert_eq!(run(&mut client, left), ":10\\r\\n", "{line}");
    }
    for line in
        ["ZREMRANGEBYRANK value 0 -1", "ZREMRANGEBYLEX value - +", "ZPOPMAX value 5000", "SPOP value 5000"]
    {
        let command = if line.starts_with('Z') { "ZADD" } else { "SADD" };
        run(&mut client, "DEL value");
        let numbers =
            numbers().flat_map(|number| [(command == "ZADD").then(|| "0".to_owned()), Some(number)]);
        let words = [command.to_owned(), "value".to_owned()].into_iter().chain(numbers.flatten());
        client.run(words).unwrap();
        eventually("all is freed", || engine.server().memory.unfreed() == 0);
        check_freed_later(&engine, &rt, line);
        assert_eq!(run(&mut client, "EXISTS value"), ":0\\r\\n", "{line}");
    }
}

#[test]
fn a_table_whose_keys_were_removed_is_freed_after_the_reply() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(1).build(&rt);
    let mut client = engine.client();
    let keys = || (0..1000).map(|number| number.to_string());
    let pairs = keys().flat_map(|key| [key, "value".to_owned()]);
    client.run(std::iter::once("MSET".to_owned()).chain(pairs)).unwrap();
    client.run(std::iter::once("DEL".to_owned()).chain(keys())).unwrap();
    assert_eq!(unfreed_at_reply(&engine, &rt, "FLUSHALL"), 1);
    eventually("all is freed", || engine.server().memory.unfreed() == 0);
}

/// Spawns tasks one after the other, as requests of busy sessions do. Then passes on how much is
/// not freed yet.
fn count_unfreed_after(tasks: usize, engine: Engine, done: Promise<u64>, cx: &mut Context) {
    if tasks == 0 {
        return done.fulfil(engine.server().memory.unfreed());
    }
    cx.task(())
        .priority(Priority::Normal)
        .spawn(move |(), cx| count_unfreed_after(tasks - 1, engine, done, cx));
}

/// The only worker runs tasks of one priority in the order in which they come.
#[test]
fn much_garbage_is_freed_beside_requests() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).setting("maxmemory", "4mb").build(&rt);
    fill(&mut engine.client(), "SADD", "set", 3 * PIECES_OF_TASK);
    let (promise, handle) = rt.promise();
    let own = engine.clone();
    let then = move |_, cx: &mut Context| count_unfreed_after(20, own, promise, cx);
    engine.submit(&rt, engine.session(""), Requests::one(["DEL", "set"]), then);
    assert_eq!(handle.join().unwrap(), 0);
}
