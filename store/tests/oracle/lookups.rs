//! Lookups of keys, as statistics and keyspace events tell of them, beside Redis.

use super::redis::{Connection, Server};
use super::target::Target;
use xtasking::Runtime;
use xtasking_store::Engine;

/// Requests about keys that are missing, but for `l`, `k` and `g_1`. XREAD is not among them: Redis
/// looks its keys up twice.
const REQUESTS: &[&str] = &[
    "append m x",
    "bitcount m",
    "bitfield m get u8 0",
    "bitfield m set u8 0 1",
    "bitfield_ro m get u8 0",
    "bitop and d m n",
    "bitpos m 1",
    "blmove m n left right 0.01",
    "blmpop 0.01 1 m left",
    "blpop m 0.01",
    "brpoplpush m n 0.01",
    "bzmpop 0.01 1 m min",
    "bzpopmin m 0.01",
    "copy m n",
    "decr m",
    "del m",
    "dump m",
    "exists m",
    "exists m n",
    "expire m 10",
    "expiretime m",
    "geoadd m 1 1 a",
    "geodist m a b",
    "geohash m a",
    "geopos m a",
    "georadius m 1 1 1 m",
    "georadius m 1 1 1 m store d",
    "georadius_ro m 1 1 1 m",
    "georadiusbymember m a 1 m",
    "georadiusbymember_ro m a 1 m",
    "geosearch m frommember a byradius 1 m",
    "geosearchstore d m frommember a byradius 1 m",
    "get m",
    "getbit m 1",
    "getdel m",
    "getex m",
    "getex m ex 10",
    "getrange m 0 1",
    "getset m x",
    "hdel m f",
    "hexists m f",
    "hget m f",
    "hgetall m",
    "hincrby m f 1",
    "hkeys m",
    "hlen m",
    "hmget m f",
    "hrandfield m",
    "hscan m 0",
    "hset m f v",
    "hsetnx m f v",
    "hstrlen m f",
    "hvals m",
    "incr m",
    "incrbyfloat m 1",
    "lcs m n",
    "lindex m 0",
    "linsert m before a b",
    "llen m",
    "lmove m n left right",
    "lmpop 1 m left",
    "lpop m",
    "lpos m a",
    "lpush m a",
    "lpushx m a",
    "lrange m 0 1",
    "lrem m 0 a",
    "lset m 0 a",
    "ltrim m 0 1",
    "memory usage m",
    "mget m n",
    "move m 1",
    "mset m x",
    "msetnx m x",
    "object encoding m",
    "object freq m",
    "object idletime m",
    "object refcount m",
    "persist m",
    "pexpire m 10",
    "pexpiretime m",
    "pfadd m a",
    "pfcount m",
    "pfcount m n",
    "pfdebug encoding m",
    "pfmerge d m",
    "pttl m",
    "rename m n",
    "restore m 0 x",
    "rpop m",
    "rpoplpush m n",
    "sadd m a",
    "scard m",
    "sdiff m n",
    "sdiffstore d m n",
    "set m x",
    "set m x get",
    "set m x nx",
    "set m x xx",
    "set m x xx get",
    "setbit m 0 1",
    "setnx m x",
    "setrange m 1 x",
    "sinter m n",
    "sinter k m n",
    "sintercard 1 m",
    "sinterstore d m n",
    "sismember m a",
    "smembers m",
    "smismember m a",
    "smove m n a",
    "sort m",
    "sort m store d",
    "sort m by w_* get g_*",
    "sort l by w_* get g_*",
    "sort l by w_* get h_*->f get #",
    "sort_ro m",
    "spop m",
    "srandmember m",
    "srandmember m 2",
    "srem m a",
    "sscan m 0",
    "strlen m",
    "substr m 0 1",
    "sunion m n",
    "sunionstore d m n",
    "touch m",
    "ttl m",
    "type m",
    "unlink m",
    "xack m g 1",
    "xadd m * f v",
    "xadd m nomkstream * f v",
    "xautoclaim m g c 0 0",
    "xclaim m g c 0 1-1",
    "xdel m 1-1",
    "xgroup create m g $",
    "xgroup create m g $ mkstream",
    "xgroup setid m g $",
    "xinfo stream m",
    "xinfo groups m",
    "xlen m",
    "xpending m g",
    "xrange m - +",
    "xreadgroup group g c streams m >",
    "xrevrange m + -",
    "xsetid m 1-1",
    "xtrim m maxlen 1",
    "zadd m 1 a",
    "zcard m",
    "zcount m 0 1",
    "zdiff 2 m n",
    "zdiffstore d 2 m n",
    "zincrby m 1 a",
    "zinter 2 m n",
    "zintercard 2 m n",
    "zinterstore d 2 m n",
    "zlexcount m - +",
    "zmpop 1 m min",
    "zmscore m a",
    "zpopmin m",
    "zrandmember m",
    "zrange m 0 1",
    "zrangebylex m - +",
    "zrangebyscore m 0 1",
    "zrangestore d m 0 1",
    "zrank m a",
    "zrem m a",
    "zremrangebyrank m 0 1",
    "zremrangebyscore m 0 1",
    "zrevrange m 0 1",
    "zrevrank m a",
    "zscan m 0",
    "zscore m a",
    "zunion 2 m n",
    "zunionstore d 2 m n",
];

