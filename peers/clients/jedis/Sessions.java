import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.args.ListDirection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.ClientKillParams;
import redis.clients.jedis.resps.Tuple;
import redis.clients.jedis.util.KeyValue;

/** What sessions do: pipelines, transactions, waiting, channels, pools, and questions to the server. */
final class Sessions {
    private Sessions() {}

    static void check(Jedis r, RedisProtocol protocol) throws Exception {
        pipelines(r);
        transactions(r, protocol);
        waits(r, protocol);
        channels(r, protocol);
        server(r, protocol);
        pool(r, protocol);
    }

    private static void pipelines(Jedis r) {
        Pipeline pipe = r.pipelined();
        for (int i = 0; i < 500; i += 1) {
            pipe.incr("pipelined");
        }
        List<Object> answers = pipe.syncAndReturnAll();
        Check.is("pipeline", answers.size(), 500);
        Check.is("last of a pipeline", answers.get(499), 500L);
        pipe = r.pipelined();
        pipe.set("t", "v");
        Response<Long> wrong = pipe.lpush("t", "x");
        Response<String> get = pipe.get("t");
        pipe.sync();
        Check.fails("error in a pipeline", wrong::get, "WRONGTYPE");
        Check.is("those after it are run", get.get(), "v");
    }

    private static void transactions(Jedis r, RedisProtocol protocol) throws Exception {
        Transaction transaction = r.multi();
        transaction.set("t", "1");
        Response<Long> incr = transaction.incr("t");
        Response<Map<String, String>> all = transaction.hgetAll("none");
        Check.is("transaction", transaction.exec().size(), 3);
        Check.is("answer in a transaction", incr.get(), 2L);
        Check.is("map in a transaction", all.get(), Map.of());
        transaction = r.multi();
        transaction.sendCommand(Protocol.Command.INCR, new String[0]);
        transaction.set("t", "5");
        Check.fails("a transaction with an error", transaction::exec, "EXECABORT");
        Check.is("nothing of it is done", r.get("t"), "2");
        transaction = r.multi();
        transaction.set("t", "5");
        Check.is("discard", transaction.discard(), "OK");
        try (Jedis other = Check.connect(protocol)) {
            Check.is("watch", r.watch("t"), "OK");
            Check.is("another session changes the key", other.set("t", "10"), "OK");
            transaction = r.multi();
            transaction.incr("t");
            Check.is("exec after it", transaction.exec(), null);
            Check.is("watch", r.watch("t"), "OK");
            transaction = r.multi();
            transaction.incr("t");
            Check.is("exec of an unchanged key", transaction.exec(), List.of(11L));
            Check.is("unwatch", r.unwatch(), "OK");
        }
        r.set("sum", "0");
        Runnable add = () -> {
            try (Jedis session = Check.connect(protocol)) {
                for (int done = 0; done < 25;) {
                    session.watch("sum");
                    int value = Integer.parseInt(session.get("sum"));
                    Transaction change = session.multi();
                    change.set("sum", Integer.toString(value + 1));
                    done += change.exec() == null ? 0 : 1;
                }
            }
        };
        Check.inThreads(Collections.nCopies(4, add));
        Check.is("optimistic retry", r.get("sum"), "100");
    }

    /** Runs a command in a thread, and another as soon as it waits; returns the answer of the first. */
    private static <T> T woken(Jedis r, Callable<T> waits, Runnable wakes) throws Exception {
        FutureTask<T> answer = new FutureTask<>(waits);
        Check.start(answer);
        for (int i = 0; i < 2000 && !r.info("clients").contains("blocked_clients:1"); i += 1) {
            Thread.sleep(5);
        }
        wakes.run();
        return answer.get(20, TimeUnit.SECONDS);
    }

