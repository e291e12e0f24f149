//! What the store says of itself, and of its connections.

use std::sync::{Arc, Mutex};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_store::resp::Requests;

fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8(client.run(line.split(' ')).expect("a reply")).expect("text")
}

fn pipeline(client: &mut Client, lines: &[&str]) -> String {
    let mut requests = Requests::default();
    lines.iter().for_each(|line| requests.push(line.split(' ')));
    String::from_utf8(client.run_all(requests).expect("replies")).expect("text")
}

#[test]
fn info_counts_what_was_done() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(4).clock(|| 5000).build(&rt);
    let mut client = engine.client();
    pipeline(
        &mut client,
        &["SET a 1", "SET b 1 EX 9", "GET a", "GET none", "GET", "INCR a", "LPUSHX", "SELECT 3"],
    );
    pipeline(&mut client, &["SET c 1", "APPEND c x", "INCR c"]);
    let info = run(&mut client, "INFO everything");
    for line in [
        "redis_version:7.0.15",
        "connected_clients:1",
        "keyspace_hits:",
        "keyspace_misses:",
        "rdb_changes_since_last_save:6",
        "cmdstat_get:calls=2,usec=",
        "total_error_replies:3",
        "errorstat_ERR:count=3",
        "db0:keys=2,expires=1,avg_ttl=0",
        "db3:keys=1,expires=0,avg_ttl=0",
    ] {
        assert!(info.contains(line), "{line} is not in\n{info}");
    }
    let line = |name: &str| info.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("cmdstat_get").ends_with(",rejected_calls=1,failed_calls=0"), "{info}");
    assert!(line("cmdstat_incr").ends_with(",rejected_calls=0,failed_calls=1"), "{info}");
    assert!(!run(&mut client, "INFO keyspace").contains("redis_version"));
    assert_eq!(run(&mut client, "CONFIG RESETSTAT"), "+OK\r\n");
    let stats = run(&mut client, "INFO stats");
    assert!(
        stats.contains("keyspace_hits:0\r\n") && stats.contains("total_commands_processed:1\r\n"),
        "{stats}"
    );
}

#[test]
fn connections_see_and_close_each_other() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let closed = Arc::new(Mutex::new(Vec::new()));
    let seen = closed.clone();
    let engine = Engine::builder().on_close(move |id| seen.lock().unwrap().push(id)).build(&rt);
    let (mut one, mut two) = (engine.client(), engine.client());
    run(&mut one, "CLIENT SETNAME first");
    pipeline(&mut one, &["SELECT 2", "MULTI", "PING"]);
    let list = run(&mut two, "CLIENT LIST");
    let lines: Vec<&str> = list.lines().filter(|line| line.starts_with("id=")).collect();
    assert_eq!(lines.len(), 2, "{list}");
    for part in ["id=1 ", "name=first ", "flags=x ", "db=2 ", "multi=1 ", "cmd=ping ", "resp=2"] {
        assert!(lines[0].contains(part), "{part} is not in {}", lines[0]);
    }
    assert!(lines[1].contains("cmd=client|list "), "{}", lines[1]);
    assert_eq!(run(&mut two, "CLIENT KILL ID 1"), ":1\r\n");
    assert_eq!(*closed.lock().unwrap(), [1]);
    assert!(engine.server().clients.get(1).unwrap().is_gone());
    drop(one);
    assert_eq!(engine.server().clients.len(), 1);
    // What comes after the end of the own connection is not run.
    assert_eq!(pipeline(&mut two, &["CLIENT KILL ID 2 SKIPME no", "PING"]), ":1\r\n");
    assert!(two.session().unwrap().is_closing);
}

#[test]
fn replies_are_left_out_when_the_client_says_so() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    let mut client = engine.client();
    let lines = [
        "CLIENT REPLY SKIP",
        "SET a 1",
        "GET a",
        "CLIENT REPLY OFF",
        "GET a",
        "NOTHING",
        "CLIENT REPLY ON",
        "GET a",
    ];
    assert_eq!(pipeline(&mut client, &lines), "$1\r\n1\r\n+OK\r\n$1\r\n1\r\n");
}
