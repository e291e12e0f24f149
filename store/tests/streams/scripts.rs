//! Random commands on streams.

use xtasking_testing::Random;

pub const KEYS: [&str; 3] = ["s:0", "s:1", "s:2"];

/// Templates of commands. `K` is a key, `I` an ID, `N` the ID of a new entry, `R` an end of a
/// range, `G` a group, `C` a consumer, `F` fields with values, `T` how to trim, `M` a least idle
/// time, and `#` a number. A word in brackets is there or not; of words with bars between them one
/// is drawn.
const TEMPLATES: &[&str] = &[
    "XADD K N F",
    "XADD K N F",
    "XADD K N F",
    "XADD K N F",
    "XADD K [NOMKSTREAM] T N F",
    "XADD K T LIMIT # N F",
    "XADD K N f",
    "XADD K",
    "XLEN K",
    "XRANGE K R R",
    "XRANGE K - + [COUNT] #",
    "XREVRANGE K R R",
    "XREVRANGE K + - COUNT #",
    "XDEL K I I",
    "XDEL K I",
    "XTRIM K T",
    "XTRIM K T LIMIT #",
    "XTRIM K LIMIT #",
    "XSETID K I",
    "XSETID K I ENTRIESADDED # MAXDELETEDID I",
    "XSETID K I ENTRIESADDED x",
    "XREAD STREAMS K I",
    "XREAD COUNT # STREAMS K K I I",
    "XREAD STREAMS K $",
    "XREAD STREAMS K >",
    "XREAD NOACK STREAMS K I",
    "XREAD COUNT x STREAMS K I",
    "XREAD BLOCK x STREAMS K I",
    "XREAD BLOCK -1 STREAMS K I",
    "XREAD STREAMS K K I",
    "XGROUP CREATE K G I|$ [MKSTREAM]",
    "XGROUP CREATE K G I MKSTREAM ENTRIESREAD #",
    "XGROUP CREATE K G 0 MKSTREAM",
    "XGROUP CREATE K G 0 NOTHING",
    "XGROUP SETID K G I|$|-",
    "XGROUP SETID K G I ENTRIESREAD #",
    "XGROUP DESTROY K G",
    "XGROUP CREATECONSUMER K G C",
    "XGROUP DELCONSUMER K G C",
    "XGROUP NOTHING K G",
    "XGROUP CREATE K",
    "XREADGROUP GROUP G C STREAMS K >",
    "XREADGROUP GROUP G C STREAMS K >",
    "XREADGROUP GROUP G C COUNT # STREAMS K >",
    "XREADGROUP GROUP G C COUNT # NOACK STREAMS K >",
    "XREADGROUP GROUP G C STREAMS K K > >",
    "XREADGROUP GROUP G C COUNT # STREAMS K I",
    "XREADGROUP GROUP G C STREAMS K 0",
    "XREADGROUP GROUP G C STREAMS K $",
    "XREADGROUP STREAMS a b c d e",
    "XACK K G I I",
    "XACK K G I",
    "XPENDING K G",
    "XPENDING K G - + #",
    "XPENDING K G R R # C",
    "XPENDING K G IDLE M - + #",
    "XPENDING K G IDLE M - +",
    "XCLAIM K G C M I I",
    "XCLAIM K G C M I I FORCE [JUSTID]",
    "XCLAIM K G C M I TIME 1000 [FORCE] [JUSTID]",
    "XCLAIM K G C M I RETRYCOUNT # FORCE LASTID I",
    "XCLAIM K G C 0 I TIME x",
    "XCLAIM K G C 0 I NOTHING",
    "XCLAIM K G C x I",
    "XAUTOCLAIM K G C M I COUNT # [JUSTID]",
    "XAUTOCLAIM K G C M R",
    "XAUTOCLAIM K G C M 0 COUNT 0",
    "XINFO STREAM K",
    "XINFO STREAM K FULL",
    "XINFO STREAM K FULL COUNT #",
    "XINFO STREAM K NOTHING",
    "XINFO GROUPS K",
    "XINFO CONSUMERS K G",
    "XINFO NOTHING K",
    "COPY K K REPLACE",
    "RENAME K K",
    "DEL K",
    "SET K text",
    "TYPE K",
    "OBJECT ENCODING K",
    "CONFIG SET stream-node-max-entries 3|100|0",
    "CONFIG SET stream-node-max-bytes 4096|120",
];

