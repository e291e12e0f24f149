//! The blocks of no file. They are not on the device: what no table names is free.

use crate::extents::Extent;
use alloc::collections::BTreeMap;

/// Runs of free blocks, none of which touches another.
pub(crate) struct FreeSpace {
    /// The length of each run by its first block.
    runs: BTreeMap<u32, u32>,
}

impl FreeSpace {
    /// All blocks from the first to before the end.
    pub fn new(first: u32, end: u32) -> Self {
        Self { runs: BTreeMap::from([(first, end - first)]) }
    }

    /// Returns how many blocks are free.
    pub fn blocks(&self) -> u64 {
        self.runs.values().copied().map(u64::from).sum()
    }

    /// Takes free blocks from `start` on, up to `most`. Returns how many.
    pub fn take_at(&mut self, start: u32, most: u32) -> u32 {
        let Some((&first, &count)) = self.runs.range(..=start).next_back() else { return 0 };
        let end = first + count;
        let taken = end.saturating_sub(start).min(most);
        if taken > 0 {
            self.runs.remove(&first);
            self.put(first, start);
            self.put(start + taken, end);
        }
        taken
    }

    /// Takes up to `most` blocks that follow each other: from the first run that has all of them,
    /// or all of the longest run.
    pub fn take(&mut self, most: u32) -> Option<Extent> {
        let enough = self.runs.iter().find(|&(_, &count)| count >= most);
        let (&start, _) = enough.or_else(|| self.runs.iter().max_by_key(|&(_, &count)| count))?;
        let count = self.take_at(start, most);
        Some(Extent { start, count })
    }

    /// Takes these blocks. Returns false if there are none or they are not all free, and takes some
    /// of them then.
    pub fn claim(&mut self, extent: Extent) -> bool {
        extent.count > 0 && self.take_at(extent.start, extent.count) == extent.count
    }

    /// Gives blocks back.
    pub fn give(&mut self, extent: Extent) {
        let (mut start, mut end) = (extent.start, extent.end());
        if let Some((&before, &count)) = self.runs.range(..start).next_back()
            && before + count == start
        {
            start = before;
        }
        if let Some(count) = self.runs.remove(&end) {
            end += count;
        }
        self.put(start, end);
    }

    fn put(&mut self, start: u32, end: u32) {
        if start < end {
            self.runs.insert(start, end - start);
        }
    }
}
