//! The buffer of a scan.

use super::ScanNext;
use super::pairs::Pairs;

/// The entries of one node from some key on, in order: the buffer of a scan.
pub struct Entries {
    pub(super) onward: ScanNext,
    pub(super) pairs: Pairs<{ Self::CAPACITY }>,
}

impl Entries {
    /// Largest number of entries of a node of any supported size.
    pub const CAPACITY: usize = 256;

    /// An empty buffer.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { onward: ScanNext::End, pairs: Pairs::new() }
    }

    /// The entries in key order.
    #[inline]
    pub fn pairs(&self) -> &[(u64, u64)] {
        self.pairs.as_slice()
    }

    /// Where the scan continues after these entries.
    #[inline]
    pub const fn onward(&self) -> ScanNext {
        self.onward
    }
}

impl Default for Entries {
    fn default() -> Self {
        Self::new()
    }
}
