//! Which keys go.

use super::{BEGIN, KIB, Store, builder, text};
use std::sync::atomic::Ordering;
use xtasking_store::resp::Requests;

const EVICTING: &[&str] = &[
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
];

#[test]
fn each_policy_keeps_the_keys_within_the_limit() {
    for policy in EVICTING {
        let mut store = Store::new(policy, 200 * KIB);
        for number in 0..5000 {
            let reply = store.run(&format!("SET key:{number} {} EX {}", text(100), 100 + number));
            assert_eq!(reply, "+OK\r\n", "{policy}");
            // The last command may be beyond it by what it has added.
            assert!(store.counted() <= 201 * KIB, "{policy}: {} at {number}", store.counted());
        }
        assert!(store.counted() > 180 * KIB, "{policy}: {}", store.counted());
        let left: u64 = store.run("DBSIZE").trim().trim_start_matches(':').parse().unwrap();
        assert_eq!(left + store.evicted(), 5000, "{policy}");
        assert_eq!(store.info("evicted_keys"), store.evicted());
        assert_eq!(store.info("maxmemory"), 200 * KIB);
    }
}

/// A task that runs many requests makes room between them; so do collections that grow in place.
#[test]
fn pipelines_and_collections_stay_within_the_limit() {
    let mut store = Store::new("allkeys-lru", 300 * KIB);
    for batch in 0..20 {
        let lines: Vec<_> = (0..500).map(|number| format!("SET {batch}:{number} {}", text(200))).collect();
        assert_eq!(store.pipeline(&lines), "+OK\r\n".repeat(500));
        assert!(store.counted() <= 301 * KIB, "{}", store.counted());
    }
    for number in 0..4000 {
        let element = format!("{}{number}", text(50));
        let lines = [
            format!("RPUSH list:{} {element}", number % 20),
            format!("HSET hash:{} {element} {element}", number % 20),
            format!("SADD set:{} {element}", number % 20),
            format!("ZADD zset:{} {number} {element}", number % 20),
            format!("APPEND text:{} {element}", number % 20),
        ];
        assert!(!store.pipeline(&lines).contains('-'), "{number}");
        // A buffer grows by doubling.
        assert!(store.counted() <= 400 * KIB, "{} at {number}", store.counted());
    }
    store.run("FLUSHALL");
    assert_eq!(store.counted(), 0);
}

