//! Append-only files of Redis are loaded. `peers/redis/aof-files` has made those in `files`.
//!
//! | file | contents |
//! |---|---|
//! | `whole` | files as Redis has written them |
//! | `damaged` | files that are torn, damaged, or have what the store has not |
//! | `staged` | random files, whose commands run side by side |
//! | `program` | the program begins a log with them |

mod damaged;
#[path = "../drawn/mod.rs"]
mod drawn;
#[cfg(all(unix, feature = "program"))]
mod program;
mod staged;
mod whole;

use std::path::PathBuf;
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::aof::{AofEnd, AofError, AofProgress};

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().expect("a runtime")
}

fn engine(rt: &Runtime) -> Engine {
    Engine::builder().shards(8).build(rt)
}

/// Returns the path of a file that Redis has written.
fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "aof", "files", name].iter().collect()
}

fn contents(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).expect("a file that is in the repository")
}

fn load(engine: &Engine, file: &[u8], end: AofEnd) -> Result<AofProgress, AofError> {
    engine.load_aof(file, end, |_| {})
}

/// Runs a command of words, and returns its reply.
fn ask(engine: &Engine, database: usize, line: &str) -> String {
    let mut client = engine.client();
    client.run(["SELECT", &database.to_string()]).expect("a reply");
    String::from_utf8(client.run(line.split(' ')).expect("a reply")).expect("text")
}

/// What the files have.
const EXPECTED: &[(usize, &str, &str)] = &[
    (0, "DBSIZE", ":18\r\n"),
    (0, "GET text", "$14\r\nvalue and more\r\n"),
    (0, "GET number", "$5\r\n12345\r\n"),
    (0, "PEXPIRETIME later", ":4102444800000\r\n"),
    (0, "LRANGE list 0 -1", "*1\r\n$1\r\nd\r\n"),
    (0, "LRANGE renamed 0 -1", "*1\r\n$1\r\nc\r\n"),
    (0, "LRANGE sorted 0 -1", "*1\r\n$1\r\nd\r\n"),
    (0, "HGET hash field", "$3\r\n3.5\r\n"),
    (0, "HGET hash other", "$3\r\ntwo\r\n"),
    (0, "SCARD set", ":3\r\n"),
    (0, "EXISTS integers short gone moved", ":0\r\n"),
    (0, "ZRANGE zset 0 -1", "*2\r\n$3\r\ntwo\r\n$5\r\nthree\r\n"),
    (0, "XLEN stream", ":2\r\n"),
    (
        0,
        "XPENDING stream group",
        "*4\r\n:1\r\n$3\r\n1-1\r\n$3\r\n1-1\r\n*1\r\n*2\r\n$3\r\nbob\r\n$1\r\n1\r\n",
    ),
    (0, "PFCOUNT hll", ":4\r\n"),
    (0, "GETBIT bits 9", ":1\r\n"),
    (0, "GET both", "$1\r\n1\r\n"),
    (0, "GET script", "$3\r\nran\r\n"),
    (0, "GET runs", "$1\r\n1\r\n"),
    (0, "ZCARD near", ":1\r\n"),
    (0, "ZCARD geo", ":2\r\n"),
    (2, "GET copied", "$5\r\n12345\r\n"),
    (3, "DBSIZE", ":0\r\n"),
    (4, "GET float", "$3\r\n1.5\r\n"),
    (4, "GET text", "$9\r\nelsewhere\r\n"),
    (5, "GET both", "$1\r\n2\r\n"),
    (5, "LRANGE five 0 -1", "*2\r\n$1\r\nx\r\n$1\r\ny\r\n"),
    (7, "DBSIZE", ":0\r\n"),
];

fn check(engine: &Engine, context: &str) {
    for (database, line, reply) in EXPECTED {
        assert_eq!(ask(engine, *database, line), *reply, "{context}: {line} in {database}");
    }
    for key in ["hash", "span"] {
        let ttl = ask(engine, 0, &format!("TTL {key}"));
        let seconds: i64 = ttl[1..].trim_end().parse().expect("a number");
        assert!(seconds > 1_000_000_000, "{context}: {key} expires in {seconds} s");
    }
}
