//! Random commands.

/// A generator of random commands: SplitMix64.
pub struct Generator {
    state: u64,
}

/// Names of keys. The first letter tells the type: list, hash, set, sorted set, sorted set with
/// equal scores, list that no command takes for another type, string, places, HyperLogLog.
const KEYS: &[(char, usize)] =
    &[('l', 4), ('h', 3), ('s', 4), ('z', 4), ('x', 2), ('y', 2), ('t', 1), ('p', 3), ('u', 4)];
const WORDS: &[&str] = &["a", "b", "c", "dd", "e", "ff", "1", "2", "3", "-4", "10", "007", "1.5", "", "A"];
const INTEGERS: &[&str] =
    &["0", "1", "2", "3", "5", "-1", "-2", "-3", "10", "-10", "9223372036854775807", "-9223372036854775808"];
const SCORES: &[&str] = &["0", "1", "2", "3", "-1", "1.5", "2.5", "1e3", "inf", "-inf", "+5", "0.1", "3.0"];
const TIMEOUTS: &[&str] = &["0", "1", "0.5", "1e3", "-1", "-0.1", "x", "", "0x10", "nan"];
const JUNK: &[&str] = &["x", "", "nan", "1.5", "-9223372036854775809", "01", " 1", "(", "[", "withscores"];

