//! A seeded generator of pseudo-random numbers.

/// A xorshift generator (Marsaglia, "Xorshift RNGs", 2003).
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        // A xorshift generator never leaves state zero.
        let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
        Self(state.max(1))
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
