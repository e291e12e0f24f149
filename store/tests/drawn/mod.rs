//! Commands drawn by seed, and what a store has after them. Programs of tests share this.
//!
//! Many of the commands are about several keys, and so about shards of several workers: these part
//! what can be replayed side by side. Some databases are in order.

use xtasking_store::Engine;
use xtasking_store::engine::{Builder, Client};
use xtasking_testing::Random;

const DATABASES: usize = 4;
/// The databases that are in order.
const ORDERED: [usize; 2] = [0, 2];

/// What commands are drawn by.
pub struct Draw {
    pub random: Random,
    /// How many of a thousand commands are about several keys.
    pub several: u64,
}

impl Draw {
    pub fn chance(&mut self, permille: u64) -> bool {
        self.random.below(1000) < permille
    }

    /// A key whose first letter says its type. Few names, so that they meet again.
    fn key(&mut self, kind: char) -> String {
        format!("{kind}:{}", self.random.below(12))
    }

    fn word(&mut self) -> String {
        format!("w{}", self.random.below(30))
    }

    fn side(&mut self) -> &'static str {
        ["LEFT", "RIGHT"][self.random.below(2) as usize]
    }

    /// A command on one key.
    fn of_one_key(&mut self) -> String {
        let word = self.word();
        let [text, list, hash, set, ranked] = ['t', 'l', 'h', 's', 'z'].map(|kind| self.key(kind));
        let number = self.random.below(1000);
        match self.random.below(20) {
            0..3 => format!("APPEND {text} {number},"),
            3 => format!("SET {text} {word}"),
            4 => format!("SET {text} {word} PX {}", 1 + 20 * number),
            5 => format!("GETDEL {text}"),
            6..9 => format!("RPUSH {list} {word} {number}"),
            9 => format!("LPOP {list} 2"),
            10 | 11 => format!("HSET {hash} {word} {number}"),
            12 => format!("HDEL {hash} {word}"),
            13 | 14 => format!("SADD {set} {word} {number}"),
            15 => format!("SPOP {set}"),
            16 => format!("ZADD {ranked} {number} {word}"),
            17 => format!("XADD x:{} MAXLEN 20 * {word} {number}", number % 5),
            18 => format!("PEXPIRE {list} {}", 20 * number),
            _ => format!("PERSIST {list}"),
        }
    }

    /// A command on several keys, or on all of them.
    fn of_several_keys(&mut self) -> String {
        let kind = ['t', 'l', 'h', 's', 'z'][self.random.below(5) as usize];
        let [one, two] = [(); 2].map(|()| self.key(kind));
        let [text, other] = [(); 2].map(|()| self.key('t'));
        let [list, second] = [(); 2].map(|()| self.key('l'));
        let [set, more, result] = [(); 3].map(|()| self.key('s'));
        let [ranked, beside] = [(); 2].map(|()| self.key('z'));
        let [database, another] = [(); 2].map(|()| self.random.below(DATABASES as u64));
        let (word, from, to) = (self.word(), self.side(), self.side());
        match self.random.below(40) {
            0..3 => format!("RENAME {one} {two}"),
            3 => format!("RENAMENX {one} {two}"),
            4..7 => format!("COPY {one} {two} DB {database} REPLACE"),
            7..10 => format!("MOVE {one} {database}"),
            10..13 => format!("MSET {text} {word} {other} {word}"),
            13 => format!("MSETNX {text} {word} {other} {word}"),
            14..17 => format!("SMOVE {set} {more} {word}"),
            17..20 => format!("LMOVE {list} {second} {from} {to}"),
            20 => format!("LMPOP 2 {list} {second} {from} COUNT 2"),
            21..24 => format!("SUNIONSTORE {result} {set} {more}"),
            24 => format!("SDIFFSTORE {result} {set} {more}"),
            25 => format!("ZUNIONSTORE {ranked} 2 {beside} {set}"),
            26 => format!("ZRANGESTORE {ranked} {beside} 0 3"),
            27 => format!("BITOP XOR {text} {other} {text}"),
            28 => format!("SORT {set} ALPHA STORE {list}"),
            29 => format!("PFMERGE p:{word} p:{}", self.word()),
            30 => format!("DEL {one} {two} {text}"),
            31..33 => format!("SWAPDB {database} {another}"),
            33 => format!("RANGEDEL [{one} [{two}"),
            34 => format!("RANGEDEL - ({text} LIMIT 3"),
            35 => format!("RANGEDEL PREFIX {one}"),
            36 => format!("RANGEDEL ({list} + SCAN"),
            37 => format!("PFADD p:{word} {word}"),
            38 if self.chance(300) => "FLUSHDB".to_owned(),
            39 if self.chance(150) => "FLUSHALL".to_owned(),
            _ => format!("SELECT {database}"),
        }
    }

    /// Returns a command, or those of a transaction: more than one, with MULTI and EXEC.
    pub fn unit(&mut self) -> Vec<String> {
        let several = self.several;
        if !self.chance(several) {
            return vec![if self.chance(several) { self.of_several_keys() } else { self.of_one_key() }];
        }
        let mut unit = vec!["MULTI".to_owned()];
        for _ in 0..1 + self.random.below(4) {
            unit.push(if self.chance(500) { self.of_several_keys() } else { self.of_one_key() });
        }
        unit.push("EXEC".to_owned());
        unit
    }
}

