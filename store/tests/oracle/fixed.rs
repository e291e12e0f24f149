//! Scripts that are written down, beside Redis: what random commands seldom reach.

use super::redis::{Connection, Server};
use super::{agree, encode, run, show};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::resp::{Parser, Reply};

/// Lines of the form `session: command`; a session is opened by its first line.
const AUTHENTICATION: &[&str] = &[
    "a: AUTH some",
    "a: AUTH default some",
    "a: AUTH other some",
    "a: AUTH a b c",
    "a: CONFIG SET requirepass secret",
    "a: PING",
    "a: CONFIG GET requirepass",
    "b: PING",
    "b: GET k",
    "b: NOTHING",
    "b: GET",
    "b: MULTI",
    "b: EXEC",
    "b: AUTH wrong",
    "b: AUTH default wrong",
    "b: HELLO",
    "b: HELLO 3",
    "b: HELLO 3 AUTH default wrong",
    "b: HELLO 4",
    "b: HELLO x",
    "b: HELLO 2 AUTH default",
    "b: HELLO 2 NOTHING x",
    "b: PING",
    "b: AUTH secret",
    "b: PING",
    "b: RESET",
    "b: PING",
    "b: HELLO 3 AUTH default secret SETNAME me",
    "b: CLIENT GETNAME",
    "b: GET none",
    "b: RESET",
    "b: AUTH default secret",
    "b: CLIENT GETNAME",
    "b: GET none",
    "a: CONFIG SET requirepass ''",
    "c: PING",
];

const TRANSACTIONS: &[&str] = &[
    "a: SET k 1",
    "a: WATCH k",
    "b: SET k 1",
    "a: MULTI",
    "a: GET k",
    "a: EXEC",
    "a: MULTI",
    "a: GET k",
    "a: EXEC",
    "a: WATCH none",
    "b: SET none 1",
    "b: DEL none",
    "a: MULTI",
    "a: EXEC",
    "a: WATCH none",
    "b: DEL none",
    "a: MULTI",
    "a: PING",
    "a: EXEC",
    "a: WATCH k",
    "b: FLUSHALL",
    "a: MULTI",
    "a: PING",
    "a: EXEC",
    "a: WATCH k",
    "b: FLUSHALL",
    "a: MULTI",
    "a: PING",
    "a: EXEC",
    "a: SELECT 1",
    "a: SET s 1",
    "a: WATCH s",
    "b: SWAPDB 0 1",
    "a: MULTI",
    "a: PING",
    "a: EXEC",
    "a: WATCH s",
    "a: UNWATCH",
    "b: SELECT 1",
    "b: SET s 2",
    "a: MULTI",
    "a: GET s",
    "a: EXEC",
    "a: MULTI",
    "a: SELECT 0",
    "a: SET z 1",
    "a: GET",
    "a: EXEC",
    "a: MULTI",
    "a: SELECT 0",
    "a: SET z 1",
    "a: INCR s",
    "a: APPEND z x",
    "a: INCR z",
    "a: EXEC",
    "a: GET z",
    "a: WATCH z",
    "a: MULTI",
    "a: SET z 9",
    "a: DISCARD",
    "a: GET z",
    "a: MULTI",
    "a: WATCH z",
    "a: MULTI",
    "a: FLUSHALL",
    "a: DBSIZE",
    "a: EXEC",
];

