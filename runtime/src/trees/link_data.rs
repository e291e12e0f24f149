//! Data of links: a value of any type for each place among the children of a node.
//!
//! The values are kept beside the slots, as few trees have any. They are accessed under the claim
//! of the parent, like its children, and move with these in their list.

use super::change::Holder;
use super::error::TreeError;
use super::node::Node;
use super::segments::Segments;
use super::table::TreeTable;
use crate::sync::{AtomicBool, Relaxed, UnsafeCell};
use crate::task::drop_quietly;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::mem::take;

/// The data of one link.
pub(crate) type LinkValue = Box<dyn Any + Send + Sync>;

/// Values by the places of the children; the list ends with the last child that has or had one.
type LinkValues = Vec<Option<LinkValue>>;

/// The data of all links of a tree.
#[derive(Default)]
pub(crate) struct LinkData {
    /// A link has or had data.
    is_used: AtomicBool,
    values: Segments<LinkValuesCell>,
}

/// The data of the links to the children of a node.
#[derive(Default)]
struct LinkValuesCell(UnsafeCell<LinkValues>);

// SAFETY: accessed by tasks that hold the node: many that read it, or one that writes it.
unsafe impl Sync for LinkValuesCell {}

impl TreeTable {
    /// Returns the value of the link to the child at a place.
    ///
    /// # Safety
    ///
    /// The caller holds the parent, to read at least, for as long as the result is borrowed.
    pub unsafe fn link_value(&self, parent: u32, at: usize) -> Option<&LinkValue> {
        let cell = self.link_data.values.get(parent)?;
        // SAFETY: tasks that write the parent are kept out, by the contract of this function.
        cell.0.with(|values| unsafe { &*values }).get(at)?.as_ref()
    }

    /// Returns the values of the links to the children of a node, to change them; `None` if there
    /// are none.
    ///
    /// # Safety
    ///
    /// The caller holds the node to write it, and has borrowed nothing else of these values.
    #[expect(clippy::mut_from_ref, reason = "a holder that writes is the only one")]
    unsafe fn link_values(&self, parent: u32) -> Option<&mut LinkValues> {
        // Relaxed: the claim of the node orders this after the task that has set a value there.
        if !self.link_data.is_used.load(Relaxed) {
            return None;
        }
        // SAFETY: the caller is the only one that accesses them.
        self.link_data.values.get(parent).map(|cell| cell.0.with_mut(|values| unsafe { &mut *values }))
    }
}

impl Holder<'_> {
    /// Returns the value of the link to the child at a place.
    ///
    /// # Errors
    ///
    /// If the claim does not cover the parent, or that has too few children.
    pub fn link_value(&self, parent: Node, at: usize) -> Result<Option<&LinkValue>, TreeError> {
        let slot = self.covered(parent, false)?;
        // SAFETY: the claim covers the parent, and the borrow of the holder excludes changes.
        let (count, value) = unsafe { (slot.children().len(), self.table.link_value(parent.index, at)) };
        if at < count { Ok(value) } else { Err(TreeError::NoSuchPlace(parent, at)) }
    }

    /// Returns the value of the link to the child at a place, to change it.
    ///
    /// # Errors
    ///
    /// As for [`link_value`](Self::link_value), or if the claim covers the parent only to read it.
    pub fn link_value_mut(&mut self, parent: Node, at: usize) -> Result<Option<&mut LinkValue>, TreeError> {
        self.written(parent)?;
        self.link_value(parent, at)?;
        // SAFETY: the claim covers the parent to write it, and the borrow of the holder excludes
        // any other.
        let values = unsafe { self.table.link_values(parent.index) };
        Ok(values.and_then(|values| values.get_mut(at)?.as_mut()))
    }

    /// Sets the value of the link to the child at a place.
    ///
    /// # Errors
    ///
    /// As for [`link_value_mut`](Self::link_value_mut).
    pub fn set_link_value(&mut self, parent: Node, at: usize, value: LinkValue) -> Result<(), TreeError> {
        self.written(parent)?;
        self.link_value(parent, at)?;
        // Relaxed: the claim of the parent orders this before tasks that ask for its values.
        self.table.link_data.is_used.store(true, Relaxed);
        let cell = self.table.link_data.values.get_or_make(parent.index);
        let old = cell.0.with_mut(|values| {
            // SAFETY: the claim covers the parent to write it, and nothing is borrowed of it.
            let values = unsafe { &mut *values };
            if values.len() <= at {
                values.resize_with(at + 1, || None);
            }
            values[at].replace(value)
        });
        // Its destructor may panic, as that of each value below.
        drop_quietly(old);
        Ok(())
    }

    /// Makes room for the value of a child that has come at this place. The claim covers the parent
    /// to write it.
    #[inline]
    pub fn open_link_place(&self, parent: u32, at: usize) {
        // SAFETY: the claim covers the parent to write it, and nothing is borrowed of it.
        if let Some(values) = unsafe { self.table.link_values(parent) }
            && at < values.len()
            && !planted!("tree-link-data-not-shifted")
        {
            values.insert(at, None);
        }
    }

    /// Takes out the value of a child that has left this place. The claim covers the parent to
    /// write it.
    pub fn close_link_place(&self, parent: u32, at: usize) -> Option<LinkValue> {
        // SAFETY: the claim covers the parent to write it, and nothing is borrowed of it.
        let values = unsafe { self.table.link_values(parent) }?;
        if at < values.len() { values.remove(at) } else { None }
    }

    /// Drops the values of all links to the children of a node. The claim covers it to write it.
    pub fn clear_link_values(&self, parent: u32) {
        // SAFETY: the claim covers the node to write it, and nothing is borrowed of it.
        let values = unsafe { self.table.link_values(parent) };
        drop_quietly(values.map(take));
    }
}
