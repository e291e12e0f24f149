//! What engines are made of, and how they and their sessions end.

use super::{Store, run};
use crate::engine::{Engine, Finished};
use crate::resp::Requests;
use crate::server::Unblock;
use std::sync::Arc;
use xtasking::platform::Simulation;
use xtasking::{Context, Runtime};
use xtasking_testing::{Setting, eventually};

#[test]
fn a_session_that_quits_watches_no_keys_any_more() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(1).databases(1).build(&rt);
    let mut client = engine.client();
    let mut requests = Requests::one(["WATCH", "key"]);
    requests.push(["QUIT"]);
    assert_eq!(client.run_all(requests).unwrap(), b"+OK\r\n+OK\r\n");
    drop(client);
    wait_for_no_guests(&rt, &engine);
}

/// Waits until the first shard has no guests in the first database.
fn wait_for_no_guests(rt: &Runtime, engine: &Engine) {
    eventually("the keys are watched by none", || {
        let shard = rt.task(engine.inner.shards[0].read());
        shard.submit(|shard, _| !shard.has_guests(0)).join().unwrap()
    });
}

#[test]
fn a_session_that_is_killed_during_a_pause_watches_no_keys_any_more() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(1).databases(1).build(&rt);
    let (mut watcher, mut client) = (engine.client(), engine.client());
    run(&mut watcher, "WATCH key");
    run(&mut client, "CLIENT PAUSE 100000000");
    engine.unblock(&rt, watcher.id().unwrap(), Unblock::Close);
    drop(watcher);
    wait_for_no_guests(&rt, &engine);
    engine.inner.end_pause(&rt);
    let calls = run(&mut client, "INFO commandstats");
    assert!(calls.contains("cmdstat_watch:") && !calls.contains("unwatch"), "{calls}");
}

#[test]
fn an_engine_is_freed_though_sessions_wait() {
    let Store { rt, engine, .. } = Store::new(Setting::Threads { workers: 2 }, 4);
    let send = |lines: &[&str]| {
        let mut requests = Requests::default();
        lines.iter().for_each(|line| requests.push(line.split(' ')));
        let session = engine.session("");
        let id = session.id();
        let (promise, handle) = rt.promise();
        engine.submit(&rt, session, requests, move |finished, _| promise.fulfil(finished));
        eventually("the session waits", || engine.server().clients.get(id).is_some_and(|c| c.is_blocked()));
        handle
    };
    let waits = [send(&["TAKE a 0"]), send(&["CLIENT PAUSE 100000000 WRITE", "SET a 1"])];
    let inner = Arc::downgrade(&*engine.inner);
    drop(engine);
    eventually("the engine is freed", || inner.strong_count() == 0);
    assert!(waits.into_iter().all(|handle| handle.join().is_err()));
}

#[test]
fn many_workers_have_more_shards() {
    for (workers, shards) in [(1, 1024), (4, 1024), (16, 4096)] {
        let rt = Runtime::builder().platform(Simulation::new(workers, 1)).build().unwrap();
        let engine = Engine::builder().databases(1).build(&rt);
        assert_eq!(engine.inner.shards.len(), shards, "{workers} workers");
    }
}

/// Requests by one handle do not write the count of another.
#[test]
fn each_handle_counts_its_own_uses() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(1).build(&rt);
    let other = engine.clone();
    let uses = (Arc::strong_count(&engine.inner), Arc::strong_count(&other.inner));
    assert_eq!(uses, (1, 1));
    assert!(Arc::ptr_eq(&*engine.inner, &*other.inner), "it is the same engine");
}

#[test]
fn a_request_that_a_pause_holds_ends_with_the_engine() {
    let Store { rt, engine, .. } = Store::new(Setting::Threads { workers: 2 }, 1);
    run(&mut engine.client(), "CLIENT PAUSE 100000000 WRITE");
    let inner = Arc::clone(&*engine.inner);
    let task = rt.task(inner.shards[0].write());
    // It waits for the shard when the last handle of the engine is dropped.
    let handle = task.submit(move |_, cx| {
        let (promise, handle) = engine.runtime().promise();
        let done = |finished: Finished, _: &mut Context| promise.fulfil(finished.session.is_closing);
        let requests = Requests::one(["SET", "a", "1"]);
        assert!(engine.run(cx, engine.session(""), requests, done).is_none());
        drop(engine);
        handle
    });
    let handle = handle.join().unwrap();
    eventually("the request ends", || handle.is_finished());
    assert!(handle.join().unwrap(), "as if its client were gone");
}
