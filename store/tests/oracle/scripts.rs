//! Random commands.

use xtasking_testing::Random;

/// A command as its arguments.
pub type Args = Vec<Vec<u8>>;

/// Templates of commands: each word is one, or stands for what is drawn.
///
/// `K` is a key, `V` a value, `I` an integer, `N` a time that may be
/// wrong, `F` a number with a fraction, `S` some seconds, `A` a
/// time in seconds since 1970, `M` one in milliseconds, `D` a database, `P` a pattern. A word in
/// brackets is there or not; of words with bars between them one is drawn.
const TEMPLATES: &[&str] = &[
    "GET K",
    "GET K",
    "SET K V",
    "SET K V",
    "SET K V",
    "SET K V [NX|XX] [GET]",
    "SET K V [EX|PX] [S]",
    "SET K V EX S",
    "SET K V PXAT M",
    "SET K V EXAT A [NX|XX]",
    "SET K V KEEPTTL [GET]",
    "SET K V V",
    "SET K V EX N",
    "SETEX K S V",
    "SETEX K N V",
    "PSETEX K N V",
    "SETNX K V",
    "GETSET K V",
    "GETDEL K",
    "GETEX K",
    "GETEX K EX S",
    "GETEX K PERSIST",
    "GETEX K EXAT A",
    "GETEX K PX N",
    "GETEX K EX S PERSIST",
    "MGET K K K",
    "MSET K V K V",
    "MSET K V K",
    "MSETNX K V K V",
    "APPEND K V",
    "APPEND K V",
    "STRLEN K",
    "INCR K",
    "DECR K",
    "INCRBY K I",
    "DECRBY K I",
    "INCRBYFLOAT K F",
    "INCRBYFLOAT K F",
    "INCRBYFLOAT K V",
    "GETRANGE K I I",
    "SUBSTR K I I",
    "SETRANGE K 3 V",
    "SETRANGE K I V",
    "SETBIT K 7 1",
    "SETBIT K 100 0|1",
    "SETBIT K 12345|-7|x 0|1",
    "SETBIT K 3 V",
    "GETBIT K 7",
    "GETBIT K I",
    "BITCOUNT K",
    "BITCOUNT K I I",
    "BITCOUNT K I I BIT|BYTE|NOTHING",
    "BITCOUNT K I",
    "BITPOS K 0|1",
    "BITPOS K I I",
    "BITPOS K 0|1 I",
    "BITPOS K 0|1 I I",
    "BITPOS K 0|1 I I BIT|BYTE|NOTHING",
    "BITOP AND|OR|XOR K K K",
    "BITOP NOT|AND K K",
    "BITOP NOT|V K K K",
    "BITFIELD K",
    "BITFIELD K SET u8 3 5 GET i5 #1 INCRBY i64 7 I",
    "BITFIELD K OVERFLOW SAT|FAIL|WRAP INCRBY i8|u8|i3|i64 #1 5|-7|12345",
    "BITFIELD K OVERFLOW SAT|FAIL|WRAP|V SET i8|u8|u63|u64 #1 5|-7|12345",
    "BITFIELD K GET u4 I",
    "BITFIELD K INCRBY u4 V",
    "BITFIELD_RO K GET u4 0 GET i13 5",
    "BITFIELD_RO K SET u8 0 1",
    "LCS K K",
    "LCS K K LEN",
    "LCS K K IDX",
    "LCS K K IDX WITHMATCHLEN MINMATCHLEN I",
    "LCS K K IDX LEN",
    "PFADD K V V",
    "PFADD K",
    "PFCOUNT K [K]",
    "PFMERGE K K",
    "PFDEBUG ENCODING|DECODE|TODENSE|V K",
    "GEOADD K [NX|XX] [CH] F F V",
    "GEOPOS K V V",
    "GEODIST K V V m|km|V",
    "GEOSEARCH K FROMLONLAT 3 10 BYRADIUS I km ASC",
    "DEL K",
    "DEL K K",
    "UNLINK K K",
    "EXISTS K K K",
    "TOUCH K K",
    "TYPE K",
    "KEYS P",
    "RENAME K K",
    "RENAMENX K K",
    "COPY K K",
    "COPY K K REPLACE",
    "COPY K K DB D",
    "COPY K K DB D REPLACE",
    "MOVE K D",
    "DBSIZE",
    "FLUSHDB",
    "FLUSHALL ASYNC",
    "FLUSHALL V",
    "SWAPDB D D",
    "SELECT D",
    "EXPIRE K S",
    "EXPIRE K N",
    "EXPIRE K S [NX|XX] [GT|LT]",
    "PEXPIRE K N",
    "EXPIREAT K A [NX|XX|GT|LT]",
    "PEXPIREAT K M [GT]",
    "PEXPIREAT K M LT",
    "EXPIRE K S V",
    "TTL K",
    "PTTL K",
    "EXPIRETIME K",
    "PEXPIRETIME K",
    "PERSIST K",
    "OBJECT ENCODING K",
    "OBJECT FREQ K",
    "OBJECT NOTHING K",
    "OBJECT",
    "PING",
    "PING V",
    "PING V V",
    "ECHO V",
    "NOTHING V V",
    "GET",
    "GET K K",
    "MULTI",
    "MULTI",
    "EXEC",
    "EXEC",
    "EXEC",
    "DISCARD",
    "WATCH K",
    "WATCH K K",
    "UNWATCH",
    "SCAN I V",
    "SCAN 0 COUNT I",
    "SCAN x",
    "SWAPDB V D",
    "HELLO I",
    "HELLO 2 V",
    "HELLO 3",
    "HELLO 3",
    "HELLO",
    "HELLO 2 SETNAME V",
    "CLIENT GETNAME",
    "CLIENT SETNAME V",
    "CLIENT NOTHING",
    "AUTH V",
    "AUTH default V",
    "AUTH V V",
    "CONFIG GET databases proto-max-bulk-len",
    "CONFIG SET V V",
    "CONFIG SET proto-max-bulk-len V",
    "CONFIG SET databases 4",
    "COMMAND COUNT V",
    "RESET",
];

