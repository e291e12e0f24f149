//! What the log and other clients learn of evicted keys.

use super::{BEGIN, KIB, Store, builder, run, text};
use std::collections::BTreeSet;
use std::iter;
use std::sync::{Arc, Mutex};
use std::thread;
use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::command::{Effects, EventClass};
use xtasking_store::{Engine, log};
use xtasking_testing::watchdog;

fn keys(engine: &Engine) -> BTreeSet<String> {
    let keys = run(&mut engine.client(), "KEYS *");
    keys.lines().filter(|line| line.starts_with("key:")).map(str::to_owned).collect()
}

#[test]
fn a_replay_evicts_the_same_keys() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let disk = SimulatedDisk::new(1);
    let open = |limit: u64| {
        let builder = builder("allkeys-lru", limit).clock(|| BEGIN);
        builder.log(disk.clone(), log::Options::default()).open(&rt).unwrap()
    };
    let engine = open(50 * KIB);
    let mut client = engine.client();
    for number in 0..1000 {
        assert_eq!(run(&mut client, &format!("SET key:{number} {}", text(100))), "+OK\r\n");
    }
    let left = keys(&engine);
    assert!(left.len() < 500 && engine.server().memory.evicted() as usize == 1000 - left.len());
    engine.log().unwrap().close().unwrap();
    drop((client, engine));
    let engine = open(0);
    assert_eq!(keys(&engine), left);
    engine.log().unwrap().close().unwrap();
    drop(engine);
    // A store that was full starts, also with a lower limit, and evicts then.
    let engine = open(20 * KIB);
    assert_eq!(keys(&engine), left);
    assert!(engine.server().memory.counted() > 20 * KIB, "what is replayed is counted");
    assert_eq!(run(&mut engine.client(), "SET key:x 1"), "+OK\r\n");
    assert!(engine.server().memory.counted() <= 20 * KIB);
}

#[test]
fn evictions_are_events_and_changes_of_watched_keys() {
    let evicted = Arc::new(Mutex::new(Vec::new()));
    let own = evicted.clone();
    let builder = builder("allkeys-random", 50 * KIB).on_effects(move |effects: &Effects| {
        let events = effects.events.iter().filter(|event| event.class == EventClass::Evicted);
        own.lock().unwrap().extend(events.map(|event| (event.name, event.key.clone())));
    });
    let mut store = Store::of(builder);
    store.run("SET watched 1");
    store.run("WATCH watched");
    let mut other = store.engine.client();
    let mut number = 0;
    while run(&mut other, "EXISTS watched") == ":1\r\n" {
        run(&mut other, &format!("SET key:{number} {}", text(100)));
        number += 1;
    }
    let evicted = evicted.lock().unwrap();
    assert_eq!(evicted.len() as u64, store.evicted());
    assert!(evicted.iter().all(|(name, _)| *name == "evicted"));
    assert!(evicted.iter().any(|(_, key)| **key == *b"watched"));
    drop(evicted);
    store.run("MULTI");
    store.run("PING");
    assert_eq!(store.run("EXEC"), "*-1\r\n");
}

#[test]
fn many_clients_stay_within_the_limit() {
    let _watched = watchdog();
    let store = Store::new("allkeys-lru", 400 * KIB);
    let (engine, most) = (&store.engine, Mutex::new(0));
    thread::scope(|scope| {
        let client = |thread: u64| {
            move || {
                let mut client = engine.client();
                for number in 0..2000 {
                    let line = format!("SET key:{thread}:{number} {}", text(100));
                    assert_eq!(run(&mut client, &line), "+OK\r\n");
                }
            }
        };
        let clients: Vec<_> = (0..4).map(|thread| scope.spawn(client(thread))).collect();
        let watching = scope.spawn(|| {
            while engine.server().memory.evicted() < 4000 {
                // The sum is of several moments if this thread loses its core in the midst of it.
                let readings = iter::repeat_with(|| engine.server().memory.counted());
                let counted = readings.take(3).min().unwrap_or_default();
                let mut most = most.lock().unwrap();
                *most = counted.max(*most);
                thread::yield_now();
            }
        });
        clients.into_iter().chain([watching]).for_each(|thread| thread.join().unwrap());
    });
    // Each may be beyond it by what it adds.
    assert!(*most.lock().unwrap() <= 404 * KIB);
    assert!(engine.server().memory.counted() <= 404 * KIB);
}
