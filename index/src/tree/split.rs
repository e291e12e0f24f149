//! Splitting a full node.

use super::links::{marked_link, reserved_link};
use super::root::RootRef;
use super::separator;
use crate::key_space::{EncodedKey, KeySpace};
use crate::node::{KeyRef, Layout};
use xtasking::{
    Context,
    arena::{Link, WriteToken, Written},
};

/// Splits a full node that is held for writing, applies the change to the half that covers `key`,
/// and starts adding the separator to the level above. Returns what the change returns, and the
/// half: where keys differ in length, it may be full again.
#[cold]
#[inline(never)]
pub(super) fn split<L: Layout, R>(
    root: RootRef<L>,
    at: Link<L>,
    node: &Written<'_, L>,
    key: KeyRef<'_, L>,
    cx: &mut Context,
    apply: impl FnOnce(&L, &WriteToken<'_>) -> R,
) -> (R, Link<L>) {
    let shared = root.get(cx);
    let level = node.level();
    let place = shared.arena.reserve(cx);
    let top = shared.link.get();
    let replaces_top = top.is_same_node(at);
    let top_level = if replaces_top { level + 1 } else { top.mark().into() };
    let link = reserved_link(&place, level, top_level);
    let mut right = L::new(level, L::Keys::LOWEST);
    let separator = node.split(&mut right, link.to_word(), key, node.token());
    let stays = L::Keys::compare(key, separator.key()).is_lt();
    let (half, half_link) = if stays { (&**node, at) } else { (&right, link) };
    let result = apply(half, node.token());
    place.fill(right);
    if replaces_top {
        // Only a task that holds the topmost node for writing replaces it.
        let mut top = L::new(top_level, L::Keys::LOWEST);
        let left = (L::Keys::to_owned(L::Keys::LOWEST), marked_link(at, level, top_level).to_word());
        top.fill(&[left, (separator, link.to_word())], None);
        let top = shared.arena.alloc(top, cx);
        shared.link.set(marked_link(top, top_level, top_level));
    } else {
        separator::begin(root, level + 1, separator, link, cx);
    }
    (result, half_link)
}
