"""Runs commands of redis-py against the server at a port and checks each answer: python3 check.py PORT.

The server is emptied first. The last line says how many checks passed."""

import sys
import threading
import time
import warnings

import redis
from redis.cache import CacheConfig

PORT = int(sys.argv[1])
# SETEX and others are old commands, but are still there.
warnings.simplefilter("ignore", DeprecationWarning)
passed = failed = 0


def check(name, got, expected):
    """Counts a check, and prints it if it fails."""
    global passed, failed
    if got == expected:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: expected {expected!r}, got {got!r}")


def check_error(name, kind, words, call):
    """Checks that a call raises an exception of exactly this class, with these words in its text."""
    try:
        check(name, call(), f"{kind.__name__}: {words}")
    except redis.RedisError as error:
        text = str(error)
        check(name, (type(error), words if words in text else text), (kind, words))


def connect(**options):
    return redis.Redis(port=PORT, **{"protocol": 2, "decode_responses": True, "socket_timeout": 20, **options})


def strings(r):
    check("set", r.set("s", "value"), True)
    check("get", r.get("s"), "value")
    check("get of no key", r.get("none"), None)
    check("set nx", r.set("s", "other", nx=True), None)
    check("set xx", r.set("none", "other", xx=True), None)
    check("set get", r.set("s", "second", get=True), "value")
    check("append", r.append("s", "!"), 7)
    check("strlen", r.strlen("s"), 7)
    check("getrange", r.getrange("s", 0, 2), "sec")
    check("setrange", r.setrange("s", 6, "?"), 7)
    check("getset", r.getset("s", "third"), "second?")
    check("getdel", r.getdel("s"), "third")
    check("mset", r.mset({"a": 1, "b": 2}), True)
    check("mget", r.mget("a", "none", "b"), ["1", None, "2"])
    check("msetnx", r.msetnx({"b": 3, "c": 3}), False)
    check("setnx", r.setnx("c", "3"), True)
    check("lcs", (r.set("x", "ohmytext"), r.set("y", "mynewtext"), r.lcs("x", "y")), (True, True, "mytext"))
    check("lcs len", r.lcs("x", "y", len=True), 6)
    check("incr", r.incr("n"), 1)
    check("incrby", r.incrby("n", 41), 42)
    check("decr", r.decr("n"), 41)
    check("decrby", r.decrby("n", 40), 1)
    check("incrbyfloat", r.incrbyfloat("n", "0.5"), 1.5)
    check_error("incr of no integer", redis.ResponseError, "not an integer", lambda: r.incr("n"))
    check("substr", r.substr("x", 2, 3), "my")


def bitmaps(r):
    check("setbit", r.setbit("bits", 7, 1), 0)
    check("getbit", r.getbit("bits", 7), 1)
    check("bitcount", r.bitcount("bits"), 1)
    check("bitpos", r.bitpos("bits", 1), 7)
    check("bitpos of a clear bit", r.bitpos("bits", 0), 0)
    r.set("mask", b"\x0f")
    check("bitop and", r.bitop("AND", "both", "bits", "mask"), 1)
    check("bitcount of a range", r.bitcount("mask", 0, -1), 4)
    check("bitcount of bits", r.bitcount("mask", 4, 5, "BIT"), 2)
    field = r.bitfield("field", "SAT").incrby("u8", 0, 250).incrby("u8", 0, 10).get("u4", 0)
    check("bitfield", field.execute(), [250, 255, 15])


def hashes(r):
    check("hset", r.hset("h", mapping={"a": 1, "b": "two"}), 2)
    check("hget", r.hget("h", "b"), "two")
    check("hgetall", r.hgetall("h"), {"a": "1", "b": "two"})
    check("hmget", r.hmget("h", ["a", "none"]), ["1", None])
    check("hexists", (r.hexists("h", "a"), r.hexists("h", "none")), (True, False))
    check("hsetnx", r.hsetnx("h", "a", 5), 0)
    check("hincrby", r.hincrby("h", "a", 4), 5)
    check("hincrbyfloat", r.hincrbyfloat("h", "a", 0.25), 5.25)
    check("hkeys", sorted(r.hkeys("h")), ["a", "b"])
    check("hvals", sorted(r.hvals("h")), ["5.25", "two"])
    check("hlen", r.hlen("h"), 2)
    check("hstrlen", r.hstrlen("h", "b"), 3)
    check("hrandfield", r.hrandfield("h") in ("a", "b"), True)
    check("hrandfield with values", sorted(r.hrandfield("h", 5, True)), ["5.25", "a", "b", "two"])
    check("hdel", r.hdel("h", "a", "none"), 1)
    check("encoding of a hash", r.object("encoding", "h"), "listpack")


