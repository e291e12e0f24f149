//! Which replies wait for the disk, and how long: on a log that is written when the test says so.

use super::builder;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::Runtime;
use xtasking_storage::{Faults, SimulatedDisk};
use xtasking_store::Engine;
use xtasking_store::log::{Log, Options};
use xtasking_store::resp::Requests;
use xtasking_testing::Setting;

struct Store {
    rt: Runtime,
    engine: Engine,
    disk: SimulatedDisk,
    time: Arc<AtomicU64>,
}

/// The replies of a session, which may not have come yet.
type Replies = Arc<Mutex<Option<String>>>;

fn text(replies: &Replies) -> Option<String> {
    replies.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Store {
    fn open(policy: &str, backlog: usize) -> Self {
        let rt = Setting::Simulation { cores: 2, seed: 1 }.build();
        let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(0)));
        let clock = time.clone();
        let options = Options::default().without_thread().backlog_bytes(backlog);
        let options = options.clock(move || clock.load(Ordering::SeqCst));
        let engine = builder().setting("appendfsync", policy).log(disk.clone(), options).open(&rt).unwrap();
        Self { rt, engine, disk, time }
    }

    fn log(&self) -> &Log {
        self.engine.log().unwrap()
    }

    fn run_tasks(&self) {
        (0..20).for_each(|_| self.rt.task(()).submit(|(), _| ()).join().unwrap());
    }

    /// Writes and syncs what is due, and lets the replies come.
    fn flush(&self) {
        self.log().flush();
        self.run_tasks();
    }

    /// Sends requests of a new session.
    fn send(&self, lines: &[&str]) -> Replies {
        let mut requests = Requests::default();
        lines.iter().for_each(|line| requests.push(line.split(' ')));
        let replies = Replies::default();
        let sink = replies.clone();
        self.engine.submit(&self.rt, self.engine.session(""), requests, move |finished, _| {
            let text = String::from_utf8(finished.replies).unwrap();
            *sink.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        });
        self.run_tasks();
        replies
    }
}

#[test]
fn under_always_writers_wait_and_readers_of_what_is_not_durable() {
    let store = Store::open("always", 1 << 20);
    let write = store.send(&["SET key 1", "GET other"]);
    let read = store.send(&["GET key"]);
    let unconcerned = store.send(&["PING", "ECHO a"]);
    assert_eq!((text(&write), text(&read)), (None, None));
    assert_eq!(text(&unconcerned).as_deref(), Some("+PONG\r\n$1\r\na\r\n"));
    store.flush();
    assert_eq!(text(&write).as_deref(), Some("+OK\r\n$-1\r\n"));
    assert_eq!(text(&read).as_deref(), Some("$1\r\n1\r\n"));
    // What is durable may be read at once, and what changes nothing is not logged.
    assert_eq!(text(&store.send(&["GET key", "DEL nothing"])).as_deref(), Some("$1\r\n1\r\n:0\r\n"));
}

#[test]
fn a_session_that_was_served_waits_for_what_it_took() {
    for (faults, popped) in [
        (Faults::default(), "*2\r\n$4\r\nlist\r\n$1\r\na\r\n"),
        (Faults { failed_syncs: 100, ..Faults::default() }, "-MISCONF "),
    ] {
        let store = Store::open("always", 1 << 20);
        let pop = store.send(&["BLPOP list 0"]);
        let push = store.send(&["RPUSH list a"]);
        assert_eq!((text(&push), text(&pop)), (None, None));
        store.disk.set_faults(faults);
        store.flush();
        assert!(text(&pop).unwrap().starts_with(popped));
        assert!(text(&push).is_some());
    }
}

#[test]
fn a_group_of_sessions_is_synced_at_once() {
    let store = Store::open("always", 1 << 20);
    store.disk.set_faults(Faults::default());
    let writes: Vec<_> = (0..50).map(|number| store.send(&[&format!("SET key:{number} 1")])).collect();
    let before = store.disk.operations();
    store.flush();
    assert!(writes.iter().all(|write| text(write).is_some()));
    assert_eq!(store.disk.operations() - before, 2, "one write and one sync");
}

#[test]
fn under_everysec_replies_wait_when_the_disk_is_a_second_late() {
    let store = Store::open("everysec", 1 << 20);
    let first = store.send(&["SET key 1"]);
    assert!(text(&first).is_some());
    store.time.store(999, Ordering::SeqCst);
    assert!(text(&store.send(&["SET key 2"])).is_some());
    store.time.store(1000, Ordering::SeqCst);
    let late = store.send(&["SET key 3"]);
    assert_eq!(text(&late), None);
    assert!(text(&store.send(&["GET key"])).is_some(), "readers do not wait");
    store.flush();
    assert!(text(&late).is_some());
    assert!(text(&store.send(&["SET key 4"])).is_some());
}

#[test]
fn replies_wait_while_too_much_is_not_written() {
    for policy in ["everysec", "no"] {
        let store = Store::open(policy, 4000);
        let value = "x".repeat(100);
        let mut waiting = Vec::new();
        for number in 0..100 {
            let write = store.send(&[&format!("SET key:{number} {value}")]);
            if text(&write).is_none() {
                waiting.push(write);
            }
        }
        assert!((10..90).contains(&waiting.len()), "{policy}: {} wait", waiting.len());
        assert!(store.log().backlog() > 4000 / 2);
        store.flush();
        assert!(waiting.iter().all(|write| text(write).is_some()), "{policy}");
        assert_eq!(store.log().backlog(), 0);
    }
}

#[test]
fn a_policy_that_is_changed_holds_for_those_that_wait() {
    let store = Store::open("always", 1 << 20);
    let write = store.send(&["SET key 1"]);
    assert_eq!(text(&write), None);
    store.disk.set_faults(Faults { failed_syncs: 100, ..Faults::default() });
    assert!(text(&store.send(&["CONFIG SET appendfsync no"])).is_some());
    store.flush();
    assert_eq!(text(&write).as_deref(), Some("+OK\r\n"), "it was written, and no sync is due");
}