/// The commands of each type. Words in braces are there by chance, and `(a|b)` is a choice. A
/// capital stands for an argument:
///
/// - `K`, `D`: a key of the type; `N`: a number of keys, and so many keys
/// - `E`: an element; `I`: an integer; `F`: a score; `R`: a rank; `W`: a timeout
/// - `S`, `T`: ends of an interval of scores, and of names
/// - `M`: many elements
/// - `X`: longitude and latitude; `L`: a length; `U`: a unit of lengths
const COMMANDS: &[(char, &[&str])] = &[
    (
        'l',
        &[
            "lpush K E {E} {E}",
            "rpush K E {E} {E} {E}",
            "lpushx K E",
            "rpushx K E",
            "lpop K {I}",
            "rpop K {I}",
            "llen K",
            "lindex K I",
            "lset K I E",
            "lrange K I I",
            "lrange K 0 -1",
            "ltrim K I I",
            "lrem K I E",
            "linsert K (before|after) E E",
            "lpos K E {rank R} {count I} {maxlen I}",
            "lmove K K (left|right) (left|right)",
            "rpoplpush K K",
            "lmpop N (left|right) {count I}",
            "blpop K K W",
            "brpop K W",
            "blmove K K (left|right) (left|right) W",
            "brpoplpush K K W",
            "blmpop W N (left|right) {count I}",
        ],
    ),
    (
        'h',
        &[
            "hset K E E {E} {E}",
            "hmset K E E",
            "hsetnx K E E",
            "hget K E",
            "hmget K E E",
            "hgetall K",
            "hdel K E {E}",
            "hlen K",
            "hexists K E",
            "hkeys K",
            "hvals K",
            "hstrlen K E",
            "hincrby K E I",
            "hincrbyfloat K E F",
            "hscan K 0 {match (*|a*|[ab])} {count 1000}",
            "hrandfield K 0",
            "hrandfield K 100",
            "hrandfield K 100 withvalues",
        ],
    ),
    (
        's',
        &[
            "sadd K E {E} {E}",
            "srem K E {E}",
            "scard K",
            "sismember K E",
            "smismember K E E",
            "smembers K",
            "smove K K E",
            "sinter K K",
            "sunion K {K}",
            "sdiff K K {K}",
            "sinterstore D K K",
            "sunionstore D K K",
            "sdiffstore D K K",
            "sintercard N {limit I}",
            "sscan K 0 {match (*|[a-b]*)} {count 1000}",
            "spop K 100",
            "spop K 0",
            "srandmember K 100",
        ],
    ),
    (
        'z',
        &[
            "zadd K {(nx|xx)} {(gt|lt)} {ch} {incr} F E {F} {E}",
            "zadd K F E F E F E",
            "zincrby K F E",
            "zrem K E {E}",
            "zcard K",
            "zcount K S S",
            "zscore K E",
            "zmscore K E E",
            "zrank K E",
            "zrevrank K E",
            "zrange K I I {withscores}",
            "zrange K S S byscore {rev} {limit I I} {withscores}",
            "zrange K I I rev {withscores}",
            "zrangestore D K S S byscore {rev} {limit I I}",
            "zrevrange K I I",
            "zrangebyscore K S S {withscores} {limit I I}",
            "zrevrangebyscore K S S {withscores} {limit I I}",
            "zremrangebyrank K I I",
            "zremrangebyscore K S S",
            "zpopmin K {I}",
            "zpopmax K {I}",
            "bzpopmin K K W",
            "bzpopmax K W",
            "zmpop N (min|max) {count I}",
            "bzmpop W N (min|max) {count I}",
            "zunion 2 K K {weights F F} {aggregate (sum|min|max)} {withscores}",
            "zinter 2 K K {weights F F} {aggregate (sum|min|max)} {withscores}",
            "zdiff N {withscores}",
            "zunionstore D 2 K K {weights F F} {aggregate (min|max)}",
            "zinterstore D 2 K K {weights F F}",
            "zdiffstore D N",
            "zintercard N {limit I}",
            "zscan K 0 {match (*|?)} {count 1000}",
            "zrandmember K 0 {withscores}",
            "zunion N withscores",
        ],
    ),
    (
        'x',
        &[
            "zadd K 0 E 0 E",
            "zrem K E",
            "zlexcount K T T",
            "zrange K T T bylex {rev} {limit I I}",
            "zrangebylex K T T {limit I I}",
            "zrevrangebylex K T T {limit I I}",
            "zremrangebylex K T T",
            "zrangestore D K T T bylex",
        ],
    ),
    (
        'p',
        &[
            "geoadd K {(nx|xx)} {ch} X E {X E} {X E}",
            "geoadd K X E X E X E X E",
            "geopos K {E} {E}",
            "geohash K {E} {E}",
            "geodist K E E {U}",
            "georadius K X L U {withdist} {withhash} {withcoord} {(asc|desc)} {count I}",
            "georadius K X L U count I any {(asc|desc)}",
            "georadius K X L U {count I} {(asc|desc)} store K",
            "georadius K X L U {count I} {(asc|desc)} storedist (z0|z1)",
            "georadius_ro K X L U {withdist} {withcoord} {(store|storedist)} {K}",
            "georadiusbymember K E L U {withdist} {withhash} {withcoord} {(asc|desc)} {count 3} {any}",
            "georadiusbymember K E L U {(asc|desc)} (store|storedist) K store K",
            "georadiusbymember K E L U store K storedist z1",
            "georadiusbymember_ro K E L U {withhash} {any}",
            "geosearch K {fromlonlat X} {frommember E} {byradius L U} {bybox L L U} {asc}",
            "geosearch K fromlonlat X bybox L L U {withdist} {withhash} {withcoord} {(asc|desc)}",
            "geosearch K frommember E byradius L U {count 3} {any} {withdist} {(asc|desc)} {storedist}",
            "geosearchstore K K fromlonlat X bybox L L U {count 3} {any} {withdist}",
            "geosearchstore (z0|z1) K frommember E byradius L U storedist {(asc|desc)}",
            "zadd K (0.5|-1|inf|1e18) a",
            "zrem K E",
        ],
    ),
    (
        'u',
        &[
            "pfadd K",
            "pfadd K E E E",
            "pfadd K M",
            "pfadd K M M M",
            "pfcount K",
            "pfcount K {K} {K}",
            "pfmerge K",
            "pfmerge K K {K}",
            "pfdebug encoding K",
            "pfdebug decode K",
            "pfdebug (todense|getreg|nothing) K",
            "get K",
            // This one is damaged. Redis may add some elements to it before it fails.
            "copy K u9 replace",
            "setrange u9 (4|5|15|16|17|18|40|300) (\u{0}|\u{1}|x|\u{7f}|hello)",
            "append u9 (x|\u{3}\u{7f}|hello)",
            "pfcount u9 {K}",
            "pfmerge K u9",
            "pfdebug (decode|todense|getreg|encoding) u9",
            "get u9",
            "del K",
        ],
    ),
    (
        'y',
        &[
            "rpush K E E E",
            "ltrim K 0 5",
            "sort K by nosort {get #} {get (w*|g*->f|x)} {limit I I} {(asc|desc)}",
            "sort K by nosort store (y0|y1)",
        ],
    ),
    ('l', &["sort K {limit I I} {(asc|desc)} {alpha}", "sort_ro K {by (w*|g*->f)} {get #} {get g*->f}"]),
    (
        's',
        &[
            "sort K {by (w*|g*->f)} {limit I I} {(asc|desc)}",
            "sort K by nosort store (y0|y1)",
            "sort K alpha",
        ],
    ),
    ('z', &["sort K {by (w*|g*->f)} {limit I I} {store (y0|y1)} {(asc|desc)}", "sort K alpha get # get w*"]),
    (
        't',
        &[
            "set K E",
            "del K",
            "get K",
            "set (w1|w2|w3|wa|wb|w) F",
            "hset (g1|g2|ga|gff) f F",
            "del w1 ga",
            "set w2 E",
        ],
    ),
];

