//! Moving nodes out of memory that holds few of them.
//!
//! Merges free nodes everywhere in memory, so that hardly any of it can be given back. When that is
//! worth while, the arena begins a compaction. A pass visits all nodes, level by level, and moves
//! those that the arena names. Its tasks run one after the other.
//!
//! A move holds the node, its left neighbour and its parent for writing. A new node takes over the
//! node's entries. The node becomes dead, and its right link leads to the new one, as after a
//! merge. The links of the parent and of the left neighbour, which are all there are, lead to the
//! new node from then on. If the entries fit into the left neighbour, they go there instead: that
//! is a merge. All is checked again once the nodes are held. A node that has changed meanwhile
//! stays where it is.
//!
//! A pass visits each parent in an operation of its own, so that what is retired can be freed. It
//! takes keys from one operation to the next, and no links.

use super::links::{decode_link, reserved_link, step_to_link};
use super::merge::{MergeNodes, MergeOutcome};
use super::root::{Root, RootRef};
use super::separator::step_to_level;
use crate::key_space::{EncodedKey, KeySpace};
use crate::node::{DescendResult, Layout, OwnedKey, Siblings, WriteMode, WriteResult};
use xtasking::{
    Context,
    arena::{Compaction, Keeper, Link, Step, Visit, Written},
};

/// Begins a pass if it is worth while. To be called after nodes were retired.
pub(super) fn begin<L: Layout>(root: RootRef<L>, cx: &mut Context) {
    root.get(cx).arena.begin_compaction(cx, move |compaction, cx| {
        // SAFETY: the root is an object of the runtime, and this task belongs to an operation that
        // was started with a handle of it.
        let Some(keeper) = (unsafe { Keeper::new(root.get(cx)) }) else { return };
        Pass { root, keeper, compaction, level: 1, key: lowest::<L>(), before: None }.visit_parent(cx);
    });
}

/// A pass over all nodes.
struct Pass<L: Layout> {
    root: RootRef<L>,
    /// Keeps the root from one operation to the next.
    keeper: Keeper<Root<L>>,
    compaction: Compaction<L>,
    /// The level of the parents.
    level: u64,
    /// A key below the parent that is visited next.
    key: OwnedKey<L>,
    /// A key of the node to the left of that parent's children; `None` if there is none.
    before: Option<OwnedKey<L>>,
}

impl<L: Layout> Pass<L> {
    /// Visits the next parent, in a new operation.
    fn visit_parent(self, cx: &mut Context) {
        cx.task(()).begin_operation().spawn(move |(), cx| {
            let top = self.root.get(cx).link.get();
            cx.task(top.read().part(L::ALL)).visit(ParentVisit(self));
        });
    }

    /// Visits a parent's children from number `next` on. `left` is the node to the left of that
    /// one, if it is known.
    fn visit_children(
        mut self,
        mut parent: Parent<L>,
        mut next: usize,
        mut left: Option<Link<L>>,
        cx: &mut Context,
    ) {
        while let Some(&(_, word)) = parent.children.get(next) {
            let Some(child) = decode_link::<L>(word) else { return };
            if self.compaction.should_move(child) {
                let place = Place { parent, number: next, child };
                return match (left, self.before.clone()) {
                    (Some(_), _) | (None, None) => self.spawn_move(place, left, cx),
                    (None, Some(key)) => {
                        let top = self.root.get(cx).link.get();
                        cx.task(top.read().part(L::FIRST)).visit(LeftVisit { pass: self, place, key });
                    }
                };
            }
            left = Some(child);
            next += 1;
        }
        self.before = parent.children.pop().map(|(key, _)| key);
        match parent.high {
            Some(high) => self.key = high,
            None => (self.level, self.key, self.before) = (self.level + 1, lowest::<L>(), None),
        }
        self.visit_parent(cx);
    }

