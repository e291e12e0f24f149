//! On which nodes the memory of a partition is.
//!
//! The system counts pages by mapping, and there may be more in a mapping than what a partition has there. So what is told of
//! a partition is bounded: of 10 bytes in a mapping of which 90 lie on one node and 2 on another, 8 to 10 lie on the first.

use super::maps::{ByNode, Maps};
use std::fmt;
use std::ops::Range;

/// Bytes of a page as it is told to people; there may be greater ones.
const PAGE: u64 = 4096;

/// Where the memory of a partition is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Whereabouts {
    /// Bytes that it has.
    pub bytes: u64,
    /// How many of them, at least and at most, are on another node than the one asked for.
    pub elsewhere: (u64, u64),
    /// The mappings that they are in: how many there are, and what is in memory of these.
    pub mappings: usize,
    pub around: ByNode,
}

impl Whereabouts {
    /// That at these addresses, which are in order. `node` is asked for.
    pub fn new(maps: &Maps, addresses: &[Range<usize>], node: u32) -> Self {
        let mut found = Self::default();
        let mut here: Option<(usize, u64)> = None;
        for range in addresses {
            let mut start = range.start;
            while start < range.end {
                // What is in no mapping, if there could be such a thing, is passed over.
                let Some(place) = maps.of(start) else { break };
                let end = range.end.min(maps.end(place));
                match &mut here {
                    Some((same, bytes)) if *same == place => *bytes += (end - start) as u64,
                    _ => {
                        found.add(maps, here, node);
                        here = Some((place, (end - start) as u64));
                    }
                }
                start = end;
            }
        }
        found.add(maps, here, node);
        found
    }

    /// Adds so many bytes in the mapping of a place.
    fn add(&mut self, maps: &Maps, here: Option<(usize, u64)>, node: u32) {
        let Some((place, bytes)) = here else { return };
        let around = &maps.get(place).bytes;
        let there = around.get(&node).copied().unwrap_or(0);
        let others = around.values().sum::<u64>() - there;
        self.bytes += bytes;
        self.elsewhere.0 += bytes.saturating_sub(there).min(others);
        self.elsewhere.1 += bytes.min(others);
        self.mappings += 1;
        around.iter().for_each(|(&node, more)| *self.around.entry(node).or_default() += more);
    }

    /// Adds those of another partition, whose mappings may be the same.
    pub fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.elsewhere.0 += other.elsewhere.0;
        self.elsewhere.1 += other.elsewhere.1;
    }

    /// How many of 100 bytes are on the node that was asked for, at least and at most.
    pub fn percent_there(&self) -> (f64, f64) {
        let percent = |elsewhere: u64| 100.0 * (1.0 - elsewhere as f64 / self.bytes.max(1) as f64);
        (percent(self.elsewhere.1), percent(self.elsewhere.0))
    }
}

/// A percentage with bounds.
pub(super) fn bounded((least, most): (f64, f64)) -> String {
    let (least, most) = (format!("{least:.1}"), format!("{most:.1}"));
    if least == most { format!("{least} %") } else { format!("{least} to {most} %") }
}

impl fmt::Display for Whereabouts {
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

    fn whereabouts(addresses: &[(usize, usize)], node: u32) -> Whereabouts {
        let ranges: Vec<_> = addresses.iter().map(|&(start, bytes)| start..start + bytes).collect();
        Whereabouts::new(&two_nodes(), &ranges, node)
    }

    #[test]
    fn what_is_sure_is_told_and_what_is_not_is_bounded() {
        let all = whereabouts(&[(FIRST, 10 * PAGE), (FIRST + 20 * PAGE, 7)], 0);
        assert_eq!((all.bytes, all.elsewhere, all.mappings), (10 * 4096 + 7, (0, 0), 1));
        assert_eq!(bounded(all.percent_there()), "100.0 %");
        let none = whereabouts(&[(FIRST, 10 * PAGE)], 1);
        assert_eq!(
            (none.elsewhere, bounded(none.percent_there())),
            ((10 << 12, 10 << 12), "0.0 %".to_string())
        );
        // 200 pages of the mapping are on the one, 600 on the other.
        let mixed = whereabouts(&[(MIXED, 500 * PAGE)], 0);
        assert_eq!(mixed.elsewhere, (300 << 12, 500 << 12));
        assert_eq!(bounded(mixed.percent_there()), "0.0 to 40.0 %");
        let mixed = whereabouts(&[(MIXED, 500 * PAGE)], 1);
        assert_eq!(mixed.elsewhere, (0, 200 << 12));
        assert_eq!(bounded(mixed.percent_there()), "60.0 to 100.0 %");
        assert_eq!(mixed.to_string(), "1 mapping, node 0: 200 pages (25.0 %), node 1: 600 pages (75.0 %)");
        // Nothing of it is in memory.
        assert_eq!(whereabouts(&[(0x7f1c_0800_0000, 100)], 1).elsewhere, (0, 0));
        assert_eq!(whereabouts(&[], 1), Whereabouts::default());
    }

    #[test]
    fn memory_of_several_mappings_is_added() {
        // Across a border, and in huge pages.
        let some = [(MIXED - 2 * PAGE, 4 * PAGE), (MIXED + 4 * PAGE, PAGE), (0x7f1c_1000_0000, 4 << 20)];
        let both = whereabouts(&some, 0);
        assert_eq!((both.bytes, both.mappings), ((5 << 12) + (4 << 20), 3));
        assert_eq!(both.elsewhere, (4 << 20, (3 << 12) + (4 << 20)));
        assert_eq!(both.around, [(0, 1200 << 12), (1, (600 << 12) + (6 << 20))].into());
        let mut sum = both.clone();
        sum.merge(&whereabouts(&some, 1));
        assert_eq!((sum.bytes, sum.elsewhere.0), (2 * both.bytes, (4 << 20) + (2 << 12)));
    }
}