/// Returns the counts of hits and misses.
fn counts(info: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(info);
    let is_count = |line: &&str| line.starts_with("keyspace_hits") || line.starts_with("keyspace_misses");
    text.lines().filter(is_count).map(str::to_owned).collect()
}

/// Returns the names of events and their keys, without the other words of the messages.
fn events(messages: &[u8]) -> String {
    let text = String::from_utf8_lossy(messages);
    let words = text.split("\r\n").filter(|word| !word.starts_with(['*', '$', '>']));
    let told = words.filter(|word| !word.starts_with("pmessage") && *word != "__keyevent*");
    told.map(|word| word.trim_start_matches("__keyevent@0__:")).collect::<Vec<_>>().join(" ")
}

/// Receives messages up to one that is sent now.
fn receive(listener: &mut Connection, theirs: &mut Connection) -> Vec<u8> {
    theirs.line("PUBLISH __keyevent@0__:end x");
    let mut all = Vec::new();
    loop {
        let message = listener.receive();
        if message.ends_with(b":end\r\n$1\r\nx\r\n") {
            return all;
        }
        all.extend(message);
    }
}

#[test]
fn lookups_are_counted_and_told_as_in_redis() {
    let Some(server) = Server::start() else { return };
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    let engine = Engine::builder().shards(4).build(&rt);
    let (mut own, mut theirs) = (engine.client(), server.connect());
    let (mut own_listener, mut their_listener) = (engine.client(), server.connect());
    own_listener.line("PSUBSCRIBE __keyevent*");
    their_listener.line("PSUBSCRIBE __keyevent*");
    for line in ["CONFIG SET notify-keyspace-events EAm", "UNWATCH"] {
        assert_eq!(own.line(line), theirs.line(line));
    }
    let mut differences = Vec::new();
    for line in REQUESTS {
        for line in ["FLUSHALL", "SADD k a", "RPUSH l 1 2", "SET g_1 x", "CONFIG RESETSTAT"] {
            own.line(line);
            theirs.line(line);
        }
        own_listener.take_messages();
        receive(&mut their_listener, &mut theirs);
        // In a transaction nothing waits.
        let waits = line.starts_with('b') && !line.starts_with("bit");
        for line in if waits { vec!["MULTI", line, "EXEC"] } else { vec![*line] } {
            own.line(line);
            theirs.line(line);
        }
        let counted = [own.line("INFO stats"), theirs.line("INFO stats")].map(|info| counts(&info));
        let told = [own_listener.take_messages(), receive(&mut their_listener, &mut theirs)];
        let told = told.map(|messages| events(&messages));
        if counted[0] != counted[1] || told[0] != told[1] {
            differences.push(format!("{line}\n  store, Redis: {counted:?} {told:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
