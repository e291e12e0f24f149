//! HyperLogLogs: what Redis says of them, for machines without it, and how close estimates are.

mod replies;

use replies::{run, start};
use xtasking_store::engine::Client;
use xtasking_testing::Random;

/// The bytes of a sketch of `a`, `b` and `c`, as Redis 7.0 writes it.
const OF_REDIS: &[u8] = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80`\xf3\x80P\xb1\x84K\xfb\x80BZ";

fn call(client: &mut Client, args: &[&[u8]]) -> Vec<u8> {
    client.run(args).unwrap()
}

/// Returns a reply that is an integer.
fn number(client: &mut Client, line: &str) -> i64 {
    run(client, line)[1..].parse().unwrap()
}

#[test]
fn replies_are_those_of_redis() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    for (line, reply) in [
        ("PFCOUNT h", ":0"),
        ("PFADD h", ":1"),
        ("PFADD h", ":0"),
        ("PFCOUNT h", ":0"),
        ("PFADD h a b c", ":1"),
        ("PFADD h a b c", ":0"),
        ("PFCOUNT h", ":3"),
        ("PFADD other c d", ":1"),
        ("PFCOUNT h other nothing", ":4"),
        ("PFMERGE d h other nothing", "+OK"),
        ("PFCOUNT d", ":4"),
        ("PFDEBUG ENCODING d", "+sparse"),
        ("PFDEBUG TODENSE d", ":1"),
        ("PFDEBUG TODENSE d", ":0"),
        ("PFDEBUG ENCODING d", "+dense"),
        ("STRLEN d", ":12304"),
        ("PFCOUNT d", ":4"),
        ("PFDEBUG DECODE d", "-ERR HLL encoding is not sparse"),
        ("PFDEBUG DECODE nothing", "-ERR The specified key does not exist"),
        ("PFDEBUG x d", "-ERR Unknown PFDEBUG subcommand 'x'"),
        ("CONFIG SET hll-sparse-max-bytes 20", "+OK"),
        ("PFADD small 1 2 3", ":1"),
        ("PFDEBUG ENCODING small", "+dense"),
        ("PFCOUNT small", ":3"),
        ("SET s 1", "+OK"),
        ("PFADD s 1", "-WRONGTYPE Key is not a valid HyperLogLog string value."),
        ("LPUSH l 1", ":1"),
        ("PFCOUNT h l", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("PFSELFTEST", "+OK"),
    ] {
        assert_eq!(run(&mut client, line), reply, "{line}");
    }
}

#[test]
fn a_noted_estimate_is_kept_until_a_register_changes() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    let mut noted = |line: &str| {
        run(&mut client, line);
        call(&mut client, &[b"GETRANGE", b"h", b"8", b"15"])
    };
    assert_eq!(noted("PFADD h a b c"), b"$8\r\n\0\0\0\0\0\0\0\x80\r\n");
    assert_eq!(noted("PFCOUNT h"), b"$8\r\n\x03\0\0\0\0\0\0\0\r\n");
    assert_eq!(noted("PFADD h a b c"), b"$8\r\n\x03\0\0\0\0\0\0\0\r\n");
    assert_eq!(noted("PFADD h d"), b"$8\r\n\x03\0\0\0\0\0\0\x80\r\n");
}

#[test]
fn a_sketch_of_redis_is_read_and_written() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    run(&mut client, "PFADD h a b c");
    let own = call(&mut client, &[b"GET", b"h"]);
    let theirs = [format!("${}\r\n", OF_REDIS.len()).as_bytes(), OF_REDIS, b"\r\n"].concat();
    assert_eq!(own.escape_ascii().to_string(), theirs.escape_ascii().to_string());
    // So long is the one of Redis: runs that a change makes equal are united.
    let elements: Vec<_> = (1..=1000).map(|element| element.to_string()).collect();
    run(&mut client, &format!("PFADD long {}", elements.join(" ")));
    assert_eq!(run(&mut client, "STRLEN long"), ":1922");
    assert_eq!(run(&mut client, "PFCOUNT long"), ":1001");
}

#[test]
fn estimates_are_close() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    for seed in 1..=3 {
        let mut random = Random(seed);
        let (mut count, mut next) = (0i64, 1);
        run(&mut client, "DEL h");
        while count < 40_000 {
            let elements: Vec<_> = (0..next - count).map(|_| random.word().to_string()).collect();
            for some in elements.chunks(1000) {
                run(&mut client, &format!("PFADD h {}", some.join(" ")));
            }
            (count, next) = (next, next * 3);
            let estimate = number(&mut client, "PFCOUNT h");
            // Four standard errors, and one for what is rounded.
            let most = 4.0 * 0.0081 * count as f64 + 1.0;
            let error = (estimate - count).abs() as f64;
            assert!(error <= most, "seed {seed}: {count} elements are estimated as {estimate}");
        }
        let is_dense = run(&mut client, "PFDEBUG ENCODING h") == "+dense";
        assert!(is_dense, "seed {seed}");
    }
}

#[test]
fn sparse_and_dense_sketches_agree() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    run(&mut client, "CONFIG SET hll-sparse-max-bytes 1000000");
    run(&mut client, "PFADD dense");
    run(&mut client, "PFDEBUG TODENSE dense");
    let mut random = Random(7);
    for round in 0..60 {
        let elements: Vec<_> = (0..100).map(|_| random.below(100_000).to_string()).collect();
        let elements = elements.join(" ");
        let added = ["sparse", "dense"].map(|key| run(&mut client, &format!("PFADD {key} {elements}")));
        assert_eq!(added[0], added[1], "round {round}");
        let counts = ["PFCOUNT sparse", "PFCOUNT dense"].map(|line| number(&mut client, line));
        assert_eq!(counts[0], counts[1], "round {round}");
    }
    assert_eq!(run(&mut client, "PFDEBUG ENCODING sparse"), "+sparse");
    run(&mut client, "COPY sparse copy");
    let [sparse, dense] = ["copy", "dense"].map(|key| run(&mut client, &format!("PFDEBUG GETREG {key}")));
    assert_eq!(sparse, dense);
}

/// Whatever the bytes are, a command answers, and one that fails leaves the key as it was.
#[test]
fn damaged_sketches_are_answered() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    let mut random = Random(11);
    let mut refused = 0;
    for round in 0..400u64 {
        let count = random.below(if round % 10 == 0 { 3000 } else { 60 });
        let elements: Vec<_> = (0..count).map(|_| random.word().to_string()).collect();
        run(&mut client, "DEL h");
        run(&mut client, format!("PFADD h {}", elements.join(" ")).trim_end());
        for _ in 0..1 + random.below(4) {
            let len = number(&mut client, "STRLEN h") as u64;
            let at = random.below(len + 1).to_string();
            let byte = [random.below(256) as u8];
            call(&mut client, &[b"SETRANGE", b"h", at.as_bytes(), &byte]);
        }
        for line in ["PFCOUNT h", "PFADD h x y z", "PFMERGE d h", "PFCOUNT h d", "PFDEBUG DECODE h"] {
            let before = call(&mut client, &[b"GET", b"h"]);
            let reply = run(&mut client, line);
            if reply.starts_with('-') {
                refused += 1;
                assert_eq!(call(&mut client, &[b"GET", b"h"]), before, "{line}: {reply}");
            }
        }
        run(&mut client, "DEL d");
        run(&mut client, "PFDEBUG GETREG h");
    }
    assert!(refused > 100, "few were refused: {refused}");
}
