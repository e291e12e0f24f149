//! Snapshots beside tasks that write.

use super::snapshot::{BYTES_OF_TASK, MOST_PENDING, Visit};
use super::{Client, Engine, Finished};
use crate::command::SnapshotRequest;
use crate::keyspace::{CROWD, Waiting};
use crate::rdb::{RdbReader, Record};
use crate::resp::Requests;
use crate::snapshot::{Message, SnapshotOutput};
use crate::value::{CompactLimits, ValueRef};
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;
use xtasking::{Context, Handle, Promise, Runtime};
use xtasking_testing::{Random, Setting, eventually, on_each};

const SESSIONS: u64 = 4;
const PAIRS: u64 = 20;

/// A folder that is removed in the end.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("xtasking-store-snapshot-{}-{number}", std::process::id()));
        // What a killed run of the same number has left.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8(client.run(line.split(' ')).unwrap()).unwrap()
}

fn engine(rt: &Runtime, folder: &Folder, seed: u64) -> Engine {
    let builder = Engine::builder().shards(8).databases(2).seed(seed);
    builder.setting("dir", folder.0.to_str().unwrap()).build(rt)
}

/// Waits until no snapshot is taken. Simulated tasks run while a thread waits; it sleeps, as the
/// disk may be busy for long.
fn wait(rt: &Runtime, engine: &Engine) {
    eventually("the snapshot has ended", || {
        rt.task(()).submit(|(), _| ()).join().unwrap();
        let has_ended = engine.server().persistence.status().begun_at.is_none();
        if !has_ended {
            thread::sleep(Duration::from_micros(100));
        }
        has_ended
    });
}

/// Returns the numbers of the file. Each key is there once.
fn load(folder: &Folder) -> HashMap<String, i64> {
    let mut reader = RdbReader::new(File::open(folder.0.join("dump.rdb")).unwrap()).unwrap();
    let (mut record, mut numbers) = (Record::default(), HashMap::new());
    while reader.next(&mut record).unwrap() {
        let value = record.value(&CompactLimits::default()).unwrap().unwrap();
        let key = String::from_utf8(record.key.clone()).unwrap();
        assert!(
            numbers.insert(key, ValueRef::from(&value).as_string().unwrap().integer().unwrap()).is_none()
        );
    }
    numbers
}

/// Requests of a session, in batches: transfers inside of pairs, and counters one after the other.
fn batches(session: u64, random: &mut Random) -> VecDeque<Requests> {
    let batch = |_| {
        let mut requests = Requests::default();
        let (pair, amount) = (random.below(PAIRS), random.below(9).to_string());
        let (one, two) = (format!("pair:{pair}:a"), format!("pair:{pair}:b"));
        match random.below(4) {
            0 => requests.push([
                "MSET",
                &format!("same:{session}:a"),
                &amount,
                &format!("same:{session}:b"),
                &amount,
            ]),
            1 => {
                requests.push(["INCR", &format!("first:{session}")]);
                requests.push(["INCR", &format!("second:{session}")]);
            }
            _ => {
                requests.push(["MULTI"]);
                requests.push(["INCRBY", &one, &amount]);
                requests.push(["DECRBY", &two, &amount]);
                requests.push(["EXEC"]);
            }
        }
        requests
    };
    (0..40).map(batch).collect()
}

/// Runs batches of a session, each in tasks of its own.
fn run_all(engine: Engine, mut batches: VecDeque<Requests>, done: Promise<()>, cx: &mut Context) {
    let session = engine.session("");
    submit(engine, session, batches.pop_front(), batches, done, cx);
}

fn submit(
    engine: Engine,
    session: Box<crate::session::Session>,
    batch: Option<Requests>,
    mut rest: VecDeque<Requests>,
    done: Promise<()>,
    cx: &mut Context,
) {
    let Some(batch) = batch else { return done.fulfil(()) };
    let own = engine.clone();
    engine.submit(cx, session, batch, move |finished: Finished, cx: &mut Context| {
        submit(own, finished.session, rest.pop_front(), rest, done, cx);
    });
}

/// Checks that the numbers are of one moment.
fn check(numbers: &HashMap<String, i64>) {
    let of = |key: String| numbers.get(&key).copied().unwrap_or(0);
    for pair in 0..PAIRS {
        let (one, two) = (of(format!("pair:{pair}:a")), of(format!("pair:{pair}:b")));
        assert_eq!(one + two, 0, "a transfer is torn");
    }
    for session in 0..SESSIONS {
        assert_eq!(of(format!("same:{session}:a")), of(format!("same:{session}:b")), "an MSET is torn");
        let (first, second) = (of(format!("first:{session}")), of(format!("second:{session}")));
        assert!(first == second || first == second + 1, "{first} came before {second}");
    }
}

