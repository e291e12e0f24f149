// Runs commands of node-redis against the server at a port and checks each answer: node check.mjs PORT.
//
// The server is emptied first. All runs in both versions of the protocol. The last line says how many checks passed.
import { createClient, createClientPool, ErrorReply, RESP_TYPES, WatchError } from "redis";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

const port = Number(process.argv[2]);
let passed = 0;
let failed = 0;

function count(name, ok, got, expected) {
  if (ok) {
    passed += 1;
  } else {
    failed += 1;
    console.log(`FAILED ${name}:`, "expected", expected, "got", got);
  }
}

// Objects of the client have no prototype: makes ordinary ones of them.
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object" && Object.getPrototypeOf(value) === null) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
  }
  return value;
}

// Checks the answer of a call. An error that it throws is a failed check.
async function check(name, call, expected) {
  const got = plain(await Promise.resolve(call).catch((error) => error));
  count(name, isDeepStrictEqual(got, expected), got, expected);
}

// Checks that a call is refused with an error of this class that has these words.
async function checkError(name, call, words, kind = ErrorReply) {
  const got = await call.catch((error) => error);
  count(name, got instanceof kind && got.message.includes(words), got, words);
}

async function connect(RESP, options = {}) {
  const client = createClient({ socket: { host: "127.0.0.1", port, reconnectStrategy: false }, RESP, ...options });
  client.on("error", () => {});
  return client.connect();
}

const sorted = (call) => call.then((list) => [...list].sort());

async function strings(r) {
  await check("set", r.set("s", "value"), "OK");
  await check("get", r.get("s"), "value");
  await check("get of no key", r.get("none"), null);
  await check("set nx", r.set("s", "other", { condition: "NX" }), null);
  await check("set get ex", r.set("s", "second", { GET: true, expiration: { type: "EX", value: 100 } }), "value");
  await check("append", r.append("s", "!"), 7);
  await check("strlen", r.strLen("s"), 7);
  await check("getrange", r.getRange("s", 0, 2), "sec");
  await check("setrange", r.setRange("s", 6, "?"), 7);
  await check("getset", r.getSet("s", "third"), "second?");
  await check("getdel", r.getDel("s"), "third");
  await check("mset", r.mSet({ a: "1", b: "2" }), "OK");
  await check("mget", r.mGet(["a", "none", "b"]), ["1", null, "2"]);
  await check("msetnx", r.mSetNX({ b: "3", c: "3" }), 0);
  await check("setnx", r.setNX("c", "3"), 1);
  await check("incr", r.incr("n"), 1);
  await check("incrby", r.incrBy("n", 41), 42);
  await check("decr", r.decr("n"), 41);
  await check("decrby", r.decrBy("n", 40), 1);
  await check("incrbyfloat", r.incrByFloat("n", 0.5), "1.5");
  await checkError("incr of no integer", r.incr("n"), "not an integer");
  await check("lcs", r.mSet({ x: "ohmytext", y: "mynewtext" }).then(() => r.lcs("x", "y")), "mytext");
  await check("lcs len", r.lcsLen("x", "y"), 6);
  await check("getex", r.getEx("a", { type: "EX", value: 100 }), "1");
  await check("getex persist", r.getEx("a", { type: "PERSIST" }), "1");
}

async function bitmaps(r) {
  await check("setbit", r.setBit("bits", 7, 1), 0);
  await check("getbit", r.getBit("bits", 7), 1);
  await check("bitcount", r.bitCount("bits"), 1);
  await check("bitpos", r.bitPos("bits", 1), 7);
  await check("setrange", r.setRange("mask", 0, "\x0f"), 1);
  await check("bitop", r.bitOp("AND", "both", ["bits", "mask"]), 1);
  await check("bitcount of bits", r.bitCount("mask", { start: 4, end: 5, mode: "BIT" }), 2);
  await check("bitfield", r.bitField("field", [
    { operation: "OVERFLOW", behavior: "SAT" },
    { operation: "INCRBY", encoding: "u8", offset: 0, increment: 250 },
    { operation: "INCRBY", encoding: "u8", offset: 0, increment: 10 },
    { operation: "GET", encoding: "u4", offset: 0 },
  ]), [250, 255, 15]);
}

