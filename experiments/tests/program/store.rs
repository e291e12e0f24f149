//! The experiment `store`.

use crate::{passes, refused, text, xtasking};

const SMALL: [&str; 5] = ["--quick", "--connections", "4", "--against", "xtasking"];

/// Runs a part of the experiment, and returns what it has printed.
fn run(part: &[&str], options: &[&str]) -> String {
    let output = xtasking(&[&["store"], part, &SMALL, options].concat());
    passes(&output);
    text(&output.stdout)
}

#[test]
fn every_reply_is_checked_for_each_kind_of_requests() {
    let requests = "get,set,mget:3,mset:3,multi:3,a,b,c,d,f";
    let options = ["--requests", requests, "--pipeline", "1,16", "--workers", "1,2", "--value", "24"];
    let printed = run(&[], &options);
    for case in ["GET, 1 at once", "MGET of 3, 16 at once", "YCSB A, 16 at once", "YCSB D, 1 at once"] {
        assert!(printed.contains(&format!("│ {case} ")), "{case}: {printed}");
    }
    for words in ["xtasking, 1 workers: ", " bytes of resident memory a key", "every reply was checked"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn large_values_come_in_pieces() {
    let printed = run(&[], &["--value=300000", "--keys=20", "--requests=get,set,mget:5", "--pipeline=1,8"]);
    assert!(printed.contains("│ MGET of 5, 8 at once "), "{printed}");
}

#[test]
fn keys_are_chosen_by_zipf_and_the_log_is_synced() {
    let options = ["--popularity=zipf", "--appendfsync=always", "--requests=get,set,mset:2", "--pipeline=16"];
    let printed = run(&[], &options);
    for words in
        ["keys chosen by Zipf's distribution", "a log with appendfsync always", "│ MSET of 2, 16 at once "]
    {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn latencies_count_in_open_loop() {
    let printed = run(&["open-loop"], &["--rate", "2k,20k"]);
    for words in
        ["│ GET, 2000 a second ", "│ SET, 20000 a second ", "p99 µs", "p99.9", "every reply was checked"]
    {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn a_server_is_back_with_all_keys_of_its_snapshot() {
    let printed = run(&["restart"], &["--keys", "2000"]);
    for words in ["│ snapshot of 2000 keys ", "loading by SET", "all keys were there"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn latencies_are_measured_beside_a_snapshot() {
    let printed = run(&["snapshot"], &["--rate", "2k"]);
    for words in
        ["│ before the snapshot ", "│ beside the snapshot ", "xtasking, 1 workers: the snapshot took "]
    {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn virtual_cores_answer_the_same_requests() {
    let options = ["--virtual=1,4", "--requests=get,set,mget:3,mset:3,multi:2,a,d,f", "--pipeline=1,16"];
    for more in ["--popularity=zipf", "--transfer=0"] {
        let printed = run(&[], &[&options[..], &[more]].concat());
        for words in [
            "store in virtual time",
            "│ MULTI of 2, 16 at once ",
            "times the first",
            "every reply was checked",
        ] {
            assert!(printed.contains(words), "{words}: {printed}");
        }
    }
}

/// Servers that are not installed are named, and those that are take part.
#[test]
fn each_known_server_is_named() {
    let printed = run(&[], &["--requests=get", "--pipeline=1"]);
    for server in ["xtasking: ", "redis: ", "valkey: ", "memcached: ", "kevy: "] {
        assert!(printed.contains(&format!("\n{server}")), "{server}: {printed}");
    }
}

#[test]
fn impossible_options_are_refused() {
    refused(&["store", "--quick", "--value", "0"], "--value is 0; choose 1 to 1000000 bytes");
    refused(&["store", "--quick", "--pipeline", "0"], "--pipeline is 0; choose 1 to 10000 requests");
    refused(&["store", "open-loop", "--rate", "0"], "--rate is 0; choose 1 to 100000000 requests a second");
    refused(&["store", "restart", "--appendfsync", "no"], "--appendfsync: with a log");
    refused(&["store", "--virtual", "0"], "--virtual is 0; choose 1 to 1024 cores");
    refused(&["store", "--virtual", "1", "--shards", "3"], "--shards: 3 shards are not possible");
    refused(&["store", "--dir", "/nowhere"], "--dir: /nowhere is not a directory");
}
