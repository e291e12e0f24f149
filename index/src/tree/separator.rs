//! After a split: adding the new node's separator to the level above.

use super::links::{decode_link, step_to_link};
use super::root::{RootRef, drop_replaced};
use super::split::split;
use crate::key_space::EncodedKey;
use crate::node::{DescendResult, KeyRef, Layout, OwnedKey, WriteMode, WriteResult};
use xtasking::{
    Context, Part,
    arena::{Link, Modify, Step, Visit, WriteToken, Written},
};

/// Inserts `separator` → `child` at `level`, in a follow-up of the operation that has split the
/// node. The link stays valid as long as that operation lasts.
pub(super) fn begin<L: Layout>(
    root: RootRef<L>,
    level: u64,
    separator: OwnedKey<L>,
    child: Link<L>,
    cx: &mut Context,
) {
    let top = root.get(cx).link.get();
    cx.task(top.read().part(L::FIRST)).visit(SeparatorInsert { root, level, separator, child });
}

struct SeparatorInsert<L: Layout> {
    root: RootRef<L>,
    level: u64,
    separator: OwnedKey<L>,
    child: Link<L>,
}

/// A step towards the node at `level` that covers `key`. It may end at a node further to the left.
pub(super) fn step_to_level<L: Layout>(
    level: u64,
    key: KeyRef<'_, L>,
    at: Link<L>,
    node: &L,
) -> Step<L, Link<L>> {
    if node.level() == level {
        return Step::End(at);
    }
    let (DescendResult::Child(word) | DescendResult::Right(word)) = node.descend(key);
    step_to_link(word)
}

impl<L: Layout> Visit for SeparatorInsert<L> {
    type Target = L;
    type Output = Link<L>;

    const LOCATES: bool = true;

    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.separator.key())
    }

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Link<L>> {
        step_to_level(self.level, self.separator.key(), at, node)
    }

    fn then(self, parent: Link<L>, cx: &mut Context) {
        cx.task(parent.write().part(L::FIRST)).modify(self);
    }
}

impl<L: Layout> Modify for SeparatorInsert<L> {
    type Target = L;
    type Output = WriteResult;

    const LOCATES: bool = true;

    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.separator.key())
    }

    fn write(&mut self, at: Link<L>, node: Written<'_, L>, cx: &mut Context) -> WriteResult {
        let (separator, child) = (self.separator.key(), self.child.to_word());
        let wrote = match node.write(separator, child, WriteMode::Insert, node.token()) {
            WriteResult::Full => {
                let write =
                    |half: &L, token: &WriteToken<'_>| half.write(separator, child, WriteMode::Insert, token);
                match split(self.root, at, &node, separator, cx, write) {
                    (WriteResult::Full, half) => WriteResult::Right(half.to_word()),
                    (wrote, _) => wrote,
                }
            }
            wrote => wrote,
        };
        drop_replaced(&node, cx);
        wrote
    }

    fn then(self, wrote: WriteResult, cx: &mut Context) {
        if let WriteResult::Right(word) = wrote
            && let Some(next) = decode_link::<L>(word)
        {
            cx.task(next.write().part(L::FIRST)).modify(self);
        }
    }
}