#[test]
fn a_snapshot_beside_writers_is_of_one_moment() {
    let seeds: Vec<u64> = (0..40).collect();
    on_each(Setting::simulations(&seeds).chain(Setting::threads()), |setting| {
        let (rt, folder) = (setting.build(), Folder::new());
        let engine = engine(&rt, &folder, setting.seed());
        let mut client = engine.client();
        (0..300).for_each(|number| drop(run(&mut client, &format!("SET filler:{number} {number}"))));
        let mut random = Random(setting.seed());
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|session| {
                let mut batches = batches(session, &mut random);
                if session == 0 {
                    let at = random.below(30) as usize;
                    batches.insert(at, Requests::one(["BGSAVE"]));
                }
                let (promise, handle) = rt.promise();
                let engine = engine.clone();
                rt.task(()).spawn(move |(), cx| run_all(engine, batches, promise, cx));
                handle
            })
            .collect();
        sessions.into_iter().for_each(|session| session.join().unwrap());
        wait(&rt, &engine);
        assert!(!engine.server().persistence.status().has_failed);
        let numbers = load(&folder);
        assert!((0..300).all(|number| numbers.get(&format!("filler:{number}")) == Some(&number)));
        check(&numbers);
        if setting.is_simulation() {
            // A session does not wait there for the thread that writes the file.
            assert_eq!(run(&mut client, "BGSAVE"), "+Background saving started\r\n");
            wait(&rt, &engine);
        } else {
            assert_eq!(run(&mut client, "SAVE"), "+OK\r\n");
        }
        let saved = load(&folder);
        check(&saved);
        assert_eq!(run(&mut client, "DBSIZE"), format!(":{}\r\n", saved.len()));
    });
}

/// Does what the thread does that writes the file, until nothing comes any more.
fn drain(receiver: &Receiver<Message>, engine: &Engine, output: &SnapshotOutput) -> bool {
    for message in receiver.try_iter() {
        match message {
            Message::Records { bytes, .. } => {
                engine.inner.versions.note_pending(output.note_written(bytes.len()));
            }
            Message::Then(call) => call(),
            Message::End => return true,
            Message::Abort => panic!("all shards are visited"),
        }
    }
    false
}

/// Waits until tasks have come and gone without anything more to be written. Returns what is.
fn settled(rt: &Runtime, output: &SnapshotOutput) -> usize {
    loop {
        let before = output.pending();
        (0..200).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
        if output.pending() == before {
            return before;
        }
    }
}

/// Makes an engine with large values, 120 in each shard or so.
pub(super) fn large(rt: &Runtime, bytes: usize) -> Engine {
    let engine = Engine::builder().shards(16).databases(1).seed(3).build(rt);
    let mut client = engine.client();
    let value = vec![b'x'; bytes];
    for number in 0..1000 {
        client.run([b"SET", format!("key:{number}").as_bytes(), &value]).unwrap();
    }
    engine
}

#[test]
fn visitors_wait_when_much_is_to_be_written() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = large(&rt, 40_000);
    let (output, receiver) = SnapshotOutput::new();
    let output = Arc::new(output);
    let (inner, own) = (Arc::clone(&*engine.inner), output.clone());
    rt.task(())
        .submit(move |(), _| {
            let version = inner.versions.begin(own.clone());
            Visit::begin(inner, own, version);
        })
        .join()
        .unwrap();
    eventually("the visitors wait", || output.pending() > MOST_PENDING);
    // A visitor that has looked before the other one sends its part too. A part is of whole
    // segments, here of 112 values.
    let most = MOST_PENDING + 2 * (BYTES_OF_TASK + 112 * 41_000);
    let pending = settled(&rt, &output);
    assert!(pending <= most, "{pending} are pending");
    while !drain(&receiver, &engine, &output) {
        assert!(output.pending() <= most, "{} are pending", output.pending());
        rt.task(()).submit(|(), _| ()).join().unwrap();
    }
    assert_eq!(output.pending(), 0);
    engine.inner.versions.end(false);
}

/// Runs requests one after the other. Then says how much of a snapshot was saved meanwhile.
fn run_beside(
    engine: Engine,
    output: Arc<SnapshotOutput>,
    left: u32,
    done: Promise<usize>,
    cx: &mut Context,
) {
    if left == 0 {
        return done.fulfil(output.pending());
    }
    let (own, session) = (engine.clone(), engine.session(""));
    own.submit(cx, session, Requests::one(["GET", "key:1"]), move |_, cx: &mut Context| {
        run_beside(engine, output, left - 1, done, cx);
    });
}

