//! What the store tells of itself.

use xtasking::Runtime;
use xtasking_store::Engine;

#[test]
fn lists_fields_and_sizes_are_there() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(4).build(&rt);
    let mut client = engine.client();
    let mut run = |line: &str| {
        let reply = client.run(line.split(' ')).unwrap();
        String::from_utf8(reply).unwrap()
    };
    let listed = run("COMMAND LIST");
    assert!(listed.contains("\r\nclient\r\n") && listed.contains("\r\nclient|list\r\n"));
    assert!(run("INFO replication").contains("\r\nmaster_repl_offset:0\r\n"));
    run(&format!("SET k {}", "x".repeat(1000)));
    let size: usize = run("MEMORY USAGE k").trim().trim_start_matches(':').parse().unwrap();
    assert!((1001..2000).contains(&size), "{size}");
    assert!(run("MEMORY STATS").contains("$10\r\nkeys.count\r\n:1\r\n"));
    assert!(run("MEMORY DOCTOR").contains("too little data"));
    assert!(run("INFO memory").contains("\r\nused_memory_human:"));
    assert_eq!(run("MEMORY USAGE nothing"), "$-1\r\n");
    assert_eq!(run("MEMORY USAGE k SAMPLES"), "-ERR syntax error\r\n");
}