def lists(r):
    check("rpush", r.rpush("l", *"abcde"), 5)
    check("lpush", r.lpush("l", "z"), 6)
    check("lrange", r.lrange("l", 0, -1), list("zabcde"))
    check("lindex", r.lindex("l", -1), "e")
    check("lset", r.lset("l", 0, "y"), True)
    check("linsert", r.linsert("l", "BEFORE", "c", "x"), 7)
    check("lpos", r.lpos("l", "x"), 3)
    check("lpos with count", r.lpos("l", "x", count=0), [3])
    check("lrem", r.lrem("l", 1, "x"), 1)
    check("lpop with count", r.lpop("l", 2), ["y", "a"])
    check("rpop", r.rpop("l"), "e")
    check("ltrim", (r.ltrim("l", 1, -1), r.llen("l")), (True, 2))
    check("lmove", r.lmove("l", "m", "LEFT", "RIGHT"), "c")
    check("rpoplpush", r.rpoplpush("l", "m"), "d")
    check("lpushx of no key", r.lpushx("none", "a"), 0)
    check("lmpop", r.lmpop(2, "none", "m", direction="LEFT", count=5), ["m", ["d", "c"]])
    check("lpop of no key", r.lpop("m"), None)


def sets(r):
    check("sadd", r.sadd("s1", "a", "b", "c"), 3)
    r.sadd("s2", "b", "c", "d")
    check("smembers", r.smembers("s1"), {"a", "b", "c"})
    check("sismember", (r.sismember("s1", "a"), r.sismember("s1", "d")), (1, 0))
    check("smismember", r.smismember("s1", ["a", "d"]), [1, 0])
    check("sinter", set(r.sinter("s1", "s2")), {"b", "c"})
    check("sunion", set(r.sunion("s1", "s2")), set("abcd"))
    check("sdiff", set(r.sdiff("s1", "s2")), {"a"})
    check("sintercard", r.sintercard(2, ["s1", "s2"], limit=1), 1)
    check("sunionstore", r.sunionstore("s3", "s1", "s2"), 4)
    check("sinterstore", r.sinterstore("s4", "s1", "s2"), 2)
    check("smove", r.smove("s1", "s2", "a"), True)
    check("srandmember", set(r.srandmember("s4", 5)), {"b", "c"})
    check("spop", set(r.spop("s4", 2)), {"b", "c"})
    check("srem", r.srem("s3", "a", "none"), 1)
    check("scard", r.scard("s3"), 3)
    check("encoding of integers", (r.sadd("s5", 1, 2), r.object("encoding", "s5")), (2, "intset"))


