//! After a split: telling the level above where the new node begins.

use super::write::split;
use super::{RootRef, go_to, link_of};
use crate::node::{Down, Layout, Write, Wrote};
use xtasking::{Context, Link, Modify, Part, Step, Visit, Written};

/// Enters `separator` → `child` at `level`, as a follow-up of the operation that split: the link is good as long as
/// that operation lasts.
pub(super) fn begin<L: Layout>(
    root: RootRef<L>,
    level: u64,
    separator: u64,
    child: Link<L>,
    cx: &mut Context,
) {
    let top = root.get(cx).link.get();
    cx.task(top.read().part(L::FIRST)).visit(Separating { root, level, separator, child });
}

struct Separating<L: Layout> {
    root: RootRef<L>,
    level: u64,
    separator: u64,
    child: Link<L>,
}

/// A step on the way to the node at `level` that covers `key`. (It may still lie to the right of the one found.)
pub(super) fn step_to<L: Layout>(level: u64, key: u64, at: Link<L>, node: &L) -> Step<L, Link<L>> {
    if node.level() == level {
        return Step::End(at);
    }
    let (Down::Child(word) | Down::Right(word)) = node.descend(key);
    go_to(word)
}

impl<L: Layout> Visit for Separating<L> {
    type Target = L;
    type Output = Link<L>;

    const LOCATES: bool = true;

    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.separator)
    }

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Link<L>> {
        step_to(self.level, self.separator, at, node)
    }

    fn then(self, parent: Link<L>, cx: &mut Context) {
        cx.task(parent.write().part(L::FIRST)).modify(self);
    }
}

impl<L: Layout> Modify for Separating<L> {
    type Target = L;
    type Output = Wrote;

    const LOCATES: bool = true;

    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.separator)
    }

    fn write(&mut self, at: Link<L>, node: Written<'_, L>, cx: &mut Context) -> Wrote {
        let (separator, child) = (self.separator, self.child.to_word());
        match node.write(separator, child, Write::Insert, node.token()) {
            Wrote::Full => split(self.root, at, &node, separator, cx, |half, token| {
                half.write(separator, child, Write::Insert, token)
            }),
            wrote => wrote,
        }
    }

    fn then(self, wrote: Wrote, cx: &mut Context) {
        if let Wrote::Right(word) = wrote
            && let Some(next) = link_of::<L>(word)
        {
            cx.task(next.write().part(L::FIRST)).modify(self);
        }
    }
}
