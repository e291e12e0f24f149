//! What sessions do: pipelines, transactions, waiting, channels, pools, questions to the server.
use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::{Client, Commands, Connection, InfoDict, RedisResult, cmd, pipe};

use crate::{Checks, run, text};

type Result = RedisResult<()>;

pub fn check(c: &mut Checks, client: &Client, r: &mut Connection) -> Result {
    pipelines(c, r);
    transactions(c, client, r)?;
    waits(c, client, r)?;
    channels(c, client, r)?;
    server(c, client, r)?;
    pool(c, client, r)
}

/// What differs in the third version of the protocol.
pub fn check_third(c: &mut Checks, client: &Client, r: &mut Connection) -> Result {
    pipelines(c, r);
    transactions(c, client, r)?;
    let mut subscriber = client.get_connection()?;
    let (sender, pushed) = std::sync::mpsc::channel();
    subscriber.set_push_sender(sender);
    subscriber.subscribe_resp3("news")?;
    c.answer("PUBLISH to a push", r.publish("news", "hello"), 1);
    // An answer to a command comes beside the messages.
    c.answer("GET of a subscriber", subscriber.get("none"), None::<String>);
    let mut messages = 0;
    for _ in 0..100 {
        messages += pushed.try_iter().filter(|push| push.kind == redis::PushKind::Message).count();
        if messages > 0 {
            break;
        }
        subscriber.ping::<()>()?;
    }
    c.equal("message as a push", messages, 1);
    let scores = cmd("ZRANGE").arg("manyz").arg("0").arg("0").arg("WITHSCORES").query(r);
    let double = redis::Value::Array(vec![redis::Value::Array(vec![
        redis::Value::BulkString(b"0".to_vec()),
        redis::Value::Double(0.0),
    ])]);
    c.answer("a score is a double", scores, double);
    c.answer("a hash is a map", run(r, "HGETALL none"), redis::Value::Map(Vec::new()));
    c.answer("a set is a set", run(r, "SMEMBERS none"), redis::Value::Set(Vec::new()));
    c.answer("no key is null", run(r, "GET none"), redis::Value::Nil);
    Ok(())
}

fn pipelines(c: &mut Checks, r: &mut Connection) {
    let mut long = pipe();
    for _ in 0..500 {
        long.incr("pipelined", 1);
    }
    c.answer("pipeline", long.query(r), (1..=500).collect::<Vec<i64>>());
    let mut some = pipe();
    some.set("t", 1).ignore().incr("t", 1).get("t");
    c.answer("pipeline with what is ignored", some.query(r), (2, 2));
    let mut broken = pipe();
    broken.set("t", "v").ignore().lpush("t", "x").get("t");
    let failed = broken.query::<(i64, String)>(r);
    c.equal("error in a pipeline", failed.is_err_and(|e| e.to_string().contains("WRONGTYPE")), true);
    c.answer("those after it are run", r.get("t"), "v".to_string());
}

fn transactions(c: &mut Checks, client: &Client, r: &mut Connection) -> Result {
    c.answer("MULTI", pipe().atomic().set("t", 1).ignore().incr("t", 1).query(r), (2,));
    let broken = pipe().atomic().cmd("INCR").set("t", 5).query::<()>(r);
    let text = broken.map_or_else(|error| error.to_string(), |()| String::new());
    c.equal("EXECABORT", text.contains("Transaction aborted") && text.contains("for 'incr' command"), true);
    c.answer("nothing of it is done", r.get("t"), 2);
    let mut other = client.get_connection()?;
    c.answer("WATCH", run(r, "WATCH t"), true);
    c.answer("another session changes the key", other.set("t", 10), true);
    c.answer("EXEC after it", pipe().atomic().incr("t", 1).query(r), None::<Vec<i64>>);
    c.answer("WATCH", run(r, "WATCH t"), true);
    c.answer("EXEC of an unchanged key", pipe().atomic().incr("t", 1).query(r), Some(vec![11]));
    c.answer("UNWATCH", run(r, "UNWATCH"), true);
    c.answer("SET", r.set("sum", 0), true);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| add(client, 25))).collect();
        threads.into_iter().for_each(|thread| {
            c.equal("threads add", thread.join().is_ok_and(|added| added.is_ok()), true);
        });
    });
    c.answer("optimistic retry", r.get("sum"), 100);
    Ok(())
}

