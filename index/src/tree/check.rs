//! Walking the whole tree and reporting every broken invariant.

use super::{Tree, link_of, mark};
use crate::fixed::{Key, Value};
use crate::node::{Broken, Down, Layout};
use core::fmt;
use std::collections::BTreeSet;
use xtasking::Link;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Number of entries.
    pub entries: u64,
    /// Number of leaves.
    pub leaves: u64,
    /// Number of nodes, leaves included.
    pub nodes: u64,
    /// Number of levels, leaves included.
    pub levels: u64,
    /// Leaves without entries.
    pub empty_leaves: u64,
    /// Nodes that their parent level does not know of: their separator is on its way.
    pub unseparated: u64,
    /// What is broken; nothing in a sound tree.
    pub defects: Vec<Defect>,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// Within one node.
    Node {
        /// The level of the node.
        level: u64,
        /// The lowest key that the node covers.
        low: u64,
        /// What is broken.
        broken: Broken,
    },
    /// A node that can be reached is of another level than the one it is linked from, or its link's mark is wrong.
    Level {
        /// The level it is reached at.
        expected: u64,
        /// The level it says.
        found: u64,
    },
    /// A dead node can be reached.
    Dead {
        /// Its level.
        level: u64,
    },
    /// A node does not begin where its left neighbour ends.
    Gap {
        /// Its level.
        level: u64,
        /// Where the left neighbour ends.
        high: u64,
        /// Where the node begins.
        low: u64,
    },
    /// A parent's entry names a node that does not begin at its key, or that is not on the level below.
    Entry {
        /// The parent's level.
        level: u64,
        /// The entry's key.
        key: u64,
    },
    /// The last node of a level has an end, or one before it has none.
    End {
        /// The level.
        level: u64,
    },
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { level, low, broken } => write!(f, "node at level {level} from key {low}: {broken}"),
            Self::Level { expected, found } => {
                write!(f, "a node of level {found} is linked at level {expected}")
            }
            Self::Dead { level } => write!(f, "a dead node can be reached at level {level}"),
            Self::Gap { level, high, low } => {
                write!(f, "at level {level} a node from key {low} follows one up to {high}")
            }
            Self::Entry { level, key } => {
                write!(f, "the entry {key} at level {level} names no node that begins there")
            }
            Self::End { level } => write!(f, "level {level} does not end with its last node"),
        }
    }
}

impl<K: Key, V: Value, L: Layout> Tree<K, V, L> {
    /// Walks all nodes, level by level, and reports every broken invariant.
    ///
    /// # Safety
    ///
    /// Nobody changes the tree meanwhile: no operation that changes it is on its way.
    pub unsafe fn check(&self) -> Report {
        let mut report = Report::default();
        let mut first = Some(self.top());
        // SAFETY: nobody changes the tree, so what can be reached is alive.
        let top = unsafe { self.top().follow() };
        let mut entries = vec![(0, self.top().to_word())];
        report.levels = top.level() + 1;
        for level in (0..report.levels).rev() {
            let Some(link) = first else { break };
            // SAFETY: as above.
            (first, entries) = unsafe { check_level(&mut report, level, link, &entries) };
        }
        report
    }
}