    /// Moves a child, and continues with the next one.
    fn spawn_move(self, place: Place<L>, left: Option<Link<L>>, cx: &mut Context) {
        let (parent, child) = (place.parent.link, place.child);
        match left {
            Some(left) => cx.task((parent.write(), left.write(), child.write())).spawn(
                move |(parent_node, left_node, node): (Written<'_, L>, Written<'_, L>, Written<'_, L>),
                      cx| {
                    let left = self.relocate(&place, &parent_node, Some((left, &left_node)), &node, cx);
                    self.visit_children(place.parent, place.number + 1, Some(left), cx);
                },
            ),
            None => cx.task((parent.write(), child.write())).spawn(
                move |(parent_node, node): (Written<'_, L>, Written<'_, L>), cx| {
                    let left = self.relocate(&place, &parent_node, None, &node, cx);
                    self.visit_children(place.parent, place.number + 1, Some(left), cx);
                },
            ),
        }
    }

    /// Moves a child, or merges it with its left neighbour. Returns the node that has its entries
    /// now.
    fn relocate(
        &self,
        place: &Place<L>,
        parent_node: &Written<'_, L>,
        left: Option<(Link<L>, &Written<'_, L>)>,
        node: &Written<'_, L>,
        cx: &mut Context,
    ) -> Link<L> {
        let Place { parent: Parent { link: parent, ref children, .. }, number, child } = *place;
        let (ref separator, word) = children[number];
        // A topmost node with a single child may have been replaced by that. It is not dead then.
        let is_linked = parent_node.len() > 1 || self.root.get(cx).link.get().is_same_node(parent);
        let is_current = is_linked
            && !parent_node.is_dead()
            && !node.is_dead()
            && parent_node.descend(separator.key()) == DescendResult::Child(word)
            && match left {
                Some((_, left_node)) => !left_node.is_dead() && left_node.right() == word,
                None => node.low() == lowest::<L>(),
            };
        if !is_current {
            return child;
        }
        if let Some((left, left_node)) = left
            && let Some((before, _)) = number.checked_sub(1).and_then(|before| children.get(before))
        {
            // The node is to move anyway, so it need not be sparse.
            let fit = |left: usize, right: usize, _| left + right <= L::MERGED;
            let pair = Siblings { left: left.to_word(), right: word, separator: separator.clone() };
            let nodes = MergeNodes { parent, left, right: child, parent_node, left_node, right_node: node };
            if nodes.merge(self.root, self.level, before, &pair, fit, cx) == MergeOutcome::Merged {
                return left;
            }
        }
        let Some(copy) = self.copy(child, node, cx) else { return child };
        let updated =
            parent_node.write(separator.key(), copy.to_word(), WriteMode::Update, parent_node.token());
        debug_assert_eq!(updated, WriteResult::Replaced(word));
        if let Some((_, left_node)) = left {
            left_node.set_right(copy.to_word(), left_node.token());
        }
        // SAFETY: no live node links to the child: its parent and its left neighbour (the leftmost
        // node has none), held here, were changed above, and as its separator was in the parent, no
        // task is about to add it. Nodes that it has absorbed still link to it, but they were
        // retired earlier, so operations that begin from now on never reach them.
        unsafe { self.root.get(cx).arena.retire(child, cx) };
        copy
    }

    /// Makes a copy of a node that is held for writing. The node is dead then, and leads to the
    /// copy. Returns `None` if there is no memory, or no room in the copy.
    fn copy(&self, original: Link<L>, node: &Written<'_, L>, cx: &mut Context) -> Option<Link<L>> {
        let top_level = self.root.get(cx).link.get().mark().into();
        let level = node.level();
        let place = self.compaction.reserve(original, cx)?;
        let link = reserved_link(&place, level, top_level);
        let copy = L::new(level, node.low().key());
        // Long keys may fit as they are, and not in the order of a new node. Then the node stays.
        copy.absorb(link.to_word(), node, node.token(), node.token()).then(|| place.fill(copy))?;
        Some(link)
    }

    /// Moves the topmost node, which has neither parent nor neighbours. Then the pass ends.
    fn move_top(self, cx: &mut Context) {
        let top = self.root.get(cx).link.get();
        if !self.compaction.should_move(top) {
            return self.end(cx);
        }
        cx.task(top.write()).spawn(move |node: Written<'_, L>, cx| {
            let shared = self.root.get(cx);
            if !node.is_dead()
                && shared.link.get().is_same_node(top)
                && let Some(copy) = self.copy(top, &node, cx)
            {
                // Only a task that holds the topmost node for writing replaces it.
                shared.link.set(copy);
                // SAFETY: only the root linked to the node, and it has just been changed. For nodes
                // that it has absorbed, see `relocate`.
                unsafe { shared.arena.retire(top, cx) };
            }
            self.end(cx);
        });
    }

    /// Ends the pass. If many nodes were freed meanwhile, the next one begins.
    fn end(self, cx: &mut Context) {
        let Self { root, keeper, compaction, .. } = self;
        drop(compaction);
        cx.task(()).begin_operation().spawn(move |(), cx| {
            begin(root, cx);
            drop(keeper);
        });
    }
}

/// A parent, as it was read.
struct Parent<L: Layout> {
    link: Link<L>,
    children: Vec<(OwnedKey<L>, u64)>,
    high: Option<OwnedKey<L>>,
}

/// A child that is to be moved.
struct Place<L: Layout> {
    parent: Parent<L>,
    /// The child's number in the parent.
    number: usize,
    child: Link<L>,
}

fn lowest<L: Layout>() -> OwnedKey<L> {
    L::Keys::to_owned(L::Keys::LOWEST)
}

/// The walk to the next parent.
struct ParentVisit<L: Layout>(Pass<L>);

impl<L: Layout> Visit for ParentVisit<L> {
    type Target = L;
    /// `None` if the tree has no such level.
    type Output = Option<Parent<L>>;

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Self::Output> {
        let Self(pass) = self;
        if node.level() < pass.level {
            return Step::End(None);
        }
        match step_to_level(pass.level, pass.key.key(), at, node) {
            Step::Go(next, part) => Step::Go(next, part),
            Step::Again => Step::Again,
            Step::End(_) if node.high().is_some_and(|high| pass.key >= high) => step_to_link(node.right()),
            Step::End(link) => {
                let mut children = Vec::with_capacity(L::CAPACITY);
                node.visit(L::Keys::LOWEST, |key, word| children.push((L::Keys::to_owned(key), word)));
                Step::End(Some(Parent { link, children, high: node.high() }))
            }
        }
    }

    fn then(self, parent: Option<Parent<L>>, cx: &mut Context) {
        match parent {
            Some(parent) => self.0.visit_children(parent, 0, None, cx),
            None => self.0.move_top(cx),
        }
    }
}

/// The walk to the left neighbour of a parent's first child. It is below another parent.
struct LeftVisit<L: Layout> {
    pass: Pass<L>,
    place: Place<L>,
    key: OwnedKey<L>,
}

impl<L: Layout> Visit for LeftVisit<L> {
    type Target = L;
    type Output = Link<L>;

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Link<L>> {
        match step_to_level(self.pass.level - 1, self.key.key(), at, node) {
            Step::End(_) if node.high().is_some_and(|high| self.key >= high) => step_to_link(node.right()),
            step => step,
        }
    }

    fn then(self, left: Link<L>, cx: &mut Context) {
        self.pass.spawn_move(self.place, Some(left), cx);
    }
}
