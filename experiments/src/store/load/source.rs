//! Draws requests of a kind.

use super::dialect::{Dialect, Part};
use super::kind::{Popularity, RequestKind};
use super::oracle::{Oracle, Write};
use std::collections::VecDeque;
use std::hint::black_box;
use xtasking_harness::random::Random;
use xtasking_ycsb::distribution::{Latest, Scrambled};
use xtasking_ycsb::plan::OperationKind;
use xtasking_ycsb::workload::{OperationMix, RequestDistribution};

/// The skew of [`Popularity::Zipf`], which is YCSB's.
const THETA: f64 = 0.99;

/// Draws requests from a seed.
pub(super) struct Source {
    requests: Requests,
    records: Records,
    random: Random,
    /// Records that were drawn ahead.
    ahead: VecDeque<u64>,
    drawn: Vec<u64>,
    writes: Vec<Write>,
}

/// What requests do.
enum Requests {
    Get,
    Set,
    Mget(usize),
    Mset(usize),
    Multi(usize),
    Mix(OperationMix),
}

/// Which records requests are about.
enum Records {
    Uniform(u64),
    Zipf(Box<Scrambled>),
    Latest(Box<Latest>),
}

/// Where requests are written to.
pub(super) struct Outgoing<'a> {
    /// The number of the connection.
    pub connection: u32,
    /// The bytes of the requests.
    pub bytes: &'a mut Vec<u8>,
    /// The replies.
    pub parts: &'a mut VecDeque<Part>,
}

impl Source {
    pub fn new(kind: &RequestKind, popularity: Popularity, records: u64, random: Random) -> Self {
        let (requests, distribution, theta) = match kind {
            RequestKind::Get => (Requests::Get, None, THETA),
            RequestKind::Set => (Requests::Set, None, THETA),
            RequestKind::Mget(keys) => (Requests::Mget(*keys), None, THETA),
            RequestKind::Mset(keys) => (Requests::Mset(*keys), None, THETA),
            RequestKind::Multi(keys) => (Requests::Multi(*keys), None, THETA),
            RequestKind::Ycsb(workload) => {
                let distribution = Some(workload.request_distribution);
                (Requests::Mix(workload.mix()), distribution, workload.zipfian_constant)
            }
        };
        let records = match (distribution, popularity) {
            (Some(RequestDistribution::Uniform), _) | (None, Popularity::Uniform) => {
                Records::Uniform(records)
            }
            (Some(RequestDistribution::Zipfian), _) | (None, Popularity::Zipf) => {
                Records::Zipf(Box::new(Scrambled::new(records, theta)))
            }
            (Some(RequestDistribution::Latest), _) => Records::Latest(Box::new(Latest::new(records, theta))),
        };
        Self { requests, records, random, ahead: VecDeque::new(), drawn: Vec::new(), writes: Vec::new() }
    }

    /// Draws the records of this many requests, and looks at what is known of each. So the memory
    /// of all is fetched at the same time.
    pub fn look_ahead(&mut self, requests: usize, oracle: &Oracle) {
        let keys = match self.requests {
            Requests::Mget(keys) | Requests::Mset(keys) | Requests::Multi(keys) => keys,
            Requests::Get | Requests::Set | Requests::Mix(_) => 1,
        };
        while self.ahead.len() < requests * keys {
            let record = self.draw_now(oracle);
            self.ahead.push_back(record);
        }
        black_box(self.ahead.iter().fold(0, |sum, &record| sum ^ oracle.read(record, 0)));
    }

    fn draw(&mut self, oracle: &Oracle) -> u64 {
        self.ahead.pop_front().unwrap_or_else(|| self.draw_now(oracle))
    }

    fn draw_now(&mut self, oracle: &Oracle) -> u64 {
        match &mut self.records {
            Records::Uniform(records) => self.random.below(*records),
            Records::Zipf(scrambled) => scrambled.draw(&mut self.random),
            Records::Latest(latest) => {
                let visible = oracle.visible();
                visible - 1 - latest.draw(visible, &mut self.random)
            }
        }
    }