const SERVER: &[&str] = &[
    "a: CLIENT SETNAME a_b",
    "a: CLIENT GETNAME",
    "a: CLIENT SETNAME ''",
    "a: CLIENT GETNAME",
    "a: CLIENT NO-EVICT on",
    "a: CLIENT NO-EVICT x",
    "a: CLIENT UNBLOCK 999999",
    "a: CLIENT UNBLOCK x",
    "a: CLIENT UNBLOCK 1 x",
    "a: CLIENT KILL 1.2.3.4:5",
    "a: CLIENT KILL ID x",
    "a: CLIENT KILL ID 0",
    "a: CLIENT KILL ID 999999",
    "a: CLIENT KILL TYPE x",
    "a: CLIENT KILL USER nothing",
    "a: CLIENT KILL NOTHING x",
    "a: CLIENT KILL ID 1 ADDR",
    "a: CLIENT LIST TYPE x",
    "a: CLIENT LIST ID x",
    "a: CLIENT LIST ID 999999",
    "a: CLIENT LIST NOTHING",
    "a: CLIENT GETREDIR",
    "a: CLIENT TRACKINGINFO",
    "a: CLIENT HELP x",
    "a: ROLE",
    "a: ROLE x",
    "a: WAIT",
    "a: WAIT 0 0",
    "a: WAIT -1 10",
    "a: WAIT x 0",
    "a: WAIT 1 x",
    "a: WAIT 1 -1",
    "a: MULTI",
    "a: WAIT 1 0",
    "a: EXEC",
    "a: MEMORY PURGE",
    "a: MEMORY MALLOC-STATS x",
    "a: CLIENT PAUSE",
    "a: CLIENT PAUSE x",
    "a: CLIENT PAUSE -1",
    "a: CLIENT PAUSE 1 x",
    "a: CLIENT PAUSE 0 WRITE",
    "a: CLIENT UNPAUSE",
    "a: CLIENT UNPAUSE x",
    "a: SLOWLOG",
    "a: SLOWLOG NOTHING",
    "a: SLOWLOG GET x",
    "a: SLOWLOG GET -2",
    "a: SLOWLOG GET 1 2",
    "a: SLOWLOG GET 0",
    // Else the next one is logged where it takes long.
    "a: CONFIG SET slowlog-log-slower-than -1",
    "a: SLOWLOG RESET",
    "a: SLOWLOG LEN x",
    "a: SLOWLOG LEN",
    "a: CONFIG SET slowlog-log-slower-than 10000",
    "a: LATENCY",
    "a: LATENCY NOTHING",
    "a: LATENCY LATEST",
    "a: LATENCY HISTORY",
    "a: LATENCY HISTORY nothing",
    "a: LATENCY GRAPH nothing",
    "a: LATENCY RESET nothing",
    "a: LATENCY HISTOGRAM nothing",
    "a: CONFIG GET slowlog-*",
    "a: CONFIG SET slowlog-max-len -1",
    "a: CONFIG SET slowlog-log-slower-than -2",
    "a: CONFIG SET latency-tracking-info-percentiles x",
    "a: CONFIG SET latency-tracking-info-percentiles 101",
    "a: CONFIG GET latency-*",
    "a: MULTI",
    "a: MONITOR",
    "a: EXEC",
    "a: MONITOR x",
    "a: CLIENT REPLY x",
    "a: CONFIG SET hash-max-ziplist-entries 10",
    "a: CONFIG GET hash-max-*-entries",
    "a: CONFIG SET hash-max-listpack-entries 512",
    "a: CONFIG SET databases",
    "a: CONFIG SET nothing 1",
    "a: CONFIG SET databases 4",
    "a: CONFIG SET hash-max-listpack-value 64 hash-max-listpack-value 64",
    "a: CONFIG GET requirepass databases",
    "a: CONFIG REWRITE",
    "a: CONFIG RESETSTAT x",
    "a: COMMAND GETKEYS MSET a 1 b 2",
    "a: COMMAND GETKEYS GET",
    "a: COMMAND GETKEYS PING x",
    "a: COMMAND GETKEYS NOTHING x",
    "a: COMMAND GETKEYS LCS a b IDX",
    "a: COMMAND GETKEYS EXEC x",
    "a: COMMAND GETKEYS DISCARD x",
    "a: COMMAND GETKEYS OBJECT nosuch k",
    "a: COMMAND GETKEYS OBJECT ENCODING",
    "a: COMMAND INFO nothing",
    "a: COMMAND COUNT x",
    "a: COMMAND LIST FILTERBY x",
    "a: COMMAND LIST FILTERBY MODULE m",
    "a: COMMAND LIST FILTERBY PATTERN getr*",
    "a: COMMAND NOTHING",
    "a: FUNCTION FLUSH",
    "a: FUNCTION FLUSH SYNC",
    "a: FUNCTION FLUSH x",
    "a: FUNCTION FLUSH x y",
    "a: DEBUG SLEEP 0",
    "a: OBJECT ENCODING none",
    "a: SET n 12345678901234567890",
    "a: OBJECT ENCODING n",
    "a: SETRANGE r 2 x",
    "a: OBJECT ENCODING r",
    "a: GET r",
    "a: SET i 5",
    "a: APPEND i 6",
    "a: OBJECT ENCODING i",
    "a: INCR i",
    "a: OBJECT ENCODING i",
    "a: INCRBYFLOAT i 1.5",
    "a: OBJECT ENCODING i",
    "a: COPY i j",
    "a: OBJECT ENCODING j",
    "a: SETRANGE big 536870912 x",
    "a: TIME x",
    "a: QUIT",
];

