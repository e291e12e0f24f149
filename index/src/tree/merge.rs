//! Merging neighbours after the last entry of a node is gone.
//!
//! A merge holds three nodes: two neighbouring children and their parent. The right child's entries move to the left
//! one, its entry leaves the parent, and it is retired. Everything is looked at again once all three are held: if
//! anything has changed (a split between the two, above all, which the parent does not know of yet), nothing happens
//! and the merge is tried again a few times. A tree that keeps changing under it may so keep an empty leaf; a later
//! removal there tries again.

use super::separate::step_to;
use super::{RootRef, go_to, link_of};
use crate::node::{Layout, Removed, Siblings};
use xtasking::{Context, Link, Step, Visit, Written};

/// Tries of one merge; splits in flight need a few steps to arrive at the parent.
const TRIES: u8 = 8;

/// Merges the node below `level` that covers `key` with a neighbour, if one of them is empty (or, above the leaves,
/// has a single child).
pub(super) fn begin<L: Layout>(root: RootRef<L>, level: u64, key: u64, cx: &mut Context) {
    attempt(Merging { root, level, key, tries: TRIES }, cx);
}

fn attempt<L: Layout>(merging: Merging<L>, cx: &mut Context) {
    let top = merging.root.get(cx).link.get();
    cx.task(top.read().part(L::FIRST)).visit(merging);
}

struct Merging<L: Layout> {
    root: RootRef<L>,
    /// Level of the parent.
    level: u64,
    key: u64,
    tries: u8,
}

impl<L: Layout> Visit for Merging<L> {
    type Target = L;
    /// The parent and two of its children, if it has two.
    type Output = Option<(Link<L>, Siblings)>;

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Self::Output> {
        if node.level() < self.level {
            // The tree has become lower: there is no such parent.
            return Step::End(None);
        }
        match step_to(self.level, self.key, at, node) {
            Step::Go(next, part) => Step::Go(next, part),
            Step::Again => Step::Again,
            Step::End(_) if node.high().is_some_and(|high| self.key >= high) => go_to(node.right()),
            Step::End(parent) => Step::End(node.siblings(self.key).map(|pair| (parent, pair))),
        }
    }

    fn then(self, family: Self::Output, cx: &mut Context) {
        if let Some((parent, pair)) = family {
            self.merge(parent, pair, cx);
        }
    }
}

/// What came of a merge.
enum Outcome {
    Merged {
        /// The parent has a single child left.
        lonely: bool,
    },
    /// Something has changed meanwhile.
    Changed,
    /// There is nothing to gain.
    Pointless,
}

impl<L: Layout> Merging<L> {
    fn merge(self, parent: Link<L>, pair: Siblings, cx: &mut Context) {
        let (Some(left), Some(right)) = (link_of::<L>(pair.left), link_of::<L>(pair.right)) else { return };
        let objects = (parent.write(), left.write(), right.write());
        cx.task(objects).spawn(
            move |(above, one, other): (Written<'_, L>, Written<'_, L>, Written<'_, L>), cx| {
                let family = Family { parent, left, right, above, one, other };
                match family.merge(&self, pair, cx) {
                    Outcome::Merged { lonely } => {
                        if lonely {
                            begin(self.root, self.level + 1, self.key, cx);
                        }
                        if self.level > 1 {
                            // The child that had no neighbour may have one now.
                            begin(self.root, self.level - 1, self.key, cx);
                        }
                    }
                    Outcome::Changed if self.tries > 0 => {
                        attempt(Self { tries: self.tries - 1, ..self }, cx);
                    }
                    Outcome::Changed | Outcome::Pointless => {}
                }
            },
        );
    }
}

/// Three nodes, held for writing.
struct Family<'v, L: Layout> {
    parent: Link<L>,
    left: Link<L>,
    right: Link<L>,
    above: Written<'v, L>,
    one: Written<'v, L>,
    other: Written<'v, L>,
}

impl<L: Layout> Family<'_, L> {
    fn merge(self, merging: &Merging<L>, pair: Siblings, cx: &mut Context) -> Outcome {
        let Self { parent, left, right, above, one, other } = self;
        let still = above.siblings(merging.key) == Some(pair) && one.right() == pair.right;
        if above.is_dead() || one.is_dead() || other.is_dead() || !still {
            return Outcome::Changed;
        }
        let least = if merging.level == 1 { 0 } else { 1 };
        if one.len() > least && other.len() > least {
            return Outcome::Pointless;
        }
        if !one.absorb(pair.left, &other, one.token(), other.token()) {
            return Outcome::Pointless;
        }
        let removed = above.remove_child(pair.separator, above.token());
        debug_assert!(matches!(removed, Removed::Done { .. }), "siblings are entries of their parent");
        let shared = merging.root.get(cx);
        // SAFETY: no node links to it any more: its left neighbour and its parent were just changed, and dead nodes to
        // its left link to those that took over their keys, never to it.
        unsafe { shared.arena.retire(right, cx) };
        let lonely = above.len() == 1;
        if lonely && shared.link.get().is_same_node(parent) && one.right() == 0 {
            // The whole level below is this one node: it becomes the topmost, and its parent is of no use any more.
            shared.link.set(left);
            // SAFETY: only the root linked to it, which does no more.
            unsafe { shared.arena.retire(parent, cx) };
            return Outcome::Merged { lonely: false };
        }
        Outcome::Merged { lonely }
    }
}