async function hashes(r) {
  await check("hset", r.hSet("h", { a: "1", b: "two" }), 2);
  await check("hget", r.hGet("h", "b"), "two");
  await check("hgetall", r.hGetAll("h"), { a: "1", b: "two" });
  await check("hmget", r.hmGet("h", ["a", "none"]), ["1", null]);
  await check("hexists", r.hExists("h", "none"), 0);
  await check("hsetnx", r.hSetNX("h", "a", "5"), 0);
  await check("hincrby", r.hIncrBy("h", "a", 4), 5);
  await check("hincrbyfloat", r.hIncrByFloat("h", "a", 0.25), "5.25");
  await check("hkeys", r.hKeys("h"), ["a", "b"]);
  await check("hvals", r.hVals("h"), ["5.25", "two"]);
  await check("hlen", r.hLen("h"), 2);
  await check("hstrlen", r.hStrLen("h", "b"), 3);
  await check("hrandfield", sorted(r.hRandFieldCount("h", 9)), ["a", "b"]);
  await check("hdel", r.hDel("h", ["a", "none"]), 1);
  await check("hgetall of no key", r.hGetAll("none"), {});
}

async function lists(r) {
  await check("rpush", r.rPush("l", ["a", "b", "c", "d", "e"]), 5);
  await check("lpush", r.lPush("l", "z"), 6);
  await check("lrange", r.lRange("l", 0, -1), ["z", "a", "b", "c", "d", "e"]);
  await check("lindex", r.lIndex("l", -1), "e");
  await check("lset", r.lSet("l", 0, "y"), "OK");
  await check("linsert", r.lInsert("l", "BEFORE", "c", "x"), 7);
  await check("lpos", r.lPos("l", "x"), 3);
  await check("lpos with count", r.lPosCount("l", "x", 0), [3]);
  await check("lrem", r.lRem("l", 1, "x"), 1);
  await check("lpop with count", r.lPopCount("l", 2), ["y", "a"]);
  await check("rpop", r.rPop("l"), "e");
  await check("ltrim", r.lTrim("l", 1, -1), "OK");
  await check("llen", r.lLen("l"), 2);
  await check("lmove", r.lMove("l", "m", "LEFT", "RIGHT"), "c");
  await check("rpoplpush", r.rPopLPush("l", "m"), "d");
  await check("lpushx of no key", r.lPushX("none", "a"), 0);
  await check("lmpop", r.lmPop(["none", "m"], "LEFT", { COUNT: 5 }), ["m", ["d", "c"]]);
  await check("lpop of no key", r.lPop("m"), null);
}

async function sets(r) {
  await check("sadd", r.sAdd("s1", ["a", "b", "c"]), 3);
  await check("sadd", r.sAdd("s2", ["b", "c", "d"]), 3);
  await check("smembers", sorted(r.sMembers("s1")), ["a", "b", "c"]);
  await check("sismember", r.sIsMember("s1", "d"), 0);
  await check("smismember", r.smIsMember("s1", ["a", "d"]), [1, 0]);
  await check("sinter", sorted(r.sInter(["s1", "s2"])), ["b", "c"]);
  await check("sunion", sorted(r.sUnion(["s1", "s2"])), ["a", "b", "c", "d"]);
  await check("sdiff", r.sDiff(["s1", "s2"]), ["a"]);
  await check("sintercard", r.sInterCard(["s1", "s2"], { LIMIT: 1 }), 1);
  await check("sunionstore", r.sUnionStore("s3", ["s1", "s2"]), 4);
  await check("smove", r.sMove("s1", "s2", "a"), 1);
  await check("srandmember", sorted(r.sRandMemberCount("s1", 9)), ["b", "c"]);
  await check("spop", sorted(r.sPopCount("s1", 9)), ["b", "c"]);
  await check("srem", r.sRem("s3", ["a", "none"]), 1);
  await check("scard", r.sCard("s3"), 3);
}

