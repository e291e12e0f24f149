//! Random scripts run by Redis and by the engine. The replies are compared byte by byte, and so are
//! the events; a replica that follows the effects has the same contents in the end.

use super::effects::Follower;
use super::generator::Generator;
use super::redis::{Connection, Server};
use super::reply::Value;
use super::runtime;
use std::collections::BTreeSet;
use xtasking_store::engine::Client;
use xtasking_store::resp::Reply;

/// Commands of a script.
const STEPS: usize = 300;
/// Scripts, unless `XTASKING_STORE_SCRIPTS` says how many.
const SCRIPTS: u64 = 40;

/// Sends a request to Redis, and returns the reply.
pub fn ask(redis: &mut Connection, args: &[Vec<u8>]) -> Vec<u8> {
    let mut request = Reply::default();
    request.array(args.len());
    args.iter().for_each(|arg| request.bulk(arg));
    redis.send(request.as_bytes());
    redis.receive()
}

/// Sorts the elements of an array, by groups of `width`.
fn sort(value: &mut Value, width: usize) {
    if let Value::Array(elements) = value
        && elements.len().is_multiple_of(width)
    {
        let mut groups: Vec<_> = elements.chunks(width).map(<[_]>::to_vec).collect();
        groups.sort_by_key(|group| format!("{group:?}"));
        *elements = groups.concat();
    }
}

/// Returns what can be compared of a reply: not the order that nothing promises, not what is left
/// to chance.
fn comparable(args: &[Vec<u8>], reply: &[u8], is_three: bool) -> Value {
    let mut value = Value::parse(reply);
    let name = String::from_utf8_lossy(&args[0]).to_ascii_lowercase();
    match (name.as_str(), &mut value) {
        ("hrandfield" | "srandmember" | "zrandmember", Value::Bulk(member)) => member.clear(),
        ("hscan" | "zscan", Value::Array(parts)) => parts.iter_mut().for_each(|part| sort(part, 2)),
        ("sscan", Value::Array(parts)) => parts.iter_mut().for_each(|part| sort(part, 1)),
        ("hgetall", value) => sort(value, 2),
        ("hrandfield", value) if args.len() == 4 && !is_three => sort(value, 2),
        ("hkeys" | "hvals" | "smembers" | "sinter" | "sunion" | "sdiff", value) => sort(value, 1),
        ("srandmember" | "spop" | "hrandfield", value) => sort(value, 1),
        _ => {}
    }
    value
}

/// Both servers, and what follows them.
struct Pair {
    redis: Connection,
    client: Client,
    follower: Follower,
    seed: u64,
    script: Vec<String>,
    /// Redis converts these: SORT makes sorted sets large.
    sorted: BTreeSet<Vec<u8>>,
}

impl Pair {
    fn is_three(&self) -> bool {
        self.seed % 2 == 1
    }

    /// Runs a command on both, and compares replies and events.
    fn run(&mut self, args: &[Vec<u8>]) {
        let words: Vec<_> = args.iter().map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
        self.script.push(format!("{words:?}"));
        if args[0].to_ascii_lowercase().starts_with(b"sort") {
            self.sorted.extend(args.get(1).cloned());
        }
        let expected = ask(&mut self.redis, args);
        let actual = self.client.run(args).expect("a running engine");
        let is_same = expected == actual
            || expected.first() == actual.first()
                && comparable(args, &expected, self.is_three()) == comparable(args, &actual, self.is_three());
        self.check(is_same, &words, || format!("{}\n{}", expected.escape_ascii(), actual.escape_ascii()));
        let (events, expected) = self.follower.follow();
        self.check(events == expected, &words, || format!("{expected:?}\n{events:?}"));
    }

    /// Fails with the commands that name the same keys, and what Redis and the engine say.
    fn check(&self, is_right: bool, words: &[String], shown: impl Fn() -> String) {
        let is_related = |line: &&String| words[1..].iter().any(|word| line.contains(&format!("{word:?}")));
        if !is_right {
            let before: Vec<_> = self.script.iter().filter(is_related).cloned().collect();
            let before = before[before.len().saturating_sub(40)..].join("\n");
            panic!("seed {}:\n{before}\n-> {words:?}\nRedis, store:\n{}", self.seed, shown());
        }
    }

    fn run_words(&mut self, words: &[&str]) {
        let args: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        self.run(&args);
    }

    /// Compares all that the keys hold, on the replica too.
    fn compare_contents(&mut self) {
        for key in Generator::keys() {
            let key = key.as_str();
            let reads: [&[&str]; 6] = [
                &["type", key],
                &["get", key],
                &["lrange", key, "0", "-1"],
                &["hgetall", key],
                &["smembers", key],
                &["zrange", key, "0", "-1", "withscores"],
            ];
            for read in reads {
                self.run_words(read);
                let args: Vec<_> = read.iter().map(|word| word.as_bytes().to_vec()).collect();
                let own = self.client.run(&args).expect("a running engine");
                let replica = self.follower.replica(&args);
                let is_same =
                    comparable(&args, &own, self.is_three()) == comparable(&args, &replica, self.is_three());
                let words: Vec<_> = read.iter().map(|word| (*word).to_owned()).collect();
                self.check(is_same, &words, || {
                    format!("{}\nreplica: {}", own.escape_ascii(), replica.escape_ascii())
                });
            }
            // Lists and sets have an encoding more than in Redis 7.0.
            let kind = ask(&mut self.redis, &[b"type".to_vec(), key.into()]);
            let is_sorted = self.sorted.contains(key.as_bytes());
            if kind == b"+hash\r\n" || kind == b"+zset\r\n" && !is_sorted {
                self.run_words(&["object", "encoding", key]);
            }
        }
    }
}

/// A command that may wait is run inside MULTI, where it does not.
fn may_wait(args: &[Vec<u8>]) -> bool {
    args[0].first().is_some_and(|letter| letter.eq_ignore_ascii_case(&b'b'))
}

fn run_script(pair: &mut Pair) {
    let mut generator = Generator::new(pair.seed);
    // Every other script has RESP3 and small limits.
    let (protocol, limit, sparse) = if pair.is_three() { ("3", "6", "400") } else { ("2", "128", "3000") };
    let settings = [
        &["flushall"][..],
        &["hello", protocol],
        &["config", "set", "zset-max-listpack-entries", limit, "hll-sparse-max-bytes", sparse],
    ];
    for words in settings {
        let args: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        ask(&mut pair.redis, &args);
        pair.client.run(&args).expect("a running engine");
        pair.follower.replica(&args);
    }
    for step in 0..STEPS {
        let command = generator.command();
        let is_isolated = may_wait(&command);
        if is_isolated {
            pair.run_words(&["multi"]);
        }
        pair.run(&command);
        if is_isolated {
            pair.run_words(&["exec"]);
        }
        if step % 100 == 99 {
            pair.compare_contents();
        }
    }
}

#[test]
fn random_scripts_are_answered_as_redis_does() {
    let Some(server) = Server::start() else { return };
    let (rt, scripts) = (runtime(), std::env::var("XTASKING_STORE_SCRIPTS"));
    for seed in 0..scripts.map_or(SCRIPTS, |scripts| scripts.parse().expect("a number of scripts")) {
        let redis = server.connect();
        let (engine, follower) = Follower::new(&rt, &server);
        let (client, script, sorted) = (engine.client(), Vec::new(), BTreeSet::new());
        run_script(&mut Pair { redis, client, follower, seed, script, sorted });
    }
}
