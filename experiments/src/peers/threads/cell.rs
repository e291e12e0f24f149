//! A node with its version: what readers and writers of the same node agree upon.

use core::hint;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::*, fence};
use xtasking::WriteToken;
use xtasking_index::node::Layout;

/// A node behind a version. The version is odd while the node is being changed.
#[repr(C, align(64))]
pub(super) struct Cell<L> {
    version: AtomicU64,
    /// Completes the header of 16 bytes that the layouts count on.
    _spare: u64,
    node: L,
}

impl<L: Layout> Cell<L> {
    pub(super) const fn new(node: L) -> Self {
        Self { version: AtomicU64::new(0), _spare: 0, node }
    }

    /// The cell behind a link.
    ///
    /// # Safety
    ///
    /// The link must come from [`link`](Self::link), and the cell must live for `'a`.
    #[inline(always)]
    pub(super) unsafe fn from_link<'a>(link: u64) -> &'a Self {
        // SAFETY: the address is a cell's, and its provenance was exposed with it.
        unsafe { &*ptr::with_exposed_provenance(link as usize) }
    }

    /// The link to a cell.
    pub(super) fn link(cell: *const Self) -> u64 {
        cell.expose_provenance() as u64
    }

    /// The node; what is read of it means something only within [`read`](Self::read).
    #[inline(always)]
    pub(super) fn node(&self) -> &L {
        &self.node
    }

    pub(super) fn node_mut(&mut self) -> &mut L {
        &mut self.node
    }

    /// Reads the node, again if it was changed meanwhile.
    #[inline(always)]
    pub(super) fn read<R>(&self, mut read: impl FnMut(&L) -> R) -> R {
        loop {
            let before = self.version.load(Acquire);
            let result = read(&self.node);
            // The reads above come before the one of the version below.
            fence(Acquire);
            if before & 1 == 0 && before == self.version.load(Relaxed) {
                return result;
            }
            hint::spin_loop();
        }
    }

    /// Waits until nobody else changes the node, then changes it.
    #[inline(always)]
    pub(super) fn lock(&self) -> Locked<'_, L> {
        loop {
            let version = self.version.load(Relaxed);
            if version & 1 == 0
                && self.version.compare_exchange_weak(version, version + 1, Acquire, Relaxed).is_ok()
            {
                // Whoever sees one of the writes to come shall see that the version is odd.
                fence(Release);
                return Locked { cell: self, version };
            }
            hint::spin_loop();
        }
    }
}

/// A node held for writing.
pub(super) struct Locked<'a, L: Layout> {
    cell: &'a Cell<L>,
    version: u64,
}

impl<L: Layout> Locked<'_, L> {
    #[inline(always)]
    pub(super) fn node(&self) -> &L {
        &self.cell.node
    }

    /// What it takes to write.
    #[inline(always)]
    pub(super) fn token(&self) -> WriteToken<'_> {
        // SAFETY: the version is odd as long as `self` lives, which keeps other writers out and tells
        // readers.
        unsafe { WriteToken::assume() }
    }

    /// Lets go of a node that is as it was: readers need not read again.
    #[inline(always)]
    pub(super) fn unchanged(self) {
        self.cell.version.store(self.version, Release);
        core::mem::forget(self);
    }
}

impl<L: Layout> Drop for Locked<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        self.cell.version.store(self.version + 2, Release);
    }
}