async function sortedSets(r) {
  const members = [{ value: "a", score: 1 }, { value: "b", score: 2 }, { value: "c", score: 3.5 }];
  await check("zadd", r.zAdd("z", members), 3);
  await check("zadd gt ch", r.zAdd("z", { value: "b", score: 5 }, { comparison: "GT", CH: true }), 1);
  await check("zadd incr", r.zAddIncr("z", { value: "b", score: 1 }), 6);
  await check("zscore", r.zScore("z", "c"), 3.5);
  await check("zscore of no member", r.zScore("z", "none"), null);
  await check("zmscore", r.zmScore("z", ["a", "none"]), [1, null]);
  await check("zrange", r.zRangeWithScores("z", 0, -1),
    [{ value: "a", score: 1 }, { value: "c", score: 3.5 }, { value: "b", score: 6 }]);
  await check("zrange by score", r.zRange("z", "+inf", "(1", { BY: "SCORE", REV: true, LIMIT: { offset: 1, count: 1 } }), ["c"]);
  await check("zrangebyscore", r.zRangeByScore("z", 1, 4), ["a", "c"]);
  await check("zrank", r.zRank("z", "b"), 2);
  await check("zrevrank", r.zRevRank("z", "none"), null);
  await check("zcount", r.zCount("z", 2, "+inf"), 2);
  await check("zincrby", r.zIncrBy("z", 2, "a"), 3);
  await check("zadd", r.zAdd("w", [{ value: "a", score: 10 }, { value: "d", score: 20 }]), 2);
  await check("zunion", r.zUnion(["z", "w"], { AGGREGATE: "MAX" }), ["c", "b", "a", "d"]);
  await check("zinterstore", r.zInterStore("zi", ["z", "w"]), 1);
  await check("zinter", r.zInterWithScores(["z", "w"]), [{ value: "a", score: 13 }]);
  await check("zdiff", r.zDiff(["z", "w"]), ["c", "b"]);
  await check("zrangestore", r.zRangeStore("zr", "z", 0, 1), 2);
  await check("zpopmin", r.zPopMin("z"), { value: "a", score: 3 });
  await check("zpopmax", r.zPopMaxCount("z", 1), [{ value: "b", score: 6 }]);
  await check("zmpop", r.zmPop(["none", "z"], "MIN"), { key: "z", members: [{ value: "c", score: 3.5 }] });
  await check("zadd", r.zAdd("lex", ["a", "b", "c", "d"].map((value) => ({ value, score: 0 }))), 4);
  await check("zrangebylex", r.zRangeByLex("lex", "[b", "(d"), ["b", "c"]);
  await check("zlexcount", r.zLexCount("lex", "-", "+"), 4);
  await check("zremrangebylex", r.zRemRangeByLex("lex", "[d", "+"), 1);
  await check("zremrangebyrank", r.zRemRangeByRank("lex", 0, 0), 1);
  await check("zrem", r.zRem("lex", ["b", "none"]), 1);
  await check("zcard", r.zCard("lex"), 1);
  await check("infinite score", r.zAdd("lex", { value: "end", score: -Infinity }), 1);
  await check("infinite score", r.zScore("lex", "end"), -Infinity);
}

async function keyspace(r) {
  await check("set", r.set("k", "value"), "OK");
  await check("exists", r.exists(["k", "k", "none"]), 2);
  await check("type", r.type("k"), "string");
  await check("expire", r.expire("k", 100), 1);
  await check("ttl", r.ttl("k").then((ttl) => ttl === 99 || ttl === 100), true);
  await check("pttl", r.pTTL("k").then((ttl) => ttl > 99_000 && ttl <= 100_000), true);
  await check("persist", r.persist("k"), 1);
  await check("ttl of no key", r.ttl("none"), -2);
  await check("expireat", r.expireAt("k", 4102444800), 1);
  await check("expiretime", r.expireTime("k"), 4102444800);
  await check("expire nx", r.expire("k", 50, "NX"), 0);
  await check("copy", r.copy("k", "k2"), 1);
  await check("copy to a key", r.copy("k", "k2"), 0);
  await check("rename", r.rename("k2", "k3"), "OK");
  await check("renamenx", r.renameNX("k3", "k"), 0);
  await checkError("rename of no key", r.rename("none", "k"), "no such key");
  await check("object encoding", r.objectEncoding("k"), "embstr");
  await check("object encoding of a number", r.objectEncoding("a"), "int");
  await check("touch", r.touch(["k", "none"]), 1);
  await check("unlink", r.unlink(["k3", "none"]), 1);
  const raw = r.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const binary = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  await check("a key of all bytes", raw.set(binary, binary), "OK");
  await check("get of all bytes", raw.get(binary), binary);
  const large = Buffer.alloc(1 << 20, binary);
  await check("set of 1 MiB", raw.set("large", large), "OK");
  await check("get of 1 MiB", raw.get("large").then((got) => large.equals(got)), true);
  const dump = await raw.dump("large");
  await check("restore", raw.restore("large2", 0, dump), "OK");
  await check("get of what was restored", raw.get("large2").then((got) => large.equals(got)), true);
  await checkError("restore of a busy key", raw.restore("large2", 0, dump), "BUSYKEY");
  await checkError("restore of bad bytes", raw.restore("bad", 0, Buffer.from("badbadbadbadbad")), "checksum");
  await check("memory usage", r.memoryUsage("large").then((bytes) => bytes >= 1 << 20), true);
}

