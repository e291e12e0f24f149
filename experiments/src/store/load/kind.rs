//! The kinds of requests by name.

use clap::ValueEnum;
use std::str::FromStr;
use xtasking_ycsb::workload::{STANDARD, Workload, standard};

/// A kind of requests.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestKind {
    /// One key is read.
    Get,
    /// One key is written.
    Set,
    /// Keys are read by one request.
    Mget(usize),
    /// Keys are written by one request.
    Mset(usize),
    /// Keys are written by one transaction, a request each.
    Multi(usize),
    /// A workload of YCSB.
    Ycsb(Box<Workload>),
}

/// How often each key is used by requests that are not of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Popularity {
    /// All keys are equally frequent.
    Uniform,
    /// YCSB's scrambled distribution of Zipf: some keys are much more frequent.
    Zipf,
}

/// The numbers of keys that redis-benchmark and the results of the store have.
const KEYS_OF_MGET: usize = 32;
const KEYS_OF_MSET: usize = 10;
/// The number of keys of a transaction.
const KEYS_OF_MULTI: usize = 3;
const MOST_KEYS: usize = 1000;

impl RequestKind {
    /// Returns the name for tables.
    pub(in crate::store) fn name(&self) -> String {
        match self {
            Self::Get => "GET".to_string(),
            Self::Set => "SET".to_string(),
            Self::Mget(keys) => format!("MGET of {keys}"),
            Self::Mset(keys) => format!("MSET of {keys}"),
            Self::Multi(keys) => format!("MULTI of {keys}"),
            Self::Ycsb(workload) => format!("YCSB {}", workload.name),
        }
    }
}

impl Popularity {
    /// Says how keys are chosen.
    pub(in crate::store) fn describe(self) -> &'static str {
        match self {
            Self::Uniform => "uniformly",
            Self::Zipf => "by Zipf's distribution",
        }
    }
}

impl FromStr for RequestKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.to_ascii_lowercase();
        let (name, keys) =
            text.split_once(':').map_or((text.as_str(), None), |(name, keys)| (name, Some(keys)));
        let keys = |default| match keys.map(str::parse) {
            None => Ok(default),
            Some(Ok(keys)) if (1..=MOST_KEYS).contains(&keys) => Ok(keys),
            Some(_) => Err(format!("choose 1 to {MOST_KEYS} keys, such as {name}:10")),
        };
        match name {
            "mget" => return keys(KEYS_OF_MGET).map(Self::Mget),
            "mset" => return keys(KEYS_OF_MSET).map(Self::Mset),
            "multi" => return keys(KEYS_OF_MULTI).map(Self::Multi),
            _ if text.contains(':') => {}
            "get" => return Ok(Self::Get),
            "set" => return Ok(Self::Set),
            "e" => return Err("E reads ranges of keys, and the servers have no command for that".to_string()),
            _ => {
                if let Some(workload) = standard(name) {
                    return Ok(Self::Ycsb(Box::new(workload)));
                }
            }
        }
        let letters = STANDARD.iter().map(|(letter, _)| *letter).filter(|letter| *letter != "E");
        let letters = letters.collect::<Vec<_>>().join(", ");
        Err(format!("choose get, set, mget:N, mset:N, multi:N, or a workload of YCSB: {letters}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names() {
        for (text, name) in [
            ("get", "GET"),
            ("MGET", "MGET of 32"),
            ("mset:3", "MSET of 3"),
            ("multi", "MULTI of 3"),
            ("f", "YCSB F"),
            ("A", "YCSB A"),
        ] {
            assert_eq!(text.parse::<RequestKind>().unwrap().name(), name);
        }
        for text in ["", "e", "g", "get:3", "mget:0", "mset:x", "incr"] {
            assert!(text.parse::<RequestKind>().is_err(), "{text}");
        }
    }
}
