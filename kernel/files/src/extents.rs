//! The blocks of a file.

use crate::{BLOCK, SECTOR};
use alloc::vec::Vec;

/// A run of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub start: u32,
    pub count: u32,
}

impl Extent {
    /// Returns the block behind it.
    pub fn end(self) -> u32 {
        self.start + self.count
    }
}

/// The blocks of a file in order. The last ones may be reserved: behind the end of the file.
#[derive(Default)]
pub(crate) struct Extents {
    runs: Vec<Extent>,
    blocks: u32,
}

/// Returns the number of blocks that hold this number of bytes.
pub(crate) fn blocks_for(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK as u64)
}

impl Extents {
    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Returns the block behind the last one.
    pub fn end(&self) -> Option<u32> {
        self.runs.last().map(|run| run.end())
    }

    /// Adds blocks at the end.
    pub fn push(&mut self, extent: Extent) {
        self.blocks += extent.count;
        match self.runs.last_mut() {
            Some(last) if last.end() == extent.start => last.count += extent.count,
            _ => self.runs.push(extent),
        }
    }

    /// Removes all but the first blocks, and returns those removed.
    pub fn cut(&mut self, blocks: u64) -> Vec<Extent> {
        let mut removed = Vec::new();
        while u64::from(self.blocks) > blocks
            && let Some(last) = self.runs.last_mut()
        {
            let surplus = (u64::from(self.blocks) - blocks).min(u64::from(last.count)) as u32;
            last.count -= surplus;
            self.blocks -= surplus;
            removed.push(Extent { start: last.end(), count: surplus });
            if last.count == 0 {
                self.runs.pop();
            }
        }
        removed
    }

    /// Returns the sector at an offset, which is that of one, and the bytes that follow on the
    /// device. Returns `None` behind the last block.
    pub fn find(&self, offset: u64) -> Option<(u64, u64)> {
        let mut begin = 0;
        for run in &self.runs {
            let end = begin + u64::from(run.count) * BLOCK as u64;
            if offset < end {
                let at = u64::from(run.start) * BLOCK as u64 + (offset - begin);
                return Some((at / SECTOR as u64, end - offset));
            }
            begin = end;
        }
        None
    }

    /// Returns the runs of the first blocks.
    pub fn first(&self, blocks: u64) -> impl Iterator<Item = Extent> {
        let mut left = blocks;
        self.runs.iter().map_while(move |run| {
            let count = left.min(u64::from(run.count)) as u32;
            left -= u64::from(count);
            (count > 0).then_some(Extent { start: run.start, count })
        })
    }
}