    private static void waits(Jedis r, RedisProtocol protocol) throws Exception {
        try (Jedis other = Check.connect(protocol)) {
            Runnable push = () -> r.rpush("q1", "x");
            Check.is("blpop", woken(r, () -> other.blpop(10, "q1", "q2"), () -> r.rpush("q2", "x")), List.of("q2", "x"));
            Check.is("brpop", woken(r, () -> other.brpop(10.0, "q1"), push), KeyValue.of("q1", "x"));
            Callable<String> move = () -> other.blmove("q1", "q3", ListDirection.LEFT, ListDirection.LEFT, 10);
            Check.is("blmove", woken(r, move, push), "x");
            Check.is("brpoplpush", woken(r, () -> other.brpoplpush("q1", "q3", 10), push), "x");
            Check.is("moved elements", r.llen("q3"), 2L);
            Callable<KeyValue<String, List<String>>> pop = () -> other.blmpop(10, ListDirection.LEFT, "q1");
            Check.is("blmpop", woken(r, pop, push), KeyValue.of("q1", List.of("x")));
            Check.is("bzpopmin", woken(r, () -> other.bzpopmin(10, "bz"), () -> r.zadd("bz", 1.5, "m")),
                    KeyValue.of("bz", new Tuple("m", 1.5)));
            Check.is("blpop that times out", other.blpop(0.05, "q1"), null);
            long number = other.clientId();
            Check.is("client unblock", woken(r, () -> other.blpop(10.0, "q1"), () -> r.clientUnblock(number)), null);
        }
    }

    /** A subscriber whose messages come in a queue. */
    private static final class Subscriber extends JedisPubSub {
        final BlockingQueue<String> messages = new LinkedBlockingQueue<>();

        @Override
        public void onMessage(String channel, String message) {
            messages.add(channel + " " + message);
        }

        @Override
        public void onPMessage(String pattern, String channel, String message) {
            messages.add(pattern + " " + channel + " " + message);
        }

        @Override
        public void onSubscribe(String channel, int count) {
            messages.add("subscribe " + channel + " " + count);
        }

        @Override
        public void onPSubscribe(String pattern, int count) {
            messages.add("psubscribe " + pattern + " " + count);
        }

        @Override
        public void onPong(String pattern) {
            messages.add("pong " + pattern);
        }

        String next() throws InterruptedException {
            return messages.poll(10, TimeUnit.SECONDS);
        }
    }

    private static void channels(Jedis r, RedisProtocol protocol) throws Exception {
        Subscriber subscriber = new Subscriber();
        Thread thread = Check.start(() -> {
            try (Jedis session = Check.connect(protocol)) {
                session.subscribe(subscriber, "news");
            }
        });
        Check.is("subscribe", subscriber.next(), "subscribe news 1");
        subscriber.psubscribe("n*");
        Check.is("psubscribe", subscriber.next(), "psubscribe n* 2");
        Check.is("pubsub channels", r.pubsubChannels(), List.of("news"));
        Check.is("pubsub numsub", r.pubsubNumSub("news", "none"), Map.of("news", 1L, "none", 0L));
        Check.is("pubsub numpat", r.pubsubNumPat(), 1L);
        Check.is("publish", r.publish("news", "hello"), 2L);
        Check.is("message", subscriber.next(), "news hello");
        Check.is("pmessage", subscriber.next(), "n* news hello");
        subscriber.ping("there");
        Check.is("ping of a subscriber", subscriber.next(), "pong there");
        r.configSet("notify-keyspace-events", "K$");
        subscriber.psubscribe("__keyspace@0__:*");
        Check.is("psubscribe", subscriber.next(), "psubscribe __keyspace@0__:* 3");
        r.set("watched", "1");
        Check.is("keyspace event", subscriber.next(), "__keyspace@0__:* __keyspace@0__:watched set");
        r.configSet("notify-keyspace-events", "");
        subscriber.unsubscribe();
        subscriber.punsubscribe();
        thread.join(10_000);
        Check.is("unsubscribe", thread.isAlive(), false);
        Check.is("publish to none", r.publish("news", "hello"), 0L);
    }

