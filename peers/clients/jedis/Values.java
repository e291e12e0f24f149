import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import redis.clients.jedis.GeoCoordinate;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.BitCountOption;
import redis.clients.jedis.args.BitOP;
import redis.clients.jedis.args.ExpiryOption;
import redis.clients.jedis.args.GeoUnit;
import redis.clients.jedis.args.ListDirection;
import redis.clients.jedis.args.ListPosition;
import redis.clients.jedis.args.SortedSetOption;
import redis.clients.jedis.params.GetExParams;
import redis.clients.jedis.params.LCSParams;
import redis.clients.jedis.params.RestoreParams;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.params.SortingParams;
import redis.clients.jedis.params.ZAddParams;
import redis.clients.jedis.params.ZParams;
import redis.clients.jedis.params.ZRangeParams;
import redis.clients.jedis.resps.ScanResult;
import redis.clients.jedis.resps.Tuple;
import redis.clients.jedis.util.KeyValue;

/** Commands on the kinds of values. */
final class Values {
    private Values() {}

    static void check(Jedis r) {
        strings(r);
        bitmaps(r);
        hashes(r);
        lists(r);
        sets(r);
        sortedSets(r);
        keyspace(r);
        bytes(r);
        geoAndSketches(r);
        iterators(r);
    }

    private static void strings(Jedis r) {
        Check.is("set", r.set("s", "value"), "OK");
        Check.is("get", r.get("s"), "value");
        Check.is("get of no key", r.get("none"), null);
        Check.is("set nx", r.set("s", "other", new SetParams().nx()), null);
        Check.is("set xx", r.set("none", "other", new SetParams().xx()), null);
        Check.is("set get ex", r.setGet("s", "second", new SetParams().ex(100)), "value");
        Check.is("append", r.append("s", "!"), 7L);
        Check.is("strlen", r.strlen("s"), 7L);
        Check.is("getrange", r.getrange("s", 0, 2), "sec");
        Check.is("setrange", r.setrange("s", 6, "?"), 7L);
        Check.is("set get", r.setGet("s", "third"), "second?");
        Check.is("getex", r.getEx("s", new GetExParams().persist()), "third");
        Check.is("getdel", r.getDel("s"), "third");
        Check.is("mset", r.mset("a", "1", "b", "2"), "OK");
        Check.is("mget", r.mget("a", "none", "b"), Arrays.asList("1", null, "2"));
        Check.is("msetnx", r.msetnx("b", "3", "c", "3"), 0L);
        Check.is("setnx", r.setnx("c", "3"), 1L);
        Check.is("incr", r.incr("n"), 1L);
        Check.is("incrby", r.incrBy("n", 41), 42L);
        Check.is("decr", r.decr("n"), 41L);
        Check.is("decrby", r.decrBy("n", 40), 1L);
        Check.is("incrbyfloat", r.incrByFloat("n", 0.5), 1.5);
        Check.fails("incr of no integer", () -> r.incr("n"), "ERR value is not an integer");
        r.mset("x", "ohmytext", "y", "mynewtext");
        Check.is("lcs", r.lcs("x", "y", new LCSParams()).getMatchString(), "mytext");
        Check.is("lcs len", r.lcs("x", "y", new LCSParams().len()).getLen(), 6L);
    }

    private static void bitmaps(Jedis r) {
        Check.is("setbit", r.setbit("bits", 7, true), false);
        Check.is("getbit", r.getbit("bits", 7), true);
        Check.is("bitcount", r.bitcount("bits"), 1L);
        Check.is("bitcount of bits", r.bitcount("bits", 4, 6, BitCountOption.BIT), 0L);
        Check.is("bitpos", r.bitpos("bits", true), 7L);
        Check.is("bitop not", r.bitop(BitOP.NOT, "not", "bits"), 1L);
        Check.is("bitop and", r.bitop(BitOP.AND, "both", "not", "bits"), 1L);
        List<Long> fields = r.bitfield("field", "OVERFLOW", "SAT", "INCRBY", "u8", "0", "250", "INCRBY", "u8", "0", "10");
        Check.is("bitfield", fields, List.of(250L, 255L));
    }

