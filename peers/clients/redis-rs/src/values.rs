//! Commands on the kinds of values, by the methods of the client where it has one.
use std::collections::{HashMap, HashSet};

use redis::{Commands, Connection, Direction, ExistenceCheck, RedisResult, SetExpiry, SetOptions, cmd, geo};

use crate::{Checks, run, text};

pub fn check(c: &mut Checks, r: &mut Connection) {
    strings(c, r);
    bitmaps(c, r);
    hashes(c, r);
    lists(c, r);
    sets(c, r);
    sorted_sets(c, r);
    places_and_sketches(c, r);
    keyspace(c, r);
    bytes(c, r);
    iterators(c, r);
}

fn some(word: &str) -> Option<String> {
    Some(word.to_string())
}

fn strings(c: &mut Checks, r: &mut Connection) {
    c.answer("SET", r.set("s", "value"), true);
    c.answer("GET", r.get("s"), some("value"));
    c.answer("GET of no key", r.get("none"), None::<String>);
    let absent = SetOptions::default().conditional_set(ExistenceCheck::NX);
    c.answer("SET NX", r.set_options("s", "other", absent), None::<String>);
    let replace = SetOptions::default().get(true).with_expiration(SetExpiry::EX(100));
    c.answer("SET GET EX", r.set_options("s", "second", replace), some("value"));
    c.answer("TTL of it", r.ttl("s").map(|seconds: i64| (99..=100).contains(&seconds)), true);
    c.answer("APPEND", r.append("s", "!"), 7);
    c.answer("STRLEN", r.strlen("s"), 7);
    c.answer("GETRANGE", r.getrange("s", 0, 2), "sec".to_string());
    c.answer("SETRANGE", r.setrange("s", 6, "?"), 7);
    c.answer("GETSET", r.getset("s", "third"), some("second?"));
    c.answer("GETDEL", r.get_del("s"), some("third"));
    c.answer("MSET", r.mset(&[("a", 1), ("b", 2)]), true);
    c.answer("MGET", r.mget(&["a", "none", "b"]), vec![Some(1), None, Some(2)]);
    c.answer("MSETNX", r.mset_nx(&[("b", 3), ("c", 3)]), false);
    c.answer("SETNX", r.set_nx("c", 3), true);
    c.answer("INCR", r.incr("n", 42), 42);
    c.answer("DECR", r.decr("n", 41), 1);
    c.answer("INCRBYFLOAT", r.incr("n", 0.5), 1.5);
    c.error("INCR of no integer", run::<i64>(r, "INCR n"), "ERR", "not an integer");
    c.answer("LCS", r.mset(&[("x", "ohmytext"), ("y", "mynewtext")]), true);
    c.answer("LCS", run(r, "LCS x y"), "mytext".to_string());
    c.answer("LCS LEN", run(r, "LCS x y LEN"), 6);
}

fn bitmaps(c: &mut Checks, r: &mut Connection) {
    c.answer("SETBIT", r.setbit("bits", 7, true), false);
    c.answer("GETBIT", r.getbit("bits", 7), true);
    c.answer("BITCOUNT", r.bitcount("bits"), 1);
    c.answer("BITPOS", run(r, "BITPOS bits 1"), 7);
    c.answer("SET", r.set("mask", b"\x0f"), true);
    c.answer("BITOP AND", r.bit_and("both", &["bits", "mask"]), 1);
    c.answer("BITOP NOT", r.bit_not("not", "mask"), 1);
    c.answer("GET of it", r.get("not"), vec![0xf0_u8]);
    c.answer("BITCOUNT BIT", run(r, "BITCOUNT mask 4 5 BIT"), 2);
    let field = run(r, "BITFIELD field OVERFLOW SAT INCRBY u8 0 250 INCRBY u8 0 10 GET u4 0");
    c.answer("BITFIELD", field, vec![250, 255, 15]);
}

fn hashes(c: &mut Checks, r: &mut Connection) {
    c.answer("HSET", r.hset("h", "a", 1), 1);
    c.answer("HMSET", r.hset_multiple("h", &[("b", "two"), ("c", "three")]), true);
    c.answer("HGET", r.hget("h", "b"), some("two"));
    let all: HashMap<String, String> =
        [("a", "1"), ("b", "two"), ("c", "three")].map(|(f, v)| (f.into(), v.into())).into();
    c.answer("HGETALL", r.hgetall("h"), all);
    c.answer("HMGET", r.hmget("h", &["a", "none"]), vec![Some(1), None]);
    c.answer("HEXISTS", r.hexists("h", "none"), false);
    c.answer("HSETNX", r.hset_nx("h", "a", 5), false);
    c.answer("HINCRBY", r.hincr("h", "a", 4), 5);
    c.answer("HINCRBYFLOAT", r.hincr("h", "a", 0.25), 5.25);
    c.answer("HKEYS", r.hkeys("h"), text("a b c"));
    c.answer("HVALS", r.hvals("h"), text("5.25 two three"));
    c.answer("HLEN", r.hlen("h"), 3);
    c.answer("HDEL", r.hdel("h", &["a", "none"]), 1);
    c.answer("HRANDFIELD", run::<HashSet<String>>(r, "HRANDFIELD h 9"), text("b c").into_iter().collect());
}