/// Each task knows only a share of the room, as it looks again only when it has used that.
#[test]
fn pipelines_of_several_clients_stay_within_the_limit() {
    let rt = xtasking::Runtime::builder().workers(4).build().unwrap();
    let limit = 1024 * KIB;
    let engine = builder("noeviction", limit).build(&rt);
    std::thread::scope(|scope| {
        let add = |client: usize| {
            let mut requests = Requests::default();
            let line = |number| format!("SET {client}:{number} {}", text(5000));
            (0..200).for_each(|number| requests.push(line(number).split(' ')));
            engine.client().run_all(requests).unwrap();
        };
        let threads: Vec<_> = (0..4).map(|client| scope.spawn(move || add(client))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // Others may have used their shares since a task has looked.
    let counted = engine.server().memory.counted();
    assert!((limit - 10 * KIB..limit * 2).contains(&counted), "{counted}");
}

#[test]
fn volatile_policies_spare_keys_that_last() {
    for policy in EVICTING.iter().filter(|policy| policy.starts_with("volatile")) {
        let mut store = Store::new(policy, 200 * KIB);
        for number in 0..500 {
            assert_eq!(store.run(&format!("SET lasting:{number} {}", text(100))), "+OK\r\n");
        }
        for number in 0..3000 {
            let line = format!("SET short:{number} {} EX {}", text(100), 1000 + number);
            assert_eq!(store.run(&line), "+OK\r\n", "{policy}");
        }
        assert!(store.evicted() > 1000);
        assert!((0..500).all(|number| store.contains(&format!("lasting:{number}"))), "{policy}");
        // When no other keys are left, nothing can go.
        let mut replies = (0..3000).map(|number| store.run(&format!("SET more:{number} {}", text(100))));
        assert!(replies.any(|reply| reply.starts_with("-OOM")), "{policy}");
        assert!(!store.run("RANDOMKEY").contains("short"), "{policy}");
    }
}

/// Reads some keys again and again, while many others are written. All of those are kept.
fn keys_in_use_survive(policy: &str) {
    let mut store = Store::new(policy, 400 * KIB);
    let expiry = if policy.starts_with("volatile") { " EX 1000000" } else { "" };
    for number in 0..100 {
        store.run(&format!("SET hot:{number} {}{expiry}", text(100)));
    }
    for round in 0..50 {
        for number in 0..100 {
            for _ in 0..3 {
                assert!(store.run(&format!("GET hot:{number}")).starts_with("$100"), "{policy}: {number}");
            }
        }
        for number in 0..100 {
            store.run(&format!("SET cold:{round}:{number} {}{expiry}", text(100)));
        }
        store.sleep(20);
    }
    assert!(store.evicted() > 2000, "{policy}");
}

#[test]
fn keys_in_use_survive_under_lru() {
    keys_in_use_survive("allkeys-lru");
    keys_in_use_survive("volatile-lru");
}

#[test]
fn keys_in_use_survive_under_lfu() {
    keys_in_use_survive("allkeys-lfu");
    keys_in_use_survive("volatile-lfu");
}

#[test]
fn keys_that_expire_soonest_go_first() {
    let mut store = Store::new("volatile-ttl", 200 * KIB);
    for number in 0..3000u64 {
        // In an order of no pattern.
        let time = 1000 + number * 1237 % 3000;
        store.run(&format!("SET key:{time} {} EX {time}", text(100)));
    }
    assert!(store.evicted() > 1000);
    // At least twenty samples stand before each choice: they are not all among the last tenth.
    assert!((3700..4000).all(|time| store.contains(&format!("key:{time}"))));
}

/// Few keys in many shards are compared with each other, though no shard has two of them.
#[test]
fn few_keys_in_many_shards_are_compared() {
    let mut store = Store::of(builder("allkeys-lru", 50 * KIB).shards(1024));
    store.run(&format!("SET old {}", text(1000)));
    store.sleep(100);
    (0..30).for_each(|number| _ = store.run(&format!("SET new:{number} {}", text(1000))));
    store.sleep(100);
    while store.evicted() == 0 {
        store.run(&format!("APPEND growing {}", text(100)));
    }
    assert!(!store.contains("old"));
}

#[test]
fn a_lower_limit_holds_from_the_next_command_on() {
    let mut store = Store::new("noeviction", 0);
    for number in 0..2000 {
        store.run(&format!("SET key:{number} {}", text(100)));
    }
    assert_eq!(store.counted(), 0, "nothing is counted without a limit");
    assert_eq!(store.run("CONFIG SET maxmemory 1gb maxmemory-policy allkeys-random"), "+OK\r\n");
    let all = store.counted();
    assert!((2000 * 100..2000 * 200).contains(&all), "{all}");
    store.run(&format!("CONFIG SET maxmemory {}", all / 4));
    assert_eq!(store.evicted(), 0);
    store.run("SET one more");
    assert!(store.counted() <= all / 4 + KIB);
    // Without commands the timer does it.
    store.run(&format!("CONFIG SET maxmemory {}", all / 8));
    xtasking_testing::eventually("keys are evicted", || {
        store.engine.bound_memory(&store.rt);
        store.counted() <= all / 8
    });
    store.run("CONFIG SET maxmemory 0");
    // A task of the timer that has begun may still evict some.
    let (before, mut number) = (store.counted(), 0);
    xtasking_testing::eventually("it is counted on", || {
        number += 1;
        assert_eq!(store.run(&format!("SET last:{number} one")), "+OK\r\n");
        store.counted() > before
    });
}

#[test]
fn a_limit_that_a_transaction_sets_holds() {
    for first in ["PING", "WATCH key:1"] {
        let mut store = Store::new("noeviction", 0);
        (0..100).for_each(|number| _ = store.run(&format!("SET key:{number} {}", text(100))));
        // With a watched key, EXEC is a task on its shard.
        for line in [first, "MULTI", "CONFIG SET maxmemory 1kb", "EXEC"] {
            store.run(line);
        }
        assert!(store.counted() > 10_000, "{first}: {}", store.counted());
        assert!(store.run("SET more 1").starts_with("-OOM"), "{first}");
    }
}

#[test]
fn memory_that_is_not_explained_counts_up_to_a_half() {
    let resident = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let source = resident.clone();
    let builder = builder("allkeys-lru", 400 * KIB);
    let mut store = Store::of(builder.process_memory(move || Some(source.load(Ordering::SeqCst))));
    (0..3000).for_each(|number| _ = store.run(&format!("SET key:{number} {}", text(100))));
    resident.store(10 << 30, Ordering::SeqCst);
    for number in 0..3000 {
        store.engine.bound_memory(&store.rt);
        store.run(&format!("SET more:{number} {}", text(100)));
    }
    assert!((250 * KIB..270 * KIB).contains(&store.counted()), "{}", store.counted());
    resident.store(0, Ordering::SeqCst);
    store.engine.bound_memory(&store.rt);
    (0..3000).for_each(|number| _ = store.run(&format!("SET key:{number} {}", text(100))));
    assert!(store.counted() > 380 * KIB);
}

#[test]
fn accesses_are_counted_under_lfu_alone() {
    let mut store = Store::new("noeviction", 0);
    store.run("SET key value");
    assert!(store.run("OBJECT FREQ key").starts_with("-ERR An LFU maxmemory policy is not selected"));
    store.sleep(30);
    assert_eq!(store.run("OBJECT IDLETIME key"), ":30\r\n");
    store.run("CONFIG SET maxmemory-policy allkeys-lfu lfu-log-factor 0");
    assert!(store.run("OBJECT IDLETIME key").starts_with("-ERR An LFU maxmemory policy is selected"));
    assert_eq!(store.run("OBJECT IDLETIME nothing"), "$-1\r\n");
    assert_eq!(store.run("OBJECT FREQ nothing"), "$-1\r\n");
    store.run("SET new value");
    assert_eq!(store.run("OBJECT FREQ new"), ":5\r\n");
    // A GET in a transaction takes another way than one without.
    for line in ["GET new", "GET new", "MULTI", "GET new", "EXEC", "STRLEN new"] {
        store.run(line);
    }
    assert_eq!(store.run("OBJECT FREQ new"), ":9\r\n");
    store.sleep(4 * 60);
    assert_eq!(store.run("OBJECT FREQ new"), ":5\r\n");
    let dump = store.client.run(["DUMP", "new"]).unwrap();
    let dump = &dump[dump.iter().position(|byte| *byte == b'\n').unwrap() + 1..dump.len() - 2];
    store.client.run([b"RESTORE".as_slice(), b"copy", b"0", dump, b"FREQ", b"77"]).unwrap();
    assert_eq!(store.run("OBJECT FREQ copy"), ":77\r\n");
    assert!(store.time.load(Ordering::SeqCst) > BEGIN);
}

#[test]
fn nothing_is_evicted_during_a_pause() {
    let mut store = Store::new("allkeys-random", 0);
    (0..200).for_each(|number| _ = store.run(&format!("SET key:{number} {}", text(100))));
    store.run("CLIENT PAUSE 100000 WRITE");
    store.run("CONFIG SET maxmemory 4kb");
    store.engine.bound_memory(&store.rt);
    let (promise, handle) = store.rt.promise();
    let requests = Requests::one(["SET", "more", "1"]);
    let session = store.engine.session("");
    store.engine.submit(&store.rt, session, requests, move |finished, _| promise.fulfil(finished));
    while !store.run("INFO clients").contains("blocked_clients:1\r") {}
    assert_eq!(store.evicted(), 0);
    store.run("CLIENT UNPAUSE");
    let finished = handle.join().unwrap();
    assert_eq!(finished.replies, b"+OK\r\n");
    store.engine.close(&store.rt, finished.session);
    assert!(store.evicted() > 0);
}