#[test]
fn requests_come_before_the_parts_of_a_snapshot() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    // Each shard is a part.
    let engine = large(&rt, 1000);
    let (output, _receiver) = SnapshotOutput::new();
    let output = Arc::new(output);
    let (own, begun) = (engine.clone(), output.clone());
    let (promise, saved) = rt.promise();
    rt.task(()).spawn(move |(), cx| {
        let version = own.inner.versions.begin(begun.clone());
        Visit::begin(Arc::clone(&*own.inner), begun.clone(), version);
        // Enough for the worker to look several times for what was spawned from outside.
        run_beside(own, begun, 200, promise, cx);
    });
    let saved = saved.join().unwrap();
    assert!(saved < MOST_PENDING / 2, "{saved} bytes were saved before the requests were run");
    eventually("all is saved", || output.pending() >= 1_000_000);
    engine.inner.versions.end(false);
}

/// A snapshot beside an engine with large values, all of which a session is overwriting. It is put
/// off, as nothing is written yet.
struct Crowded {
    engine: Engine,
    output: Arc<SnapshotOutput>,
    receiver: Receiver<Message>,
    replies: Handle<Vec<u8>>,
}

fn crowded(rt: &Runtime) -> Crowded {
    let engine = large(rt, 60_000);
    let (output, receiver) = SnapshotOutput::new();
    let output = Arc::new(output);
    engine.inner.versions.begin(output.clone());
    let mut requests = Requests::default();
    (0..1000).for_each(|number| requests.push(["SET", &format!("key:{number}"), "1"]));
    let (promise, replies) = rt.promise();
    engine.submit(rt, engine.session(""), requests, move |finished: Finished, _: &mut Context| {
        promise.fulfil(finished.replies);
    });
    eventually("the session is put off", || engine.inner.versions.read().is_crowded());
    Crowded { engine, output, receiver, replies }
}

#[test]
fn writers_are_put_off_when_very_much_is_to_be_written() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let Crowded { engine, output, receiver, replies } = crowded(&rt);
    let mut reader = engine.client();
    assert_eq!(run(&mut reader, "EXISTS key:1"), ":1\r\n", "reading goes on");
    let pending = settled(&rt, &output);
    assert!(pending <= CROWD + 112 * 61_000, "{pending} are pending");
    assert!(!replies.is_finished());
    eventually("it goes on when all is written", || {
        drain(&receiver, &engine, &output);
        replies.is_finished()
    });
    assert_eq!(replies.join().unwrap(), b"+OK\r\n".repeat(1000));
    engine.inner.versions.end(false);
}

#[test]
fn writers_go_on_when_the_snapshot_ends_meanwhile() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let Crowded { engine, receiver, replies, .. } = crowded(&rt);
    engine.inner.versions.end(true);
    SnapshotOutput::finish(&receiver);
    replies.join().unwrap();
}

#[test]
fn a_request_for_a_snapshot_begins_one_whatever_follows_it() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let folder = Folder::new();
    let engine = engine(&rt, &folder, 1);
    let mut requests = Requests::default();
    let pipeline: [&[&str]; 6] =
        [&["MULTI"], &["BGSAVE"], &["SET", "a", "1"], &["EXEC"], &["SET", "b", "2"], &["SET", "c", "3"]];
    pipeline.into_iter().for_each(|request| requests.push(request));
    let replies = engine.client().run_all(requests).unwrap();
    assert!(replies.ends_with(b"+OK\r\n+OK\r\n"), "{}", replies.escape_ascii());
    wait(&rt, &engine);
    let status = engine.server().persistence.status();
    assert_eq!((status.saves, status.has_failed), (1, false));
}

#[test]
fn the_end_of_a_snapshot_ends_no_later_wait() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    let session = engine.session("");
    let client = session.id();
    let (promise, popped) = rt.promise();
    engine.submit(&rt, session, Requests::one(["BLPOP", "key", "0"]), move |finished: Finished, _| {
        promise.fulfil(finished.replies);
    });
    let is_blocked = || engine.server().clients.get(client).unwrap().is_blocked();
    eventually("BLPOP waits", is_blocked);
    // SAVE's own wait was ended before, by CLIENT UNBLOCK, and no snapshot is taken any more.
    let ended = Waiting { ticket: engine.inner.blocked.next_ticket(), client, heeds_removal: false };
    engine.inner.serve_saved(SnapshotRequest::Wait, ended);
    assert!(is_blocked());
    assert_eq!(run(&mut engine.client(), "RPUSH key a"), ":1\r\n");
    assert_eq!(popped.join().unwrap(), b"*2\r\n$3\r\nkey\r\n$1\r\na\r\n");
}

#[test]
fn a_transaction_that_writes_is_aborted_when_writes_are_refused_meanwhile() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    let mut client = engine.client();
    assert_eq!(run(&mut client, "MULTI"), "+OK\r\n");
    assert_eq!(run(&mut client, "SET key 1"), "+QUEUED\r\n");
    engine.refuse_writes();
    assert!(run(&mut client, "EXEC").starts_with("-EXECABORT"));
    assert_eq!(run(&mut client, "EXISTS key"), ":0\r\n");
    engine.accept_writes();
    assert_eq!(run(&mut client, "SET key 1"), "+OK\r\n");
}
