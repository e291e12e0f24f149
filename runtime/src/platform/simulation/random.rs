//! Numbers that follow from a seed.

/// A xorshift generator.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        // The state must not be zero.
        let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
        Self(state.max(1))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