def sorted_sets(r):
    check("zadd", r.zadd("z", {"a": 1, "b": 2, "c": 3.5}), 3)
    check("zadd gt ch", r.zadd("z", {"a": 0, "b": 5}, gt=True, ch=True), 1)
    check("zadd incr", r.zadd("z", {"b": 1}, incr=True), 6.0)
    check("zscore", (r.zscore("z", "c"), r.zscore("z", "none")), (3.5, None))
    check("zmscore", r.zmscore("z", ["a", "none"]), [1.0, None])
    check("zrange with scores", r.zrange("z", 0, -1, withscores=True), [("a", 1.0), ("c", 3.5), ("b", 6.0)])
    check("zrange by score", r.zrange("z", "(1", "+inf", byscore=True, offset=0, num=1), ["c"])
    check("zrevrange", r.zrevrange("z", 0, 0), ["b"])
    check("zrangebyscore", r.zrangebyscore("z", 1, 4), ["a", "c"])
    check("zrevrangebyscore", r.zrevrangebyscore("z", "+inf", 3), ["b", "c"])
    check("zrank", (r.zrank("z", "b"), r.zrevrank("z", "b"), r.zrank("z", "none")), (2, 0, None))
    check("zcount", r.zcount("z", 2, "+inf"), 2)
    check("zincrby", r.zincrby("z", 2, "a"), 3.0)
    check("zcard", r.zcard("z"), 3)
    r.zadd("w", {"a": 10, "d": 20})
    check("zunion", r.zunion(["z", "w"], aggregate="MAX", withscores=True)[-1], ("d", 20.0))
    check("zinter", r.zinter(["z", "w"]), ["a"])
    check("zdiff", r.zdiff(["z", "w"]), ["c", "b"])
    check("zinterstore", r.zinterstore("zi", {"z": 2, "w": 1}), 1)
    check("score of zinterstore", r.zscore("zi", "a"), 16.0)
    check("zrangestore", r.zrangestore("zr", "z", 0, 1), 2)
    check("zpopmin", r.zpopmin("z"), [("a", 3.0)])
    check("zpopmax", r.zpopmax("z", 5), [("b", 6.0), ("c", 3.5)])
    r.zadd("lex", {letter: 0 for letter in "abcdef"})
    check("zrangebylex", r.zrangebylex("lex", "[b", "(d"), ["b", "c"])
    check("zlexcount", r.zlexcount("lex", "-", "+"), 6)
    check("zremrangebylex", r.zremrangebylex("lex", "[e", "+"), 2)
    check("zremrangebyrank", r.zremrangebyrank("lex", 0, 0), 1)
    check("zremrangebyscore", r.zremrangebyscore("lex", "-inf", "(0"), 0)
    check("zrandmember", set(r.zrandmember("lex", 5)), set("bcd"))
    check("zmpop", r.zmpop(1, ["lex"], min=True), ["lex", [["b", "0"]]])
    check("infinite score", (r.zadd("inf", {"a": "inf"}), r.zscore("inf", "a")), (1, float("inf")))


def keyspace(r):
    r.set("k", "value")
    check("exists", r.exists("k", "k", "none"), 2)
    check("type", (r.type("k"), r.type("none")), ("string", "none"))
    check("expire", (r.expire("k", 100), 99 <= r.ttl("k") <= 100), (True, True))
    check("expire nx", r.expire("k", 50, nx=True), False)
    check("pttl", 99_000 < r.pttl("k") <= 100_000, True)
    check("persist", (r.persist("k"), r.ttl("k")), (True, -1))
    check("ttl of no key", r.ttl("none"), -2)
    check("expireat", (r.expireat("k", 4102444800), r.expiretime("k")), (True, 4102444800))
    check("getex", (r.getex("k", persist=True), r.ttl("k")), ("value", -1))
    check("setex", (r.setex("e", 60, "v"), 0 < r.ttl("e") <= 60), (True, True))
    check("psetex", r.psetex("gone", 1, "v"), True)
    while r.exists("gone"):
        time.sleep(0.001)
    check("get of an expired key", r.get("gone"), None)
    check("a time in the past", (r.set("gone", "v"), r.expire("gone", -1), r.exists("gone")), (True, True, 0))
    check("copy", (r.copy("k", "k2"), r.copy("k", "k2"), r.copy("k", "k2", replace=True)), (True, False, True))
    check("rename", (r.rename("k2", "k3"), r.exists("k2")), (True, 0))
    check("renamenx", r.renamenx("k3", "k"), False)
    check_error("rename of no key", redis.ResponseError, "no such key", lambda: r.rename("none", "k"))
    raw = connect(decode_responses=False)
    dump = raw.dump("k")
    check("restore", (raw.restore("k4", 0, dump), raw.get("k4")), (b"OK", b"value"))
    check_error("restore of a busy key", redis.ResponseError, "BUSYKEY", lambda: raw.restore("k4", 0, dump))
    check("restore replace", raw.restore("k4", 5000, dump, replace=True), b"OK")
    check_error("restore of bad bytes", redis.ResponseError, "checksum", lambda: raw.restore("k5", 0, b"bad" * 9))
    check("touch", r.touch("k", "none"), 1)
    check("unlink", r.unlink("k4", "none"), 1)
    check("encodings", [r.object("encoding", key) for key in ("k", "a")], ["embstr", "int"])
    check("object idletime", 0 <= r.object("idletime", "k") < 1000, True)
    binary = bytes(range(256))
    check("a key of all bytes", (raw.set(binary, binary), raw.get(binary)), (True, binary))
    check("keys", raw.keys(b"\\x00*") == [] and binary in raw.keys(b"*"), True)
    large = bytes(range(256)) * 4096
    check("a value of 1 MiB", (raw.set("large", large), raw.get("large") == large), (True, True))
    check("strlen of 1 MiB", r.strlen("large"), 1 << 20)
    check("dump of 1 MiB", (raw.restore("large2", 0, raw.dump("large")), raw.get("large2") == large), (b"OK", True))
    check("empty key and value", (r.set("", ""), r.get("")), (True, ""))
    check("move", (r.move("e", 3), connect(db=3).get("e")), (True, "v"))
    check("randomkey", raw.randomkey() in raw.keys(b"*"), True)
    check("policy of eviction", r.config_get("maxmemory-policy"), {"maxmemory-policy": "noeviction"})


