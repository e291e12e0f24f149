//! Hashing, with keys that are random.

pub use core::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use siphasher::sip::SipHasher13;

/// The keys of a hash function, which nothing outside of this machine can know.
#[derive(Clone, Debug)]
pub struct RandomState([u8; 16]);

impl RandomState {
    /// Takes keys from the processor.
    ///
    /// # Panics
    ///
    /// Panics if the processor makes no random numbers.
    pub fn new() -> Self {
        let mut keys = [0; 16];
        getrandom::fill(&mut keys).expect("a processor that makes random bits, by RDRAND");
        Self(keys)
    }
}

impl Default for RandomState {
    fn default() -> Self {
        Self::new()
    }
}

impl BuildHasher for RandomState {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(&self.0)
    }
}
