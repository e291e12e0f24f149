//! Keys evicted while some shards are not free.

use super::engine::Inner;

use super::eviction::Room;
use super::sweep::Sweep;
use super::turn::Turn;
use super::{Engine, Finished};
use crate::resp::Requests;
use std::sync::Arc;
use xtasking::{Context, Runtime};
use xtasking_testing::eventually;

/// A store of two shards beyond its limit.
struct Store {
    rt: Runtime,
    engine: Engine,
}

impl Store {
    fn new(policy: &str, keys: usize) -> Self {
        let rt = Runtime::builder().workers(2).build().unwrap();
        let builder = Engine::builder().shards(2).process_memory(|| None);
        let engine = builder.setting("maxmemory-policy", policy).build(&rt);
        let mut client = engine.client();
        for number in 0..keys {
            client.run(["SET", &format!("key:{number}"), "value"]).unwrap();
        }
        client.run(["CONFIG", "SET", "maxmemory", "1"]).unwrap();
        let store = Self { rt, engine };
        // The task that has replied may still hold the last shard that it visited.
        (0..2).for_each(|shard| store.holding(shard, |_, _| ()));
        store
    }

    fn inner(&self) -> Arc<Inner> {
        Arc::clone(&*self.engine.inner)
    }

    /// Calls a function in a task that holds a shard.
    fn holding<R: Send + 'static>(
        &self,
        shard: usize,
        call: impl FnOnce(&Arc<Inner>, &mut Context) -> R + Send + 'static,
    ) -> R {
        let inner = self.inner();
        let task = self.rt.task(self.engine.inner.shards[shard].write());
        task.submit(move |_, cx| call(&inner, cx)).join().unwrap()
    }

    /// Makes room while a shard is not free.
    fn make_room_without(&self, shard: usize, sweep: Box<Sweep>) -> Room {
        self.holding(shard, move |inner, cx| inner.make_room(sweep, cx))
    }
}

#[test]
fn a_shard_without_candidates_is_waited_for_once() {
    let store = Store::new("volatile-lru", 20);
    let room = store.make_room_without(0, Box::default());
    let Room::Pending(sweep) = room else { panic!("{room:?}") };
    assert_eq!(sweep.awaited(), Some(0));
    let (promise, handle) = store.rt.promise();
    let inner = store.inner();
    let task = store.rt.task(());
    task.spawn(move |(), cx| inner.go_on_after(sweep, move |sweep, _| promise.fulfil(sweep), cx));
    let sweep = handle.join().unwrap();
    // Both were seen: it does not matter that one of them is not free again.
    let room = store.make_room_without(1, sweep);
    assert!(matches!(room, Room::Lacking), "{room:?}");
}

