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

#[test]
fn arguments_are_told_by_docs_and_help() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let mut client = Engine::builder().shards(1).build(&rt).client();
    let mut run = |line: &str| {
        let reply = client.run(line.split(' ')).unwrap();
        String::from_utf8(reply).unwrap().replace("\r\n", " ")
    };
    let docs = run("COMMAND DOCS expire");
    let arguments = "$9 arguments *3 \
        *6 $4 name $3 key $4 type $3 key $14 key_spec_index :0 \
        *4 $4 name $7 seconds $4 type $7 integer \
        *10 $4 name $9 condition $4 type $5 oneof $5 since $5 7.0.0 $5 flags *1 +optional $9 arguments *4 \
        *6 $4 name $2 nx $4 type $10 pure-token $5 token $2 NX ";
    assert!(docs.contains(arguments), "{docs}");
    assert!(
        run("COMMAND DOCS getset").contains("$9 doc_flags *1 +deprecated $16 deprecated_since $5 6.2.0 ")
    );
    assert!(run("CONFIG HELP").contains("+GET parameter [parameter ...] +    Get the values"));
    for (container, line) in [
        ("ACL", "+SETUSER username [rule [rule ...]] "),
        ("SLOWLOG", "+GET [count] "),
        ("LATENCY", "+HISTORY event "),
        ("XGROUP", "+CREATE key groupname <id | $> [MKSTREAM] [ENTRIESREAD entries_read] "),
        ("XINFO", "+STREAM key [FULL [COUNT count]] "),
    ] {
        let help = run(&format!("{container} HELP"));
        assert!(help.contains(line), "{help}");
        assert!(
            help.contains(&format!("+{container} <subcommand> [<arg> ...]. Subcommands are: ")),
            "{help}"
        );
    }
}
