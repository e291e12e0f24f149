//! What is there after a start, and how much memory is counted.

use super::{all_keys, builder, check, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::engine::{Client, LoadProgress};
use xtasking_store::log::Options;
use xtasking_store::rdb::RdbWriter;
use xtasking_store::resp::Requests;
use xtasking_store::value::{StringValue, Value};
use xtasking_testing::watchdog;

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

fn open(rt: &Runtime, disk: &SimulatedDisk, ordered: &str, time: &Arc<AtomicU64>) -> Engine {
    let clock = time.clone();
    let builder = builder().setting("ordered-databases", ordered).clock(move || clock.load(Ordering::SeqCst));
    builder.log(disk.clone(), Options::default()).open(rt).unwrap()
}

fn fill(client: &mut Client, count: usize) {
    let mut requests = Requests::default();
    (0..count).for_each(|number| requests.push(["SET", &format!("key:{}", number * 37 % count), "x"]));
    client.run_all(requests).unwrap();
}

/// A start makes the order of the keys that the log brings, whatever the setting was before; and
/// deletions of ranges are replayed without an order.
#[test]
fn a_log_gives_the_order() {
    let _watched = watchdog();
    let rt = runtime();
    let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(1_000_000)));
    let mut expected = Vec::new();
    for (start, ordered) in ["0", "0 2", "0 1 2", "0 1", "", "all"].into_iter().enumerate() {
        let engine = open(&rt, &disk, ordered, &time);
        let mut client = engine.client();
        assert_eq!(all_keys(&mut client), expected, "start {start}");
        if ordered.is_empty() {
            assert!(run(&mut client, "RANGE - +").starts_with("-ERR the keys of this database"));
        } else {
            check(&mut client);
        }
        // The log has swapped these: each has its order, or none, as the setting says now.
        for database in ["1", "2"] {
            run(&mut client, &format!("SELECT {database}"));
            if ordered == "all" || ordered.contains(database) {
                check(&mut client);
            } else {
                assert!(run(&mut client, "RANGE - +").starts_with("-ERR the keys of this database"));
            }
        }
        run(&mut client, "SELECT 0");
        fill(&mut client, 1000);
        run(&mut client, &format!("SET start:{start} x"));
        run(&mut client, &format!("SET short:{start} x PX 500"));
        run(&mut client, "RANGEDEL PREFIX key:5 SCAN");
        run(&mut client, "COPY key:1 copied DB 1");
        run(&mut client, "SWAPDB 1 2");
        if !ordered.is_empty() {
            assert_eq!(run(&mut client, "RANGEDEL [key:6 [key:7 LIMIT 10"), ":10\r\n");
        }
        time.fetch_add(1000, Ordering::SeqCst);
        expected = all_keys(&mut client);
        assert!(!expected.iter().any(|key| key.starts_with("key:5") || key.starts_with("short")));
        drop(client);
        engine.log().unwrap().close().unwrap();
    }
}

#[test]
fn a_file_gives_the_order() {
    let rt = runtime();
    let engine = builder().build(&rt);
    let mut writer = RdbWriter::new(Vec::new());
    let value = Value::String(StringValue::new(b"hello"));
    for database in 0..3 {
        writer.select(database).unwrap();
        for number in 0..3000 {
            writer.record(format!("key:{}", number * 37 % 3000).as_bytes(), &value, None).unwrap();
        }
    }
    engine.load(&writer.finish().unwrap()[..], |_| {}).unwrap();
    let mut client = engine.client();
    for database in ["0", "2"] {
        run(&mut client, &format!("SELECT {database}"));
        check(&mut client);
        assert_eq!(run(&mut client, "RANGECOUNT - +"), ":3000\r\n");
    }
}

/// Returns a file of 30,000 keys that begin so.
fn file(prefix: &str) -> Vec<u8> {
    let (mut writer, value) = (RdbWriter::new(Vec::new()), Value::String(StringValue::new(&[b'x'; 50])));
    writer.select(0).unwrap();
    for number in 0..30_000 {
        writer.record(format!("{prefix}:{number}").as_bytes(), &value, None).unwrap();
    }
    writer.finish().unwrap()
}

/// An empty store has no orders while keys are loaded, and gets them whatever comes of the load. A
/// store with keys has them all the time.
#[test]
fn orders_are_there_after_a_load() {
    let rt = runtime();
    let engine = builder().build(&rt);
    let mut client = engine.client();
    let damaged = &file("damaged")[..1 << 20];
    assert!(engine.load(damaged, |_| {}).is_err());
    check(&mut client);
    run(&mut client, "FLUSHALL");
    for (prefix, meanwhile) in [("one", "-ERR the keys of this database"), ("two", ":30000\r\n")] {
        let mut has_progress = false;
        let tell = |progress: LoadProgress| {
            if progress.keys < 30_000 {
                has_progress = true;
                let reply = run(&mut engine.client(), "RANGECOUNT PREFIX one");
                assert!(reply.starts_with(meanwhile), "{reply}");
            }
        };
        engine.load(&file(prefix)[..], tell).unwrap();
        assert!(has_progress);
        check(&mut client);
    }
    // A worker cannot load, and the order stays.
    run(&mut client, "FLUSHALL");
    let own = engine.clone();
    let loaded = rt.task(()).submit(move |(), _| own.load(&file("never")[..], |_| {}).is_err());
    assert!(loaded.join().unwrap());
    assert_eq!(run(&mut client, "RANGE - +"), "*0\r\n");
}

