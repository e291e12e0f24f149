//! CLIENT PAUSE: which requests it holds, and how they go on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use xtasking::{Handle, Runtime};
use xtasking_store::Engine;
use xtasking_store::command::Effects;
use xtasking_store::engine::{Builder, Client, Finished};
use xtasking_store::resp::Requests;
use xtasking_store::server::Unblock;
use xtasking_testing::{Setting, on_each};

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

fn run(client: &mut Client, line: &str) -> String {
    let reply = client.run(line.split(' ')).unwrap();
    String::from_utf8(reply).unwrap().replace("\r\n", " ")
}

/// Sends requests in a session of their own, and returns its number too.
fn send(rt: &Runtime, engine: &Engine, lines: &[&str]) -> (u64, Handle<Finished>) {
    let mut requests = Requests::default();
    lines.iter().for_each(|line| requests.push(line.split(' ')));
    let session = engine.session("");
    let id = session.id();
    let (promise, handle) = rt.promise();
    engine.submit(rt, session, requests, move |finished, _| promise.fulfil(finished));
    (id, handle)
}

/// Waits until this number of sessions is held.
fn wait_for_held(client: &mut Client, count: usize) {
    while !run(client, "INFO clients").contains(&format!("blocked_clients:{count} ")) {}
}

fn end(rt: &Runtime, engine: &Engine, handle: Handle<Finished>) -> String {
    let finished = handle.join().unwrap();
    engine.close(rt, finished.session);
    String::from_utf8(finished.replies).unwrap().replace("\r\n", " ")
}

#[test]
fn what_writes_is_held_until_the_end_of_the_pause() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let mut client = engine.client();
        run(&mut client, "SET k 1");
        let endless = format!("CLIENT PAUSE {}", i64::MAX);
        assert_eq!(run(&mut client, &endless), "-ERR timeout is out of range ");
        assert_eq!(run(&mut client, "CLIENT PAUSE 100000000 WRITE"), "+OK ");
        let (_, writer) = send(&rt, &engine, &["GET k", "INCR k", "GET k"]);
        let (_, exec) = send(&rt, &engine, &["MULTI", "GET k", "INCR k", "EXEC"]);
        let (_, publisher) = send(&rt, &engine, &["PUBLISH c x"]);
        wait_for_held(&mut client, 3);
        assert!(run(&mut client, "CLIENT LIST").contains(" flags=b "));
        // Neither readers nor what is wrong waits.
        assert_eq!(run(&mut client, "GET k"), "$1 1 ");
        assert!(run(&mut client, "INCR").starts_with("-ERR wrong number"));
        for line in ["MULTI", "GET k"] {
            run(&mut client, line);
        }
        assert_eq!(run(&mut client, "EXEC"), "*1 $1 1 ");
        assert_eq!(run(&mut client, "CLIENT UNPAUSE"), "+OK ");
        assert!(end(&rt, &engine, writer).starts_with("$1 1 :"));
        assert!(end(&rt, &engine, exec).starts_with("+OK +QUEUED +QUEUED *2 "));
        assert_eq!(end(&rt, &engine, publisher), ":0 ");
        assert_eq!(run(&mut client, "GET k"), "$1 3 ");
    });
}

#[test]
fn a_pause_ends_by_itself_and_a_shorter_one_does_not_shorten_it() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let now = Arc::new(AtomicU64::new(1000));
        let clock = now.clone();
        let engine = Engine::builder().shards(4).clock(move || clock.load(Ordering::Relaxed)).build(&rt);
        let mut client = engine.client();
        run(&mut client, "CLIENT PAUSE 500 WRITE");
        run(&mut client, "CLIENT PAUSE 1 WRITE");
        let (_, writer) = send(&rt, &engine, &["SET k 1"]);
        wait_for_held(&mut client, 1);
        now.store(1400, Ordering::Relaxed);
        engine.end_waits(&rt);
        assert!(run(&mut client, "INFO clients").contains("blocked_clients:1 "));
        assert_eq!(run(&mut client, "GET k"), "$-1 ");
        now.store(1500, Ordering::Relaxed);
        // Its time is over, also before the timer has seen it.
        assert_eq!(run(&mut client, "SET other 1"), "+OK ");
        engine.end_waits(&rt);
        assert_eq!(end(&rt, &engine, writer), "+OK ");
    });
}

