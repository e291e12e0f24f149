//! What one task does for its requests, in the shards that it holds.

use super::{Store, fill, run, settings};
use crate::engine::Engine;
use crate::keyspace::{AccessClock, Entry, Shard};
use crate::resp::Requests;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xtasking::{Context, Runtime};
use xtasking_testing::on_each;

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