async function geoAndSketches(r) {
  await check("geoadd", r.geoAdd("g", [{ longitude: 13.361389, latitude: 38.115556, member: "Palermo" },
    { longitude: 15.087269, latitude: 37.502669, member: "Catania" }]), 2);
  await check("geodist", r.geoDist("g", "Palermo", "Catania", "km"), 166.2742);
  await check("geohash", r.geoHash("g", "Palermo"), ["sqc8b49rny0"]);
  await check("geopos", r.geoPos("g", "Palermo").then(([pos]) => Number(pos.longitude).toFixed(5)), "13.36139");
  await check("geosearch", r.geoSearch("g", { longitude: 15, latitude: 37 }, { radius: 100, unit: "km" }), ["Catania"]);
  await check("geosearchstore", r.geoSearchStore("g2", "g", "Palermo", { width: 400, height: 400, unit: "km" }), 2);
  await check("pfadd", r.pfAdd("p", Array.from({ length: 100 }, (_, i) => `${i}`)), 1);
  await check("pfcount", r.pfCount("p"), 100);
  await check("pfadd", r.pfAdd("q", "a"), 1);
  await check("pfmerge", r.pfMerge("pq", ["p", "q"]), "OK");
  await check("pfcount of both", r.pfCount("pq"), 101);
  await check("rpush", r.rPush("sortme", ["3", "1", "2"]), 3);
  await check("sort", r.sort("sortme"), ["1", "2", "3"]);
  await check("mset", r.mSet({ w_1: "9", w_2: "5", w_3: "1" }), "OK");
  await check("sort by get", r.sort("sortme", { BY: "w_*", GET: "#", LIMIT: { offset: 0, count: 2 } }), ["3", "2"]);
  await check("sort store", r.sortStore("sortme", "sorted", { ALPHA: true, DIRECTION: "DESC" }), 3);
}

async function collect(iterator) {
  const all = [];
  for await (const part of iterator) all.push(...part);
  return all;
}

async function iterators(r) {
  const names = Array.from({ length: 1000 }, (_, i) => `scan:${i}`);
  await check("mset of 1000", r.mSet(names.map((name) => [name, "v"])), "OK");
  await check("scan", collect(r.scanIterator({ MATCH: "scan:*", COUNT: 50 })).then((all) => new Set(all).size), 1000);
  await check("scan of a type", collect(r.scanIterator({ MATCH: "scan:*", TYPE: "list" })), []);
  await check("hset of 1000", r.hSet("many", names.map((name) => [name, "v"])), 1000);
  await check("hscan", collect(r.hScanIterator("many")).then((all) => new Set(all.map((e) => e.field)).size), 1000);
  await check("sadd of 1000", r.sAdd("manys", names), 1000);
  await check("sscan", collect(r.sScanIterator("manys")).then((all) => new Set(all).size), 1000);
  await check("zadd of 1000", r.zAdd("manyz", names.map((value, score) => ({ value, score }))), 1000);
  await check("zscan", collect(r.zScanIterator("manyz", { MATCH: "*:99*" })).then((all) => all.length), 11);
}

