//! Merging neighbours when one of them is sparse.
//!
//! A removal that leaves few entries in a leaf starts a merge. The two
//! nodes are merged if their entries leave room for insertions in the node that stays, so that
//! insertions and removals at a border do not split and merge it again and again.
//!
//! A merge holds three nodes for writing: two neighbouring children and their parent. The right
//! child's entries move to the left child, its entry is removed from the parent, and the right
//! child is retired. All conditions are checked again once the three nodes are held. If one does
//! not hold any more (for instance because the left child was split, which the parent does not know
//! of yet), nothing is changed and the merge is tried again, a few times. So a sparse leaf may stay
//! in a tree that changes all the time; a later removal in that leaf tries again.

use super::compact;
use super::links::{decode_link, step_to_link};
use super::root::{RootRef, drop_replaced};
use super::separator::step_to_level;
use crate::key_space::EncodedKey;
use crate::node::{Layout, OwnedKey, RemoveResult, Siblings};
use xtasking::{
    Context,
    arena::{Link, Step, Visit, Written},
};

/// Retries of a merge: a pending split needs a few steps to arrive at the parent.
const MAX_RETRIES: u8 = 8;

/// Merges the node below `level` that covers `key` with a neighbour, if one of the two is sparse
/// and their entries fit into one node.
pub(super) fn begin<L: Layout>(root: RootRef<L>, level: u64, key: OwnedKey<L>, cx: &mut Context) {
    attempt(MergeOperation { root, level, key, retries_left: MAX_RETRIES }, cx);
}

fn attempt<L: Layout>(operation: MergeOperation<L>, cx: &mut Context) {
    let top = operation.root.get(cx).link.get();
    cx.task(top.read().part(L::FIRST)).visit(operation);
}

struct MergeOperation<L: Layout> {
    root: RootRef<L>,
    /// Level of the parent.
    level: u64,
    key: OwnedKey<L>,
    retries_left: u8,
}

impl<L: Layout> Visit for MergeOperation<L> {
    type Target = L;
    /// The parent and two of its children; `None` if it has only one.
    type Output = Option<(Link<L>, Siblings<OwnedKey<L>>)>;

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Self::Output> {
        if node.level() < self.level {
            // The tree has become lower: there is no such parent any more.
            return Step::End(None);
        }
        match step_to_level(self.level, self.key.key(), at, node) {
            Step::Go(next, part) => Step::Go(next, part),
            Step::Again => Step::Again,
            Step::End(_) if node.high().is_some_and(|high| self.key >= high) => step_to_link(node.right()),
            Step::End(parent) => Step::End(node.siblings(self.key.key()).map(|pair| (parent, pair))),
        }
    }

    fn then(self, nodes: Self::Output, cx: &mut Context) {
        if let Some((parent, pair)) = nodes {
            self.merge(parent, pair, cx);
        }
    }
}

/// The result of an attempt to merge.
#[derive(PartialEq)]
pub(super) enum MergeOutcome {
    Merged,
    /// A node has changed since the parent was read.
    Changed,
    /// Neither node is sparse, or their entries do not fit into one.
    NotPossible,
}