/// Checks one level from its first node on, against the entries of the level above. Returns the first node of the level
/// below, and all entries of this one.
///
/// # Safety
///
/// Nobody changes the tree meanwhile.
unsafe fn check_level<L: Layout>(
    report: &mut Report,
    level: u64,
    first: Link<L>,
    above: &[(u64, u64)],
) -> (Option<Link<L>>, Vec<(u64, u64)>) {
    let mut known: BTreeSet<(u64, u64)> = above.iter().copied().collect();
    let mut entries = Vec::new();
    let mut below = None;
    let mut next = Some(first);
    let mut high = Some(0);
    while let Some(link) = next {
        // SAFETY: reached from the tree, which nobody changes.
        let node = unsafe { link.follow() };
        report.nodes += 1;
        let low = node.low();
        report.defects.extend(node.check().into_iter().map(|broken| Defect::Node { level, low, broken }));
        let expected_mark = level.min(mark::HIGHEST.into()) as u8;
        if node.level() != level || link.mark() != expected_mark {
            report.defects.push(Defect::Level { expected: level, found: node.level() });
            return (None, entries);
        }
        if node.is_dead() {
            report.defects.push(Defect::Dead { level });
        }
        match high {
            Some(high) if high == low => {}
            Some(high) => report.defects.push(Defect::Gap { level, high, low }),
            None => report.defects.push(Defect::End { level }),
        }
        if !known.remove(&(low, link.to_word())) {
            report.unseparated += 1;
        }
        if level == 0 {
            let count = node.len() as u64;
            report.entries += count;
            report.leaves += 1;
            report.empty_leaves += u64::from(count == 0);
        } else {
            if below.is_none()
                && let Down::Child(word) = node.descend(low)
            {
                below = link_of::<L>(word);
            }
            node.visit(low, |key, word| entries.push((key, word)));
        }
        high = node.high();
        next = link_of::<L>(node.right());
    }
    if high.is_some() {
        report.defects.push(Defect::End { level });
    }
    report.defects.extend(known.into_iter().map(|(key, _)| Defect::Entry { level: level + 1, key }));
    (below, entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Hinted, Sorted, words};
    use xtasking::platform::Simulation;
    use xtasking::{Arena, Runtime, WriteToken};

    /// What a check of a level says, where the level above has these entries.
    fn defects<L: Layout>(level: u64, first: Link<L>, above: &[(u64, Link<L>)]) -> Vec<Defect> {
        let mut report = Report::default();
        let above: Vec<_> = above.iter().map(|&(key, link)| (key, link.to_word())).collect();
        // SAFETY: nobody else knows the nodes.
        unsafe { check_level(&mut report, level, first, &above) };
        report.defects
    }

    fn faults_are_found<L: Layout>() {
        let rt = Runtime::builder().platform(Simulation::new(1, 1)).build().unwrap();
        let arena = Arena::<L>::new(&rt);
        let leaf = |low, key, next: Option<(u64, u64)>| {
            let mut leaf = L::new(0, low);
            leaf.fill(&[(key, 1)], next);
            arena.alloc_outside(leaf)
        };
        let right = leaf(10, 11, None);
        let left = leaf(0, 1, Some((10, right.to_word())));
        let above = [(0, left), (10, right)];
        assert_eq!(defects(0, left, &above), []);

        let wrong = leaf(0, 1, Some((9, right.to_word())));
        assert_eq!(
            defects(0, wrong, &[(0, wrong), (10, right)]),
            [Defect::Gap { level: 0, high: 9, low: 10 }]
        );
        // A node without a neighbour has no end, whatever its words say: the node itself reports that.
        let wrong = leaf(0, 1, Some((9, 0)));
        let found = defects(0, wrong, &[(0, wrong)]);
        assert!(matches!(found[..], [Defect::Node { level: 0, low: 0, .. }]), "{found:?}");
        assert_eq!(defects(1, left, &[(0, left)])[0], Defect::Level { expected: 1, found: 0 });
        assert_eq!(defects(0, left.with_mark(2), &[])[0], Defect::Level { expected: 0, found: 0 });
        let above = [(0, left), (9, right)];
        assert_eq!(defects(0, left, &above), [Defect::Entry { level: 1, key: 9 }]);
        let wrong = leaf(0, 10, Some((10, right.to_word())));
        let found = defects(0, wrong, &[(0, wrong), (10, right)]);
        assert!(matches!(found[..], [Defect::Node { level: 0, low: 0, .. }]), "{found:?}");

        // SAFETY: nobody else knows the nodes.
        let (token, right_token) = unsafe { (WriteToken::assume(), WriteToken::assume()) };
        // SAFETY: no node is freed here.
        let (node, neighbour) = unsafe { (left.follow(), right.follow()) };
        assert!(node.absorb(left.to_word(), neighbour, &token, &right_token));
        assert_eq!(defects(0, left, &[(0, left)]), []);
        assert!(defects(0, right, &[]).contains(&Defect::Dead { level: 0 }));
        // SAFETY: no link is followed any more.
        unsafe { arena.dispose() };
    }

    #[test]
    fn each_fault_of_a_level_is_found() {
        faults_are_found::<Hinted<{ words(512) }>>();
        faults_are_found::<Sorted<{ words(512) }>>();
    }

    #[test]
    fn a_defect_says_where_it_is() {
        let texts = [
            (Defect::Level { expected: 1, found: 0 }, "a node of level 0 is linked at level 1"),
            (Defect::Dead { level: 2 }, "a dead node can be reached at level 2"),
            (Defect::Gap { level: 0, high: 9, low: 10 }, "at level 0 a node from key 10 follows one up to 9"),
            (Defect::Entry { level: 1, key: 9 }, "the entry 9 at level 1 names no node that begins there"),
            (Defect::End { level: 0 }, "level 0 does not end with its last node"),
        ];
        for (defect, text) in texts {
            assert_eq!(defect.to_string(), text);
        }
    }
}