fn lists(c: &mut Checks, r: &mut Connection) {
    c.answer("RPUSH", r.rpush("l", &["a", "b", "c", "d", "e"]), 5);
    c.answer("LPUSH", r.lpush("l", "z"), 6);
    c.answer("LRANGE", r.lrange("l", 0, -1), text("z a b c d e"));
    c.answer("LINDEX", r.lindex("l", -1), some("e"));
    c.answer("LSET", r.lset("l", 0, "y"), true);
    c.answer("LINSERT", r.linsert_before("l", "c", "x"), 7);
    c.answer("LPOS", r.lpos("l", "x", Default::default()), 3);
    c.answer("LREM", r.lrem("l", 1, "x"), 1);
    c.answer("LPOP", r.lpop("l", std::num::NonZeroUsize::new(2)), text("y a"));
    c.answer("RPOP", r.rpop("l", None), some("e"));
    c.answer("LTRIM", r.ltrim("l", 1, -1), true);
    c.answer("LLEN", r.llen("l"), 2);
    c.answer("LMOVE", r.lmove("l", "m", Direction::Left, Direction::Right), some("c"));
    c.answer("RPOPLPUSH", r.rpoplpush("l", "m"), some("d"));
    c.answer("LMPOP", r.lmpop(2, &["none", "m"], Direction::Left, 5), Some(("m".to_string(), text("d c"))));
    c.answer("LPOP of no key", r.lpop("m", None), None::<String>);
}

fn sets(c: &mut Checks, r: &mut Connection) {
    let set = |words| text(words).into_iter().collect::<HashSet<_>>();
    c.answer("SADD", r.sadd("s1", &["a", "b", "c"]), 3);
    c.answer("SADD", r.sadd("s2", &["b", "c", "d"]), 3);
    c.answer("SMEMBERS", r.smembers("s1"), set("a b c"));
    c.answer("SISMEMBER", r.sismember("s1", "d"), false);
    c.answer("SMISMEMBER", r.smismember("s1", &["a", "d"]), vec![true, false]);
    c.answer("SINTER", r.sinter(&["s1", "s2"]), set("b c"));
    c.answer("SUNION", r.sunion(&["s1", "s2"]), set("a b c d"));
    c.answer("SDIFF", r.sdiff(&["s1", "s2"]), set("a"));
    c.answer("SINTERCARD", run(r, "SINTERCARD 2 s1 s2 LIMIT 1"), 1);
    c.answer("SUNIONSTORE", r.sunionstore("s3", &["s1", "s2"]), 4);
    c.answer("SMOVE", r.smove("s1", "s2", "a"), true);
    c.answer("SRANDMEMBER", r.srandmember_multiple("s1", 9), set("b c"));
    c.answer("SPOP", run(r, "SPOP s1 9"), set("b c"));
    c.answer("SREM", r.srem("s3", &["a", "none"]), 1);
    c.answer("SCARD", r.scard("s3"), 3);
}