/// Returns a builder of a small engine.
pub fn builder() -> Builder {
    Engine::builder().shards(16).databases(DATABASES).seed(1).setting("ordered-databases", "0 2")
}

/// Runs a command of words, and returns its reply: a character for each byte.
pub fn run(client: &mut Client, line: &str) -> String {
    client.run(line.split(' ')).expect("a reply").into_iter().map(char::from).collect()
}

/// The parts of a reply that is an array of bulk strings.
fn bulks(reply: &str) -> Vec<&str> {
    reply.split("\r\n").skip(2).step_by(2).collect()
}

fn sorted(mut parts: Vec<&str>) -> Vec<&str> {
    parts.sort_unstable();
    parts
}

/// Returns what a key has. Where its parts have no order, they are sorted.
fn value(client: &mut Client, key: &str) -> String {
    let kind = run(client, &format!("TYPE {key}"));
    let reply = match kind.trim_end() {
        "+string" => run(client, &format!("GET {key}")),
        "+list" => run(client, &format!("LRANGE {key} 0 -1")),
        "+hash" => {
            let reply = run(client, &format!("HGETALL {key}"));
            let mut pairs: Vec<_> = bulks(&reply).chunks(2).map(|pair| pair.join("=")).collect();
            pairs.sort_unstable();
            pairs.join(" ")
        }
        "+set" => sorted(bulks(&run(client, &format!("SMEMBERS {key}")))).join(" "),
        "+zset" => run(client, &format!("ZRANGE {key} 0 -1 WITHSCORES")),
        "+stream" => run(client, &format!("XRANGE {key} - +")),
        other => panic!("{key} is of no type: {other}"),
    };
    let expiry = run(client, &format!("PEXPIRETIME {key}"));
    format!("{} {} {}", kind.trim_end(), expiry.trim_end(), reply)
}

/// Returns what all databases have. Checks that those in order have all keys, and no others.
pub fn contents(engine: &Engine) -> Vec<String> {
    let (mut client, mut found) = (engine.client(), Vec::new());
    for database in 0..DATABASES {
        assert_eq!(run(&mut client, &format!("SELECT {database}")), "+OK\r\n");
        let keys = run(&mut client, "KEYS *");
        let keys = sorted(bulks(&keys));
        let range = run(&mut client, "RANGE - +");
        match ORDERED.contains(&database) {
            true => assert_eq!(bulks(&range), keys, "database {database}"),
            false => assert!(range.starts_with("-ERR the keys of this database"), "{range}"),
        }
        for key in keys {
            let value = value(&mut client, key);
            found.push(format!("{database} {key}: {value}"));
        }
    }
    found
}