    private static void hashes(Jedis r) {
        Check.is("hset", r.hset("h", Map.of("a", "1", "b", "two")), 2L);
        Check.is("hget", r.hget("h", "b"), "two");
        Check.is("hgetall", r.hgetAll("h"), Map.of("a", "1", "b", "two"));
        Check.is("hmget", r.hmget("h", "a", "none"), Arrays.asList("1", null));
        Check.is("hexists", r.hexists("h", "none"), false);
        Check.is("hsetnx", r.hsetnx("h", "a", "5"), 0L);
        Check.is("hincrby", r.hincrBy("h", "a", 4), 5L);
        Check.is("hincrbyfloat", r.hincrByFloat("h", "a", 0.25), 5.25);
        Check.same("hkeys", r.hkeys("h"), "a b");
        Check.same("hvals", r.hvals("h"), "5.25 two");
        Check.is("hlen", r.hlen("h"), 2L);
        Check.is("hstrlen", r.hstrlen("h", "b"), 3L);
        Check.same("hrandfield", r.hrandfield("h", 9), "a b");
        Check.is("hrandfield with values", r.hrandfieldWithValues("h", 9).size(), 2);
        Check.is("hdel", r.hdel("h", "a", "none"), 1L);
    }

    private static void lists(Jedis r) {
        Check.is("rpush", r.rpush("l", "a", "b", "c", "d", "e"), 5L);
        Check.is("lpush", r.lpush("l", "z"), 6L);
        Check.is("lrange", r.lrange("l", 0, -1), List.of("z", "a", "b", "c", "d", "e"));
        Check.is("lindex", r.lindex("l", -1), "e");
        Check.is("lset", r.lset("l", 0, "y"), "OK");
        Check.is("linsert", r.linsert("l", ListPosition.BEFORE, "c", "x"), 7L);
        Check.is("lpos", r.lpos("l", "x"), 3L);
        Check.is("lrem", r.lrem("l", 1, "x"), 1L);
        Check.is("lpop with count", r.lpop("l", 2), List.of("y", "a"));
        Check.is("rpop", r.rpop("l"), "e");
        Check.is("ltrim", r.ltrim("l", 1, -1), "OK");
        Check.is("llen", r.llen("l"), 2L);
        Check.is("lmove", r.lmove("l", "m", ListDirection.LEFT, ListDirection.RIGHT), "c");
        Check.is("rpoplpush", r.rpoplpush("l", "m"), "d");
        Check.is("lpushx of no key", r.lpushx("none", "a"), 0L);
        Check.is("lmpop", r.lmpop(ListDirection.LEFT, 5, "none", "m"), KeyValue.of("m", List.of("d", "c")));
        Check.is("lpop of no key", r.lpop("m"), null);
    }

    private static void sets(Jedis r) {
        Check.is("sadd", r.sadd("s1", "a", "b", "c"), 3L);
        Check.is("sadd", r.sadd("s2", "b", "c", "d"), 3L);
        Check.is("smembers", r.smembers("s1"), Set.of("a", "b", "c"));
        Check.is("sismember", r.sismember("s1", "d"), false);
        Check.is("smismember", r.smismember("s1", "a", "d"), List.of(true, false));
        Check.is("sinter", r.sinter("s1", "s2"), Set.of("b", "c"));
        Check.is("sunion", r.sunion("s1", "s2"), Set.of("a", "b", "c", "d"));
        Check.is("sdiff", r.sdiff("s1", "s2"), Set.of("a"));
        Check.is("sintercard", r.sintercard(1, "s1", "s2"), 1L);
        Check.is("sunionstore", r.sunionstore("s3", "s1", "s2"), 4L);
        Check.is("smove", r.smove("s1", "s2", "a"), 1L);
        Check.same("srandmember", r.srandmember("s1", 9), "b c");
        Check.is("spop", r.spop("s1", 9), Set.of("b", "c"));
        Check.is("srem", r.srem("s3", "a", "none"), 1L);
        Check.is("scard", r.scard("s3"), 3L);
    }

