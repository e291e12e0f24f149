//! The keys and values, and what a request has to be answered with.

use clap::ValueEnum;
use std::io::Write;
use xtasking_harness::failure::Wrong;

/// A kind of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RequestKind {
    /// One key is read.
    Get,
    /// One key is written.
    Set,
    /// 32 keys are read by one request.
    Mget,
}

/// The keys of a request of [`RequestKind::Mget`].
const KEYS_OF_MGET: usize = 32;

impl RequestKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Set => "SET",
            Self::Mget => "MGET of 32",
        }
    }

    /// Returns the number of keys of a request.
    pub(super) fn keys(self) -> usize {
        if self == Self::Mget { KEYS_OF_MGET } else { 1 }
    }
}

/// The keys of one connection, which no other writes, with how often each was written.
pub(super) struct Keys {
    first: u64,
    writes: Vec<u32>,
    value_size: usize,
    random: u64,
}

/// A request that was sent and is not answered.
pub(super) struct Sent {
    kind: RequestKind,
    /// The keys as indices of [`Keys`].
    keys: Vec<usize>,
}

impl Keys {
    /// Makes keys that are not written yet.
    pub fn new(first: u64, count: usize, value_size: usize, seed: u64) -> Self {
        Self { first, writes: vec![0; count], value_size, random: seed }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Returns a random index of a key: SplitMix64.
    fn draw(&mut self) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % self.writes.len() as u64) as usize
    }

    /// Appends a request about random keys.
    pub fn request(&mut self, kind: RequestKind, out: &mut Vec<u8>) -> Sent {
        let keys: Vec<_> = (0..kind.keys()).map(|_| self.draw()).collect();
        self.append(kind, &keys, out);
        Sent { kind, keys }
    }

    /// Appends a request that writes the key of an index.
    pub fn write(&mut self, key: usize, out: &mut Vec<u8>) -> Sent {
        self.append(RequestKind::Set, &[key], out);
        Sent { kind: RequestKind::Set, keys: vec![key] }
    }

    fn append(&mut self, kind: RequestKind, keys: &[usize], out: &mut Vec<u8>) {
        match kind {
            RequestKind::Get => out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n"),
            RequestKind::Set => out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n"),
            RequestKind::Mget => _ = write!(out, "*{}\r\n$4\r\nMGET\r\n", keys.len() + 1),
        }
        for &key in keys {
            _ = write!(out, "$16\r\nkey:{:012}\r\n", self.first + key as u64);
        }
        if kind == RequestKind::Set {
            self.writes[keys[0]] += 1;
            self.append_value(keys[0], out);
        }
    }

    /// Appends a value as a bulk string: it follows from the key and the number of its writes.
    fn append_value(&self, key: usize, out: &mut Vec<u8>) {
        _ = write!(out, "${}\r\n", self.value_size);
        let mut word =
            (self.first + key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(self.writes[key]);
        for _ in 0..self.value_size {
            word = word.rotate_left(5).wrapping_mul(0x2545_f491_4f6c_dd1d);
            out.push(b'a' + (word >> 60) as u8);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Appends the reply that a request has to have.
    pub fn expect(&self, sent: &Sent, out: &mut Vec<u8>) {
        match sent.kind {
            RequestKind::Set => return out.extend_from_slice(b"+OK\r\n"),
            RequestKind::Get => {}
            RequestKind::Mget => _ = write!(out, "*{}\r\n", sent.keys.len()),
        }
        sent.keys.iter().for_each(|&key| self.append_value(key, out));
    }
}

/// Compares replies.
///
/// # Errors
///
/// If they differ: says where.
pub(super) fn compare(got: &[u8], expected: &[u8]) -> Result<(), Wrong> {
    if got == expected {
        return Ok(());
    }
    let differ =
        got.iter().zip(expected).position(|(a, b)| a != b).unwrap_or_else(|| got.len().min(expected.len()));
    let around = |bytes: &[u8]| {
        let end = bytes.len().min(differ + 40);
        String::from_utf8_lossy(&bytes[differ.saturating_sub(20).min(end)..end]).escape_debug().to_string()
    };
    Err(Wrong::new(format!("replies have \"{}\" where \"{}\" belongs", around(got), around(expected))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_follows_from_the_writes_before() {
        let mut keys = Keys::new(7, 3, 8, 1);
        let (mut out, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let get = Sent { kind: RequestKind::Get, keys: vec![2] };
        keys.expect(&get, &mut before);
        keys.write(2, &mut out);
        keys.expect(&get, &mut after);
        assert!(before != after && out.ends_with(&after));
        assert!(compare(&before, &after).is_err() && compare(&after, &after).is_ok());
        assert!(out.starts_with(b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000009\r\n$8\r\n"));
    }
}