/// Adds one several times by optimistic transactions.
fn add(client: &Client, times: usize) -> Result {
    let mut connection = client.get_connection()?;
    for _ in 0..times {
        redis::transaction(&mut connection, &["sum"], |connection, transaction| {
            let value: i64 = connection.get("sum")?;
            transaction.set("sum", value + 1).ignore().query::<Option<()>>(connection)
        })?;
    }
    Ok(())
}

/// Runs a command on a second connection, and another on this one as soon as it waits.
/// Returns the answer of the first.
fn woken<T: redis::FromRedisValue + Send>(
    client: &Client,
    r: &mut Connection,
    waits: &str,
    wakes: &str,
) -> RedisResult<T> {
    let mut other = client.get_connection()?;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || run(&mut other, waits));
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            let clients: InfoDict = run(r, "INFO clients")?;
            if clients.get("blocked_clients") == Some(1) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        run::<redis::Value>(r, wakes)?;
        waiter.join().expect("the thread that waits does not panic")
    })
}

fn waits(c: &mut Checks, client: &Client, r: &mut Connection) -> Result {
    c.answer("BLPOP", woken(client, r, "BLPOP q1 q2 10", "RPUSH q2 x"), text("q2 x"));
    c.answer("BRPOP", woken(client, r, "BRPOP q1 10", "RPUSH q1 y"), text("q1 y"));
    c.answer("BLMOVE", woken(client, r, "BLMOVE q1 q3 LEFT LEFT 10", "RPUSH q1 z"), "z".to_string());
    c.answer("BRPOPLPUSH", woken(client, r, "BRPOPLPUSH q1 q3 10", "RPUSH q1 w"), "w".to_string());
    c.answer("moved elements", r.lrange("q3", 0, -1), text("w z"));
    let popped = ("q1".to_string(), text("v"));
    c.answer("BLMPOP", woken(client, r, "BLMPOP 10 1 q1 LEFT", "RPUSH q1 v"), popped);
    let popped = ("bz".to_string(), "m".to_string(), 1.5);
    c.answer("BZPOPMIN", woken(client, r, "BZPOPMIN bz 10", "ZADD bz 1.5 m"), popped);
    c.answer("BLPOP that times out", r.blpop("q1", 0.05), None::<(String, String)>);
    let number: i64 = run(r, "CLIENT ID")?;
    c.equal("CLIENT ID", number > 0, true);
    Ok(())
}

fn channels(c: &mut Checks, client: &Client, r: &mut Connection) -> Result {
    let mut connection = client.get_connection()?;
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut subscriber = connection.as_pubsub();
    subscriber.subscribe("news")?;
    subscriber.psubscribe("n*")?;
    c.answer("PUBSUB CHANNELS", run(r, "PUBSUB CHANNELS"), text("news"));
    c.answer("PUBSUB NUMPAT", run(r, "PUBSUB NUMPAT"), 1);
    let counts: HashMap<String, i64> = [("news".to_string(), 1), ("none".to_string(), 0)].into();
    c.answer("PUBSUB NUMSUB", run(r, "PUBSUB NUMSUB news none"), counts);
    c.answer("PUBLISH", r.publish("news", "hello"), 2);
    let message = subscriber.get_message()?;
    c.answer("message", message.get_payload(), "hello".to_string());
    c.equal("its channel", message.get_channel_name(), "news");
    let message = subscriber.get_message()?;
    c.answer("pmessage", message.get_pattern(), "n*".to_string());
    subscriber.unsubscribe("news")?;
    subscriber.punsubscribe("n*")?;
    c.answer("PUBLISH to none", r.publish("news", "hello"), 0);
    c.answer("CONFIG SET", run(r, "CONFIG SET notify-keyspace-events K$"), true);
    subscriber.psubscribe("__keyspace@0__:*")?;
    c.answer("SET", r.set("watched", 1), true);
    c.answer("keyspace event", subscriber.get_message()?.get_payload(), "set".to_string());
    c.answer("CONFIG SET", run(r, "CONFIG SET notify-keyspace-events "), true);
    Ok(())
}

