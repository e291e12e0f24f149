//! SAVE and its siblings.

use super::Target;
use super::contents::{contents, fill};
use super::folder::Folder;
use super::redis::Server;
use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::{Builder, Client};
use xtasking_testing::eventually;

fn builder(folder: &Folder) -> Builder {
    let path = folder.path().to_str().unwrap();
    Engine::builder().shards(8).setting("dir", path).setting("enable-debug-command", "yes")
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

fn info(client: &mut Client) -> String {
    String::from_utf8(client.line("INFO persistence")).unwrap()
}

fn text(reply: &[u8]) -> String {
    String::from_utf8_lossy(reply).into_owned()
}

#[test]
fn what_was_saved_is_loaded_here_and_by_redis() {
    let (rt, folder) = (runtime(), Folder::new());
    let engine = builder(&folder).build(&rt);
    let mut client = engine.client();
    let keys = fill(&mut client);
    for key in keys.iter().step_by(3) {
        client.line(&format!("PEXPIREAT {key} 4000000000000"));
        client.line(&format!("COPY {key} {key} DB 3"));
    }
    assert_eq!(text(&client.line("SAVE")), "+OK\r\n");
    let file = folder.path().join("dump.rdb");
    let again = Engine::builder().shards(16).build(&rt);
    again.load(File::open(&file).unwrap(), |_| {}).unwrap();
    let mut other = again.client();
    for key in &keys {
        assert_eq!(contents(&mut other, key), contents(&mut client, key), "{key}");
    }
    // Nothing else is left in the folder.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let Some(server) = Server::start_with(&["--enable-debug-command", "yes"]) else { return };
    let mut redis = server.connect();
    fs::copy(&file, server.folder().join("dump.rdb")).unwrap();
    assert_eq!(text(&redis.line("DEBUG RELOAD NOSAVE")), "+OK\r\n");
    for database in ["0", "3"] {
        client.line(&format!("SELECT {database}"));
        redis.line(&format!("SELECT {database}"));
        assert_eq!(client.line("DBSIZE"), redis.line("DBSIZE"));
        for key in &keys {
            assert_eq!(contents(&mut redis, key), contents(&mut client, key), "{key}");
        }
    }
}

#[test]
fn a_reload_changes_nothing_that_can_be_seen() {
    let (rt, folder) = (runtime(), Folder::new());
    let engine = builder(&folder).build(&rt);
    let mut client = engine.client();
    let keys = fill(&mut client);
    client.line("PEXPIREAT list:3:8 4000000000000");
    let before: Vec<_> = keys.iter().map(|key| contents(&mut client, key)).collect();
    assert_eq!(text(&client.line("DEBUG RELOAD")), "+OK\r\n");
    let after: Vec<_> = keys.iter().map(|key| contents(&mut client, key)).collect();
    assert_eq!(after, before);
    // What was changed in place has the encoding of a value that was read.
    assert_eq!(text(&client.line("OBJECT ENCODING string:grown")), "$6\r\nembstr\r\n");
}

/// Waits for a number of snapshots. It sleeps, as the disk may be busy for long.
fn saved(engine: &Engine, saves: u64) {
    eventually("the snapshot is there", || {
        thread::sleep(Duration::from_millis(1));
        engine.server().persistence.status().saves == saves
    });
}

#[test]
fn the_state_of_snapshots_is_told() {
    let (rt, folder) = (runtime(), Folder::new());
    let time = Arc::new(AtomicU64::new(50_000));
    let clock = time.clone();
    let engine = builder(&folder).clock(move || clock.load(Ordering::SeqCst)).build(&rt);
    let mut client = engine.client();
    client.line("SET a 1");
    client.line("SET b 1");
    assert_eq!(text(&client.line("LASTSAVE")), ":50\r\n");
    assert!(info(&mut client).contains("rdb_changes_since_last_save:2\r\n"));
    time.store(60_000, Ordering::SeqCst);
    assert_eq!(text(&client.line("BGSAVE x")), "-ERR syntax error\r\n");
    assert_eq!(text(&client.line("BGSAVE SCHEDULE")), "+Background saving started\r\n");
    saved(&engine, 1);
    let info = info(&mut client);
    for line in [
        "rdb_changes_since_last_save:0",
        "rdb_bgsave_in_progress:0",
        "rdb_last_save_time:60",
        "rdb_last_bgsave_status:ok",
        "rdb_last_bgsave_time_sec:0",
        "rdb_saves:1",
    ] {
        assert!(info.contains(line), "{line} is not in {info}");
    }
    assert_eq!(text(&client.line("LASTSAVE")), ":60\r\n");
    // Save points: not yet, and then.
    assert_eq!(text(&client.ask(&[b"CONFIG", b"SET", b"save", b"10 2"])), "+OK\r\n");
    client.line("SET a 2");
    time.store(71_000, Ordering::SeqCst);
    engine.save_if_due(&rt);
    assert_eq!(engine.server().persistence.status().begun_at, None);
    client.line("SET a 3");
    engine.save_if_due(&rt);
    saved(&engine, 2);
}

#[test]
fn writes_are_refused_after_a_snapshot_has_failed() {
    let (rt, folder) = (runtime(), Folder::new());
    let engine = builder(&folder).setting("dir", "/nowhere/at/all").build(&rt);
    let mut client = engine.client();
    client.line("SET a 1");
    // Without save points nothing is refused.
    assert_eq!(text(&client.line("SAVE")), "-ERR\r\n");
    assert!(info(&mut client).contains("rdb_last_bgsave_status:err"));
    assert_eq!(text(&client.line("SET a 2")), "+OK\r\n");
    client.ask(&[b"CONFIG", b"SET", b"save", b"900 1"]);
    let refused = text(&client.line("SET a 3"));
    assert!(refused.starts_with("-MISCONF Redis is configured to save RDB snapshots"), "{refused}");
    assert!(text(&client.line("PING")).starts_with("-MISCONF"));
    assert_eq!(text(&client.line("GET a")), "$1\r\n2\r\n");
    client.line("MULTI");
    assert!(text(&client.line("INCR a")).starts_with("-MISCONF"));
    assert!(text(&client.line("EXEC")).starts_with("-EXECABORT"));
    client.line("CONFIG SET stop-writes-on-bgsave-error no");
    assert_eq!(text(&client.line("SET a 3")), "+OK\r\n");
    client.line("CONFIG SET stop-writes-on-bgsave-error yes");
    assert!(engine.save().is_err());
    engine.server().settings.set("dir", folder.path().to_str().unwrap()).unwrap();
    assert_eq!(text(&client.line("SAVE")), "+OK\r\n");
    assert_eq!(text(&client.line("SET a 4")), "+OK\r\n");
    engine.save().unwrap();
    engine.refuse_writes();
    assert_eq!(text(&client.line("SET a 5")), "-ERR the server is shutting down\r\n");
    assert_eq!(text(&client.line("GET a")), "$1\r\n4\r\n");
}