async function transactions(r, RESP) {
  await check("pipeline", Promise.all(Array.from({ length: 500 }, () => r.incr("pipelined"))),
    Array.from({ length: 500 }, (_, i) => i + 1));
  await check("pipeline of a multi", r.multi().set("t", "1").incr("t").execAsPipeline(), ["OK", 2]);
  await check("transaction", r.multi().set("t", "1").incr("t").hGetAll("none").exec(), ["OK", 2, {}]);
  const failing = r.multi().set("t", "1").lPush("t", "x").incr("t").exec().catch((error) => error);
  await check("error in a transaction", failing.then((error) => error.errorIndexes), [1]);
  await check("those after it are run", r.get("t"), "2");
  await checkError("a transaction with an error", r.multi().addCommand(["INCR"]).exec(), "wrong number");
  const other = await connect(RESP);
  await check("watch", r.watch("t"), "OK");
  await check("another session changes the key", other.set("t", "10"), "OK");
  await checkError("exec after it", r.multi().incr("t").exec(), "watched keys", WatchError);
  await check("watch", r.watch("t"), "OK");
  await check("exec of an unchanged key", r.multi().incr("t").exec(), [11]);
  await check("unwatch", r.unwatch(), "OK");
  await r.set("sum", "0");
  const add = async () => {
    const session = await connect(RESP);
    for (let done = 0; done < 25;) {
      await session.watch("sum");
      const value = Number(await session.get("sum"));
      const result = await session.multi().set("sum", `${value + 1}`).exec().catch((error) => error);
      if (result instanceof WatchError) continue;
      done += 1;
    }
    await session.close();
  };
  await Promise.all([add(), add(), add(), add()]);
  await check("optimistic retry", r.get("sum"), "100");
  await other.close();
}

async function waits(r, RESP) {
  const other = await connect(RESP);
  const woken = async (call, wake) => {
    const answer = call();
    while (!(await r.info("clients")).includes("blocked_clients:1")) await new Promise((done) => setTimeout(done, 5));
    await wake();
    return answer;
  };
  await check("blpop", woken(() => other.blPop(["q1", "q2"], 10), () => r.rPush("q2", "x")), { key: "q2", element: "x" });
  await check("brpop", woken(() => other.brPop("q1", 10), () => r.rPush("q1", "y")), { key: "q1", element: "y" });
  await check("blmove", woken(() => other.blMove("q1", "q3", "LEFT", "LEFT", 10), () => r.rPush("q1", "z")), "z");
  await check("brpoplpush", woken(() => other.brPopLPush("q1", "q3", 10), () => r.rPush("q1", "w")), "w");
  await check("blmpop", woken(() => other.blmPop(10, "q1", "LEFT"), () => r.rPush("q1", "v")), ["q1", ["v"]]);
  await check("bzpopmin", woken(() => other.bzPopMin("bz", 10), () => r.zAdd("bz", { value: "m", score: 1.5 })),
    { key: "bz", value: "m", score: 1.5 });
  await check("blpop that times out", other.blPop("q1", 0.05), null);
  const number = await other.clientId();
  await check("client unblock", woken(() => other.blPop("q1", 10), () => r.clientUnblock(number)), null);
  await other.close();
}

async function channels(r, RESP) {
  const subscriber = await connect(RESP);
  const messages = [];
  let wake = () => {};
  const listener = (...message) => { messages.push(message.join(" ")); wake(); };
  const received = async (wanted) => {
    while (messages.length < wanted) await new Promise((done) => { wake = done; });
    return messages.splice(0);
  };
  await subscriber.subscribe("news", listener);
  await subscriber.pSubscribe("n*", listener);
  await check("pubsub channels", r.pubSubChannels(), ["news"]);
  await check("pubsub numsub", r.pubSubNumSub(["news", "none"]), { news: 1, none: 0 });
  await check("pubsub numpat", r.pubSubNumPat(), 1);
  await check("publish", r.publish("news", "hello"), 2);
  await check("messages", received(2), ["hello news", "hello news"]);
  // In RESP2 a subscriber has no PONG but a message.
  await check("ping of a subscriber", subscriber.ping(), RESP === 2 ? "pong" : "PONG");
  if (RESP === 3) await check("get of a subscriber", subscriber.get("none"), null);
  await subscriber.unsubscribe("news");
  await subscriber.pUnsubscribe("n*");
  await check("publish to none", r.publish("news", "hello"), 0);
  await r.configSet("notify-keyspace-events", "K$");
  await subscriber.pSubscribe("__keyspace@0__:*", listener);
  await r.set("watched", "1");
  await check("keyspace event", received(1), ["set __keyspace@0__:watched"]);
  await r.configSet("notify-keyspace-events", "");
  await subscriber.close();
}