    private static void sortedSets(Jedis r) {
        Check.is("zadd", r.zadd("z", Map.of("a", 1.0, "b", 2.0, "c", 3.5)), 3L);
        Check.is("zadd gt ch", r.zadd("z", 5, "b", new ZAddParams().gt().ch()), 1L);
        Check.is("zadd incr", r.zaddIncr("z", 1, "b", new ZAddParams()), 6.0);
        Check.is("zscore", r.zscore("z", "c"), 3.5);
        Check.is("zscore of no member", r.zscore("z", "none"), null);
        Check.is("zmscore", r.zmscore("z", "a", "none"), Arrays.asList(1.0, null));
        Check.is("zrange with scores", r.zrangeWithScores("z", 0, -1),
                List.of(new Tuple("a", 1.0), new Tuple("c", 3.5), new Tuple("b", 6.0)));
        Check.is("zrevrange", r.zrevrange("z", 0, 0), List.of("b"));
        Check.is("zrangebyscore", r.zrangeByScore("z", 1, 4), List.of("a", "c"));
        ZRangeParams reversed = ZRangeParams.zrangeByScoreParams(9, 1).rev().limit(1, 1);
        Check.is("zrange by score", r.zrange("z", reversed), List.of("c"));
        Check.is("zrank", r.zrank("z", "b"), 2L);
        Check.is("zrevrank of no member", r.zrevrank("z", "none"), null);
        Check.is("zcount", r.zcount("z", "2", "+inf"), 2L);
        Check.is("zincrby", r.zincrby("z", 2, "a"), 3.0);
        Check.is("zadd", r.zadd("w", Map.of("a", 10.0, "d", 20.0)), 2L);
        ZParams most = new ZParams().aggregate(ZParams.Aggregate.MAX);
        Check.is("zunion", r.zunion(most, "z", "w"), List.of("c", "b", "a", "d"));
        Check.is("zinter", r.zinterWithScores(new ZParams(), "z", "w"), List.of(new Tuple("a", 13.0)));
        Check.is("zinterstore", r.zinterstore("zi", most, "z", "w"), 1L);
        Check.is("zdiff", r.zdiff("z", "w"), List.of("c", "b"));
        Check.is("zpopmin", r.zpopmin("z"), new Tuple("a", 3.0));
        Check.is("zmpop", r.zmpop(SortedSetOption.MAX, "none", "z"), KeyValue.of("z", List.of(new Tuple("b", 6.0))));
        Check.is("zadd", r.zadd("lex", Map.of("a", 0.0, "b", 0.0, "c", 0.0, "d", 0.0)), 4L);
        Check.is("zrangebylex", r.zrangeByLex("lex", "[b", "(d"), List.of("b", "c"));
        Check.is("zlexcount", r.zlexcount("lex", "-", "+"), 4L);
        Check.is("zremrangebylex", r.zremrangeByLex("lex", "[d", "+"), 1L);
        Check.is("zremrangebyrank", r.zremrangeByRank("lex", 0, 0), 1L);
        Check.is("zrem", r.zrem("lex", "b", "none"), 1L);
        Check.is("zcard", r.zcard("lex"), 1L);
        Check.is("infinite score", r.zadd("lex", Double.NEGATIVE_INFINITY, "end"), 1L);
        Check.is("infinite score", r.zscore("lex", "end"), Double.NEGATIVE_INFINITY);
    }

    private static void keyspace(Jedis r) {
        Check.is("set", r.set("k", "value"), "OK");
        Check.is("exists", r.exists("k", "k", "none"), 2L);
        Check.is("type", r.type("k"), "string");
        Check.is("expire", r.expire("k", 100), 1L);
        Check.is("pttl", r.pttl("k") > 99_000 && r.pttl("k") <= 100_000, true);
        Check.is("expire nx", r.expire("k", 50, ExpiryOption.NX), 0L);
        Check.is("persist", r.persist("k"), 1L);
        Check.is("ttl of no key", r.ttl("none"), -2L);
        Check.is("expireat", r.expireAt("k", 4102444800L), 1L);
        Check.is("expiretime", r.expireTime("k"), 4102444800L);
        Check.is("copy", r.copy("k", "k2", false), true);
        Check.is("copy to a key", r.copy("k", "k2", false), false);
        Check.is("rename", r.rename("k2", "k3"), "OK");
        Check.is("renamenx", r.renamenx("k3", "k"), 0L);
        Check.fails("rename of no key", () -> r.rename("none", "k"), "no such key");
        Check.is("object encoding", r.objectEncoding("k"), "embstr");
        Check.is("object encoding of a number", r.objectEncoding("a"), "int");
        Check.is("touch", r.touch("k", "none"), 1L);
        Check.is("unlink", r.unlink("k3", "none"), 1L);
        Check.fails("wrong type", () -> r.lpush("k", "x"), "WRONGTYPE");
        Check.fails("wrong type of a hash", () -> r.hget("k", "x"), "WRONGTYPE");
    }

