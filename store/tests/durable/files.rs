//! Files that are torn, corrupt or missing: a torn end is cut off, and all else is refused.

use super::{builder, contents, open, run, segments};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::Runtime;
use xtasking_storage::{Directory, Disk, Faults, File, SimulatedDisk};
use xtasking_store::log::{OpenError, Options};
use xtasking_testing::watchdog;

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().expect("a runtime")
}

/// Replaces the contents of a file.
fn replace(disk: &SimulatedDisk, name: &str, bytes: &[u8]) {
    disk.remove(name).unwrap();
    disk.create(name).unwrap().append_all(bytes).unwrap();
}

/// Makes a log of some keys, each a batch of its own, in segments of this length.
fn log_of(rt: &Runtime, keys: usize, segment: u64) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let engine = open(rt, &disk, Options::default().segment_bytes(segment)).unwrap();
    let mut client = engine.client();
    (0..keys).for_each(|key| assert_eq!(run(&mut client, &format!("SET key:{key} {key}")), "+OK\r\n"));
    drop(client);
    close(engine);
    disk
}

/// Ends an engine, so that another one can open its log.
fn close(engine: xtasking_store::Engine) {
    engine.log().unwrap().close().unwrap();
    drop(engine);
}

/// Returns the error of opening a disk: the file, the offset and the reason.
fn corruption(rt: &Runtime, disk: &SimulatedDisk) -> (String, u64, String) {
    match open(rt, disk, Options::default()) {
        Err(OpenError::Corrupt { file, offset, reason, .. }) => (file, offset, reason),
        other => panic!("no corruption was found: {:?}", other.map(|_| ())),
    }
}

#[test]
fn a_torn_end_is_cut_off_and_told() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = log_of(&rt, 10, 1 << 20);
    let [name] = &segments(&disk)[..] else { panic!("one segment") };
    let bytes = contents(&disk, name);
    for cut in [1, 20, 41, 100] {
        replace(&disk, name, &bytes[..bytes.len() - cut]);
        let engine = open(&rt, &disk, Options::default()).unwrap();
        let found = engine.log().unwrap().recovered().clone();
        let told = found.cut.unwrap();
        assert_eq!((&told.file, told.offset + told.bytes), (name, (bytes.len() - cut) as u64));
        let mut client = engine.client();
        let size = run(&mut client, "DBSIZE");
        assert_eq!(size, if cut < 75 { ":9\r\n" } else { ":8\r\n" }, "{cut}");
        // What is appended afterwards is found.
        for key in 0..3 {
            assert_eq!(run(&mut client, &format!("SET later:{key} {cut}")), "+OK\r\n");
        }
        drop(client);
        close(engine);
        let engine = open(&rt, &disk, Options::default()).unwrap();
        assert_eq!(engine.log().unwrap().recovered().cut, None);
        let mut client = engine.client();
        assert_eq!(run(&mut client, "EXISTS key:0 later:0 later:1 later:2"), ":4\r\n");
        drop(client);
        close(engine);
    }
}

#[test]
fn what_was_durable_and_is_not_whole_is_refused() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = log_of(&rt, 10, 1 << 20);
    let [name] = &segments(&disk)[..] else { panic!("one segment") };
    let bytes = contents(&disk, name);
    // The header, the header of a batch, and a unit in it.
    for (at, offset) in [(10, 0), (40, 36), (80, 36), (bytes.len() - 150, 0)] {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        replace(&disk, name, &changed);
        let (file, place, reason) = corruption(&rt, &disk);
        assert_eq!(&file, name);
        assert!(offset == 0 || place == offset, "{at}: {place}, {reason}");
        // Nothing was changed, so that it can be mended.
        assert_eq!(contents(&disk, name), changed);
    }
    replace(&disk, name, &bytes);
    open(&rt, &disk, Options::default()).unwrap();
}

