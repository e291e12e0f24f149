//! A disk that is full, or fails: nothing is acknowledged that is not there.

use super::{builder, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use xtasking::{Context, Runtime};
use xtasking_storage::{Faults, SimulatedDisk};
use xtasking_store::Engine;
use xtasking_store::engine::{Completion, Finished, SendEarly};
use xtasking_store::log::Options;
use xtasking_store::resp::Requests;
use xtasking_testing::{Setting, eventually, watchdog};

/// A store whose log goes by a clock that the test sets.
struct Store {
    rt: Runtime,
    engine: Engine,
    disk: SimulatedDisk,
    time: Arc<AtomicU64>,
}

impl Store {
    fn open(disk: SimulatedDisk, policy: &str) -> Self {
        let rt = Setting::Threads { workers: 2 }.build();
        let time = Arc::new(AtomicU64::new(0));
        let clock = time.clone();
        let options = Options::default().clock(move || clock.load(Ordering::SeqCst));
        let builder = builder().setting("appendfsync", policy).log(disk.clone(), options);
        let engine = builder.open(&rt).expect("a log");
        Self { rt, engine, disk, time }
    }

    /// Ends the store, and opens another one on its disk.
    fn reopen(self, policy: &str) -> Self {
        drop(self.rt);
        // After a failure it fails again.
        _ = self.engine.log().unwrap().close();
        drop(self.engine);
        let mut disk = self.disk;
        disk.restart();
        Self::open(disk, policy)
    }
}

const REFUSED: &str = "-MISCONF Errors writing to the AOF file: ";

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let _watched = watchdog();
    let store = Store::open(SimulatedDisk::new(1), "always");
    let mut client = store.engine.client();
    assert_eq!(run(&mut client, "SET kept 1"), "+OK\r\n");
    store
        .disk
        .set_faults(Faults { capacity: Some(store.engine.log().unwrap().size() + 30), ..Faults::default() });
    // It was executed, and its client learns that it is not durable.
    assert!(run(&mut client, "SET unsure 1").starts_with(REFUSED));
    // Later ones are not executed.
    assert!(run(&mut client, "SET refused 1").starts_with(REFUSED));
    assert!(run(&mut client, "PING").starts_with(REFUSED));
    assert_eq!(run(&mut client, "GET kept"), "$1\r\n1\r\n");
    assert_eq!(run(&mut client, "EXISTS refused"), ":0\r\n");
    let mut requests = Requests::default();
    ["MULTI", "GET kept", "EXEC"].iter().for_each(|line| requests.push(line.split(' ')));
    assert_eq!(client.run_all(requests).unwrap(), b"+OK\r\n+QUEUED\r\n*1\r\n$1\r\n1\r\n");
    let info = run(&mut client, "INFO persistence");
    for line in ["aof_enabled:1\r\n", "aof_last_write_status:err\r\n"] {
        assert!(info.contains(line), "{info}");
    }
    store.disk.set_faults(Faults::default());
    store.time.fetch_add(2000, Ordering::SeqCst);
    eventually("writes are accepted", || run(&mut client, "SET later 1") == "+OK\r\n");
    assert!(run(&mut client, "INFO persistence").contains("aof_last_write_status:ok\r\n"));
    drop(client);
    let store = store.reopen("always");
    // What was executed is there: what came later may depend on it.
    assert_eq!(run(&mut store.engine.client(), "EXISTS kept unsure later refused"), ":3\r\n");
}

/// Passes on the replies that come before the last ones.
struct Early(Sender<Vec<u8>>);

impl Completion for Early {
    fn complete(self: Box<Self>, _: Finished, _: &mut Context) {}

    fn early(&mut self) -> Option<SendEarly> {
        let sender = self.0.clone();
        Some(Box::new(move |replies, _| sender.send(replies).unwrap()))
    }
}