fn sorted_sets(c: &mut Checks, r: &mut Connection) {
    c.answer("ZADD", r.zadd("z", "a", 1), 1);
    c.answer("ZADD", r.zadd_multiple("z", &[(2.0, "b"), (3.5, "c")]), 2);
    c.answer("ZADD GT CH", run(r, "ZADD z GT CH 0 a 5 b"), 1);
    c.answer("ZSCORE", r.zscore("z", "c"), Some(3.5));
    c.answer("ZSCORE of no member", r.zscore("z", "none"), None::<f64>);
    c.answer("ZMSCORE", run(r, "ZMSCORE z a none"), vec![Some(1.0), None]);
    let pairs = |pairs: &[(&str, f64)]| pairs.iter().map(|(m, s)| (m.to_string(), *s)).collect::<Vec<_>>();
    c.answer(
        "ZRANGE WITHSCORES",
        r.zrange_withscores("z", 0, -1),
        pairs(&[("a", 1.0), ("c", 3.5), ("b", 5.0)]),
    );
    c.answer("ZREVRANGE", r.zrevrange("z", 0, 0), text("b"));
    c.answer("ZRANGEBYSCORE", r.zrangebyscore("z", 1, 4), text("a c"));
    c.answer("ZRANGE REV", run(r, "ZRANGE z +inf (1 BYSCORE REV LIMIT 1 1"), text("c"));
    c.answer("ZRANK", r.zrank("z", "b"), Some(2));
    c.answer("ZREVRANK", r.zrevrank("z", "none"), None::<i64>);
    c.answer("ZCOUNT", r.zcount("z", 2, "+inf"), 2);
    c.answer("ZINCRBY", r.zincr("z", "a", 2), 3.0);
    c.answer("ZADD", r.zadd_multiple("w", &[(10, "a"), (20, "d")]), 2);
    c.answer("ZUNION", run(r, "ZUNION 2 z w AGGREGATE MAX"), text("c b a d"));
    c.answer("ZINTERSTORE", r.zinterstore_max("zi", &["z", "w"]), 1);
    c.answer("ZDIFF", run(r, "ZDIFF 2 z w"), text("c b"));
    c.answer("ZRANGESTORE", run(r, "ZRANGESTORE zr z 0 1"), 2);
    c.answer("ZPOPMIN", r.zpopmin("z", 1), pairs(&[("a", 3.0)]));
    c.answer("ZMPOP", r.zmpop_max(&["none", "z"], 1), Some(("z".to_string(), pairs(&[("b", 5.0)]))));
    c.answer("ZADD", r.zadd_multiple("lex", &[(0, "a"), (0, "b"), (0, "c"), (0, "d")]), 4);
    c.answer("ZRANGEBYLEX", r.zrangebylex("lex", "[b", "(d"), text("b c"));
    c.answer("ZLEXCOUNT", r.zlexcount("lex", "-", "+"), 4);
    c.answer("ZREMRANGEBYLEX", r.zrembylex("lex", "[d", "+"), 1);
    c.answer("ZREMRANGEBYRANK", r.zremrangebyrank("lex", 0, 0), 1);
    c.answer("ZREM", r.zrem("lex", &["b", "none"]), 1);
    c.answer("ZCARD", r.zcard("lex"), 1);
    c.answer("infinite score", r.zadd("lex", "end", "-inf"), 1);
    c.answer("infinite score", r.zscore("lex", "end"), Some(f64::NEG_INFINITY));
}

fn places_and_sketches(c: &mut Checks, r: &mut Connection) {
    let places = &[
        (geo::Coord::lon_lat(13.361389, 38.115556), "Palermo"),
        (geo::Coord::lon_lat(15.087269, 37.502669), "Catania"),
    ];
    c.answer("GEOADD", r.geo_add("g", places), 2);
    c.answer("GEODIST", r.geo_dist("g", "Palermo", "Catania", geo::Unit::Kilometers), Some(166.2742));
    c.answer("GEOHASH", r.geo_hash("g", "Palermo"), text("sqc8b49rny0"));
    let near = |coords: Vec<geo::Coord<f64>>| (coords[0].longitude - 13.361389).abs() < 1e-5;
    c.answer("GEOPOS", r.geo_pos("g", "Palermo").map(near), true);
    c.answer("GEOSEARCH", run(r, "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 100 km"), text("Catania"));
    c.answer("GEOSEARCHSTORE", run(r, "GEOSEARCHSTORE g2 g FROMLONLAT 15 37 BYBOX 400 400 km"), 2);
    c.answer("PFADD", r.pfadd("p", (0..100).collect::<Vec<_>>()), true);
    c.answer("PFCOUNT", r.pfcount("p"), 100);
    c.answer("PFADD", r.pfadd("q", "a"), true);
    c.answer("PFMERGE", r.pfmerge("pq", &["p", "q"]), true);
    c.answer("PFCOUNT of both", r.pfcount("pq"), 101);
    c.answer("RPUSH", r.rpush("sortme", &[3, 1, 2]), 3);
    c.answer("SORT", run(r, "SORT sortme"), vec![1, 2, 3]);
    c.answer("MSET", r.mset(&[("w_1", 9), ("w_2", 5), ("w_3", 1)]), true);
    c.answer("SORT BY GET", run(r, "SORT sortme BY w_* GET # LIMIT 0 2"), vec![3, 2]);
    c.answer("SORT STORE", run(r, "SORT sortme ALPHA DESC STORE sorted"), 3);
}