#[test]
fn a_client_that_goes_is_not_held() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let mut client = engine.client();
        run(&mut client, "CLIENT PAUSE 100000000 WRITE");
        let (gone, one) = send(&rt, &engine, &["SET k 1"]);
        let (held, two) = send(&rt, &engine, &["SET k 2"]);
        wait_for_held(&mut client, 2);
        assert_eq!(run(&mut client, &format!("CLIENT UNBLOCK {held}")), ":0 ");
        assert!(engine.unblock(&rt, gone, Unblock::Close));
        let finished = one.join().unwrap();
        assert!(finished.session.is_closing && finished.replies.is_empty());
        engine.close(&rt, finished.session);
        wait_for_held(&mut client, 1);
        assert_eq!(run(&mut client, "GET k"), "$-1 ");
        run(&mut client, "CLIENT UNPAUSE");
        assert_eq!(end(&rt, &engine, two), "+OK ");
    });
}

#[test]
fn a_pause_of_all_holds_readers_too() {
    // A simulation does not go on while nothing waits for it.
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let now = Arc::new(AtomicU64::new(1000));
        let clock = now.clone();
        let engine = Engine::builder().shards(4).clock(move || clock.load(Ordering::Relaxed)).build(&rt);
        let (id, reader) = send(&rt, &engine, &["CLIENT PAUSE 500", "GET k", "TIME"]);
        while !engine.server().clients.get(id).is_some_and(|client| client.is_blocked()) {
            std::thread::yield_now();
        }
        now.store(2000, Ordering::Relaxed);
        engine.end_waits(&rt);
        assert_eq!(end(&rt, &engine, reader), "+OK $-1 *2 $1 2 $1 0 ");
    });
}

/// Follows what is to be replayed, a line each.
fn followed(now: &Arc<AtomicU64>) -> (Builder, Arc<Mutex<Vec<String>>>) {
    let (clock, effects) = (now.clone(), Arc::new(Mutex::new(Vec::new())));
    let lines = effects.clone();
    let follow = move |effects: &Effects| {
        for (_, args) in effects.commands.iter() {
            lines.lock().unwrap().push(args.concat().escape_ascii().to_string());
        }
    };
    let builder = Engine::builder().shards(4).clock(move || clock.load(Ordering::Relaxed));
    (builder.on_effects(follow), effects)
}

#[test]
fn keys_that_expire_are_not_removed_in_a_pause_of_writes() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let now = Arc::new(AtomicU64::new(1000));
        let (builder, effects) = followed(&now);
        let engine = builder.build(&rt);
        let (mut client, mut before, mut late) = (engine.client(), engine.client(), engine.client());
        for line in ["SET a 1 PX 10", "SET b 1 PX 20"] {
            run(&mut client, line);
        }
        now.store(1010, Ordering::Relaxed);
        run(&mut client, "CLIENT PAUSE 1000 WRITE");
        effects.lock().unwrap().clear();
        // One has expired before it is watched, the other one has not.
        assert_eq!(run(&mut late, "WATCH a"), "+OK ");
        assert_eq!(run(&mut before, "WATCH b"), "+OK ");
        now.store(1020, Ordering::Relaxed);
        for client in [&mut late, &mut before] {
            for line in ["MULTI", "GET a", "EXISTS b"] {
                run(client, line);
            }
        }
        assert_eq!(run(&mut late, "EXEC"), "*2 $-1 :0 ");
        assert_eq!(run(&mut before, "EXEC"), "*-1 ");
        for line in ["WATCH a b", "UNWATCH", "WATCH a"] {
            assert_eq!(run(&mut late, line), "+OK ");
        }
        engine.remove_expired(&rt);
        assert_eq!(run(&mut client, "DBSIZE"), ":2 ");
        assert_eq!(*effects.lock().unwrap(), [""; 0]);
        now.store(2020, Ordering::Relaxed);
        engine.end_waits(&rt);
        // It is removed now, which is no change.
        assert_eq!(run(&mut client, "APPEND a x"), ":1 ");
        assert_eq!(run(&mut client, "DEL a"), ":1 ");
        assert_eq!(*effects.lock().unwrap(), ["DELa", "APPENDax", "DELa"]);
        assert_eq!(run(&mut late, "UNWATCH"), "+OK ");
        run(&mut client, "SET a 1 PX 10");
        now.store(2030, Ordering::Relaxed);
        run(&mut client, "CLIENT PAUSE 1000 WRITE");
        run(&mut late, "WATCH a");
        now.store(4000, Ordering::Relaxed);
        engine.end_waits(&rt);
        run(&mut client, "DEL a");
        for line in ["MULTI", "PING"] {
            run(&mut late, line);
        }
        assert_eq!(run(&mut late, "EXEC"), "*1 +PONG ");
    });
}