/// Keys of a log are in order though each was replayed without: also those before a range was
/// removed, those after it, and those of a base.
#[test]
fn orders_are_there_after_a_replay() {
    let _watched = watchdog();
    let rt = runtime();
    let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(1_000_000)));
    let mut expected = Vec::new();
    for start in 0..5 {
        let engine = open(&rt, &disk, "0", &time);
        let mut client = engine.client();
        assert_eq!(all_keys(&mut client), expected, "start {start}");
        check(&mut client);
        fill(&mut client, 2000 + start);
        if start % 2 == 1 {
            assert_eq!(run(&mut client, "RANGEDEL [key:5 (key:6"), ":111\r\n");
            run(&mut client, "SET key:501 x");
        }
        if start == 2 {
            engine.rewrite_log().unwrap();
        }
        run(&mut client, &format!("SET start:{start} x"));
        expected = all_keys(&mut client);
        drop(client);
        engine.log().unwrap().close().unwrap();
    }
}

#[test]
fn a_reload_gives_the_order() {
    let folder = std::env::temp_dir().join(format!("xtasking-order-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let rt = runtime();
    let engine =
        builder().setting("dir", folder.to_str().unwrap()).setting("enable-debug-command", "yes").build(&rt);
    let mut client = engine.client();
    fill(&mut client, 1000);
    assert_eq!(run(&mut client, "DEBUG RELOAD"), "+OK\r\n");
    check(&mut client);
    assert_eq!(run(&mut client, "RANGECOUNT - +"), ":1000\r\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The order is counted: 20 bytes for each key.
#[test]
fn the_order_is_counted_as_memory() {
    let rt = runtime();
    let engine = builder().setting("ordered-databases", "").setting("maxmemory", "1gb").build(&rt);
    let mut client = engine.client();
    let counted = || engine.server().memory.counted();
    fill(&mut client, 1000);
    let without = counted();
    run(&mut client, "CONFIG SET ordered-databases 0");
    assert_eq!(counted(), without + 20 * 1000);
    run(&mut client, "DEL key:1");
    run(&mut client, "SET key:1 x");
    run(&mut client, "APPEND key:2 a-value-of-another-size");
    run(&mut client, "SET key:2 x");
    assert_eq!(counted(), without + 20 * 1000);
    run(&mut client, "SWAPDB 0 1");
    assert_eq!(counted(), without);
    run(&mut client, "SWAPDB 0 1");
    assert_eq!(counted(), without + 20 * 1000);
    run(&mut client, "CONFIG SET ordered-databases 1");
    assert_eq!(counted(), without);
    run(&mut client, "CONFIG SET ordered-databases 0");
    run(&mut client, "FLUSHDB");
    assert_eq!(counted(), 0);
    // Counted later: with the order.
    let engine = builder().build(&rt);
    let mut client = engine.client();
    fill(&mut client, 1000);
    run(&mut client, "CONFIG SET maxmemory 1gb");
    assert_eq!(engine.server().memory.counted(), without + 20 * 1000);
}

#[test]
fn evicted_keys_leave_the_order() {
    let rt = runtime();
    let builder = builder().process_memory(|| None).setting("maxmemory", "100kb");
    let engine = builder.setting("maxmemory-policy", "allkeys-random").build(&rt);
    let mut client = engine.client();
    fill(&mut client, 5000);
    assert!(engine.server().memory.evicted() > 1000);
    check(&mut client);
}

#[test]
fn orders_are_there_after_a_load_beside_another_one() {
    let rt = runtime();
    let engine = builder().build(&rt);
    let mut client = engine.client();
    let one = file("one");
    let mut has_progress = false;
    let tell = |progress: LoadProgress| {
        if progress.keys < 30_000 && !has_progress {
            has_progress = true;
            engine.load(&file("two")[..], |_| {}).unwrap();
            assert_eq!(run(&mut engine.client(), "RANGECOUNT PREFIX two"), ":30000\r\n");
        }
    };
    engine.load(&one[..], tell).unwrap();
    assert!(has_progress);
    check(&mut client);
    assert_eq!(run(&mut client, "RANGECOUNT - +"), ":60000\r\n");
}

#[test]
fn orders_are_there_after_a_load_that_panics() {
    let rt = runtime();
    let engine = builder().build(&rt);
    // All tasks have ended when the last progress is reported.
    let tell = |progress: LoadProgress| assert!(progress.keys < 30_000, "the test stops it");
    let load = AssertUnwindSafe(|| engine.load(&file("one")[..], tell));
    assert!(catch_unwind(load).is_err());
    let mut client = engine.client();
    check(&mut client);
    assert_eq!(run(&mut client, "RANGECOUNT - +"), ":30000\r\n");
}
