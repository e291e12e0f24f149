//! What the hash of an element says.

/// The bits of a hash that choose a register.
pub(super) const INDEX_BITS: u32 = 14;
/// The registers.
pub(super) const REGISTERS: usize = 1 << INDEX_BITS;
/// The other bits of a hash: as many zeros, at most, can be at their end.
pub(super) const ZERO_BITS: u32 = u64::BITS - INDEX_BITS;

/// The seed of Redis.
const SEED: u64 = 0xadc8_3b19;

/// Returns the register of an element, and the number that it offers.
pub(super) fn register_of(element: &[u8]) -> (usize, u8) {
    let hash = murmur(element, SEED);
    let rest = hash >> INDEX_BITS | 1 << ZERO_BITS;
    (hash as usize % REGISTERS, rest.trailing_zeros() as u8 + 1)
}

/// Returns the hash `MurmurHash64A`, which Austin Appleby has published.
fn murmur(bytes: &[u8], seed: u64) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(FACTOR);
        word ^= word >> SHIFT;
        hash = (hash ^ word.wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    if !tail.is_empty() {
        let mut word = [0; 8];
        word[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(FACTOR);
    hash ^ hash >> SHIFT
}