    private static void server(Jedis r, RedisProtocol protocol) {
        Check.is("ping", r.ping(), "PONG");
        Check.is("echo", r.echo("hello"), "hello");
        try (Jedis named = Check.connect(protocol)) {
            Check.is("client setname", named.clientSetname("checker"), "OK");
            Check.is("client getname", named.clientGetname(), "checker");
            Check.is("client info", named.clientInfo().contains(" name=checker "), true);
            long number = named.clientId();
            Check.is("client list", r.clientList().contains("id=" + number + " "), true);
            Check.is("client kill", r.clientKill(new ClientKillParams().id(Long.toString(number))), 1L);
            String end = "none";
            try {
                named.ping();
            } catch (JedisConnectionException error) {
                end = "connection";
            }
            Check.is("a killed connection", end, "connection");
        }
        Check.is("config get", r.configGet("databases"), Map.of("databases", "16"));
        Check.fails("config set", () -> r.configSet("none", "1"), "Unknown option");
        Check.is("version in info", r.info().contains("redis_version:7.0.15\r\n"), true);
        Check.is("role in info", r.info("replication").contains("role:master\r\n"), true);
        Check.is("command count", r.commandCount() > 150, true);
        Check.is("command info", r.commandInfo("get").get("get").getArity(), 2L);
        Check.is("command getkeys", r.commandGetKeys("MSET", "a", "1", "b", "2"), List.of("a", "b"));
        Check.is("command list", r.commandList().contains("get"), true);
        Check.is("time", Math.abs(Long.parseLong(r.time().get(0)) - System.currentTimeMillis() / 1000) < 60, true);
        Check.is("move", r.move("watched", 5), 1L);
        Check.is("select", r.select(5), "OK");
        Check.is("get in another database", r.get("watched"), "1");
        Check.is("select", r.select(0), "OK");
        Check.is("swapdb", r.swapDB(0, 5), "OK");
        Check.is("get after it", r.get("watched"), "1");
        Check.is("swapdb", r.swapDB(0, 5), "OK");
        Check.fails("no such database", () -> r.select(99), "DB index is out of range");
        Check.fails("wrong number of arguments", () -> r.sendCommand(Protocol.Command.GET, new String[0]), "wrong number");
        Check.fails("unknown command", () -> r.sendCommand(() -> "NONE".getBytes(), "x"), "unknown command");
        Check.fails("out of range", () -> r.lset("sortme", 99, "x"), "index out of range");
        Check.fails("auth without a password", () -> r.auth("x"), "without any password");
        boolean third = protocol == RedisProtocol.RESP3;
        Object score = r.sendCommand(Protocol.Command.ZSCORE, "manyz", "m7");
        Check.is("a score", third ? score : new String((byte[]) score), third ? (Object) 7.0 : "7");
        Object members = r.sendCommand(Protocol.Command.SMEMBERS, "none");
        Check.is("members", Set.copyOf((Collection<?>) members), Set.of());
    }

    private static void pool(Jedis r, RedisProtocol protocol) throws Exception {
        JedisPoolConfig limits = new JedisPoolConfig();
        limits.setMaxTotal(4);
        AtomicInteger wrong = new AtomicInteger();
        try (JedisPool pool = new JedisPool(limits, Check.address, Check.config(protocol))) {
            List<Runnable> work = new ArrayList<>();
            for (int thread = 0; thread < 8; thread += 1) {
                String key = "pool:" + thread;
                work.add(() -> {
                    for (int i = 0; i < 100; i += 1) {
                        try (Jedis session = pool.getResource()) {
                            session.set(key, Integer.toString(i));
                            wrong.addAndGet(session.get(key).equals(Integer.toString(i)) ? 0 : 1);
                            session.incr("pool");
                        }
                    }
                });
            }
            Check.inThreads(work);
        }
        Check.is("threads of a pool read what they wrote", wrong.get(), 0);
        Check.is("counter of all", r.get("pool"), "800");
    }
}