/// Requests that are malformed: the last reply is the error, and then the connection is closed.
const MALFORMED: &[&[u8]] = &[
    b"*x\r\n",
    b"*3000000000\r\n",
    b"*1\r\n$x\r\n",
    b"*1\r\n$-1\r\n",
    b"*1\r\n$536870913\r\n",
    b"*1\r\nPING\r\n",
    b"SET a 'b\r\n",
    b"PING\r\n\r\nECHO \"a\\x41\\n\" \r\nECHO 'a' 'b\r\n",
    b"*0\r\n*-1\r\nPING\n*1\r\n!\r\n",
    b"*1\r\n\r\n\r\n",
    b"*01\r\n$4\r\nPING\r\n",
    b"*2\r\n$4\r\nECHO\r\n$+1\r\na\r\n",
    b"ECHO \"a\"b\r\n",
];

pub fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ').map(|word| if word == "''" { Vec::new() } else { word.as_bytes().to_vec() }).collect()
}

pub fn check(server: &Server, script: &[&str]) {
    let rt = Runtime::builder().workers(2).build().expect("a runtime");
    let engine = Engine::builder().shards(4).build(&rt);
    let mut setup = server.connect();
    setup.send(&encode(&words("FLUSHALL")));
    setup.receive();
    let mut sessions = std::collections::BTreeMap::new();
    let mut differences = Vec::new();
    for line in script {
        let (name, command) = line.split_once(": ").expect("a session and a command");
        let (own, theirs) = sessions.entry(name).or_insert_with(|| (engine.client(), server.connect()));
        let args = words(command);
        theirs.send(&encode(&args));
        let (expected, reply) = (theirs.receive(), run(own, &encode(&args)));
        if !agree(&args, &reply, &expected) {
            differences.push(format!("{line}\n  Redis: {}\n  store: {}", show(&expected), show(&reply)));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn written_scripts_have_the_replies_of_redis() {
    let Some(server) = Server::start() else { return };
    for script in [AUTHENTICATION, TRANSACTIONS, SERVER] {
        check(&server, script);
    }
}

#[test]
fn malformed_requests_have_the_errors_of_redis() {
    let Some(server) = Server::start() else { return };
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    let engine = Engine::builder().shards(1).build(&rt);
    for input in MALFORMED {
        let mut theirs: Connection = server.connect();
        theirs.send(input);
        let expected = theirs.receive_all();
        let mut parser = Parser::default();
        parser.input().extend_from_slice(input);
        let (requests, error) = parser.parse();
        let mut reply = Reply::default();
        reply.raw(&engine.client().run_all(requests).expect("a reply"));
        let error = error.unwrap_or_else(|| panic!("no error for {}", show(input)));
        reply.error(error.text());
        assert_eq!(show(reply.as_bytes()), show(&expected), "{}", show(input));
    }
}
