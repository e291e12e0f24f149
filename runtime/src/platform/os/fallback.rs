//! The fallback for all other systems.

use super::{Backing, Node};
use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};

pub(super) fn allowed_cpus() -> Vec<usize> {
    Vec::new()
}

pub(super) fn pin(_os_id: usize) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

pub(super) fn memory() -> Option<u64> {
    None
}

pub(super) fn nodes() -> &'static [Node] {
    &[]
}

pub(super) fn map(
    bytes: usize,
    align: usize,
    _node: Option<u16>,
    _huge: bool,
) -> Option<(NonNull<u8>, Backing)> {
    let layout = Layout::from_size_align(bytes, align).ok()?;
    // SAFETY: `page_alloc` has checked that `bytes` is not zero.
    NonNull::new(unsafe { alloc_zeroed(layout) }).map(|ptr| (ptr, Backing::Small))
}

/// Does nothing: the system's allocator cannot take back memory and keep its addresses.
pub(super) unsafe fn discard(_start: NonNull<u8>, _bytes: usize) -> bool {
    false
}

pub(super) unsafe fn unmap(ptr: NonNull<u8>, bytes: usize, align: usize) {
    // SAFETY: `page_free`'s contract: `map` allocated this with this layout, having checked it.
    unsafe { dealloc(ptr.as_ptr(), Layout::from_size_align_unchecked(bytes, align)) }
}

/// Does nothing, as [`discard`].
pub(super) unsafe fn discard_run(_ptr: NonNull<u8>, _bytes: usize) -> bool {
    false
}

/// Does nothing: see the trait [`Platform`](crate::platform::Platform::barrier).
pub(super) fn barrier() -> bool {
    false
}

/// Returns `None`: the threads are not pinned.
pub(super) fn current_cpu() -> Option<u32> {
    None
}