/// A reply that is taken back becomes the error; a message beside it answers nothing, and stays.
#[test]
fn messages_about_changes_stay_when_replies_are_taken_back() {
    let _watched = watchdog();
    let store = Store::open(SimulatedDisk::new(1), "always");
    let mut client = store.engine.client();
    for line in ["HELLO 3", "CLIENT TRACKING ON", "GET unsure"] {
        run(&mut client, line);
    }
    let size = store.engine.log().unwrap().size();
    store.disk.set_faults(Faults { capacity: Some(size + 3), ..Faults::default() });
    let refused = run(&mut client, "SET unsure 1");
    let (error, message) = refused.split_once("\r\n").unwrap();
    assert!(error.starts_with(REFUSED), "{refused}");
    assert_eq!(message, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$6\r\nunsure\r\n");
    drop(client);
}

#[test]
fn replies_before_a_wait_are_sent_once_they_are_durable_or_refused() {
    let _watched = watchdog();
    let store = Store::open(SimulatedDisk::new(1), "always");
    for expected in ["+OK\r\n", REFUSED] {
        let mut requests = Requests::default();
        ["SET key 1", "BLPOP never 0"].iter().for_each(|line| requests.push(line.split(' ')));
        let (sender, early) = channel();
        let (engine, session) = (store.engine.clone(), store.engine.session(""));
        store.rt.task(()).spawn(move |(), cx| {
            assert!(engine.run(cx, session, requests, Early(sender)).is_none());
        });
        let replies = String::from_utf8(early.recv().unwrap()).unwrap();
        assert!(replies.starts_with(expected), "{replies}");
        let capacity = Some(store.engine.log().unwrap().size() + 10);
        store.disk.set_faults(Faults { capacity, ..Faults::default() });
    }
}

#[test]
fn a_transaction_that_writes_is_aborted_while_the_disk_is_full() {
    let _watched = watchdog();
    let store = Store::open(SimulatedDisk::new(1), "always");
    let mut client = store.engine.client();
    for line in ["WATCH other", "MULTI", "SET key 1"] {
        run(&mut client, line);
    }
    store.disk.set_faults(Faults { capacity: Some(0), ..Faults::default() });
    assert!(run(&mut store.engine.client(), "SET unsure 1").starts_with(REFUSED));
    assert!(run(&mut client, "EXEC").starts_with("-EXECABORT"));
    assert_eq!(run(&mut client, "EXISTS key"), ":0\r\n");
    // A command that is refused aborts the transaction that it belongs to.
    run(&mut client, "MULTI");
    assert!(run(&mut client, "SET key 1").starts_with(REFUSED));
    assert!(run(&mut client, "EXEC").starts_with("-EXECABORT"));
}

#[test]
fn after_a_failed_sync_nothing_is_written_until_the_next_start() {
    let _watched = watchdog();
    let store = Store::open(SimulatedDisk::new(1), "always");
    let mut client = store.engine.client();
    assert_eq!(run(&mut client, "SET kept 1"), "+OK\r\n");
    store.disk.set_faults(Faults { failed_syncs: 100, ..Faults::default() });
    let refused = run(&mut client, "SET unsure 1");
    assert!(refused.starts_with(REFUSED) && refused.contains("restart"), "{refused}");
    store.disk.set_faults(Faults::default());
    for _ in 0..3 {
        store.time.fetch_add(10_000, Ordering::SeqCst);
        // The thread has its turn.
        store.engine.log().unwrap().flush();
        assert!(run(&mut client, "SET refused 1").starts_with(REFUSED));
    }
    assert!(run(&mut client, "INFO persistence").contains("aof_last_write_error:a sync has failed"));
    drop(client);
    let store = store.reopen("always");
    let mut client = store.engine.client();
    assert_eq!(run(&mut client, "EXISTS kept refused"), ":1\r\n");
    assert_eq!(run(&mut client, "SET later 1"), "+OK\r\n");
}

#[test]
fn replies_of_pipelines_fail_one_by_one() {
    let _watched = watchdog();
    let store = Store::open(SimulatedDisk::new(1), "always");
    let mut client = store.engine.client();
    store.disk.set_faults(Faults { failed_syncs: 100, ..Faults::default() });
    let mut requests = Requests::default();
    ["RPUSH list a b", "LRANGE list 0 -1", "HELLO 3"].iter().for_each(|line| requests.push(line.split(' ')));
    let replies = String::from_utf8(client.run_all(requests).unwrap()).unwrap();
    assert_eq!(replies.lines().count(), 3, "{replies}");
    assert!(replies.lines().all(|line| line.starts_with(REFUSED)), "{replies}");
}

#[test]
fn replies_do_not_wait_for_a_disk_that_need_not_be_synced() {
    let _watched = watchdog();
    for policy in ["everysec", "no"] {
        let store = Store::open(SimulatedDisk::new(1), policy);
        let mut client = store.engine.client();
        // Its log is not even called: the clock stands.
        assert_eq!(run(&mut client, "SET key 1"), "+OK\r\n");
        assert_eq!(run(&mut client, "CONFIG SET appendfsync always"), "+OK\r\n");
        assert_eq!(run(&mut client, "SET other 1"), "+OK\r\n");
        assert_eq!(
            run(&mut client, "CONFIG GET appendfsync"),
            "*2\r\n$11\r\nappendfsync\r\n$6\r\nalways\r\n"
        );
        let mut disk = store.disk.clone();
        disk.cut_power();
        drop((client, store));
        disk.restart();
        let store = Store::open(disk, policy);
        assert_eq!(run(&mut store.engine.client(), "EXISTS key other"), ":2\r\n");
    }
}
