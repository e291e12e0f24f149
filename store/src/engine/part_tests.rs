//! The parts of a snapshot: what comes between them, and what they leave.

use super::engine::Inner;
use super::snapshot::{BYTES_OF_TASK, Visit};
use super::snapshot_tests::{Folder, large, run};
use super::{Engine, Finished};
use crate::rdb::{RdbReader, Record};
use crate::resp::Requests;
use crate::snapshot::SnapshotOutput;
use crate::value::{CompactLimits, ValueRef};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::{Context, Runtime};
use xtasking_testing::eventually;

/// What a poll finds is to be handled by tasks that come next: those that wait for the shard should
/// not wait for the poll.
#[test]
fn events_are_looked_for_when_shards_are_left() {
    let (rt, folder) = (Runtime::builder().workers(1).build().unwrap(), Folder::new());
    let builder = Engine::builder().shards(16).databases(1).seed(3);
    let engine = builder.setting("dir", folder.0.to_str().unwrap()).build(&rt);
    let mut client = engine.client();
    let value = "x".repeat(1000);
    (0..1000).for_each(|number| drop(run(&mut client, &format!("SET key:{number} {value}"))));
    // It takes far longer to sort than a turn may.
    let numbers = (0..100_000).map(|number| (number * 7919 % 100_000).to_string());
    client.run(["RPUSH", "list"].map(str::to_owned).into_iter().chain(numbers)).unwrap();
    let polls = Arc::new([const { AtomicU64::new(0) }; 2]);
    let counts = polls.clone();
    let on_poll = move |inner: &Inner, cx: &mut Context| {
        let mut shards = inner.shards.iter();
        let are_free = shards.all(|shard| cx.task(shard.write()).try_call(|_| ()).is_ok());
        counts[usize::from(are_free)].fetch_add(1, Ordering::SeqCst);
    };
    assert!(engine.inner.on_poll.set(Box::new(on_poll)).is_ok());
    let looked = || [0, 1].map(|at| polls[at].load(Ordering::SeqCst));
    assert_eq!(run(&mut client, "SAVE"), "+OK\r\n");
    assert!(matches!(looked(), [0, free] if free >= 10), "{:?}", looked());
    // A request that takes long, and has waited for its shard.
    let before = looked()[1];
    let (own, (promise, replies)) = (engine.clone(), rt.promise());
    let shard = engine.inner.layout.shard(b"list");
    rt.task(engine.inner.shards[shard].write()).spawn(move |_, cx| {
        let then = move |finished: Finished, _: &mut Context| promise.fulfil(finished.replies);
        assert!(own.run(cx, own.session(""), Requests::one(["SORT", "list"]), then).is_none());
    });
    assert!(replies.join().unwrap().starts_with(b"*100000\r\n$1\r\n0\r\n$1\r\n1\r\n"));
    assert!(matches!(looked(), [0, after] if after > before), "{:?}", looked());
    // One that takes long, and then waits for its keys.
    let (before, own) = (looked()[1], engine.clone());
    let keys = (0..50_000).map(|number| format!("missing:{number}"));
    let mut requests = Requests::default();
    requests.push(["BLPOP".to_owned()].into_iter().chain(keys).chain(["0".to_owned()]));
    rt.task(engine.inner.shards[shard].write()).spawn(move |_, cx| {
        let then = |_: Finished, _: &mut Context| {};
        assert!(own.run(cx, own.session(""), requests, then).is_none());
    });
    eventually("events are looked for", || matches!(looked(), [0, after] if after > before));
}

/// Events are looked for between the parts, when the shard is free.
#[test]
fn a_large_value_is_saved_in_parts() {
    let (rt, folder) = (Runtime::builder().workers(1).build().unwrap(), Folder::new());
    let builder = Engine::builder().shards(1).databases(1).setting("dir", folder.0.to_str().unwrap());
    let engine = builder.build(&rt);
    let mut client = engine.client();
    let element = "x".repeat(1000);
    for _ in 0..20 {
        client.run(["RPUSH", "list"].into_iter().chain((0..100).map(|_| &*element))).unwrap();
    }
    let polls = Arc::new([const { AtomicU64::new(0) }; 2]);
    let counts = polls.clone();
    let on_poll = move |inner: &Inner, cx: &mut Context| {
        let is_free = cx.task(inner.shards[0].write()).try_call(|_| ()).is_ok();
        counts[usize::from(is_free)].fetch_add(1, Ordering::SeqCst);
    };
    assert!(engine.inner.on_poll.set(Box::new(on_poll)).is_ok());
    assert_eq!(run(&mut client, "SAVE"), "+OK\r\n");
    let [held, free] = [0, 1].map(|at| polls[at].load(Ordering::SeqCst));
    assert_eq!(held, 0);
    assert!(free as usize > 2_000_000 / BYTES_OF_TASK / 2, "{free}");
    let mut reader = RdbReader::new(File::open(folder.0.join("dump.rdb")).unwrap()).unwrap();
    let mut record = Record::default();
    assert!(reader.next(&mut record).unwrap());
    let value = record.value(&CompactLimits::default()).unwrap().unwrap();
    let list = ValueRef::from(&value).as_list().unwrap();
    assert!(list.len() == 2000 && list.iter().all(|other| other == element.as_bytes()));
    assert!(!reader.next(&mut record).unwrap());
}

#[test]
fn a_table_that_a_snapshot_still_has_to_have_is_garbage() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = large(&rt, 100);
    let (output, _receiver) = SnapshotOutput::new();
    let output = Arc::new(output);
    let version = engine.inner.versions.begin(output.clone());
    assert_eq!(run(&mut engine.client(), "FLUSHALL"), "+OK\r\n");
    let memory = &engine.server().memory;
    assert_eq!(memory.unfreed(), 16);
    (0..100).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
    assert_eq!(memory.unfreed(), 16, "the snapshot has nothing of it yet");
    Visit::begin(Arc::clone(&*engine.inner), output.clone(), version);
    eventually("it is freed when the snapshot has it", || memory.unfreed() == 0);
    assert!(output.pending() >= 100_000);
    engine.inner.versions.end(false);
}
