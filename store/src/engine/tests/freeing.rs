//! What is large is freed after the reply.

use super::{fill, run};
use crate::engine::Engine;
use crate::engine::freeing::PIECES_OF_TASK;
use crate::resp::Requests;
use xtasking::{Context, Priority, Promise, Runtime};
use xtasking_testing::eventually;

#[test]
fn what_is_large_is_freed_after_the_reply() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    let mut client = engine.client();
    for line in ["DEL set", "UNLINK set", "SET set small", "FLUSHDB", "FLUSHALL", "SDIFFSTORE set one two"] {
        assert!(run(&mut client, "SADD one a b").starts_with(':'));
        fill(&mut client, "SADD", "set", 3 * PIECES_OF_TASK);
        let (promise, handle) = rt.promise();
        let own = engine.clone();
        let then = move |_, _: &mut Context| promise.fulfil(own.server().memory.unfreed());
        engine.submit(&rt, engine.session(""), Requests::one(line.split(' ')), then);
        assert!(handle.join().unwrap() > 0, "{line}");
        eventually("all is freed", || engine.server().memory.unfreed() == 0);
        assert_eq!(run(&mut client, "FLUSHALL"), "+OK\\r\\n");
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
    let (promise, handle) = rt.promise();
    let own = engine.clone();
    let then = move |_, _: &mut Context| promise.fulfil(own.server().memory.unfreed());
    engine.submit(&rt, engine.session(""), Requests::one(["FLUSHALL"]), then);
    assert_eq!(handle.join().unwrap(), 1);
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
