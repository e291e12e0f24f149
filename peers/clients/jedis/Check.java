import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Runs commands of jedis against the server at a port and checks each answer: java Check PORT.
 *
 * <p>The server is emptied first. All runs in both versions of the protocol. The last line says how many checks passed.
 */
final class Check {
    static HostAndPort address;
    private static int passed;
    private static int failed;

    private Check() {}

    /** Checks that a value is as expected. */
    static void is(String name, Object got, Object expected) {
        if (Objects.deepEquals(got, expected)) {
            passed += 1;
        } else {
            failed += 1;
            System.out.printf("FAILED %s: expected %s, got %s%n", name, expected, got);
        }
    }

    /** Checks the members of a list or set in any order. */
    static void same(String name, Iterable<String> got, String expected) {
        TreeSet<String> sorted = new TreeSet<>();
        got.forEach(sorted::add);
        is(name, String.join(" ", sorted), expected);
    }

    /** Checks that a command is refused by the server with these words. */
    static void fails(String name, Callable<?> command, String words) {
        try {
            is(name, command.call(), "error: " + words);
        } catch (JedisDataException error) {
            is(name, error.getMessage().contains(words) ? words : error.getMessage(), words);
        } catch (Exception error) {
            is(name, error, "error: " + words);
        }
    }

    static JedisClientConfig config(RedisProtocol protocol) {
        return DefaultJedisClientConfig.builder().protocol(protocol).socketTimeoutMillis(20_000).build();
    }

    static Jedis connect(RedisProtocol protocol) {
        return new Jedis(address, config(protocol));
    }

    /** Starts a thread that does not keep the program, which ends with an error if a command does. */
    static Thread start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Runs pieces of work in threads of their own, and waits for all. */
    static void inThreads(List<Runnable> work) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (Runnable piece : work) {
            threads.add(start(piece));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** The version of the client, which is in the name of its jar. */
    private static String version() {
        String jar = Jedis.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return jar.replaceFirst(".*/jedis-", "").replaceFirst("[.]jar$", "");
    }

    public static void main(String[] arguments) throws Exception {
        address = new HostAndPort("127.0.0.1", Integer.parseInt(arguments[0]));
        for (RedisProtocol protocol : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
            try (Jedis r = connect(protocol)) {
                r.flushAll();
                Values.check(r);
                Sessions.check(r, protocol);
                is("flushall", r.flushAll(), "OK");
                is("dbsize", r.dbSize(), 0L);
            }
        }
        System.out.printf("jedis %s: %d passed, %d failed%n", version(), passed, failed);
        System.exit(failed == 0 ? 0 : 1);
    }
}
