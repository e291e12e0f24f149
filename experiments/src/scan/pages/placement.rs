//! Computes on which nodes the memory of a partition is.
//!
//! The system counts pages by mapping, and a mapping may contain more than the memory of one
//! partition. So the figures of a partition are bounds: of 10 bytes in a mapping with 90 bytes on
//! one node and 2 on another, 8 to 10 lie on the first.

use super::maps::{ByNode, Maps};
use std::fmt;
use std::ops::Range;

/// Bytes of a page in the printed numbers; actual pages may be larger.
const PAGE: u64 = 4096;

/// The placement of a partition's memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemoryPlacement {
    /// Bytes of the partition.
    pub bytes: u64,
    /// Minimal and maximal number of bytes on other nodes than the requested one.
    pub elsewhere: (u64, u64),
    /// The mappings that contain the partition: their number, and their bytes in memory.
    pub mappings: usize,
    pub around: ByNode,
}

impl MemoryPlacement {
    /// Computes the placement of the memory at `addresses`, which are ascending, relative to
    /// `node`.
    pub fn new(maps: &Maps, addresses: &[Range<usize>], node: u32) -> Self {
        let mut placement = Self::default();
        let mut here: Option<(usize, u64)> = None;
        for range in addresses {
            let mut start = range.start;
            while start < range.end {
                // Skips memory outside of all mappings, should there be any.
                let Some(index) = maps.of(start) else { break };
                let end = range.end.min(maps.end(index));
                match &mut here {
                    Some((same, bytes)) if *same == index => *bytes += (end - start) as u64,
                    _ => {
                        placement.add(maps, here, node);
                        here = Some((index, (end - start) as u64));
                    }
                }
                start = end;
            }
        }
        placement.add(maps, here, node);
        placement
    }

    /// Adds bytes in one mapping.
    fn add(&mut self, maps: &Maps, here: Option<(usize, u64)>, node: u32) {
        let Some((index, bytes)) = here else { return };
        let around = &maps.get(index).bytes;
        let there = around.get(&node).copied().unwrap_or(0);
        let others = around.values().sum::<u64>() - there;
        self.bytes += bytes;
        self.elsewhere.0 += bytes.saturating_sub(there).min(others);
        self.elsewhere.1 += bytes.min(others);
        self.mappings += 1;
        around.iter().for_each(|(&node, more)| *self.around.entry(node).or_default() += more);
    }

    /// Adds another partition, which may share mappings with this one.
    pub fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.elsewhere.0 += other.elsewhere.0;
        self.elsewhere.1 += other.elsewhere.1;
    }

    /// Returns the minimal and maximal percentage of bytes on the requested node.
    pub fn percent_there(&self) -> (f64, f64) {
        let percent = |elsewhere: u64| 100.0 * (1.0 - elsewhere as f64 / self.bytes.max(1) as f64);
        (percent(self.elsewhere.1), percent(self.elsewhere.0))
    }
}

/// Formats a percentage with its bounds.
pub(super) fn bounded((min, max): (f64, f64)) -> String {
    let (min, max) = (format!("{min:.1}"), format!("{max:.1}"));
    if min == max { format!("{min} %") } else { format!("{min} to {max} %") }
}

impl fmt::Display for MemoryPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.around.values().sum::<u64>().max(1) as f64;
        let of = |(node, &bytes): (&u32, &u64)| {
            format!("node {node}: {} pages ({:.1} %)", bytes / PAGE, 100.0 * bytes as f64 / all)
        };
        let around: Vec<_> = self.around.iter().map(of).collect();
        let noun = if self.mappings == 1 { "mapping" } else { "mappings" };
        write!(f, "{} {noun}, {}", self.mappings, around.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::maps::tests::two_nodes;
    use super::*;

    const PAGE: usize = super::PAGE as usize;
    const FIRST: usize = 0x7f1c_0000_0000;
    const MIXED: usize = 0x7f1c_0400_0000;

    fn placement(addresses: &[(usize, usize)], node: u32) -> MemoryPlacement {
        let ranges: Vec<_> = addresses.iter().map(|&(start, bytes)| start..start + bytes).collect();
        MemoryPlacement::new(&two_nodes(), &ranges, node)
    }

    #[test]
    fn shared_mappings_result_in_bounds() {
        let all = placement(&[(FIRST, 10 * PAGE), (FIRST + 20 * PAGE, 7)], 0);
        assert_eq!((all.bytes, all.elsewhere, all.mappings), (10 * 4096 + 7, (0, 0), 1));
        assert_eq!(bounded(all.percent_there()), "100.0 %");
        let none = placement(&[(FIRST, 10 * PAGE)], 1);
        assert_eq!(
            (none.elsewhere, bounded(none.percent_there())),
            ((10 << 12, 10 << 12), "0.0 %".to_string())
        );
        // Of the mapping, 200 pages are on one node and 600 on the other.
        let mixed = placement(&[(MIXED, 500 * PAGE)], 0);
        assert_eq!(mixed.elsewhere, (300 << 12, 500 << 12));
        assert_eq!(bounded(mixed.percent_there()), "0.0 to 40.0 %");
        let mixed = placement(&[(MIXED, 500 * PAGE)], 1);
        assert_eq!(mixed.elsewhere, (0, 200 << 12));
        assert_eq!(bounded(mixed.percent_there()), "60.0 to 100.0 %");
        assert_eq!(mixed.to_string(), "1 mapping, node 0: 200 pages (25.0 %), node 1: 600 pages (75.0 %)");
        // Nothing of it is in memory.
        assert_eq!(placement(&[(0x7f1c_0800_0000, 100)], 1).elsewhere, (0, 0));
        assert_eq!(placement(&[], 1), MemoryPlacement::default());
    }

    #[test]
    fn memory_of_several_mappings_is_summed() {
        // Across a border, and in huge pages.
        let some = [(MIXED - 2 * PAGE, 4 * PAGE), (MIXED + 4 * PAGE, PAGE), (0x7f1c_1000_0000, 4 << 20)];
        let both = placement(&some, 0);
        assert_eq!((both.bytes, both.mappings), ((5 << 12) + (4 << 20), 3));
        assert_eq!(both.elsewhere, (4 << 20, (3 << 12) + (4 << 20)));
        assert_eq!(both.around, [(0, 1200 << 12), (1, (600 << 12) + (6 << 20))].into());
        let mut sum = both.clone();
        sum.merge(&placement(&some, 1));
        assert_eq!((sum.bytes, sum.elsewhere.0), (2 * both.bytes, (4 << 20) + (2 << 12)));
    }
}
