//! Commands that are refused, as nothing can be evicted.

use super::{KIB, Store, run, text};

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

/// A store with more than it may have.
fn full() -> Store {
    let mut store = Store::new("noeviction", 0);
    (0..100).for_each(|number| _ = store.run(&format!("SET key:{number} {}", text(100))));
    store.run("CONFIG SET maxmemory 1kb");
    store
}

#[test]
fn what_adds_is_refused_and_what_reads_or_removes_is_not() {
    let mut store = full();
    for line in ["SET a 1", "APPEND key:1 a", "LPUSH l a", "HSET h a b", "SADD s a", "ZADD z 1 a", "MSET a b"]
    {
        assert_eq!(store.run(line), OOM, "{line}");
    }
    for (line, reply) in [
        ("EXISTS key:1", ":1\r\n"),
        ("STRLEN key:1", ":100\r\n"),
        ("EXPIRE key:1 100", ":1\r\n"),
        ("PING", "+PONG\r\n"),
        ("DEL key:1", ":1\r\n"),
        ("UNLINK key:2", ":1\r\n"),
        ("RENAME key:3 key:4", "+OK\r\n"),
        ("INCRBY key:99999", "-ERR wrong number of arguments for 'incrby' command\r\n"),
    ] {
        assert_eq!(store.run(line), reply, "{line}");
    }
    assert!(store.info("used_memory") > KIB);
    let calls = store.run("INFO commandstats");
    let calls = calls.lines().find(|line| line.starts_with("cmdstat_set:calls=100,")).expect("SET");
    assert!(calls.contains(",rejected_calls=1,"), "{calls}");
    for number in 0..100 {
        store.run(&format!("DEL key:{number}"));
    }
    assert_eq!((store.counted(), store.evicted()), (0, 0));
    assert_eq!(store.run("SET a 1"), "+OK\r\n");
}

#[test]
fn an_empty_store_takes_nothing_with_a_limit_of_a_byte() {
    for policy in ["noeviction", "allkeys-lru", "volatile-ttl"] {
        let mut store = Store::new(policy, 0);
        store.run("SET key value");
        store.run("CONFIG SET maxmemory 1");
        assert_eq!(store.run("SET other value"), OOM, "{policy}");
        assert_eq!(store.contains("key"), policy != "allkeys-lru");
        store.run("FLUSHALL");
        assert_eq!(store.run("SET other value"), OOM, "{policy}");
        store.run("CONFIG SET maxmemory 10kb");
        assert_eq!(store.run("SET other value"), "+OK\r\n", "{policy}");
    }
}

#[test]
fn what_a_pipeline_adds_is_refused_from_the_limit_on() {
    let mut store = Store::new("noeviction", 20 * KIB);
    let lines: Vec<_> = (0..200).map(|number| format!("SET key:{number} {}", text(200))).collect();
    let replies = store.pipeline(&lines);
    let accepted = replies.matches("+OK").count();
    assert!((50..100).contains(&accepted), "{accepted}");
    assert_eq!(replies, "+OK\r\n".repeat(accepted) + &OOM.repeat(200 - accepted));
    assert!(store.counted() <= 21 * KIB);
}

#[test]
fn transactions_are_refused_as_in_redis() {
    let mut store = full();
    // What is queued takes memory too, whatever it is.
    for (line, reply) in [
        ("MULTI", "+OK\r\n"),
        ("SET a 1", OOM),
        ("EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n"),
        ("MULTI", "+OK\r\n"),
        ("STRLEN key:1", OOM),
        ("DISCARD", "+OK\r\n"),
        ("MULTI", "+OK\r\n"),
        ("WATCH key:1", OOM),
        ("RESET", "+RESET\r\n"),
        ("DISCARD", "-ERR DISCARD without MULTI\r\n"),
        ("EXEC", "-ERR EXEC without MULTI\r\n"),
    ] {
        assert_eq!(store.run(line), reply, "{line}");
    }
    // What was queued before there was too little.
    let mut other = store.engine.client();
    run(&mut other, "CONFIG SET maxmemory 1gb");
    let lines = ["WATCH key:1", "MULTI", "SET a 1", "STRLEN key:1"];
    lines.iter().for_each(|line| _ = store.run(line));
    run(&mut other, "CONFIG SET maxmemory 1kb");
    let refused = format!("-EXECABORT Transaction discarded because of: {}", &OOM[1..]);
    assert_eq!(store.run("EXEC"), refused);
    assert_eq!(store.run("EXEC"), "-ERR EXEC without MULTI\r\n");
    run(&mut other, "CONFIG SET maxmemory 1gb");
    let lines = ["MULTI", "STRLEN key:1", "DEL key:1"];
    lines.iter().for_each(|line| _ = store.run(line));
    run(&mut other, "CONFIG SET maxmemory 1kb");
    assert_eq!(store.run("EXEC"), "*2\r\n:100\r\n:1\r\n");
}

#[test]
fn settings_are_those_of_redis() {
    let mut store = Store::new("noeviction", 0);
    for (line, reply) in [
        ("CONFIG SET maxmemory 2mb maxmemory-policy volatile-ttl maxmemory-samples 10", "+OK\r\n"),
        ("CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$7\r\n2097152\r\n"),
        ("CONFIG GET maxmemory-policy", "*2\r\n$16\r\nmaxmemory-policy\r\n$12\r\nvolatile-ttl\r\n"),
        ("CONFIG GET lfu-decay-time", "*2\r\n$14\r\nlfu-decay-time\r\n$1\r\n1\r\n"),
        ("CONFIG GET lfu-log-factor", "*2\r\n$14\r\nlfu-log-factor\r\n$2\r\n10\r\n"),
        (
            "CONFIG SET maxmemory-policy x",
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - argument(s) must be \
             one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, \
             allkeys-lfu, allkeys-random, noeviction\r\n",
        ),
        (
            "CONFIG SET maxmemory-samples 0",
            "-ERR CONFIG SET failed (possibly related to argument 'maxmemory-samples') - argument must be \
             between 1 and 2147483647 inclusive\r\n",
        ),
    ] {
        assert_eq!(store.run(line), reply, "{line}");
    }
}
