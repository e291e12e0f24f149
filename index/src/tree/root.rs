//! The data that all operations of a tree share.
//!
//! Nodes are allocated in the root's arena. A node is retired once neither another node nor the
//! root links to it. Operations that started before may still visit it.

use super::links::decode_link;
use super::value_words;
use crate::key_space::{EncodedKey, KeySpace};
use crate::node::{DescendResult, Layout};
use crate::root;
use crate::value::{Value, ValueForm};
use std::panic::{AssertUnwindSafe, catch_unwind};
use xtasking::{
    Context, Version,
    arena::{Arena, LinkCell, Written},
    task::RuntimeId,
};

/// The data that all operations share.
pub(super) struct Root<L: Layout> {
    pub(super) link: LinkCell<L>,
    pub(super) runtime: RuntimeId,
    pub(super) arena: Arena<L>,
    /// Drops the value of a word of a leaf, if values need to be dropped.
    drop_value: Option<unsafe fn(u64)>,
}

/// A pointer to the root, carried by the tasks of an operation.
pub(super) type RootRef<L> = root::RootRef<Root<L>>;

impl<L: Layout> Version for Root<L> {}

impl<L: Layout> root::Root for Root<L> {
    #[inline(always)]
    fn runtime(&self) -> RuntimeId {
        self.runtime
    }
}

impl<L: Layout> Drop for Root<L> {
    fn drop(&mut self) {
        if let Some(drop_value) = self.drop_value {
            self.drop_values(drop_value);
        }
    }
}

impl<L: Layout> Root<L> {
    /// The root of a tree with values of `V`.
    pub(super) fn new<V: Value>(link: LinkCell<L>, runtime: RuntimeId, arena: Arena<L>) -> Self {
        let drop_value = V::Form::IS_OWNER.then_some(value_words::drop_at_once::<V> as unsafe fn(u64));
        Self { link, runtime, arena, drop_value }
    }

    /// Drops all values: the arena drops its nodes, which do not know the type of their values.
    fn drop_values(&mut self, drop_value: unsafe fn(u64)) {
        let mut next = Some(self.link.get());
        while let Some(link) = next {
            // SAFETY: the node is reachable, and the arena lives. The runtime drops the root only
            // after every task that could reach a node of its arena has ended, so nothing else uses
            // the tree.
            let node = unsafe { link.follow() };
            next = if node.level() == 0 {
                // SAFETY: as above, and each leaf is visited once: a right link does not lead back.
                let drop_value = |word| unsafe { drop_value(word) };
                // A destructor that panics keeps no other value from being dropped.
                node.visit(node.low().key(), |_, word| {
                    _ = catch_unwind(AssertUnwindSafe(|| drop_value(word)));
                });
                decode_link(node.right())
            } else {
                let (DescendResult::Child(word) | DescendResult::Right(word)) = node.descend(L::Keys::LOWEST);
                decode_link(word)
            };
        }
    }
}

/// Passes what a write has replaced outside its node to the runtime, which drops it after all
/// readers that are under way.
#[inline(always)]
pub(super) fn drop_replaced<L: Layout>(node: &Written<'_, L>, cx: &mut Context) {
    if let Some(replaced) = node.take_replaced(node.token()) {
        cx.drop_later(replaced);
    }
}