fn keyspace(c: &mut Checks, r: &mut Connection) {
    c.answer("SET", r.set("k", "value"), true);
    c.answer("EXISTS", r.exists("k"), true);
    c.answer("TYPE", r.key_type("k"), redis::ValueType::String);
    c.answer("EXPIRE", r.expire("k", 100), true);
    c.answer("PTTL", r.pttl("k").map(|left: i64| (99_000..=100_000).contains(&left)), true);
    c.answer("PERSIST", r.persist("k"), true);
    c.answer("TTL of no key", r.ttl("none"), -2);
    c.answer("EXPIREAT", r.expire_at("k", 4_102_444_800), true);
    c.answer("EXPIRETIME", r.expire_time("k"), 4_102_444_800_i64);
    c.answer("EXPIRE NX", run(r, "EXPIRE k 50 NX"), false);
    c.answer("GETEX", r.get_ex("k", redis::Expiry::PERSIST), some("value"));
    c.answer("COPY", r.copy("k", "k2", redis::CopyOptions::default()), true);
    c.answer("COPY to a key", r.copy("k", "k2", redis::CopyOptions::default()), false);
    c.answer("RENAME", r.rename("k2", "k3"), true);
    c.answer("RENAMENX", r.rename_nx("k3", "k"), false);
    c.error("RENAME of no key", r.rename::<_, _, ()>("none", "k"), "ERR", "no such key");
    c.answer("OBJECT ENCODING", r.object_encoding("k"), some("embstr"));
    c.answer("OBJECT ENCODING of a number", r.object_encoding("a"), some("int"));
    c.answer("UNLINK", r.unlink(&["k3", "none"]), 1);
    c.answer("DEL", r.del("k3"), 0);
    c.error("WRONGTYPE", r.lpush::<_, _, i64>("k", "x"), "WRONGTYPE", "wrong kind of value");
    c.error("WRONGTYPE of a hash", r.hget::<_, _, Option<i64>>("k", "x"), "WRONGTYPE", "wrong kind of value");
    c.error("an unknown command", run::<()>(r, "NONE x"), "ERR", "unknown command");
    c.error("a wrong number of arguments", run::<()>(r, "GET"), "ERR", "wrong number");
}

fn bytes(c: &mut Checks, r: &mut Connection) {
    let binary: Vec<u8> = (0..=255).collect();
    c.answer("SET of all bytes", r.set(&binary, &binary), true);
    c.answer("GET of all bytes", r.get(&binary), binary.clone());
    let large = binary.repeat(4096);
    c.answer("SET of 1 MiB", r.set("large", &large), true);
    c.equal("GET of 1 MiB", r.get("large") == Ok(large.clone()), true);
    let dump: RedisResult<Vec<u8>> = cmd("DUMP").arg("large").query(r);
    let dump = dump.unwrap_or_default();
    c.answer("RESTORE", cmd("RESTORE").arg("large2").arg(0).arg(&dump).query(r), true);
    c.equal("GET of what was restored", r.get("large2") == Ok(large), true);
    c.error(
        "RESTORE again",
        cmd("RESTORE").arg("large2").arg(0).arg(&dump).query::<()>(r),
        "BUSYKEY",
        "exists",
    );
    c.error("RESTORE of bad bytes", run::<()>(r, "RESTORE bad 0 badbadbadbadbad"), "ERR", "checksum");
}

fn iterators(c: &mut Checks, r: &mut Connection) {
    let pairs: Vec<_> = (0..1000).map(|i| (format!("scan:{i}"), i)).collect();
    c.answer("MSET of 1000", r.mset(&pairs), true);
    let found =
        r.scan_match::<_, String>("scan:*").and_then(|keys| keys.collect::<RedisResult<HashSet<_>>>());
    c.answer("SCAN", found.map(|keys| keys.len()), 1000);
    c.answer("HMSET of 1000", r.hset_multiple("many", &pairs), true);
    let found = r.hscan::<_, (String, i64)>("many").and_then(|f| f.collect::<RedisResult<HashMap<_, _>>>());
    c.answer("HSCAN", found, pairs.iter().cloned().collect());
    c.answer("SADD of 1000", r.sadd("manys", (0..1000).collect::<Vec<_>>()), 1000);
    let found = r.sscan::<_, i64>("manys").and_then(|f| f.collect::<RedisResult<HashSet<_>>>());
    c.answer("SSCAN", found, (0..1000).collect());
    let scored: Vec<_> = (0..1000).map(|i| (i, i)).collect();
    c.answer("ZADD of 1000", r.zadd_multiple("manyz", &scored), 1000);
    let found =
        r.zscan_match::<_, _, (i64, f64)>("manyz", "99*").and_then(|f| f.collect::<RedisResult<Vec<_>>>());
    c.answer("ZSCAN MATCH", found.map(|f| f.len()), 11);
    c.answer("OBJECT ENCODING of many", r.object_encoding("manyz"), some("skiplist"));
}
