//! Client-side caching beside Redis: replies, and the messages before and after them.

use super::fixed::words;
use super::redis::{Connection, Server};
use super::{encode, run, show};
use std::collections::BTreeMap;
use xtasking::Runtime;
use xtasking_store::Engine;

/// Lines of the form `session: command`, where `|` separates the commands of a pipeline. The
/// sessions a and r speak version 3 of the protocol.
const SCRIPT: &[&str] = &[
    "a: HELLO 3",
    "r: HELLO 3",
    "a: CLIENT CACHING YES",
    "a: CLIENT TRACKING",
    "a: CLIENT TRACKING x",
    "a: CLIENT TRACKING ON PREFIX a",
    "a: CLIENT TRACKING ON BCAST OPTIN",
    "a: CLIENT TRACKING ON OPTIN OPTOUT",
    "a: CLIENT TRACKING ON REDIRECT x",
    "a: CLIENT TRACKING ON REDIRECT 0",
    "a: CLIENT TRACKING ON REDIRECT 99999",
    "a: CLIENT TRACKING ON REDIRECT",
    "a: CLIENT TRACKING ON NOTHING",
    "a: CLIENT TRACKING ON BCAST PREFIX ab PREFIX a",
    "a: CLIENT GETREDIR",
    "a: CLIENT TRACKING ON",
    "a: CLIENT CACHING YES",
    "a: CLIENT CACHING x",
    "a: CLIENT GETREDIR",
    "a: CLIENT TRACKINGINFO",
    "a: CLIENT TRACKING ON BCAST",
    "b: MSET k 1 l 2 m 3",
    "a: MGET k l none",
    "a: SET k 2 | PING",
    "a: SET k 2 | GET k",
    "b: SET k 3",
    "a: GET k | PING",
    "b: SET none 1",
    "b: DEL l",
    "a: PING",
    "a: GET k | MULTI | SET k 4 | GET k | DEL k | EXEC | PING",
    "a: LPUSH list 1 2 3 | LRANGE list 0 -1 | LMOVE list other LEFT RIGHT | PING",
    "a: RENAME other list | GET nothing",
    "a: LRANGE list 0 -1 | STRLEN m | TTL m | TYPE m | OBJECT ENCODING m | EXISTS n o",
    "b: EXPIRE m 100",
    "a: PING",
    "a: GET m",
    "b: EXPIRE m -1",
    "b: SET n 1 | SADD list x | MSET o 1 n 2",
    "a: PING",
    "a: SUNION s t | SINTERCARD 2 s u | SORT list | LCS x y",
    "b: SADD s 1 2 | SMOVE s t 1 | SADD u 1 | RPUSH list 1 | MSET x 1 y 1",
    "a: PING",
    "a: PFCOUNT h | DUMP d | BITCOUNT e | GEOPOS g x | ZRANGE z 0 -1 | HGETALL i",
    "a: SCAN 0 COUNT 1000 TYPE none",
    "b: PFADD h 1 | SET d 1 | SETBIT e 1 1 | ZADD g 1 x | ZADD z 1 x | HSET i a b | HINCRBY i c 1",
    "a: PING",
    "a: GET e | CLIENT TRACKING ON NOLOOP | SET e 1 | PING",
    "b: SET e 2",
    "a: PING",
    "b: FLUSHDB",
    "a: PING",
    "a: FLUSHALL | PING",
    "a: MULTI | FLUSHALL | EXEC | PING",
    "a: CLIENT TRACKING ON OPTIN",
    "a: CLIENT TRACKING ON OPTOUT",
    "a: CLIENT TRACKINGINFO",
    "a: CLIENT CACHING NO",
    "a: CLIENT CACHING YES | CLIENT TRACKINGINFO | GET k | CLIENT TRACKINGINFO | GET l",
    "a: MULTI | CLIENT CACHING YES | GET m | GET n | EXEC | GET o",
    "b: MSET k 1 l 1 m 1 n 1 o 1",
    "a: PING",
    "a: CLIENT TRACKING ON",
    "a: CLIENT TRACKINGINFO",
    "a: CLIENT TRACKING OFF | CLIENT TRACKING ON OPTOUT NOLOOP",
    "a: GET k | CLIENT CACHING NO | GET l | GET m | CLIENT CACHING YES",
    "b: MSET k 2 l 2 m 2",
    "a: PING",
    "r: CLIENT TRACKING ON BCAST PREFIX u: PREFIX v",
    "r: CLIENT TRACKING ON",
    "r: CLIENT TRACKING ON BCAST PREFIX u PREFIX w",
    "r: CLIENT TRACKING ON BCAST PREFIX w PREFIX x NOLOOP",
    "r: CLIENT TRACKINGINFO",
    "b: MSET u:2 1 u:1 1 v 1 w 1 y 1",
    "r: PING",
    "b: MULTI | DEL u:1 y | SET u:2 2 | INCR u:2 | EXEC",
    "r: PING",
    "r: SET u:1 5",
    "r: PING",
    "b: FLUSHALL",
    "r: PING",
    "r: RESET",
    "r: CLIENT TRACKINGINFO",
    "r: HELLO 3 | CLIENT TRACKINGINFO",
];

/// What ends the replies of a line.
const END: &[u8] = b"$11\r\nend-of-line\r\n";

fn receive_line(theirs: &mut Connection) -> Vec<u8> {
    let mut received = Vec::new();
    while !received.ends_with(END) {
        received.extend(theirs.receive());
    }
    received
}

#[test]
fn client_side_caching_is_that_of_redis() {
    let Some(server) = Server::start() else { return };
    let rt = Runtime::builder().workers(2).build().expect("a runtime");
    let engine = Engine::builder().shards(4).build(&rt);
    let (mut sessions, mut differences) = (BTreeMap::new(), Vec::new());
    for line in SCRIPT {
        let (name, commands) = line.split_once(": ").expect("a session and commands");
        let (own, theirs) = sessions.entry(name).or_insert_with(|| (engine.client(), server.connect()));
        let mut requests: Vec<u8> =
            commands.split(" | ").flat_map(|command| encode(&words(command))).collect();
        requests.extend(encode(&words("ECHO end-of-line")));
        theirs.send(&requests);
        let (expected, reply) = (receive_line(theirs), run(own, &requests));
        // The number of the connection.
        if !commands.starts_with("HELLO") && reply != expected {
            differences.push(format!("{line}\n  Redis: {}\n  store: {}", show(&expected), show(&reply)));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
