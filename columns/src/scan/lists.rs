//! The queries of each slot.

/// A list for each slot, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Where each one ends; the first begins at 0.
    ends: Box<[u32]>,
    queries: Box<[u32]>,
}

impl Lists {
    /// Of pairs in order, of which the first is the slot, or stands for it: each that is there has the next slot.
    pub fn new<S: PartialEq>(pairs: &[(S, u32)]) -> Self {
        let ends = pairs.chunk_by(|a, b| a.0 == b.0).scan(0, |end, group| {
            *end += group.len() as u32;
            Some(*end)
        });
        Self { ends: ends.collect(), queries: pairs.iter().map(|&(_, query)| query).collect() }
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.ends.len()
    }

    /// The queries of a slot.
    #[inline(always)]
    pub fn of(&self, slot: u32) -> &[u32] {
        let slot = slot as usize;
        let begin = if slot == 0 { 0 } else { self.ends[slot - 1] };
        &self.queries[begin as usize..self.ends[slot] as usize]
    }
}
