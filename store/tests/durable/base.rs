//! A log with a base: shorter, and with the same keys.

use super::{builder, open, run, segments};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::Runtime;
use xtasking_storage::{Disk, Faults, File, SimulatedDisk};
use xtasking_store::Engine;
use xtasking_store::log::{OpenError, Options};
use xtasking_testing::watchdog;

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().expect("a runtime")
}

fn close(engine: Engine) {
    engine.log().unwrap().close().unwrap();
}

fn bases(disk: &SimulatedDisk) -> Vec<String> {
    disk.list().unwrap().into_iter().filter(|name| name.starts_with("base")).collect()
}

#[test]
fn a_rewritten_log_is_shorter_and_has_the_same_keys() {
    let _watched = watchdog();
    let (rt, disk) = (runtime(), SimulatedDisk::new(1));
    let options = || Options::default().segment_bytes(1000);
    let engine = open(&rt, &disk, options()).unwrap();
    let mut client = engine.client();
    (0..200).for_each(|_| assert!(run(&mut client, "INCR count").starts_with(':')));
    run(&mut client, "RPUSH list a b c");
    let before = engine.log().unwrap().size();
    engine.rewrite_log().unwrap();
    assert!(engine.log().unwrap().size() < before / 2);
    assert_eq!((segments(&disk).len(), bases(&disk).len()), (1, 1));
    // The base counts, so that a large one is not written again after a few changes.
    let base = super::contents(&disk, &bases(&disk)[0]).len() as u64;
    assert!(base > 100 && engine.log().unwrap().size() > base);
    // What comes after the base is replayed on it; twice, so that a base follows a base.
    for length in [4, 5] {
        assert_eq!(run(&mut client, "RPUSH list d"), format!(":{length}\r\n"));
        if length == 4 {
            engine.rewrite_log().unwrap();
            assert_eq!(bases(&disk).len(), 1);
        }
    }
    drop(client);
    close(engine);
    let engine = open(&rt, &disk, options()).unwrap();
    assert!(engine.log().unwrap().size() > base);
    let mut client = engine.client();
    assert_eq!(run(&mut client, "INCR count"), ":201\r\n");
    assert_eq!(run(&mut client, "LLEN list"), ":5\r\n");
}

#[test]
fn a_key_of_a_base_lives_on_if_its_expiry_was_removed_afterwards() {
    let _watched = watchdog();
    let (rt, disk, time) = (runtime(), SimulatedDisk::new(1), Arc::new(AtomicU64::new(1_000_000)));
    let open = || {
        let clock = time.clone();
        let builder = builder().setting("appendfsync", "always");
        let builder = builder.clock(move || clock.load(Ordering::SeqCst));
        builder.log(disk.clone(), Options::default()).open(&rt).unwrap()
    };
    let engine = open();
    let mut client = engine.client();
    run(&mut client, "SET kept 1 PX 1000");
    run(&mut client, "SET gone 1 PX 1000");
    engine.rewrite_log().unwrap();
    assert_eq!(run(&mut client, "PERSIST kept"), ":1\r\n");
    drop(client);
    close(engine);
    time.fetch_add(5000, Ordering::SeqCst);
    let engine = open();
    let mut client = engine.client();
    assert_eq!(run(&mut client, "GET kept"), "$1\r\n1\r\n");
    assert_eq!(run(&mut client, "EXISTS gone"), ":0\r\n");
}

#[test]
fn a_base_that_cannot_be_written_leaves_the_log_as_it_was() {
    let _watched = watchdog();
    let (rt, disk) = (runtime(), SimulatedDisk::new(1));
    let engine = open(&rt, &disk, Options::default()).unwrap();
    let mut client = engine.client();
    let value = "v".repeat(1000);
    (0..20).for_each(|key| assert_eq!(run(&mut client, &format!("SET key:{key} {value}")), "+OK\r\n"));
    disk.set_faults(Faults { capacity: Some(30_000), ..Faults::default() });
    assert!(engine.rewrite_log().is_err());
    assert!(run(&mut client, "INFO persistence").contains("aof_last_bgrewrite_status:err"));
    disk.set_faults(Faults::default());
    assert_eq!(run(&mut client, "SET more 1"), "+OK\r\n");
    drop(client);
    close(engine);
    let engine = open(&rt, &disk, Options::default()).unwrap();
    assert_eq!(run(&mut engine.client(), "DBSIZE"), ":21\r\n");
    // What was left of the base is gone.
    assert!(bases(&disk).is_empty());
    engine.rewrite_log().unwrap();
}

#[test]
fn a_base_that_is_corrupt_is_refused_with_its_place() {
    let _watched = watchdog();
    let (rt, disk) = (runtime(), SimulatedDisk::new(1));
    let engine = open(&rt, &disk, Options::default()).unwrap();
    run(&mut engine.client(), "SET key value");
    engine.rewrite_log().unwrap();
    close(engine);
    let [name] = &bases(&disk)[..] else { panic!("one base") };
    let mut bytes = super::contents(&disk, name);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    disk.remove(name).unwrap();
    disk.create(name).unwrap().append_all(&bytes).unwrap();
    match open(&rt, &disk, Options::default()) {
        Err(OpenError::Corrupt { file, .. }) => assert_eq!(file, *name),
        other => panic!("nothing was found: {:?}", other.map(|_| ())),
    }
}

#[test]
fn a_store_without_a_log_has_none_to_rewrite() {
    let rt = runtime();
    let engine = builder().build(&rt);
    assert!(engine.rewrite_log().is_err());
    assert!(run(&mut engine.client(), "BGREWRITEAOF").starts_with("-ERR "));
}
