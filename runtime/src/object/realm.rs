//! Which runtime an object belongs to: a number that fits beside the object's queue.
//!
//! A [`Link`](super::Link) is a word that says nothing about runtimes, and safe code may hand it to tasks of another
//! one. Two runtimes would not keep each other's tasks apart, so the home of a sequenced object compares numbers
//! before it touches the queue; it costs nothing, as the queue is looked at anyway.

use crate::sync::SpinMutex;
use alloc::vec::Vec;

/// The number of a runtime that lives, or of which an object may still be used.
#[derive(Debug)]
pub(crate) struct Realm(u16);

/// A bit for each number that is in use.
static IN_USE: SpinMutex<Vec<u64>> = SpinMutex::new(Vec::new());

impl Realm {
    /// The least number that is not in use; `None` if 65536 are.
    pub fn new() -> Option<Self> {
        let mut in_use = IN_USE.lock();
        let word = match in_use.iter().position(|word| *word != u64::MAX) {
            Some(word) => word,
            None if in_use.len() == (1 << 16) / 64 => return None,
            None => {
                in_use.push(0);
                in_use.len() - 1
            }
        };
        let bit = in_use[word].trailing_ones();
        in_use[word] |= 1 << bit;
        Some(Self((word * 64) as u16 + bit as u16))
    }

    pub fn number(&self) -> u16 {
        self.0
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        IN_USE.lock()[usize::from(self.0) / 64] &= !(1 << (self.0 % 64));
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
