//! Merging neighbours after the last entry of a node was removed.
//!
//! A merge holds three nodes for writing: two neighbouring children and their parent. The right
//! child's entries move to the left child, its entry is removed from the parent, and the right
//! child is retired. All conditions are checked again once the three nodes are held. If one does
//! not hold any more (for instance because the left child was split, which the parent does not know
//! of yet), nothing is changed and the merge is tried again, a few times. So an empty leaf may stay
//! in a tree that changes all the time; a later removal in that leaf tries again.

use super::links::{decode_link, step_to_link};
use super::root::RootRef;
use super::separator::step_to_level;
use crate::node::{Layout, RemoveResult, Siblings};
use xtasking::{
    Context,
    arena::{Link, Step, Visit, Written},
};

/// Retries of a merge: a pending split needs a few steps to arrive at the parent.
const MAX_RETRIES: u8 = 8;

/// Merges the node below `level` that covers `key` with a neighbour, if one of the two is empty or,
/// above the leaves, has a single child.
pub(super) fn begin<L: Layout>(root: RootRef<L>, level: u64, key: u64, cx: &mut Context) {
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
    key: u64,
    retries_left: u8,
}

impl<L: Layout> Visit for MergeOperation<L> {
    type Target = L;
    /// The parent and two of its children; `None` if it has only one.
    type Output = Option<(Link<L>, Siblings)>;

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Self::Output> {
        if node.level() < self.level {
            // The tree has become lower: there is no such parent any more.
            return Step::End(None);
        }
        match step_to_level(self.level, self.key, at, node) {
            Step::Go(next, part) => Step::Go(next, part),
            Step::Again => Step::Again,
            Step::End(_) if node.high().is_some_and(|high| self.key >= high) => step_to_link(node.right()),
            Step::End(parent) => Step::End(node.siblings(self.key).map(|pair| (parent, pair))),
        }
    }

    fn then(self, nodes: Self::Output, cx: &mut Context) {
        if let Some((parent, pair)) = nodes {
            self.merge(parent, pair, cx);
        }
    }
}

/// The result of an attempt to merge.
enum MergeOutcome {
    Merged {
        /// Whether the parent has a single child left.
        has_single_child: bool,
    },
    /// A node has changed since the parent was read.
    Changed,
    /// Both nodes are in use, or their entries do not fit into one.
    NotPossible,
}

impl<L: Layout> MergeOperation<L> {
    fn merge(self, parent: Link<L>, pair: Siblings, cx: &mut Context) {
        let (Some(left), Some(right)) = (decode_link::<L>(pair.left), decode_link::<L>(pair.right)) else {
            return;
        };
        let objects = (parent.write(), left.write(), right.write());
        cx.task(objects).spawn(
            move |(parent_node, left_node, right_node): (Written<'_, L>, Written<'_, L>, Written<'_, L>),
                  cx| {
                let nodes = MergeNodes { parent, left, right, parent_node, left_node, right_node };
                match nodes.merge(&self, pair, cx) {
                    MergeOutcome::Merged { has_single_child } => {
                        if has_single_child {
                            begin(self.root, self.level + 1, self.key, cx);
                        }
                        if self.level > 1 {
                            // The remaining child may have a neighbour now.
                            begin(self.root, self.level - 1, self.key, cx);
                        }
                    }
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
struct MergeNodes<'v, L: Layout> {
    parent: Link<L>,
    left: Link<L>,
    right: Link<L>,
    parent_node: Written<'v, L>,
    left_node: Written<'v, L>,
    right_node: Written<'v, L>,
}

impl<L: Layout> MergeNodes<'_, L> {
    fn merge(self, operation: &MergeOperation<L>, pair: Siblings, cx: &mut Context) -> MergeOutcome {
        let Self { parent, left, right, parent_node, left_node, right_node } = self;
        let unchanged = parent_node.siblings(operation.key) == Some(pair) && left_node.right() == pair.right;
        if parent_node.is_dead() || left_node.is_dead() || right_node.is_dead() || !unchanged {
            return MergeOutcome::Changed;
        }
        let min_len = if operation.level == 1 { 0 } else { 1 };
        if left_node.len() > min_len && right_node.len() > min_len {
            return MergeOutcome::NotPossible;
        }
        if !left_node.absorb(pair.left, &right_node, left_node.token(), right_node.token()) {
            return MergeOutcome::NotPossible;
        }
        let removed = parent_node.remove_child(pair.separator, parent_node.token());
        debug_assert!(matches!(removed, RemoveResult::Done { .. }), "siblings are entries of their parent");
        let shared = operation.root.get(cx);
        // SAFETY: no live node links to `right` any more. Its left neighbour and its parent, both
        // held here, have just been changed. Nodes that `right` has absorbed before still link to
        // it. But they were retired earlier, so operations that begin from now on never reach them.
        unsafe { shared.arena.retire(right, cx) };
        let has_single_child = parent_node.len() == 1;
        if has_single_child && shared.link.get().is_same_node(parent) && left_node.right() == 0 {
            // The left child is the only node of its level: it becomes the topmost node, and the
            // parent is retired.
            shared.link.set(left);
            // SAFETY: only the root linked to the parent, and it has just been changed.
            unsafe { shared.arena.retire(parent, cx) };
            return MergeOutcome::Merged { has_single_child: false };
        }
        MergeOutcome::Merged { has_single_child }
    }
}