impl<L: Layout> MergeOperation<L> {
    fn merge(self, parent: Link<L>, pair: Siblings<OwnedKey<L>>, cx: &mut Context) {
        let (Some(left), Some(right)) = (decode_link::<L>(pair.left), decode_link::<L>(pair.right)) else {
            return;
        };
        let objects = (parent.write(), left.write(), right.write());
        cx.task(objects).spawn(
            move |(parent_node, left_node, right_node): (Written<'_, L>, Written<'_, L>, Written<'_, L>),
                  cx| {
                let nodes = MergeNodes {
                    parent,
                    left,
                    right,
                    parent_node: &parent_node,
                    left_node: &left_node,
                    right_node: &right_node,
                };
                match nodes.merge(self.root, self.level, &self.key, &pair, can_merge::<L>, cx) {
                    MergeOutcome::Merged => {}
                    MergeOutcome::Changed if self.retries_left > 0 => {
                        attempt(Self { retries_left: self.retries_left - 1, ..self }, cx);
                    }
                    MergeOutcome::Changed | MergeOutcome::NotPossible => {}
                }
            },
        );
    }
}

/// The three nodes of a merge, held for writing.
pub(super) struct MergeNodes<'n, 'v, L: Layout> {
    pub parent: Link<L>,
    pub left: Link<L>,
    pub right: Link<L>,
    pub parent_node: &'n Written<'v, L>,
    pub left_node: &'n Written<'v, L>,
    pub right_node: &'n Written<'v, L>,
}

impl<L: Layout> MergeNodes<'_, '_, L> {
    /// Merges the right child into the left one, if the two are still the `pair` around `key` below
    /// the parent's `level`, and `can_merge` agrees: it gets the numbers of their entries, and the
    /// level.
    pub(super) fn merge(
        &self,
        root: RootRef<L>,
        level: u64,
        key: &OwnedKey<L>,
        pair: &Siblings<OwnedKey<L>>,
        can_merge: impl FnOnce(usize, usize, u64) -> bool,
        cx: &mut Context,
    ) -> MergeOutcome {
        let &Self { parent, left, right, parent_node, left_node, right_node } = self;
        let are_neighbours = left_node.right() == pair.right || planted!("merge-past-split");
        let unchanged = parent_node.siblings(key.key()).as_ref() == Some(pair) && are_neighbours;
        if parent_node.is_dead() || left_node.is_dead() || right_node.is_dead() || !unchanged {
            return MergeOutcome::Changed;
        }
        if !can_merge(left_node.len(), right_node.len(), level) {
            return MergeOutcome::NotPossible;
        }
        if !left_node.absorb(pair.left, right_node, left_node.token(), right_node.token()) {
            return MergeOutcome::NotPossible;
        }
        let removed = parent_node.remove_child(pair.separator.key(), parent_node.token());
        debug_assert!(matches!(removed, RemoveResult::Done { .. }), "siblings are entries of their parent");
        drop_replaced(left_node, cx);
        drop_replaced(parent_node, cx);
        let shared = root.get(cx);
        // SAFETY: no live node links to `right` any more. Its left neighbour and its parent, both
        // held here, have just been changed. Nodes that `right` has absorbed before still link to
        // it. But they were retired earlier, so operations that begin from now on never reach them.
        unsafe { shared.arena.retire(right, cx) };
        let children = parent_node.len();
        let is_top = shared.link.get().is_same_node(parent);
        if children == 1 && is_top && left_node.right() == 0 {
            // The left child is the only node of its level: it becomes the topmost node, and the
            // parent is retired.
            shared.link.set(left);
            // SAFETY: only the root linked to the parent, and it has just been changed.
            unsafe { shared.arena.retire(parent, cx) };
        } else if !is_top && children <= L::SPARSE {
            begin(root, level + 1, key.clone(), cx);
        }
        if level > 1 {
            // The remaining child may have a neighbour now.
            begin(root, level - 1, key.clone(), cx);
        }
        compact::begin(root, cx);
        MergeOutcome::Merged
    }
}

/// Returns true if two neighbours with so many entries should be merged, if these fit into one.
/// `level` is that of the parent.
fn can_merge<L: Layout>(left: usize, right: usize, level: u64) -> bool {
    let fewer = left.min(right);
    // A leaf without entries and an inner node with a single child are of no use at all.
    let is_useless = fewer <= if level == 1 { 0 } else { 1 };
    is_useless || fewer <= L::SPARSE && left + right <= L::MERGED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::links::marked_link;
    use crate::{HintedNode, SortedNode, Tree, Words, node::words};
    use xtasking::platform::Simulation;
    use xtasking::{Runtime, arena::Arena};

    type WrittenNodes<'v, L> = (Written<'v, L>, Written<'v, L>, Written<'v, L>);

    /// A leaf has split, and the separator has not arrived at the parent. So the new leaf lies
    /// between the two that the parent names.
    fn a_leaf_is_left_between<L: Layout<Keys = Words>>() {
        let rt = Runtime::builder().platform(Simulation::new(1, 1)).build().unwrap();
        let arena = Arena::<L>::new(&rt);
        let node = |level, low, entries: &[(u64, u64)], next| {
            let mut node = L::new(level, low);
            node.fill(entries, next);
            arena.alloc_outside(node)
        };
        let right = node(0, 20, &[(21, 3)], None);
        let between = node(0, 10, &[(11, 2)], Some((20, right.to_word())));
        let left = node(0, 0, &[(1, 1)], Some((10, between.to_word())));
        let parent = node(1, 0, &[(0, left.to_word()), (20, right.to_word())], None);
        let tree = Tree::<u64, u64, L>::from_parts(&rt, marked_link(parent, 1, 1), arena);
        let root = tree.root();
        let merge = move |(parent_node, left_node, right_node): WrittenNodes<'_, L>, cx: &mut Context| {
            let (parent_node, left_node, right_node) = (&parent_node, &left_node, &right_node);
            let pair = parent_node.siblings(1).unwrap();
            let nodes = MergeNodes { parent, left, right, parent_node, left_node, right_node };
            nodes.merge(root, 1, &1, &pair, can_merge::<L>, cx) == MergeOutcome::Changed
        };
        let task = rt.task((parent.write(), left.write(), right.write())).submit(merge);
        assert!(task.join().unwrap(), "two leaves were merged past a third one");
        let entries = tree.client(&rt).scan(0, usize::MAX).unwrap();
        assert_eq!(entries, [(1, 1), (11, 2), (21, 3)]);
    }

    #[test]
    fn leaves_with_another_one_between_them_are_not_merged() {
        a_leaf_is_left_between::<HintedNode<{ words(512) }>>();
        a_leaf_is_left_between::<SortedNode<{ words(512) }>>();
    }
}