#[test]
fn keys_of_the_only_shard_that_is_not_free_are_evicted_after_all() {
    let store = Store::new("allkeys-lru", 0);
    let memory = &store.engine.server().memory;
    let mut client = store.engine.client();
    client.run(["CONFIG", "SET", "maxmemory", "1gb"]).unwrap();
    let keys = (0..).map(|number: u32| number.to_string());
    for key in keys.filter(|key| store.engine.inner.layout.shard(key.as_bytes()) == 0).take(50) {
        client.run(["SET", &key, "value"]).unwrap();
    }
    client.run(["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    let engine = store.engine.clone();
    store.holding(0, move |inner, cx| {
        engine.bound_memory(&*inner.runtime);
        // The task of the timer cannot end while the shard is held: it is the only one.
        assert!(!inner.begin_to_evict(&*inner.runtime));
        let room = inner.make_room(Box::default(), cx);
        assert!(matches!(room, Room::Pending(_)), "{room:?}");
    });
    eventually("the keys are evicted", || memory.evicted() == 50);
    eventually("the task ends", || store.inner().begin_to_evict(&store.rt));
}

#[test]
fn tasks_share_the_room() {
    let store = Store::new("noeviction", 0);
    store.engine.client().run(["CONFIG", "SET", "maxmemory", "1mb"]).unwrap();
    let (inner, room) = (store.inner(), store.engine.server().memory.room());
    assert!((1_000_000..=1 << 20).contains(&room), "{room}");
    let mut turns = [0, 1].map(|worker| Turn::new(&inner, worker));
    turns.iter_mut().for_each(|turn| turn.reserve_room(&inner));
    assert!(turns.iter().all(|turn| !turn.lacks_room()));
    turns.iter_mut().for_each(|turn| turn.note_growth(room / 2 + 1));
    assert!(turns.iter().all(Turn::lacks_room));
}

/// The shard is busy when they come, and there is room. Each would be let in if it looked only
/// then.
#[test]
fn requests_that_wait_for_a_shard_look_for_room_again() {
    let store = Store::new("noeviction", 0);
    store.engine.client().run(["CONFIG", "SET", "maxmemory", "1mb"]).unwrap();
    let engine = store.engine.clone();
    let keys: Vec<_> = (0..)
        .map(|number: u32| number.to_string())
        .filter(|key| engine.inner.layout.shard(key.as_bytes()) == 0)
        .take(20)
        .collect();
    let handles = store.holding(0, move |inner, cx| {
        let set = |key: &String| {
            let requests = Requests::one([&b"SET"[..], key.as_bytes(), &[b'x'; 600 << 10]]);
            let (promise, handle) = inner.runtime.promise();
            let done = |finished: Finished, _: &mut Context| promise.fulfil(finished.replies);
            assert!(engine.run(cx, engine.session(""), requests, done).is_none());
            handle
        };
        keys.iter().map(set).collect::<Vec<_>>()
    });
    let replies: Vec<_> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
    let taken = replies.iter().filter(|reply| *reply == b"+OK\r\n").count();
    // One fits, and each worker may let another one in.
    assert!((1..=3).contains(&taken), "{taken}");
}

/// Returns a store of 1 MiB, and a key of its first shard.
fn store_with_room() -> (Store, String) {
    let store = Store::new("noeviction", 0);
    store.engine.client().run(["CONFIG", "SET", "maxmemory", "1mb"]).unwrap();
    let mut keys = (0..).map(|number: u32| number.to_string());
    let key = keys.find(|key| store.engine.inner.layout.shard(key.as_bytes()) == 0).expect("a key");
    (store, key)
}

#[test]
fn a_request_that_changes_settings_leaves_no_room_reserved() {
    let (store, key) = store_with_room();
    let engine = store.engine.clone();
    // The shard is not free when the transaction comes, so a task of its own runs it.
    let handle = store.holding(0, move |inner, cx| {
        let mut requests = Requests::one(["MULTI"]);
        requests.push(["CONFIG", "SET", "maxmemory-samples", "7"]);
        requests.push(["SET", &key, "v"]);
        requests.push(["EXEC"]);
        let (promise, handle) = inner.runtime.promise();
        let done = |finished: Finished, _: &mut Context| promise.fulfil(finished.replies);
        assert!(engine.run(cx, engine.session(""), requests, done).is_none());
        handle
    });
    let replies = handle.join().unwrap();
    assert!(replies.ends_with(b"*2\r\n+OK\r\n+OK\r\n"), "{}", replies.escape_ascii());
    eventually("no room is reserved", || store.engine.server().memory.reserved() == 0);
}

#[test]
fn a_turn_that_panics_leaves_no_room_reserved() {
    let (store, _) = store_with_room();
    let inner = store.inner();
    eventually("no room is reserved", || inner.server.memory.reserved() == 0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut turn = Turn::new(&inner, 0);
        turn.reserve_room(&inner);
        assert!(inner.server.memory.reserved() > 0);
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    assert_eq!(inner.server.memory.reserved(), 0);
}

#[test]
fn a_share_that_is_not_given_back_stops_no_request() {
    let (store, key) = store_with_room();
    let memory = &store.engine.server().memory;
    while memory.reserve(0).is_some_and(|share| share > 0) {}
    let (promise, handle) = store.rt.promise();
    let requests = Requests::one(["SET", &key, "v"]);
    let done = |finished: Finished, _: &mut Context| promise.fulfil(finished.replies);
    store.engine.submit(&store.rt, store.engine.session(""), requests, done);
    eventually("the request runs", || handle.is_finished());
    assert_eq!(handle.join().unwrap(), b"+OK\r\n");
}