fn server(c: &mut Checks, client: &Client, r: &mut Connection) -> Result {
    c.answer("PING", r.ping(), "PONG".to_string());
    c.answer("ECHO", run(r, "ECHO hello"), "hello".to_string());
    let mut named = client.get_connection()?;
    c.answer("CLIENT SETNAME", named.client_setname("checker"), true);
    c.answer("CLIENT GETNAME", named.client_getname(), Some("checker".to_string()));
    let info: String = run(&mut named, "CLIENT INFO")?;
    c.equal("CLIENT INFO", info.contains(" name=checker ") && info.contains(" cmd=client|info "), true);
    let list: String = run(r, "CLIENT LIST")?;
    c.equal("CLIENT LIST", list.lines().filter(|line| line.contains(" name=checker ")).count(), 1);
    let number: i64 = named.client_id()?;
    c.answer("CLIENT KILL", run(r, &format!("CLIENT KILL ID {number}")), 1);
    c.equal("a killed connection", named.ping::<String>().is_err_and(|e| e.is_connection_dropped()), true);
    c.error(
        "CLIENT SETNAME",
        cmd("CLIENT").arg("SETNAME").arg("a b").query::<()>(r),
        "ERR",
        "cannot contain spaces",
    );
    let databases: HashMap<String, i64> = [("databases".to_string(), 16)].into();
    c.answer("CONFIG GET", run(r, "CONFIG GET databases"), databases);
    c.error("CONFIG SET", run::<()>(r, "CONFIG SET none 1"), "ERR", "Unknown option");
    let info: InfoDict = run(r, "INFO")?;
    c.equal("version in INFO", info.get("redis_version"), Some("7.0.15".to_string()));
    c.equal("role in INFO", info.get("role"), Some("master".to_string()));
    for field in ["uptime_in_seconds", "connected_clients", "used_memory", "keyspace_hits", "expired_keys"] {
        c.equal(field, info.get::<u64>(field).is_some(), true);
    }
    c.answer("COMMAND COUNT", run(r, "COMMAND COUNT").map(|count: i64| count > 150), true);
    c.answer("COMMAND GETKEYS", run(r, "COMMAND GETKEYS MSET a 1 b 2"), text("a b"));
    c.answer("MEMORY USAGE", run(r, "MEMORY USAGE large").map(|bytes: usize| bytes >= 1 << 20), true);
    c.answer(
        "TIME",
        run(r, "TIME").map(|time: (u64, u64)| time.0 > 1_700_000_000 && time.1 < 1_000_000),
        true,
    );
    c.answer("SWAPDB", run(r, "SWAPDB 0 5"), true);
    c.answer("SELECT", run(r, "SELECT 5"), true);
    c.answer("GET in another database", r.get("watched"), 1);
    c.answer("MOVE", run(r, "MOVE watched 0"), true);
    c.answer("SELECT", run(r, "SELECT 0"), true);
    c.answer("SWAPDB", run(r, "SWAPDB 0 5"), true);
    c.error("SELECT", run::<()>(r, "SELECT 99"), "ERR", "DB index is out of range");
    Ok(())
}

fn pool(c: &mut Checks, client: &Client, r: &mut Connection) -> Result {
    let pool = r2d2::Pool::builder().max_size(4).build(client.clone());
    let pool = pool.map_err(|error| std::io::Error::other(error.to_string()))?;
    let work = |thread: usize| -> RedisResult<bool> {
        let mut same = true;
        for i in 0..200 {
            let mut r = pool.get().map_err(|error| std::io::Error::other(error.to_string()))?;
            r.set::<_, _, ()>(format!("pool:{thread}"), i)?;
            same &= r.get::<_, usize>(format!("pool:{thread}"))? == i;
            r.incr::<_, _, ()>("pool:all", 1)?;
        }
        Ok(same)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let work = &work;
                scope.spawn(move || work(thread))
            })
            .collect();
        for thread in threads {
            c.answer("a thread reads what it wrote", thread.join().expect("no thread panics"), true);
        }
    });
    c.answer("counter of all threads", r.get("pool:all"), 1600);
    Ok(())
}