impl Generator {
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns a random number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 32) as usize % end
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn choose<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// Returns the keys of all types.
    pub fn keys() -> impl Iterator<Item = String> {
        KEYS.iter().flat_map(|&(kind, count)| (0..count).map(move |number| format!("{kind}{number}")))
    }

    /// Returns a key of a type; sometimes of another.
    fn key(&mut self, kind: char) -> String {
        let own = KEYS.iter().find(|entry| entry.0 == kind).expect("a kind of keys");
        let other = &KEYS[self.below(KEYS.len())];
        let is_free = |kind| !matches!(kind, 'x' | 'y');
        let is_other = is_free(kind) && is_free(other.0) && self.one_in(40);
        let &(kind, count) = if is_other { other } else { own };
        format!("{kind}{}", self.below(count))
    }

    /// Returns a command, mostly a good one.
    pub fn command(&mut self) -> Vec<Vec<u8>> {
        let (kind, templates) = COMMANDS[self.below(COMMANDS.len())];
        let mut words = Vec::new();
        let template = self.choose(templates);
        self.expand(kind, template, &mut words);
        // What SPOP without a count pops is left to chance, and so is what a short scan returns.
        let is_fixed = template.starts_with("spop") || template.contains("scan");
        if self.one_in(30) && words.len() > 1 && !is_fixed {
            words.pop();
        // Timeouts beyond the range differ, and ranks may have an option of Redis 7.2.
        } else if self.one_in(50) && !template.starts_with('b') && !template.contains("rank K") {
            words.push(self.choose(JUNK).into());
        }
        words.into_iter().map(String::into_bytes).collect()
    }

    fn expand(&mut self, kind: char, template: &str, words: &mut Vec<String>) {
        let mut rest = template;
        while !rest.is_empty() {
            let group = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let after = match group {
                Some((group, after)) => {
                    if self.one_in(2) {
                        self.expand(kind, group, words);
                    }
                    after
                }
                None => {
                    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
                    self.word(kind, word, words);
                    after
                }
            };
            rest = after.trim_start();
        }
    }

    fn word(&mut self, kind: char, word: &str, words: &mut Vec<String>) {
        let junk = self.one_in(60);
        let text = match word {
            "K" | "D" => self.key(kind),
            "E" | "I" | "F" | "S" | "T" if junk => self.choose(JUNK).into(),
            "E" => self.element(),
            "I" => self.choose(INTEGERS).into(),
            "R" => self.choose(&INTEGERS[..INTEGERS.len() - 1]).into(),
            "F" => self.choose(SCORES).into(),
            "W" => self.choose(TIMEOUTS).into(),
            "S" => format!("{}{}", self.choose(&["", "", "("]), self.choose(SCORES)),
            "T" => match self.below(6) {
                0 => "-".into(),
                1 => "+".into(),
                _ => format!("{}{}", self.choose(&["[", "("]), self.choose(WORDS)),
            },
            "M" => {
                let count = 1 << self.below(9);
                (1..count).for_each(|_| words.push(self.below(1 << 30).to_string()));
                self.element()
            }
            "X" => {
                words.push(self.coordinate(180.0));
                self.coordinate(85.05112878)
            }
            "L" => match self.below(8) {
                0 => self.choose(&["0", "-1", "inf", "x", "50000000", "1e-7"]).into(),
                power => format!("{:.3}", self.fraction() * 10f64.powi(power as i32)),
            },
            "U" => self.choose(&["m", "km", "ft", "mi", "M", "KM", "FT", "x", "m", "km"]).into(),
            "N" => {
                let count = 1 + self.below(3);
                words.push(if junk { self.choose(INTEGERS).into() } else { count.to_string() });
                (1..count).for_each(|_| words.push(self.key(kind)));
                self.key(kind)
            }
            choice if choice.starts_with('(') => {
                let choices: Vec<_> = choice[1..choice.len() - 1].split('|').collect();
                self.choose(&choices).into()
            }
            literal if self.one_in(4) => literal.to_ascii_uppercase(),
            literal => literal.into(),
        };
        words.push(text);
    }

    fn fraction(&mut self) -> f64 {
        self.below(1 << 24) as f64 / (1 << 24) as f64
    }

    /// Returns a longitude or latitude, mostly one that there is: anywhere, near a few places, or
    /// at the end. Two are seldom the same, so that distances have an order.
    fn coordinate(&mut self, last: f64) -> String {
        let number = match self.below(16) {
            0 => return self.choose(&["200", "-86", "x", "nan", "inf"]).into(),
            1 if last < 90.0 => last,
            2 if last < 90.0 => -last,
            1..=7 => last * (2.0 * self.fraction() - 1.0),
            8..10 => last - self.fraction(),
            10..12 => self.fraction() - last,
            place => f64::from(place as u32 % 3) * 17.0 + self.fraction() / 10.0,
        };
        number.to_string()
    }

    fn element(&mut self) -> String {
        match self.below(40) {
            0 => "long".repeat(1 + self.below(40)),
            1..4 => self.below(1000).to_string(),
            _ => self.choose(WORDS).into(),
        }
    }
}
