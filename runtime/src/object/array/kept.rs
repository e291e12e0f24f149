//! The segments of arrays that are gone.
//!
//! [`Links`](super::Links) are an address of segments, which safe code may keep for as long as it
//! likes. So the segments of an array with links are never freed or changed, and what they say
//! stays true: the addresses that follow from them are of cells of one type for ever
//! (`memory/typed.rs`). That is a few hundred bytes for each array. A later array that is alike and
//! comes to lie at the same addresses shares them.

use super::segments::{Geometry, Segments};
use crate::object::Class;
use crate::sync::global::GlobalMutex;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::any::TypeId;
use core::ptr::NonNull;

/// The type of the elements, and what the segments say; nothing for those of arrays that have
/// grown, which are here only to be found by leak checkers.
type Key = (TypeId, Option<Geometry>);

/// The addresses of kept segments.
static KEPT: GlobalMutex<BTreeMap<Key, Vec<usize>>> = GlobalMutex::new(BTreeMap::new());

/// Returns kept segments that say the same, or else puts these on the heap.
pub(super) fn take_or_leak<C: Class>(segments: Segments<C>) -> NonNull<Segments<C>> {
    let key = (TypeId::of::<C>(), Some(segments.geometry()));
    let kept = KEPT.with(|kept| kept.get_mut(&key).and_then(Vec::pop));
    match kept.and_then(|address| NonNull::new(core::ptr::with_exposed_provenance_mut(address))) {
        Some(kept) => kept,
        None => NonNull::from(Box::leak(Box::new(segments))),
    }
}

/// Keeps the segments of an array that is gone.
///
/// # Safety
///
/// They were made by [`take_or_leak`], and the array has no handle left.
pub(super) unsafe fn keep<C: Class>(segments: NonNull<Segments<C>>) {
    // SAFETY: segments of this class are never freed.
    let geometry = unsafe { segments.as_ref() };
    let geometry = (!geometry.has_grown()).then(|| geometry.geometry());
    let key = (TypeId::of::<C>(), geometry);
    KEPT.with(|kept| kept.entry(key).or_default().push(segments.as_ptr().expose_provenance()));
}
