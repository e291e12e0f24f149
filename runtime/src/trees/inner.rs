//! A tree: its tables, and the data of its nodes.

use super::segments::Segments;
use super::table::TreeTable;
use crate::memory::Boxed;
use crate::scheduler::RuntimeState;
use crate::sync::UnsafeCell;
use crate::task::drop_quietly;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The tree: tables that do not depend on the type of the data, and the data.
pub(super) struct TreeInner<D> {
    pub table: TreeTable,
    data: Segments<DataCell<D>>,
    pub shared: Arc<RuntimeState>,
}

/// The data of a node, if there is one.
pub(super) struct DataCell<D>(UnsafeCell<Option<D>>);

impl<D> Default for DataCell<D> {
    fn default() -> Self {
        Self(UnsafeCell::new(None))
    }
}

// SAFETY: the table lets a task reach the data of a node only after it was granted the node: one
// task that writes it, or any number that read.
unsafe impl<D: Send + Sync> Sync for DataCell<D> {}

impl<D> Drop for DataCell<D> {
    /// Drops the data. A destructor that panics keeps no other node's data from being dropped.
    fn drop(&mut self) {
        // SAFETY: nothing else borrows the cell.
        drop_quietly(self.0.with_mut(|place| unsafe { (*place).take() }));
    }
}

impl<D> DataCell<D> {
    /// Returns the data of a node.
    ///
    /// # Safety
    ///
    /// The caller holds the node, which exists, to read it at least, for as long as the result is
    /// borrowed.
    #[inline(always)]
    pub unsafe fn read(&self) -> &D {
        // SAFETY: the node exists, so its data were stored before. The table lets no task write the
        // node beside the caller.
        unsafe { self.0.with(|data| (*data).as_ref().unwrap_unchecked()) }
    }

    /// Returns the data of a node, to change them.
    ///
    /// # Safety
    ///
    /// The caller holds the node, which exists, to write it for as long as the result is borrowed,
    /// and has borrowed nothing else of its data.
    #[expect(clippy::mut_from_ref, reason = "a holder that writes is the only one")]
    #[inline(always)]
    pub unsafe fn write(&self) -> &mut D {
        // SAFETY: the node exists, so its data were stored before. The caller is the only holder,
        // and this is its only borrow.
        unsafe { self.0.with_mut(|data| (*data).as_mut().unwrap_unchecked()) }
    }
}

/// A pointer to a tree that is kept for the task that has this.
pub struct TreePtr<D>(NonNull<TreeInner<D>>);

impl<D> Clone for TreePtr<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for TreePtr<D> {}

// SAFETY: it stands for a shared reference to a tree, which is Sync.
unsafe impl<D: Send + Sync> Send for TreePtr<D> {}

impl<D> TreePtr<D> {
    pub(super) fn new(tree: &TreeInner<D>) -> Self {
        Self(NonNull::from(tree))
    }

    /// Returns the tree.
    ///
    /// # Safety
    ///
    /// A handle or the epoch of the task keeps the tree for as long as the result is used.
    pub(super) unsafe fn get<'t>(self) -> &'t TreeInner<D> {
        // SAFETY: by the contract of this function.
        unsafe { self.0.as_ref() }
    }
}

impl<D: Send + Sync + 'static> Boxed for TreeInner<D> {
    fn shared(&self) -> &Arc<RuntimeState> {
        &self.shared
    }
}

impl<D> TreeInner<D> {
    /// Makes a tree of one node.
    pub fn new(shared: Arc<RuntimeState>, root: D) -> Self {
        let table = TreeTable::new(shared.slots.len());
        let tree = Self { table, data: Segments::default(), shared };
        // SAFETY: no task knows the tree.
        unsafe { tree.replace(TreeTable::ROOT.index, Some(root)) };
        tree
    }

    /// Returns the place of a node's data.
    ///
    /// # Safety
    ///
    /// The caller holds the node, which exists.
    #[inline(always)]
    pub unsafe fn cell(&self, index: u32) -> &DataCell<D> {
        // SAFETY: the node exists, so its data were stored before.
        unsafe { self.data.get_made(index) }
    }

    /// Returns the data of a node.
    ///
    /// # Safety
    ///
    /// As for [`DataCell::read`].
    #[inline(always)]
    pub unsafe fn read(&self, index: u32) -> &D {
        // SAFETY: forwarded.
        unsafe { self.cell(index).read() }
    }

    /// Returns the data of a node, to change them.
    ///
    /// # Safety
    ///
    /// As for [`DataCell::write`].
    #[expect(clippy::mut_from_ref, reason = "a holder that writes is the only one")]
    #[inline(always)]
    pub unsafe fn write(&self, index: u32) -> &mut D {
        // SAFETY: forwarded.
        unsafe { self.cell(index).write() }
    }

    /// Stores the data of a node, or takes them out. Returns those that were there.
    ///
    /// # Safety
    ///
    /// The caller is the only one that knows the node, or holds it to write it.
    pub unsafe fn replace(&self, index: u32, data: Option<D>) -> Option<D> {
        let cell = self.data.get_or_make(index);
        // SAFETY: no other task reaches the data.
        cell.0.with_mut(|place| unsafe { core::mem::replace(&mut *place, data) })
    }
}