    private static void bytes(Jedis r) {
        byte[] binary = new byte[256];
        byte[] large = new byte[1 << 20];
        for (int i = 0; i < large.length; i += 1) {
            large[i] = (byte) i;
            binary[i % 256] = (byte) i;
        }
        Check.is("a key of all bytes", r.set(binary, binary), "OK");
        Check.is("get of all bytes", r.get(binary), binary);
        byte[] key = "large".getBytes();
        byte[] copy = "large2".getBytes();
        Check.is("set of 1 MiB", r.set(key, large), "OK");
        Check.is("get of 1 MiB", Arrays.equals(r.get(key), large), true);
        byte[] dump = r.dump("large");
        Check.is("restore", r.restore("large2", 0, dump), "OK");
        Check.is("get of what was restored", Arrays.equals(r.get(copy), large), true);
        Check.fails("restore of a busy key", () -> r.restore("large2", 0, dump), "BUSYKEY");
        Check.is("restore replace", r.restore("large2", 0, dump, new RestoreParams().replace()), "OK");
        Check.fails("restore of bad bytes", () -> r.restore("bad", 0, binary), "checksum");
        Check.is("memory usage", r.memoryUsage("large") >= 1 << 20, true);
    }

    private static void geoAndSketches(Jedis r) {
        Check.is("geoadd", r.geoadd("g", Map.of("Palermo", new GeoCoordinate(13.361389, 38.115556),
                "Catania", new GeoCoordinate(15.087269, 37.502669))), 2L);
        Check.is("geodist", r.geodist("g", "Palermo", "Catania", GeoUnit.KM), 166.2742);
        Check.is("geohash", r.geohash("g", "Palermo"), List.of("sqc8b49rny0"));
        Check.is("geopos", Math.abs(r.geopos("g", "Palermo").get(0).getLongitude() - 13.361389) < 1e-5, true);
        GeoCoordinate near = new GeoCoordinate(15, 37);
        Check.is("geosearch", r.geosearch("g", near, 100, GeoUnit.KM).get(0).getMemberByString(), "Catania");
        Check.is("geosearchstore", r.geosearchStore("g2", "g", "Palermo", 400, 400, GeoUnit.KM), 2L);
        Check.is("pfadd", r.pfadd("p", "a", "b", "c"), 1L);
        Check.is("pfcount", r.pfcount("p"), 3L);
        Check.is("pfadd", r.pfadd("q", "c", "d"), 1L);
        Check.is("pfmerge", r.pfmerge("pq", "p", "q"), "OK");
        Check.is("pfcount of both", r.pfcount("pq"), 4L);
        Check.is("rpush", r.rpush("sortme", "3", "1", "2"), 3L);
        Check.is("sort", r.sort("sortme"), List.of("1", "2", "3"));
        Check.is("mset", r.mset("w_1", "9", "w_2", "5", "w_3", "1"), "OK");
        SortingParams by = new SortingParams().by("w_*").get("#").limit(0, 2);
        Check.is("sort by get", r.sort("sortme", by), List.of("3", "2"));
        Check.is("sort store", r.sort("sortme", new SortingParams().alpha().desc(), "sorted"), 3L);
    }

    private static void iterators(Jedis r) {
        for (int i = 0; i < 1000; i += 1) {
            r.set("scan:" + i, "v");
            r.hset("many", "f" + i, "v");
            r.zadd("manyz", i, "m" + i);
        }
        Set<String> keys = new HashSet<>();
        ScanResult<String> part;
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            part = r.scan(cursor, new ScanParams().match("scan:*").count(50));
            keys.addAll(part.getResult());
            cursor = part.getCursor();
        } while (!part.isCompleteIteration());
        Check.is("scan", keys.size(), 1000);
        Set<String> fields = new HashSet<>();
        ScanResult<Map.Entry<String, String>> found;
        cursor = ScanParams.SCAN_POINTER_START;
        do {
            found = r.hscan("many", cursor);
            found.getResult().forEach(field -> fields.add(field.getKey()));
            cursor = found.getCursor();
        } while (!found.isCompleteIteration());
        Check.is("hscan", fields.size(), 1000);
        Set<Tuple> members = new HashSet<>();
        ScanResult<Tuple> scored;
        cursor = ScanParams.SCAN_POINTER_START;
        do {
            scored = r.zscan("manyz", cursor, new ScanParams().match("m99*"));
            members.addAll(scored.getResult());
            cursor = scored.getCursor();
        } while (!scored.isCompleteIteration());
        Check.is("zscan", members.size(), 11);
        Check.is("object encoding of many", r.objectEncoding("manyz"), "skiplist");
    }
}
