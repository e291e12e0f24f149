//! Defines a node with its version: the protocol between readers and writers of a node.

use core::hint;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::*, fence};
use xtasking::arena::WriteToken;
use xtasking_index::Words;
use xtasking_index::node::Layout;

/// A node behind a version, which is odd while the node is being changed.
#[repr(C, align(64))]
pub(super) struct Cell<L> {
    version: AtomicU64,
    /// Pads the header to the 16 bytes that the layouts expect.
    _spare: u64,
    node: L,
}

impl<L: Layout<Keys = Words>> Cell<L> {
    pub(super) const fn new(node: L) -> Self {
        Self { version: AtomicU64::new(0), _spare: 0, node }
    }

    /// Returns the cell behind a link.
    ///
    /// # Safety
    ///
    /// The link must come from [`link`](Self::link), and the cell must live for `'a`.
    #[inline(always)]
    pub(super) unsafe fn from_link<'a>(link: u64) -> &'a Self {
        // SAFETY: the caller passes a link from `link`, which exposed the provenance of a cell that
        // lives for `'a`.
        unsafe { &*ptr::with_exposed_provenance(link as usize) }
    }

    /// Returns the link to a cell.
    pub(super) fn link(cell: *const Self) -> u64 {
        cell.expose_provenance() as u64
    }

    /// Returns the node; values read from it are consistent only within [`read`](Self::read).
    #[inline(always)]
    pub(super) fn node(&self) -> &L {
        &self.node
    }

    pub(super) fn node_mut(&mut self) -> &mut L {
        &mut self.node
    }

    /// Reads the node, and retries if it was changed meanwhile.
    #[inline(always)]
    pub(super) fn read<R>(&self, mut read: impl FnMut(&L) -> R) -> R {
        loop {
            let before = self.version.load(Acquire);
            let result = read(&self.node);
            // Acquire pairs with the Release fence of `lock`: if a read above saw a write, the load
            // below sees an odd or later version.
            fence(Acquire);
            if before & 1 == 0 && before == self.version.load(Relaxed) {
                return result;
            }
            hint::spin_loop();
        }
    }

    /// Locks the node for writing; spins while another thread holds it.
    #[inline(always)]
    pub(super) fn lock(&self) -> Locked<'_, L> {
        loop {
            let version = self.version.load(Relaxed);
            if version & 1 == 0
                && self.version.compare_exchange_weak(version, version + 1, Acquire, Relaxed).is_ok()
            {
                // Release pairs with the Acquire fence of `read`: a reader that sees one of the
                // following writes also sees the odd version.
                fence(Release);
                return Locked { cell: self, version };
            }
            hint::spin_loop();
        }
    }
}

/// A node locked for writing.
pub(super) struct Locked<'a, L: Layout<Keys = Words>> {
    cell: &'a Cell<L>,
    version: u64,
}

impl<L: Layout<Keys = Words>> Locked<'_, L> {
    #[inline(always)]
    pub(super) fn node(&self) -> &L {
        &self.cell.node
    }

    /// Returns the token that writes require.
    #[inline(always)]
    pub(super) fn token(&self) -> WriteToken<'_> {
        // SAFETY: the version is odd as long as `self` lives: `lock` excludes other writers, and
        // `read` retries.
        unsafe { WriteToken::assume() }
    }

    /// Unlocks an unchanged node: readers need not retry.
    #[inline(always)]
    pub(super) fn unchanged(self) {
        self.cell.version.store(self.version, Release);
        core::mem::forget(self);
    }
}

impl<L: Layout<Keys = Words>> Drop for Locked<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        self.cell.version.store(self.version + 2, Release);
    }
}
