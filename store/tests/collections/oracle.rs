//! Random scripts run by Redis and by the engine; the replies are compared byte by byte.

use super::generator::Generator;
use super::redis::{Connection, Server};
use super::reply::Reply;
use super::{engine, runtime};
use std::collections::BTreeSet;
use xtasking_store::engine::Client;
use xtasking_store::resp;

/// Commands of a script.
const STEPS: usize = 300;
/// Scripts, unless `XTASKING_STORE_SCRIPTS` says how many.
const SCRIPTS: u64 = 60;

/// Replies without an order: the width of a group in RESP2 and in RESP3.
fn unordered(command: &str) -> Option<[usize; 2]> {
    match command {
        "smembers" | "hkeys" | "hvals" | "sinter" | "sunion" | "sdiff" | "srandmember" | "spop" => {
            Some([1, 1])
        }
        "hgetall" => Some([2, 2]),
        _ => None,
    }
}

/// The parts of a reply that can be compared, the other parts in one order.
fn comparable(args: &[Vec<u8>], bytes: &[u8]) -> Option<Reply> {
    let (mut reply, _) = Reply::parse(bytes)?;
    let name = String::from_utf8_lossy(&args[0]).to_ascii_lowercase();
    let is_three = bytes[0] != b'*' || bytes.windows(4).any(|part| part == b"\r\n*2");
    match name.as_str() {
        "hrandfield" | "srandmember" | "zrandmember" if args.len() == 2 => reply.forget_bulk(),
        "hscan" => reply.element_mut(1)?.sort(2),
        "sscan" | "zscan" => reply.element_mut(1)?.sort(if name == "zscan" { 2 } else { 1 }),
        "hrandfield" if args.len() == 4 => reply.sort(if is_three { 1 } else { 2 }),
        "hrandfield" => reply.sort(1),
        name => reply.sort(unordered(name)?[usize::from(is_three)]),
    }
    Some(reply)
}

/// Sends a request to Redis, and returns the reply.
fn ask(redis: &mut Connection, args: &[Vec<u8>]) -> Vec<u8> {
    let mut request = resp::Reply::default();
    request.array(args.len());
    args.iter().for_each(|arg| request.bulk(arg));
    redis.send(request.as_bytes());
    redis.receive()
}

/// Both servers.
struct Pair<'a> {
    redis: &'a mut Connection,
    client: &'a mut Client,
    script: Vec<String>,
    /// Redis converts these: SORT makes sorted sets large.
    sorted: BTreeSet<Vec<u8>>,
}

impl Pair<'_> {
    /// Runs a command on both, and compares the replies.
    fn run(&mut self, args: &[Vec<u8>], seed: u64) {
        let words: Vec<_> = args.iter().map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
        self.script.push(format!("{words:?}"));
        if args[0].to_ascii_lowercase().starts_with(b"sort") {
            self.sorted.extend(args.get(1).cloned());
        }
        let expected = ask(self.redis, args);
        let actual = self.client.run(args).expect("a running engine");
        if expected == actual {
            return;
        }
        let is_same =
            comparable(args, &expected).is_some_and(|reply| Some(reply) == comparable(args, &actual));
        // The commands that name the same keys.
        let is_related = |line: &&String| words[1..].iter().any(|word| line.contains(&format!("{word:?}")));
        let before: Vec<_> = self.script.iter().filter(is_related).cloned().collect();
        assert!(
            is_same,
            "seed {seed}: {}\n-> {words:?}\nRedis: {:?}\nstore: {:?}",
            before[before.len().saturating_sub(40)..].join("\n"),
            String::from_utf8_lossy(&expected),
            String::from_utf8_lossy(&actual),
        );
    }

    fn run_words(&mut self, words: &[&str], seed: u64) {
        let args: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        self.run(&args, seed);
    }

    /// Compares all that the keys hold.
    fn compare_contents(&mut self, seed: u64) {
        for key in Generator::keys() {
            let key = key.as_str();
            self.run_words(&["type", key], seed);
            self.run_words(&["lrange", key, "0", "-1"], seed);
            self.run_words(&["hgetall", key], seed);
            self.run_words(&["smembers", key], seed);
            self.run_words(&["zrange", key, "0", "-1", "withscores"], seed);
            // Lists and sets have an encoding more than in Redis 7.0.
            let kind = ask(self.redis, &[b"type".to_vec(), key.into()]);
            let is_sorted = self.sorted.contains(key.as_bytes());
            if kind == b"+hash\r\n" || kind == b"+zset\r\n" && !is_sorted {
                self.run_words(&["object", "encoding", key], seed);
            }
        }
    }
}

/// A command that may wait is run inside MULTI, where it does not.
fn may_wait(args: &[Vec<u8>]) -> bool {
    args[0].first().is_some_and(|letter| letter.eq_ignore_ascii_case(&b'b'))
}

fn run_script(pair: &mut Pair<'_>, seed: u64) {
    let mut generator = Generator::new(seed);
    ask(pair.redis, &[b"flushall".to_vec()]);
    // Every other script has RESP3 and small limits.
    let (protocol, limit) = if seed % 2 == 1 { ("3", "6") } else { ("2", "128") };
    for command in [&["hello", protocol][..], &["config", "set", "zset-max-listpack-entries", limit]] {
        let args: Vec<_> = command.iter().map(|word| word.as_bytes().to_vec()).collect();
        ask(pair.redis, &args);
        pair.client.run(&args).expect("a running engine");
    }
    for step in 0..STEPS {
        let command = generator.command();
        let is_isolated = may_wait(&command);
        if is_isolated {
            pair.run_words(&["multi"], seed);
        }
        pair.run(&command, seed);
        if is_isolated {
            pair.run_words(&["exec"], seed);
        }
        if step % 100 == 99 {
            pair.compare_contents(seed);
        }
    }
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "it starts a process")]
fn random_scripts_are_answered_as_redis_does() {
    let Some(server) = Server::start() else { return };
    let (rt, scripts) = (runtime(), std::env::var("XTASKING_STORE_SCRIPTS"));
    for seed in 0..scripts.map_or(SCRIPTS, |scripts| scripts.parse().expect("a number of scripts")) {
        let (mut connection, mut client) = (server.connect(), engine(&rt).client());
        let (script, sorted) = (Vec::new(), BTreeSet::new());
        run_script(&mut Pair { redis: &mut connection, client: &mut client, script, sorted }, seed);
    }
}
