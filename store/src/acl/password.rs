//! Passwords as hashes: the store keeps no other trace of them.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The length of a hash in hexadecimal digits.
const DIGITS: usize = 64;

/// Returns the SHA-256 of a password in hexadecimal digits.
pub(super) fn hash(password: &[u8]) -> String {
    Sha256::digest(password).iter().fold(String::with_capacity(DIGITS), |mut text, byte| {
        // A string takes all text.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads a hash: its digits are small letters.
pub(super) fn parse_hash(text: &[u8]) -> Option<String> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_hash = text.len() == DIGITS && text.iter().all(is_digit);
    is_hash.then(|| String::from_utf8_lossy(text).into_owned())
}

/// Returns true if the hashes are the same; the time does not tell where they differ.
pub(super) fn is_same(left: &str, right: &str) -> bool {
    let differences = left.bytes().zip(right.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    left.len() == right.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_redis() {
        // ACL SETUSER of Redis 7.0.15 with `>passwd4`.
        let known = "34344e4d60c2b6d639b7bd22e18f2b0b91bc34bf0ac5f9952744435093cfb4e6";
        assert_eq!(hash(b"passwd4"), known);
        assert_eq!(parse_hash(known.as_bytes()).as_deref(), Some(known));
        assert!(is_same(known, known) && !is_same(known, &hash(b"passwd5")));
        for wrong in [&known[1..], &known.to_uppercase(), &known.replace('3', "g"), ""] {
            assert_eq!(parse_hash(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