/// More of them, on collections: some have random results, so they are not compared with Redis.
const COLLECTIONS: &[&str] = &[
    "RPUSH K V V",
    "LPUSH K V",
    "LPOP K",
    "RPOP K 2",
    "LSET K 0 V",
    "LINSERT K BEFORE V V",
    "LREM K 1 V",
    "LTRIM K 1 -1",
    "RPOPLPUSH K K",
    "LMOVE K K LEFT RIGHT",
    "LMPOP 2 K K LEFT",
    "BLPOP K K 1",
    "BLMOVE K K LEFT LEFT 1",
    "HSET K V V V V",
    "HSETNX K V V",
    "HINCRBY K V I",
    "HINCRBYFLOAT K V F",
    "HDEL K V",
    "SADD K V V V",
    "SREM K V",
    "SPOP K",
    "SPOP K 2",
    "SMOVE K K V",
    "SINTERSTORE K K K",
    "SUNIONSTORE K K K",
    "SDIFFSTORE K K K",
    "ZADD K 1 V 2 V",
    "ZADD K [NX|XX] [GT] CH F V",
    "ZINCRBY K F V",
    "ZREM K V",
    "ZPOPMIN K",
    "ZPOPMAX K 2",
    "ZREMRANGEBYRANK K 0 0",
    "ZREMRANGEBYSCORE K 1 1",
    "ZUNIONSTORE K 2 K K",
    "ZRANGESTORE K K 0 1",
    "BZPOPMIN K 1",
    "ZMPOP 1 K MIN",
    "GEOADD K [NX|XX] CH F F V F 7.5 V",
    "GEOADD K 3.1 9.9 V",
    "GEORADIUS K 3 10 500 km STORE K",
    "GEORADIUSBYMEMBER K V 900 km STOREDIST K",
    "GEOSEARCHSTORE K K FROMLONLAT 3 10 BYBOX 4000 2000 km COUNT 2",
    "PFADD K V V",
    "PFADD K V V V",
    "PFCOUNT K",
    "PFMERGE K K K",
    "PFDEBUG TODENSE|GETREG K",
    "SORT K ALPHA STORE K",
    "EXPIRE K S",
    "PERSIST K",
    "RENAME K K",
    "COPY K K REPLACE",
    "DEL K",
    "SET K V EX S",
];

const KEYS: usize = 8;

pub struct Scripts {
    random: Random,
    /// A time in seconds since 1970, far enough from now.
    later: i64,
}

impl Scripts {
    pub fn new(seed: u64, later: i64) -> Self {
        Self { random: Random(seed), later }
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// Draws a command.
    pub fn command(&mut self) -> Args {
        self.command_of(TEMPLATES)
    }

    /// Draws a command on collections.
    pub fn command_on_collections(&mut self) -> Args {
        self.command_of(COLLECTIONS)
    }

    fn command_of(&mut self, templates: &[&'static str]) -> Args {
        let template = self.pick(templates);
        template.split(' ').filter_map(|word| self.word(word)).collect()
    }

    fn word(&mut self, word: &str) -> Option<Vec<u8>> {
        if let Some(inner) = word.strip_prefix('[') {
            return if self.below(2) == 0 { None } else { self.word(inner.trim_end_matches(']')) };
        }
        if word.contains('|') {
            let words: Vec<&str> = word.split('|').collect();
            let word = self.pick(&words);
            return self.word(word);
        }
        Some(match word {
            "K" => format!("key:{}", self.below(KEYS)).into_bytes(),
            "V" => self.value(),
            "I" => self.integer(),
            "N" => {
                self.pick(&["0", "-1", "-7", "100000", "9223372036854775807", "9223372036854775", "x"]).into()
            }
            "F" => {
                self.pick(&["0.1", "10.5", "-3.25", "5e3", "1e-17", "inf", "3", "0x10", "1.0", "x"]).into()
            }
            "S" => (1000 + self.below(1000)).to_string().into_bytes(),
            "A" => (self.later + self.below(1000) as i64).to_string().into_bytes(),
            "M" => (self.later * 1000 + self.below(100_000) as i64).to_string().into_bytes(),
            "D" => self.pick(&["0", "1", "2", "3", "15", "16", "-1", "x"]).into(),
            "P" => self.pick(&["*", "key:*", "key:[1-4]", "k?y:\\1", "nothing", "[^a]*"]).into(),
            other => other.into(),
        })
    }

    fn integer(&mut self) -> Vec<u8> {
        let some = [
            "0",
            "1",
            "-1",
            "3",
            "5",
            "-7",
            "9223372036854775807",
            "-9223372036854775808",
            "12345",
            "x",
            "1.5",
        ];
        self.pick(&some).into()
    }

    fn value(&mut self) -> Vec<u8> {
        let some = [
            "0",
            "1",
            "-5",
            "10000",
            "123456789012",
            "9223372036854775807",
            "abc",
            "",
            "hello world",
            "1.5",
            "10.50",
            "3.0e3",
            "inf",
            " 1",
            "01",
            "ohmytext",
            "mynewtext",
        ];
        match self.below(6) {
            0 => (0..self.below(100)).map(|_| self.below(256) as u8).collect(),
            1 => vec![b'x'; 40 + self.below(10)],
            _ => self.pick(&some).into(),
        }
    }
}