#[test]
fn a_missing_segment_is_refused() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = log_of(&rt, 20, 200);
    let names = segments(&disk);
    assert!(names.len() > 3, "{names:?}");
    for missing in [0, 2] {
        let bytes = contents(&disk, &names[missing]);
        disk.remove(&names[missing]).unwrap();
        let (file, _, reason) = corruption(&rt, &disk);
        assert_eq!(file, names[missing + 1]);
        assert!(reason.contains("it begins after epoch"), "{reason}");
        disk.create(&names[missing]).unwrap().append_all(&bytes).unwrap();
    }
    // Of a segment in the midst no end may be missing.
    let bytes = contents(&disk, &names[1]);
    replace(&disk, &names[1], &bytes[..bytes.len() - 1]);
    assert_eq!(corruption(&rt, &disk).0, names[1]);
    replace(&disk, &names[1], &bytes);
    // One that was begun and has no batch is as none.
    disk.create(&format!("log-{:020}", u64::MAX)).unwrap().append_all(b"XTL").unwrap();
    let engine = open(&rt, &disk, Options::default()).unwrap();
    assert_eq!(run(&mut engine.client(), "DBSIZE"), ":20\r\n");
    close(engine);
    assert!(!segments(&disk).contains(&format!("log-{:020}", u64::MAX)));
}

#[test]
fn a_snapshot_takes_the_place_of_earlier_epochs() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = SimulatedDisk::new(1);
    let engine = open(&rt, &disk, Options::default()).unwrap();
    let mut client = engine.client();
    run(&mut client, "SET before 1");
    let log = engine.log().unwrap().clone();
    let epoch = log.begin_epoch();
    run(&mut client, "SET after 1");
    assert!(log.rotate().unwrap() > epoch);
    run(&mut client, "SET later 1");
    log.remove_before(epoch).unwrap();
    assert_eq!(segments(&disk).len(), 2, "the first has an epoch that is needed");
    let next = log.rotate().unwrap();
    run(&mut client, "SET last 1");
    log.remove_before(next).unwrap();
    assert_eq!(segments(&disk).len(), 1);
    drop((client, log));
    close(engine);
    assert!(corruption(&rt, &disk).2.contains("it begins after epoch"));
    let engine = open(&rt, &disk, Options::default().first_epoch(next)).unwrap();
    assert_eq!(run(&mut engine.client(), "EXISTS before after later last"), ":1\r\n");
}

#[test]
fn epochs_before_the_first_are_not_replayed() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = SimulatedDisk::new(1);
    let engine = open(&rt, &disk, Options::default()).unwrap();
    let mut client = engine.client();
    run(&mut client, "INCR count");
    let epoch = engine.log().unwrap().begin_epoch();
    run(&mut client, "INCR count");
    drop(client);
    close(engine);
    // The log's thread has begun others since, ten a second.
    for (first, count) in [(0, 2), (epoch, 1), (epoch + 1_000_000, 0)] {
        let engine = open(&rt, &disk, Options::default().first_epoch(first)).unwrap();
        let expected = if count == 0 { "$-1\r\n".to_owned() } else { format!("$1\r\n{count}\r\n") };
        assert_eq!(run(&mut engine.client(), "GET count"), expected, "from {first}");
        close(engine);
    }
}

#[test]
fn a_log_in_use_is_refused() {
    let _watched = watchdog();
    let rt = runtime();
    let path = std::env::temp_dir().join(format!("xtasking-store-lock-{}", std::process::id()));
    let disk = Directory::open(&path).unwrap();
    let first = builder().log(disk.clone(), Options::default()).open(&rt).unwrap();
    let second = builder().log(disk.clone(), Options::default()).open(&rt);
    assert!(matches!(second, Err(OpenError::Locked)));
    assert_eq!(run(&mut first.client(), "SET key 1"), "+OK\r\n");
    close(first);
    let again = builder().log(disk, Options::default()).open(&rt).unwrap();
    assert_eq!(run(&mut again.client(), "GET key"), "$1\r\n1\r\n");
    close(again);
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn a_disk_that_fails_at_the_start_is_told() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = log_of(&rt, 3, 1 << 20);
    disk.set_faults(Faults { errors: 100, ..Faults::default() });
    let refused = open(&rt, &disk, Options::default());
    assert!(matches!(&refused, Err(OpenError::Disk { .. })), "{:?}", refused.map(|_| ()));
    let unset = builder().setting("appendonly", "yes").open(&rt);
    assert!(matches!(unset, Err(OpenError::NoDisk)));
}

#[test]
fn the_replay_tells_how_far_it_is() {
    let _watched = watchdog();
    let rt = runtime();
    let disk = log_of(&rt, 20, 200);
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = told.clone();
    let tell = move |progress| sink.lock().unwrap_or_else(PoisonError::into_inner).push(progress);
    close(open(&rt, &disk, Options::default().on_progress(tell)).unwrap());
    let told = told.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(told.is_sorted_by_key(|progress| progress.done) && told.len() > 3, "{told:?}");
    assert!(told.iter().all(|progress| progress.done <= progress.total));
}