async function server(r, RESP) {
  await check("ping", r.ping(), "PONG");
  await check("echo", r.echo("hello"), "hello");
  const named = await connect(RESP, { name: "checker" });
  await check("client getname", named.clientGetName(), "checker");
  await check("client setname", named.clientSetName("renamed"), "OK");
  await check("client info", named.clientInfo().then((info) => info.name), "renamed");
  const number = await named.clientId();
  await check("client list", r.clientList().then((all) => all.filter((c) => c.id === number).length), 1);
  await check("client kill", r.clientKill({ filter: "ID", id: number }), 1);
  await checkError("client setname with a blank", r.clientSetName("a b"), "cannot contain spaces");
  await check("config get", r.configGet("databases"), { databases: "16" });
  await checkError("config set", r.configSet("none", "1"), "Unknown option");
  const info = Object.fromEntries((await r.info()).split("\r\n").map((line) => line.split(":")));
  await check("version in info", info.redis_version, "7.0.15");
  await check("numbers in info", ["uptime_in_seconds", "connected_clients", "used_memory", "keyspace_hits"]
    .filter((field) => Number.isInteger(Number(info[field] ?? "none"))).length, 4);
  await check("command count", r.commandCount().then((commands) => commands > 150), true);
  await check("command info", r.commandInfo(["get"]).then(([get]) => get.arity), 2);
  await check("command getkeys", r.commandGetKeys(["MSET", "a", "1", "b", "2"]), ["a", "b"]);
  await check("time", r.time().then(([seconds]) => Math.abs(Number(seconds) - Date.now() / 1000) < 60), true);
  const fifth = await connect(RESP, { database: 5 });
  await check("move", r.set("moved", "m").then(() => r.move("moved", 5)), 1);
  await check("get in another database", fifth.get("moved"), "m");
  await check("swapdb", r.swapDb(0, 5), "OK");
  await check("get after it", r.get("moved"), "m");
  await check("swapdb", r.swapDb(0, 5), "OK");
  await checkError("no such database", r.sendCommand(["SELECT", "99"]), "DB index is out of range");
  await checkError("wrong type", r.lPush("k", "x"), "WRONGTYPE");
  await checkError("wrong type of a hash", r.hGet("k", "x"), "WRONGTYPE");
  await checkError("unknown command", r.sendCommand(["NONE", "x"]), "unknown command");
  await checkError("wrong number of arguments", r.sendCommand(["GET"]), "wrong number");
  await fifth.close();
}

async function third(r) {
  await check("hello 3", r.hello(3).then((hello) => hello.proto), 3);
  await check("a map", r.sendCommand(["CONFIG", "GET", "databases"]), { databases: "16" });
  await check("a double", r.sendCommand(["ZSCORE", "manyz", "scan:7"]), 7);
  await check("a set", r.sendCommand(["SMEMBERS", "s3"]).then((all) => all.length), 3);
}

async function pool(RESP) {
  const options = { socket: { host: "127.0.0.1", port }, RESP };
  const clients = await createClientPool(options, { minimum: 1, maximum: 4 }).on("error", () => {}).connect();
  const work = async (part) => {
    let same = true;
    for (let i = 0; i < 100; i += 1) {
      await clients.set(`pool:${part}`, `${i}`);
      same &&= (await clients.get(`pool:${part}`)) === `${i}`;
      await clients.incr(`pool:all:${RESP}`);
    }
    return same;
  };
  await check("users of a pool read what they wrote", Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(work)), Array(8).fill(true));
  await check("counter of all", clients.get(`pool:all:${RESP}`), "800");
  await clients.close();
}

const { version } = JSON.parse(readFileSync(new URL("node_modules/redis/package.json", import.meta.url)));
for (const RESP of [2, 3]) {
  const r = await connect(RESP);
  await r.flushAll();
  for (const group of [strings, bitmaps, hashes, lists, sets, sortedSets, keyspace, geoAndSketches, iterators]) {
    await group(r);
  }
  for (const group of [transactions, waits, channels, server]) await group(r, RESP);
  if (RESP === 3) await third(r);
  await pool(RESP);
  await check("flushall", r.flushAll(), "OK");
  await check("dbsize", r.dbSize(), 0);
  await r.close();
}
console.log(`node-redis ${version}: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
