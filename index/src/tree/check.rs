//! Checking all invariants of a tree.

use super::handle::Tree;
use super::links::{decode_link, mark};
use crate::key_space::{EncodedKey, KeySpace};
use crate::key_value::Key;
use crate::node::{DescendResult, Layout, NodeDefect, OwnedKey};
use crate::value::Value;
use core::fmt;
use std::collections::BTreeSet;
use xtasking::arena::Link;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report<K = u64> {
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
    /// Nodes without an entry in the level above: the insertion of their separator is still
    /// pending.
    pub unseparated: u64,
    /// All broken invariants; empty for a correct tree.
    pub defects: Vec<Defect<K>>,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect<K = u64> {
    /// A node breaks an invariant by itself.
    Node {
        /// The level of the node.
        level: u64,
        /// The lowest key that the node covers.
        low: K,
        /// The broken invariant.
        broken: NodeDefect<K>,
    },
    /// A node is of another level than the link to it says.
    Level {
        /// The level of the link.
        expected: u64,
        /// The level of the node.
        found: u64,
    },
    /// A dead node is reachable.
    Dead {
        /// Its level.
        level: u64,
    },
    /// A node does not begin where its left neighbour ends.
    Gap {
        /// Its level.
        level: u64,
        /// Where the left neighbour ends.
        high: K,
        /// Where the node begins.
        low: K,
    },
    /// An entry of an inner node leads to a node that does not begin at its key or is not on the
    /// level below.
    Entry {
        /// The level of the inner node.
        level: u64,
        /// The entry's key.
        key: K,
    },
    /// The last node of a level has a high key, or another one has none.
    End {
        /// The level.
        level: u64,
    },
}

impl<K> Report<K> {
    const fn new() -> Self {
        Self {
            entries: 0,
            leaves: 0,
            nodes: 0,
            levels: 0,
            empty_leaves: 0,
            unseparated: 0,
            defects: Vec::new(),
        }
    }
}

impl<K: fmt::Debug> fmt::Display for Defect<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { level, low, broken } => {
                write!(f, "node at level {level} from key {low:?}: {broken}")
            }
            Self::Level { expected, found } => {
                write!(f, "a node of level {found} is linked at level {expected}")
            }
            Self::Dead { level } => write!(f, "a dead node is reachable at level {level}"),
            Self::Gap { level, high, low } => {
                write!(
                    f,
                    "at level {level} a node that begins at key {low:?} follows one that ends at {high:?}"
                )
            }
            Self::Entry { level, key } => {
                write!(f, "the entry {key:?} at level {level} does not lead to a node that begins there")
            }
            Self::End { level } => write!(f, "level {level} does not end with its last node"),
        }
    }
}

impl<K: Key, V: Value, L: Layout<Keys = K::Keys>> Tree<K, V, L> {
    /// Visits all nodes, level by level, and reports every broken invariant.
    ///
    /// # Safety
    ///
    /// No operation that changes the tree may be running or pending.
    pub unsafe fn check(&self) -> Report<OwnedKey<L>> {
        let mut report = Report::new();
        let mut first = Some(self.top());
        // SAFETY: the caller guarantees that nothing changes the tree, so every reachable node is
        // alive.
        let top = unsafe { self.top().follow() };
        let mut entries = vec![(K::Keys::to_owned(K::Keys::LOWEST), self.top().to_word())];
        report.levels = top.level() + 1;
        for level in (0..report.levels).rev() {
            let Some(link) = first else { break };
            // SAFETY: the caller guarantees that nothing changes the tree; `link` was reached from
            // its root.
            (first, entries) = unsafe { check_level(&mut report, level, link, &entries) };
        }
        report
    }
}

/// The entries of a level, in order.
type LevelEntries<L> = Vec<(OwnedKey<L>, u64)>;

