//! Which runtime an object belongs to: a number that fits beside the object's queue.
//!
//! A [`Link`](super::Link) is a word that says nothing about runtimes, and safe code may hand it to tasks of another
//! one. Two runtimes would not keep each other's tasks apart, so the home of a sequenced object compares numbers
//! before it touches the queue; it costs nothing, as the queue is looked at anyway.

use crate::sync::Relaxed;
use crate::sync::global::AtomicU64;

/// The number of a runtime that lives, or of which an object may still be used.
#[derive(Debug)]
pub(crate) struct Realm(u16);

/// A bit for each number that is in use. Relaxed: each bit has one owner, and nothing else hangs on it.
static IN_USE: [AtomicU64; (1 << 16) / 64] = [const { AtomicU64::new(0) }; (1 << 16) / 64];

impl Realm {
    /// A low number that is not in use; `None` if 65536 are.
    pub fn new() -> Option<Self> {
        IN_USE.iter().enumerate().find_map(|(index, word)| {
            loop {
                let bit = word.load(Relaxed).trailing_ones();
                if bit == u64::BITS {
                    return None;
                }
                if word.fetch_or(1 << bit, Relaxed) & 1 << bit == 0 {
                    return Some(Self((index * 64) as u16 + bit as u16));
                }
            }
        })
    }

    pub fn number(&self) -> u16 {
        self.0
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        IN_USE[usize::from(self.0) / 64].fetch_and(!(1 << (self.0 % 64)), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_different_and_used_again() {
        // More than other tests of this process can have in use between two of these.
        let realms: Vec<_> = (0..2000).map(|_| Realm::new().unwrap()).collect();
        let mut numbers: Vec<_> = realms.iter().map(Realm::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 2000);
        drop(realms);
        assert!(Realm::new().unwrap().number() < 2000);
    }
}