#[test]
fn a_client_whose_key_has_changed_is_served_after_the_pause() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let (builder, effects) = followed(&Arc::new(AtomicU64::new(1000)));
        let engine = builder.build(&rt);
        let mut client = engine.client();
        let waits = [("a", 1), ("b", 2)].map(|(to, count)| {
            let (_, handle) = send(&rt, &engine, &[&format!("BLMOVE from {to} LEFT LEFT 0")]);
            wait_for_held(&mut client, count);
            handle
        });
        for line in ["MULTI", "RPUSH from 1 2 3", "CLIENT PAUSE 100000000 WRITE"] {
            run(&mut client, line);
        }
        assert_eq!(run(&mut client, "EXEC"), "*2 :3 +OK ");
        assert_eq!(run(&mut client, "LLEN from"), ":3 ");
        assert_eq!(run(&mut client, "EXISTS a b"), ":0 ");
        assert_eq!(*effects.lock().unwrap(), ["RPUSHfrom123"]);
        let (_, popped) = send(&rt, &engine, &["LPOP from"]);
        wait_for_held(&mut client, 3);
        assert_eq!(run(&mut client, "CLIENT UNPAUSE"), "+OK ");
        let served = waits.map(|handle| end(&rt, &engine, handle));
        assert_eq!(served, ["$1 1 ", "$1 2 "]);
        // What the pause has held comes after what waited before.
        assert_eq!(end(&rt, &engine, popped), "$1 3 ");
        assert_eq!(run(&mut client, "EXISTS from"), ":0 ");
    });
}

/// The expired key is there until the change: it is overwritten in place, or leaves with its
/// database.
#[test]
fn a_change_of_a_key_that_had_expired_in_a_pause_is_seen() {
    for change in ["SET lock B", "RENAME other lock", "COPY other lock REPLACE", "SWAPDB 0 1"] {
        let rt = Runtime::builder().workers(2).build().unwrap();
        let now = Arc::new(AtomicU64::new(1000));
        let engine = followed(&now).0.build(&rt);
        let (mut client, mut watcher) = (engine.client(), engine.client());
        for line in ["SET other B", "SELECT 1", "SET lock B", "SELECT 0", "SET lock A PX 10"] {
            assert_eq!(run(&mut client, line), "+OK ");
        }
        run(&mut client, "CLIENT PAUSE 1000 WRITE");
        now.store(1010, Ordering::Relaxed);
        assert_eq!(run(&mut watcher, "WATCH lock"), "+OK ");
        assert_eq!(run(&mut watcher, "GET lock"), "$-1 ");
        now.store(3000, Ordering::Relaxed);
        engine.end_waits(&rt);
        assert!(!run(&mut client, change).starts_with('-'), "{change}");
        run(&mut watcher, "MULTI");
        run(&mut watcher, "SET lock A");
        assert_eq!(run(&mut watcher, "EXEC"), "*-1 ", "{change}");
        assert_eq!(run(&mut client, "GET lock"), "$1 B ", "{change}");
    }
}

#[test]
fn the_end_of_a_key_that_had_expired_in_a_pause_is_no_change() {
    for change in ["FLUSHALL", "SWAPDB 0 1", "DEL lock"] {
        let rt = Runtime::builder().workers(2).build().unwrap();
        let now = Arc::new(AtomicU64::new(1000));
        let engine = followed(&now).0.build(&rt);
        let (mut client, mut watcher) = (engine.client(), engine.client());
        run(&mut client, "SET lock A PX 10");
        run(&mut client, "CLIENT PAUSE 1000 WRITE");
        now.store(1010, Ordering::Relaxed);
        run(&mut watcher, "WATCH lock");
        now.store(3000, Ordering::Relaxed);
        engine.end_waits(&rt);
        run(&mut client, change);
        run(&mut watcher, "MULTI");
        run(&mut watcher, "PING");
        assert_eq!(run(&mut watcher, "EXEC"), "*1 +PONG ", "{change}");
    }
}