/// Checks one level from its first node on, against the entries of the level above. Returns the
/// first node of the level below, and all entries of this level.
///
/// # Safety
///
/// `first` must be reachable in a tree that no operation changes.
unsafe fn check_level<L: Layout>(
    report: &mut Report<OwnedKey<L>>,
    level: u64,
    first: Link<L>,
    above: &[(OwnedKey<L>, u64)],
) -> (Option<Link<L>>, LevelEntries<L>) {
    let mut known: BTreeSet<_> = above.iter().cloned().collect();
    let mut entries = Vec::new();
    let mut below = None;
    let mut next = Some(first);
    let mut high = Some(L::Keys::to_owned(L::Keys::LOWEST));
    while let Some(link) = next {
        // SAFETY: the node is reachable from `first`, and the caller guarantees that nothing
        // changes the tree.
        let node = unsafe { link.follow() };
        report.nodes += 1;
        let low = node.low();
        report.defects.extend(node.check().into_iter().map(|broken| Defect::Node {
            level,
            low: low.clone(),
            broken,
        }));
        let expected_mark = level.min(mark::MAX_LEVEL.into()) as u8;
        if node.level() != level || link.mark() != expected_mark {
            report.defects.push(Defect::Level { expected: level, found: node.level() });
            return (None, entries);
        }
        if node.is_dead() {
            report.defects.push(Defect::Dead { level });
        }
        match high {
            Some(high) if high == low => {}
            Some(high) => report.defects.push(Defect::Gap { level, high, low: low.clone() }),
            None => report.defects.push(Defect::End { level }),
        }
        if level == 0 {
            let count = node.len() as u64;
            report.entries += count;
            report.leaves += 1;
            report.empty_leaves += u64::from(count == 0);
        } else {
            if below.is_none()
                && let DescendResult::Child(word) = node.descend(low.key())
            {
                below = decode_link::<L>(word);
            }
            node.visit(low.key(), |key, word| entries.push((L::Keys::to_owned(key), word)));
        }
        if !known.remove(&(low, link.to_word())) {
            report.unseparated += 1;
        }
        high = node.high();
        next = decode_link::<L>(node.right());
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
    use crate::Words;
    use crate::node::{HintedNode, SortedNode, words};
    use xtasking::platform::Simulation;
    use xtasking::{
        Runtime,
        arena::{Arena, WriteToken},
    };

    /// Returns the defects of a level, given the entries of the level above.
    fn defects<L: Layout<Keys = Words>>(level: u64, first: Link<L>, above: &[(u64, Link<L>)]) -> Vec<Defect> {
        let mut report = Report::new();
        let above: Vec<_> = above.iter().map(|&(key, link)| (key, link.to_word())).collect();
        // SAFETY: this test owns the nodes and is their only user.
        unsafe { check_level(&mut report, level, first, &above) };
        report.defects
    }

    fn defects_are_found<L: Layout<Keys = Words>>() {
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
        // Without a right neighbour a node has no high key, whatever its words say. The node's own
        // check reports that.
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

        // SAFETY: this test is the only user of the nodes.
        let (token, right_token) = unsafe { (WriteToken::assume(), WriteToken::assume()) };
        // SAFETY: no node has been freed yet.
        let (node, neighbour) = unsafe { (left.follow(), right.follow()) };
        assert!(node.absorb(left.to_word(), neighbour, &token, &right_token));
        assert_eq!(defects(0, left, &[(0, left)]), []);
        assert!(defects(0, right, &[]).contains(&Defect::Dead { level: 0 }));
    }

    #[test]
    fn each_defect_of_a_level_is_found() {
        defects_are_found::<HintedNode<{ words(512) }>>();
        defects_are_found::<SortedNode<{ words(512) }>>();
    }

    #[test]
    fn a_defect_says_where_it_is() {
        let texts = [
            (Defect::<u64>::Level { expected: 1, found: 0 }, "a node of level 0 is linked at level 1"),
            (Defect::Dead { level: 2 }, "a dead node is reachable at level 2"),
            (
                Defect::Gap { level: 0, high: 9, low: 10 },
                "at level 0 a node that begins at key 10 follows one that ends at 9",
            ),
            (
                Defect::Entry { level: 1, key: 9 },
                "the entry 9 at level 1 does not lead to a node that begins there",
            ),
            (Defect::End { level: 0 }, "level 0 does not end with its last node"),
        ];
        for (defect, text) in texts {
            assert_eq!(defect.to_string(), text);
        }
    }
}
