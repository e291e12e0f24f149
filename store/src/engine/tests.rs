//! Sessions that wait, by the commands of `command::probes`.

use super::batch::Batch;
use super::freeing::PIECES_OF_TASK;
use super::turn::Turn;
use super::{Client, Engine, Finished};
use crate::command::{Effects, resolve};
use crate::keyspace::{AccessClock, Entry, HeldShards, Shard, Waiting};
use crate::resp::Requests;
use crate::server::Unblock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use xtasking::platform::Simulation;
use xtasking::{Context, Handle, Priority, Promise, Runtime};
use xtasking_testing::{Setting, eventually, on_each, silence_tasks};

/// A store whose time the test sets.
struct Store {
    rt: Runtime,
    engine: Engine,
    time: Arc<AtomicU64>,
    effects: Arc<Mutex<Vec<String>>>,
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

impl Store {
    fn new(setting: Setting, shards: usize) -> Self {
        let rt = setting.build();
        let time = Arc::new(AtomicU64::new(1_000_000));
        let effects = Arc::new(Mutex::new(Vec::new()));
        let (clock, log) = (time.clone(), effects.clone());
        let engine = Engine::builder()
            .shards(shards)
            .databases(4)
            .seed(setting.seed())
            .setting("enable-debug-command", "yes")
            .clock(move || clock.load(Ordering::SeqCst))
            .on_effects(move |effects: &Effects| {
                for (database, command) in effects.commands.iter() {
                    let args: Vec<_> = command.into_iter().map(text).collect();
                    log.lock().unwrap().push(format!("{database}: {}", args.join(" ")));
                }
            })
            .build(&rt);
        Self { rt, engine, time, effects }
    }

    /// Sends requests of a new session, and does not wait for the replies.
    fn send(&self, lines: &[&str]) -> (u64, Handle<Finished>) {
        let mut requests = Requests::default();
        lines.iter().for_each(|line| requests.push(line.split(' ')));
        let session = self.engine.session("");
        let id = session.id();
        let (promise, handle) = self.rt.promise();
        self.engine.submit(&self.rt, session, requests, move |finished, _| promise.fulfil(finished));
        (id, handle)
    }

    /// Sends requests of a new session, and waits until it is blocked.
    fn block(&self, lines: &[&str]) -> (u64, Handle<Finished>) {
        let (id, handle) = self.send(lines);
        self.until(|| self.engine.server().clients.get(id).is_some_and(|client| client.is_blocked()));
        (id, handle)
    }

