//! Splitting a full node.

use super::links::{marked_link, reserved_link};
use super::root::RootRef;
use super::separator;
use crate::node::Layout;
use xtasking::{
    Context,
    arena::{Link, WriteToken, Written},
};

/// Splits a full node that is held for writing, applies the change to the half that covers `key`,
/// and starts adding the separator to the level above.
#[cold]
#[inline(never)]
pub(super) fn split<L: Layout, R>(
    root: RootRef<L>,
    at: Link<L>,
    node: &Written<'_, L>,
    key: u64,
    cx: &mut Context,
    apply: impl FnOnce(&L, &WriteToken<'_>) -> R,
) -> R {
    let shared = root.get(cx);
    let level = node.level();
    let place = shared.arena.reserve(cx);
    let top = shared.link.get();
    let replaces_top = top.is_same_node(at);
    let top_level = if replaces_top { level + 1 } else { top.mark().into() };
    let link = reserved_link(&place, level, top_level);
    let mut right = L::new(level, 0);
    let separator = node.split(&mut right, link.to_word(), key, node.token());
    let result = apply(if key < separator { node } else { &right }, node.token());
    place.fill(right);
    if replaces_top {
        // Only a task that holds the topmost node for writing replaces it.
        let mut top = L::new(top_level, 0);
        top.fill(&[(0, marked_link(at, level, top_level).to_word()), (separator, link.to_word())], None);
        let top = shared.arena.alloc(top, cx);
        shared.link.set(marked_link(top, top_level, top_level));
    } else {
        separator::begin(root, level + 1, separator, link, cx);
    }
    result
}