/// More of them, whose replies have times: they are not compared.
const BY_TIME: &[&str] = &[
    "XADD K * F",
    "XADD K T * F",
    "XCLAIM K G C M I IDLE # [FORCE]",
    "XREADGROUP GROUP G C STREAMS K 0",
    "XAUTOCLAIM K G C M 0",
];

/// The greatest number that a command takes.
pub const GREATEST: &str = "9223372036854775807";

pub struct Scripts {
    random: Random,
    has_greatest: bool,
}

impl Scripts {
    pub fn new(seed: u64) -> Self {
        Self { random: Random(seed), has_greatest: false }
    }

    /// Lets the greatest number be drawn too, after which counts of Redis become negative.
    pub fn drawing_greatest(mut self) -> Self {
        self.has_greatest = true;
        self
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn pick(&mut self, all: &[&str]) -> String {
        all[self.below(all.len())].to_owned()
    }

    /// Draws a command.
    pub fn command(&mut self) -> Vec<String> {
        self.draw(TEMPLATES)
    }

    /// Draws a command whose reply depends on the time.
    pub fn command_by_time(&mut self) -> Vec<String> {
        self.draw(BY_TIME)
    }

    fn draw(&mut self, templates: &[&str]) -> Vec<String> {
        let template = self.pick(templates);
        template.split(' ').flat_map(|word| self.word(word)).collect()
    }

    fn id(&mut self) -> String {
        match self.below(8) {
            0 => self.below(30).to_string(),
            1 => self.pick(&["0-0", "0", "x", "18446744073709551615-18446744073709551615", "+"]),
            _ => format!("{}-{}", self.below(30), self.below(3)),
        }
    }

    fn word(&mut self, word: &str) -> Vec<String> {
        if let Some(inner) = word.strip_prefix('[') {
            return if self.below(2) == 0 { Vec::new() } else { self.word(inner.trim_end_matches(']')) };
        }
        if word.contains('|') {
            let words: Vec<&str> = word.split('|').collect();
            let word = self.pick(&words);
            return self.word(&word);
        }
        vec![match word {
            "K" => self.pick(&KEYS),
            "G" => self.pick(&["g", "h"]),
            "C" => self.pick(&["alice", "bob", "7"]),
            "I" => self.id(),
            "N" => match self.below(6) {
                0 => format!("{}-*", self.below(30)),
                1 => self.id(),
                _ => format!("{}-{}", self.below(40), self.below(100)),
            },
            "R" => match self.below(4) {
                0 => self.pick(&["-", "+", "(-", "("]),
                1 => format!("({}", self.id()),
                _ => self.id(),
            },
            "M" => self.pick(&["0", "100000000", "-1"]),
            "#" if self.has_greatest && self.below(4) == 0 => GREATEST.to_owned(),
            "#" => self.pick(&["0", "1", "2", "3", "10", "-1", "-5"]),
            "T" => {
                let mark = self.pick(&["", "~ ", "= "]);
                let bound = if self.below(2) == 0 {
                    format!("MAXLEN {mark}{}", self.below(12))
                } else {
                    format!("MINID {mark}{}", self.id())
                };
                return bound.split(' ').map(str::to_owned).collect();
            }
            "F" => return self.fields(),
            other => other.to_owned(),
        }]
    }

    fn fields(&mut self) -> Vec<String> {
        let names = match self.below(4) {
            0 => ["b", "", "5000"],
            _ => ["field", "1", "other"],
        };
        let count = if self.below(3) == 0 { 1 } else { 2 };
        names[..count].iter().flat_map(|name| [(*name).to_owned(), self.value()]).collect()
    }

    fn value(&mut self) -> String {
        match self.below(6) {
            0 => "x".repeat(self.below(200)),
            // With longer ones and blocks of 120 bytes redis-server 7.0.15 loses parts of a
            // block, and then fails an assertion of its own.
            1 => "y".repeat(self.below(600)),
            _ => self.pick(&[
                "0",
                "-1",
                "127",
                "128",
                "-4096",
                "70000",
                "-9000000",
                "9223372036854775807",
                "01",
            ]),
        }
    }
}
