//! Runtime tags: which runtime an object belongs to, in a number that fits beside the object's
//! queue.
//!
//! A [`Link`](super::Link) is a word that says nothing about runtimes, and safe code may pass it to
//! tasks of another runtime. Two runtimes would not keep each other's tasks apart. So the home of a
//! sequenced object compares tags before it uses the queue. That costs nothing, as the queue is
//! read anyway.

use crate::sync::Relaxed;
use crate::sync::global::AtomicU64;

/// The tag of a runtime that exists, or whose objects may still be used.
#[derive(Debug)]
pub(crate) struct RuntimeTag(u16);

/// A bit for each tag in use. Relaxed: each bit has one owner, and orders nothing else. Tag 0 is
/// never given out, so that zeroed memory is no object of any runtime.
static IN_USE: [AtomicU64; (1 << 16) / 64] = {
    let mut words = [const { AtomicU64::new(0) }; (1 << 16) / 64];
    words[0] = AtomicU64::new(1);
    words
};

impl RuntimeTag {
    /// Returns a low tag that is not in use; `None` if all 65535 are.
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

impl Drop for RuntimeTag {
    fn drop(&mut self) {
        IN_USE[usize::from(self.0) / 64].fetch_and(!(1 << (self.0 % 64)), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_distinct_and_reused() {
        // More than other tests of this process can have in use between two of these.
        let tags: Vec<_> = (0..2000).map(|_| RuntimeTag::new().unwrap()).collect();
        let mut numbers: Vec<_> = tags.iter().map(RuntimeTag::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 2000);
        assert_ne!(numbers[0], 0);
        drop(tags);
        assert!(RuntimeTag::new().unwrap().number() < 2000);
    }
}