    /// Appends a request that is due at a time.
    #[inline]
    pub fn request(&mut self, due: u64, dialect: &Dialect, oracle: &mut Oracle, out: &mut Outgoing) {
        match &self.requests {
            Requests::Get => self.get(dialect, oracle, out),
            Requests::Set => {
                let record = self.draw(oracle);
                set(record, dialect, oracle, out);
            }
            &Requests::Mget(keys) => self.mget(keys, dialect, oracle, out),
            &Requests::Mset(keys) => self.mset(keys, dialect, oracle, out),
            &Requests::Multi(keys) => self.multi(keys, dialect, oracle, out),
            Requests::Mix(mix) => match mix.draw(&mut self.random) {
                OperationKind::Read => self.get(dialect, oracle, out),
                OperationKind::Update => {
                    let record = self.draw(oracle);
                    set(record, dialect, oracle, out);
                }
                OperationKind::ReadModifyWrite => {
                    let record = self.draw(oracle);
                    get(record, dialect, oracle, out);
                    set(record, dialect, oracle, out);
                }
                OperationKind::Insert => {
                    let record = oracle.insert();
                    dialect.write(record, 0, oracle.values, out.bytes);
                    out.parts.extend([Part::Stored, Part::Insert(record)]);
                }
                OperationKind::Scan => unreachable!("no such workload is chosen"),
            },
        }
        out.parts.push_back(Part::Answered { due });
    }

    fn get(&mut self, dialect: &Dialect, oracle: &Oracle, out: &mut Outgoing) {
        let record = self.draw(oracle);
        get(record, dialect, oracle, out);
    }

    fn mget(&mut self, keys: usize, dialect: &Dialect, oracle: &Oracle, out: &mut Outgoing) {
        self.drawn.clear();
        for _ in 0..keys {
            let record = self.draw(oracle);
            self.drawn.push(record);
        }
        dialect.read(&self.drawn, true, out.bytes);
        out.parts.extend(dialect.count(self.drawn.len()));
        let value = |&record| Part::Value { record, floor: oracle.read(record, out.connection) };
        out.parts.extend(self.drawn.iter().map(value));
        out.parts.extend(dialect.end());
    }

    fn draw_writes(&mut self, keys: usize, oracle: &mut Oracle, connection: u32) {
        self.writes.clear();
        for _ in 0..keys {
            let record = self.draw(oracle);
            let write = oracle.write(record, connection);
            self.writes.push(write);
        }
    }

    fn multi(&mut self, keys: usize, dialect: &Dialect, oracle: &mut Oracle, out: &mut Outgoing) {
        self.draw_writes(keys, oracle, out.connection);
        dialect.transaction(&self.writes, oracle.values, out.bytes);
        out.parts.push_back(Part::Stored);
        out.parts.extend(self.writes.iter().map(|_| Part::Queued));
        out.parts.push_back(Part::Count(keys as u32));
        out.parts.extend(self.writes.iter().flat_map(|&write| [Part::Stored, Part::Write(write)]));
    }

    fn mset(&mut self, keys: usize, dialect: &Dialect, oracle: &mut Oracle, out: &mut Outgoing) {
        self.draw_writes(keys, oracle, out.connection);
        dialect.write_all(&self.writes, oracle.values, out.bytes);
        out.parts.push_back(Part::Stored);
        out.parts.extend(self.writes.iter().copied().map(Part::Write));
    }
}

#[inline]
fn get(record: u64, dialect: &Dialect, oracle: &Oracle, out: &mut Outgoing) {
    dialect.read(&[record], false, out.bytes);
    out.parts.push_back(Part::Value { record, floor: oracle.read(record, out.connection) });
    out.parts.extend(dialect.end());
}

#[inline]
fn set(record: u64, dialect: &Dialect, oracle: &mut Oracle, out: &mut Outgoing) {
    let write = oracle.write(record, out.connection);
    dialect.write(record, write.version, oracle.values, out.bytes);
    out.parts.extend([Part::Stored, Part::Write(write)]);
}