def iterators(r):
    for i in range(1000):
        r.set(f"scan:{i}", i)
    check("scan_iter", len(set(r.scan_iter("scan:*", count=50))), 1000)
    check("scan_iter of a type", list(r.scan_iter("scan:*", _type="list")), [])
    r.hset("many", mapping={f"f{i}": i for i in range(1000)})
    check("hscan_iter", dict(r.hscan_iter("many")) == {f"f{i}": str(i) for i in range(1000)}, True)
    r.sadd("manys", *range(1000))
    check("sscan_iter", len(set(r.sscan_iter("manys"))), 1000)
    r.zadd("manyz", {str(i): i for i in range(1000)})
    check("zscan_iter", dict(r.zscan_iter("manyz", "99*")), {str(i): float(i) for i in [99, *range(990, 1000)]})
    check("encoding of large values", [r.object("encoding", k) for k in ("many", "manys", "manyz")],
          ["hashtable", "hashtable", "skiplist"])


def geo_and_hyperloglog(r):
    check("geoadd", r.geoadd("g", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")), 2)
    check("geodist", r.geodist("g", "Palermo", "Catania", "km"), 166.2742)
    check("geohash", r.geohash("g", "Palermo"), ["sqc8b49rny0"])
    check("geopos", [round(c, 5) for c in r.geopos("g", "Palermo")[0]], [13.36139, 38.11556])
    check("geosearch", r.geosearch("g", longitude=15, latitude=37, radius=100, unit="km"), ["Catania"])
    check("geosearch of a box", r.geosearch("g", member="Palermo", width=400, height=400, unit="km", sort="ASC",
                                            withdist=True), [["Palermo", 0.0], ["Catania", 166.2742]])
    check("geosearchstore", r.geosearchstore("g2", "g", longitude=15, latitude=37, radius=200, unit="km"), 2)
    check("pfadd", r.pfadd("p", *range(100)), 1)
    check("pfcount", r.pfcount("p"), 100)
    check("pfmerge", (r.pfadd("q", "a", "b"), r.pfmerge("pq", "p", "q"), r.pfcount("pq")), (1, True, 102))
    check("sort", (r.rpush("sortme", 3, 1, 2), r.sort("sortme")), (3, ["1", "2", "3"]))
    check("sort alpha", r.sort("sortme", alpha=True, desc=True, start=0, num=2), ["3", "2"])
    r.mset({"weight_1": 9, "weight_2": 5, "weight_3": 1, "name_1": "one", "name_2": "two", "name_3": "three"})
    check("sort by and get", r.sort("sortme", by="weight_*", get="name_*"), ["three", "two", "one"])
    check("sort store", r.sort("sortme", store="sorted"), 3)


def pipelines_and_transactions(r):
    pipe = r.pipeline(transaction=False)
    for i in range(500):
        pipe.incr("pipelined")
    check("pipeline", pipe.execute(), list(range(1, 501)))
    answers = r.pipeline(transaction=False).set("t", "v").lpush("t", "x").get("t").execute(raise_on_error=False)
    check("error in a pipeline", (answers[0], type(answers[1]), answers[2]), (True, redis.ResponseError, "v"))
    check("transaction", r.pipeline().set("t", 1).incr("t").get("t").execute(), [True, 2, "2"])
    broken = r.pipeline().execute_command("INCR").set("t", 5)
    check_error("a transaction with an error", redis.ResponseError, "wrong number", broken.execute)
    check("nothing of it is done", r.get("t"), "2")
    with r.pipeline() as pipe:
        pipe.watch("t")
        r.set("t", 10)
        check_error("watched key changes", redis.WatchError, "Watched", pipe.multi() or pipe.incr("t").execute)
    with r.pipeline() as pipe:
        pipe.watch("t")
        value = int(pipe.get("t"))
        pipe.multi()
        check("watched key stays", pipe.set("t", value + 1).execute(), [True])
    r.set("sum", 0)

    def add(pipe):
        value = int(pipe.get("sum"))
        pipe.multi()
        pipe.set("sum", value + 1)

    def work():
        for _ in range(25):
            r.transaction(add, "sum")

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    check("optimistic retry", r.get("sum"), "100")


def in_background(work):
    """Runs a call in a thread; returns a function that waits for its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return lambda: (thread.join(20), results[0] if results else "no answer")[1]


def wait_for_blocked(r, count=1):
    """Waits until a number of clients is blocked."""
    end = time.monotonic() + 10
    while r.info("clients")["blocked_clients"] < count and time.monotonic() < end:
        time.sleep(0.005)


def blocking(r):
    other = connect()

    def unblocked(call, push):
        result = in_background(call)
        wait_for_blocked(r)
        push()
        return result()

    check("blpop", unblocked(lambda: other.blpop(["q1", "q2"], 10), lambda: r.rpush("q2", "x")), ("q2", "x"))
    check("brpop", unblocked(lambda: other.brpop("q1", 10), lambda: r.rpush("q1", "y")), ("q1", "y"))
    check("blmove", unblocked(lambda: other.blmove("q1", "q3", 10), lambda: r.rpush("q1", "z")), "z")
    check("brpoplpush", unblocked(lambda: other.brpoplpush("q1", "q3", 10), lambda: r.rpush("q1", "w")), "w")
    check("moved elements", r.lrange("q3", 0, -1), ["w", "z"])
    check("blmpop", unblocked(lambda: other.blmpop(10, 1, "q1", direction="LEFT"), lambda: r.rpush("q1", "v")),
          ["q1", ["v"]])
    check("bzpopmin", unblocked(lambda: other.bzpopmin("bz", 10), lambda: r.zadd("bz", {"m": 1})), ("bz", "m", 1.0))
    check("bzpopmax", unblocked(lambda: other.bzpopmax("bz", 10), lambda: r.zadd("bz", {"m": 2})), ("bz", "m", 2.0))
    check("blpop in a transaction", unblocked(lambda: other.blpop("q1", 10),
          lambda: r.pipeline().rpush("q1", "1", "2").lpop("q1").execute()), ("q1", "2"))
    check("blpop that times out", other.blpop("q1", 0.05), None)
    number = other.client_id()
    check("client unblock", unblocked(lambda: other.blpop("q1", 10), lambda: r.client_unblock(number)), None)


def channels(r):
    sub = r.pubsub()
    sub.subscribe("news")
    check("subscribe", sub.get_message(timeout=10),
          {"type": "subscribe", "pattern": None, "channel": "news", "data": 1})
    sub.psubscribe("n*")
    check("psubscribe", sub.get_message(timeout=10)["data"], 2)
    check("pubsub channels", r.pubsub_channels(), ["news"])
    check("pubsub numsub", r.pubsub_numsub("news", "none"), [("news", 1), ("none", 0)])
    check("pubsub numpat", r.pubsub_numpat(), 1)
    check("publish", r.publish("news", "hello"), 2)
    got = [sub.get_message(timeout=10) for _ in range(2)]
    check("message", got[0], {"type": "message", "pattern": None, "channel": "news", "data": "hello"})
    check("pmessage", got[1], {"type": "pmessage", "pattern": "n*", "channel": "news", "data": "hello"})
    sub.ping()
    check("ping of a subscriber", sub.get_message(timeout=10)["type"], "pong")
    sub.unsubscribe()
    check("unsubscribe", sub.get_message(timeout=10)["data"], 1)
    sub.punsubscribe()
    check("punsubscribe", sub.get_message(timeout=10)["data"], 0)
    check("publish to none", r.publish("news", "hello"), 0)
    sub.close()
    r.config_set("notify-keyspace-events", "K$")
    sub.psubscribe("__keyspace@0__:*")
    sub.get_message(timeout=10)
    r.set("watched", 1)
    check("keyspace event", sub.get_message(timeout=10)["data"], "set")
    r.config_set("notify-keyspace-events", "")
    sub.close()


def server(r):
    check("ping", r.ping(), True)
    check("echo", r.echo("hello"), "hello")
    check("time", abs(r.time()[0] - time.time()) < 60, True)
    named = connect(client_name="checker", single_connection_client=True)
    check("client getname", named.client_getname(), "checker")
    check("client setname", (named.client_setname("renamed"), named.client_getname()), (True, "renamed"))
    check("client info", named.client_info()["name"], "renamed")
    check("client id", named.client_info()["id"], named.client_id())
    check("client list", "renamed" in [client["name"] for client in r.client_list()], True)
    check("client list of ids", len(r.client_list(client_id=[named.client_id()])), 1)
    check("client kill", r.client_kill_filter(_id=named.client_id()), 1)
    check("a new connection after it", named.ping(), True)
    check_error("a bad name", redis.ResponseError, "cannot contain spaces", lambda: r.client_setname("a b"))
    check("config get", r.config_get("databases"), {"databases": "16"})
    check("config get of a pattern", sorted(r.config_get("hash-max-*entries")),
          ["hash-max-listpack-entries", "hash-max-ziplist-entries"])
    check("config set", (r.config_set("slowlog-max-len", 64), r.config_get("slowlog-max-len")),
          (True, {"slowlog-max-len": "64"}))
    check_error("config set of no setting", redis.ResponseError, "Unknown option", lambda: r.config_set("none", 1))
    info = r.info()
    check("info version", info["redis_version"], "7.0.15")
    check("info types", [type(info[f]) for f in ("uptime_in_seconds", "connected_clients", "used_memory",
          "total_commands_processed", "keyspace_hits", "expired_keys", "role")], [int] * 6 + [str])
    check("info keyspace", info["db0"]["keys"], r.dbsize())
    check("info commandstats", r.info("commandstats")["cmdstat_set"]["calls"] > 100, True)
    check("command count", r.command_count() > 150, True)
    check("command info", r.command()["get"]["arity"], 2)
    check("command getkeys", r.command_getkeys("MSET", "a", 1, "b", 2), ["a", "b"])
    check("memory usage", r.memory_usage("large") >= 1 << 20, True)
    check("slowlog", (r.slowlog_reset(), r.config_set("slowlog-log-slower-than", 0), r.get("a")), (True, True, "1"))
    logged = [entry["command"] for entry in r.slowlog_get(5)]
    check("slowlog get", "GET a" in logged or b"GET a" in logged, True)
    check("slowlog len", r.slowlog_len() >= 2, True)
    r.config_set("slowlog-log-slower-than", 10000)
    check("swapdb", (r.swapdb(0, 5), connect(db=5).get("a"), r.swapdb(0, 5)), (True, "1", True))
    check_error("auth without a password", redis.AuthenticationError, "without any password",
                lambda: connect(password="x").ping())


def errors(r):
    r.set("string", "v")
    check_error("wrong type of a list", redis.ResponseError, "WRONGTYPE", lambda: r.lpush("string", "x"))
    check_error("wrong type of a hash", redis.ResponseError, "WRONGTYPE", lambda: r.hget("string", "x"))
    check_error("wrong type of a set", redis.ResponseError, "WRONGTYPE", lambda: r.sadd("string", "x"))
    check_error("wrong type of a sorted set", redis.ResponseError, "WRONGTYPE", lambda: r.zadd("string", {"x": 1}))
    check_error("unknown command", redis.ResponseError, "unknown command", lambda: r.execute_command("NONE", "x"))
    check_error("wrong number of arguments", redis.ResponseError, "wrong number", lambda: r.execute_command("GET"))
    check_error("syntax", redis.ResponseError, "syntax error", lambda: r.execute_command("SET", "a", "b", "NONE"))
    check_error("no float", redis.ResponseError, "not a valid float", lambda: r.zadd("zz", {"x": "y"}))
    check_error("out of range", redis.ResponseError, "out of range", lambda: r.lset("sortme", 99, "x"))
    check_error("no such database", redis.ResponseError, "DB index is out of range", lambda: connect(db=99).ping())


def third_protocol():
    r = connect(protocol=3)
    check("hello 3", r.execute_command("HELLO", 3)["proto"], 3)
    check("hgetall in RESP3", (r.hset("h3", "f", "v"), r.hgetall("h3")), (1, {"f": "v"}))
    check("smembers in RESP3", (r.sadd("set3", "m"), r.smembers("set3")), (1, {"m"}))
    check("zscore in RESP3", (r.zadd("z3", {"m": 1.5}), r.zscore("z3", "m")), (1, 1.5))
    check("zrange in RESP3", [list(pair) for pair in r.zrange("z3", 0, -1, withscores=True)], [["m", 1.5]])
    check("get of no key in RESP3", r.get("none"), None)
    check("config get in RESP3", r.config_get("databases"), {"databases": "16"})
    check("transaction in RESP3", r.pipeline().hgetall("h3").zscore("z3", "m").execute(), [{"f": "v"}, 1.5])
    check_error("an error in RESP3", redis.ResponseError, "WRONGTYPE", lambda: r.incr("h3"))
    sub = r.pubsub()
    sub.subscribe("push")
    sub.get_message(timeout=10)
    check("publish in RESP3", (r.publish("push", "m"), sub.get_message(timeout=10)["data"]), (1, "m"))
    sub.close()


def eventually(value, call):
    """Calls again and again until the answer is this value, or ten seconds are over. Returns the last answer."""
    end = time.monotonic() + 10
    while (got := call()) != value and time.monotonic() < end:
        time.sleep(0.005)
    return got


def caching():
    # By default the client does so with Redis 7.4 or newer; what it needs is older.
    redis.connection.CacheProxyConnection.MIN_ALLOWED_VERSION = "7.0.0"
    r, other = connect(protocol=3, cache_config=CacheConfig(max_size=100)), connect()
    calls = lambda: other.info("commandstats")["cmdstat_get"]["calls"]
    other.set("cached", "1")
    check("get into the cache", r.get("cached"), "1")
    before = calls()
    check("get from the cache", ([r.get("cached") for _ in range(5)], calls() - before), (["1"] * 5, 0))
    other.set("cached", "2")
    check("get after a change", eventually("2", lambda: r.get("cached")), "2")
    check("hget into the cache", (other.hset("cached:h", "f", "1"), r.hget("cached:h", "f")), (1, "1"))
    other.delete("cached:h")
    check("hget after the end of the key", eventually(None, lambda: r.hget("cached:h", "f")), None)
    check("get of a missing key into the cache", r.get("cached:none"), None)
    other.set("cached:none", "3")
    check("get once it is there", eventually("3", lambda: r.get("cached:none")), "3")
    other.flushall()
    check("get after flushall", eventually(None, lambda: r.get("cached")), None)
    check("the session tracks", other.info("clients")["tracking_clients"] > 0, True)
    r.close()


def pools():
    pool = redis.BlockingConnectionPool(port=PORT, protocol=2, max_connections=4, timeout=20, decode_responses=True)
    r = redis.Redis(connection_pool=pool)
    wrong = []

    def work(thread):
        for i in range(200):
            r.set(f"pool:{thread}", i)
            if r.get(f"pool:{thread}") != str(i):
                wrong.append((thread, i))
            r.incr("pool")

    threads = [threading.Thread(target=work, args=[thread]) for thread in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    check("threads of a pool read what they wrote", wrong, [])
    check("counter of all threads", r.get("pool"), "1600")
    pool.disconnect()


def main():
    r = connect()
    r.flushall()
    groups = [strings, bitmaps, hashes, lists, sets, sorted_sets, keyspace, iterators, geo_and_hyperloglog,
              pipelines_and_transactions, blocking, channels, server, errors]
    for group in groups:
        group(r)
    third_protocol()
    caching()
    pools()
    check("flushall", (r.flushall(), r.dbsize()), (True, 0))
    print(f"redis-py {redis.__version__}: {passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