    /// Waits until something holds that tasks bring about. Simulated ones run while a thread waits.
    fn until(&self, holds: impl Fn() -> bool) {
        eventually("the store is so", || {
            self.rt.task(()).submit(|(), _| ()).join().unwrap();
            holds()
        });
    }
}

fn run(client: &mut Client, line: &str) -> String {
    text(&client.run(line.split(' ')).unwrap())
}

fn replies(handle: Handle<Finished>) -> String {
    text(&handle.join().unwrap().replies)
}

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

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
fn an_expired_key_that_is_overwritten_is_told() {
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
fn keys_that_expire_are_gone_and_told() {
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
fn sources_that_have_expired_are_told_before_what_is_stored() {
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
fn a_scan_in_a_transaction_stops_where_the_next_shard_is_not_held() {
    on_each(settings(), |setting| {
        let store = Store::new(setting, 256);
        let mut client = store.engine.client();
        let (first_missing, far) = (64u64 << 32, 200u64 << 32);
        run(&mut client, "MULTI");
        run(&mut client, "SCAN 0 COUNT 1000");
        run(&mut client, &format!("SCAN {far} COUNT 1000"));
        let number = first_missing.to_string();
        let expected = format!(
            "*2\\r\\n*2\\r\\n${}\\r\\n{number}\\r\\n*0\\r\\n*2\\r\\n$1\\r\\n0\\r\\n*0\\r\\n",
            number.len()
        );
        assert_eq!(run(&mut client, "EXEC"), expected);
    });
}

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

/// Submits requests of two sessions to the only worker, which runs tasks in the order in which they
/// come. Returns whether the first session had its replies before the second one.
fn first_ends_first(engine: &Engine, rt: &Runtime, first: Requests, second: Requests) -> bool {
    let (promise, handle) = rt.promise();
    let engine = engine.clone();
    rt.task(()).spawn(move |(), _| {
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        let note = move |_, _: &mut Context| ended.store(true, Ordering::SeqCst);
        engine.submit(&*engine.inner.runtime, engine.session(""), first, note);
        let then = move |_, _: &mut Context| promise.fulfil(has_ended.load(Ordering::SeqCst));
        engine.submit(&*engine.inner.runtime, engine.session(""), second, then);
    });
    handle.join().unwrap()
}

/// Makes a set or a list of this many elements.
fn fill(client: &mut Client, command: &str, key: &str, elements: usize) {
    for first in (0..elements).step_by(1000) {
        let numbers = (first..elements.min(first + 1000)).map(|number| number.to_string());
        let request: Vec<String> = [command.to_owned(), key.to_owned()].into_iter().chain(numbers).collect();
        client.run(&request).unwrap();
    }
}

#[test]
fn a_pipeline_of_long_requests_gives_way_to_other_sessions() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    fill(&mut engine.client(), "RPUSH", "list", 10_000);
    let pipeline = |request: &[&str]| {
        let mut requests = Requests::default();
        (0..200).for_each(|_| requests.push(request));
        requests
    };
    let get = || Requests::one(["GET", "key"]);
    assert!(first_ends_first(&engine, &rt, pipeline(&["GET", "key"]), get()), "as many as are run at once");
    assert!(!first_ends_first(&engine, &rt, pipeline(&["LRANGE", "list", "0", "-1"]), get()));
}

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

#[test]
fn a_request_that_rights_forbid_takes_no_shards() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let rules = "limited on nopass ~own:* +@all -flushall -keys -swapdb";
    let engine = Engine::builder().shards(1).user(rules).build(&rt);
    let mut client = engine.client();
    run(&mut client, "RPUSH own:list 1");
    // What runs while the task holds the only shard takes none.
    let run_without_shards = |line: &str| {
        let mut requests = Requests::one(["AUTH", "limited", "any"]);
        requests.push(line.split(' '));
        let (own, session) = (engine.clone(), engine.session(""));
        let task = rt.task(engine.inner.shards[0].write());
        let run = move |cx: &mut Context| own.run(cx, session, requests, |_: Finished, _: &mut Context| {});
        task.submit(move |_, cx| run(cx)).join().unwrap().map(|finished| text(&finished.replies))
    };
    for line in [
        "FLUSHALL",
        "KEYS *",
        "SWAPDB 0 1",
        "GET other",
        "SET other 1",
        "MSET own:a 1 other 2",
        "DEL own:a other",
        "RANGE - + VALUES",
        "RANGEDEL - +",
        "SORT own:list BY w_*",
        "SORT_RO own:list GET w_*",
    ] {
        let replies = run_without_shards(line).unwrap_or_else(|| panic!("{line} waits for the shard"));
        assert!(replies.starts_with("+OK\\r\\n-NOPERM") || replies.contains("of SORT denied"), "{replies}");
    }
    assert_eq!(run_without_shards("GET own:list"), None);
    let log = run(&mut client, "ACL LOG");
    assert!(log.contains("flushall"));
    // Those that reach keys which are not among the arguments are there too.
    assert!(log.contains("$6\\r\\nobject\\r\\n$1\\r\\n*\\r\\n"), "{log}");
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

/// A copy would be elsewhere, as what it is made of is still there.
#[test]
fn a_sparse_sketch_is_changed_in_place() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(1).build(&rt);
    let mut client = engine.client();
    let address = || {
        let hash = engine.inner.layout.hash(b"h");
        let task = rt.task(engine.inner.shards[0].read());
        let find = move |shard: &Shard, _: &mut Context| {
            let value = shard.get(0, hash, b"h", AccessClock::TIME, 0).map(Entry::value);
            value.unwrap().as_string().unwrap().bytes().as_ptr().addr()
        };
        task.submit(find).join().unwrap()
    };
    run(&mut client, "PFADD h first");
    let (mut kept, mut before) = (0, address());
    for number in 0..200 {
        run(&mut client, &format!("PFADD h {number}"));
        let now = address();
        kept += usize::from(now == std::mem::replace(&mut before, now));
    }
    assert_eq!(run(&mut client, "PFDEBUG ENCODING h"), "+sparse\\r\\n");
    assert!(kept > 100, "{kept}");
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

#[test]
fn rights_that_change_before_a_request_has_its_shards_count() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(1).user("limited on nopass ~own:* +@all -flushall").build(&rt);
    let login = |engine: Engine, session| {
        let own = engine.clone();
        let requests = Requests::one(["AUTH", "limited", "any"]);
        let task = rt
            .task(())
            .submit(move |(), cx| own.run(cx, session, requests, |_: Finished, _: &mut Context| {}));
        task.join().unwrap().expect("it takes no shard").session
    };
    let session = login(engine.clone(), engine.session(""));
    let inner = engine.inner.clone();
    let mut batch = Batch::new(
        inner.clone(),
        session,
        Requests::one(["PING"]),
        Box::new(|_: Finished, _: &mut Context| {}),
    );
    batch.checked = Some(Ok(()));
    run(&mut engine.client(), "ACL SETUSER limited -ping");
    let command = resolve(batch.requests.args(0)).ok();
    let mut batch = Some(batch);
    Turn::new(&inner, 0).run(&inner, HeldShards::None, command, &mut batch);
    let replies = batch.expect("it is done").into_finished().0.replies;
    assert!(replies.starts_with(b"-NOPERM"), "{}", text(&replies));
}
