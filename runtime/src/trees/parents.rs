//! Links: further parents of nodes, and how many links lead out of each sub-tree.
//!
//! The further parents of a node are kept beside the slots, as few nodes have any. They are
//! accessed under the claim of the node, like its children.

use super::node::{Children, Node};
use super::segments::Segments;
use super::table::TreeTable;
use crate::sync::{AtomicBool, Relaxed, UnsafeCell};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The links of a tree.
#[derive(Default)]
pub(crate) struct Links {
    /// A link was made once.
    is_used: AtomicBool,
    further: Segments<ParentsCell>,
}

/// The further parents of a node; none for most.
#[derive(Default)]
struct ParentsCell(UnsafeCell<Option<Box<Children>>>);

// SAFETY: accessed by tasks that hold the node: many that read it, or one that writes it.
unsafe impl Send for ParentsCell {}
// SAFETY: as for Send.
unsafe impl Sync for ParentsCell {}

impl TreeTable {
    /// Returns true if the tree has or had links.
    #[inline]
    pub fn has_links(&self) -> bool {
        // Relaxed: for a thread that holds a node, its claim orders this after the task that has
        // made a link below. What is read before is a hint.
        self.links.is_used.load(Relaxed)
    }

    /// Returns the further parents of a node, one for each link.
    ///
    /// # Safety
    ///
    /// The caller holds the node, to read at least, for as long as the result is borrowed.
    pub unsafe fn further_parents(&self, node: u32) -> &[Node] {
        let Some(cell) = self.links.further.get(node) else { return &[] };
        // SAFETY: tasks that write the node are kept out, by the contract of this function.
        cell.0.with(|parents| unsafe { (*parents).as_deref() }).map_or(&[], |parents| parents.as_slice())
    }

    /// Returns all parents of a node: the one that it is below first, then one for each link.
    ///
    /// # Safety
    ///
    /// The caller holds the node, to read at least.
    pub unsafe fn parents(&self, node: u32) -> Vec<Node> {
        // Relaxed: the claim pins it.
        let above = self.slot(node).parent.load(Relaxed);
        let own = self.nodes.get(above).map(|slot| slot.node(above));
        // SAFETY: forwarded.
        own.into_iter().chain(unsafe { self.further_parents(node) }.iter().copied()).collect()
    }

    /// Adds a further parent of a node.
    ///
    /// # Safety
    ///
    /// The caller holds the node to write it, and has borrowed nothing of its parents.
    pub unsafe fn add_parent(&self, node: u32, parent: Node) {
        // Relaxed, here and below: the claims of the nodes order this before tasks that ask.
        self.links.is_used.store(true, Relaxed);
        let slot = self.slot(node);
        slot.is_shared.store(true, Relaxed);
        slot.has_relatives.store(true, Relaxed);
        let cell = self.links.further.get_or_make(node);
        // SAFETY: the caller is the only one that accesses them.
        cell.0.with_mut(|parents| unsafe { (*parents).get_or_insert_default() }.push(parent));
    }

    /// Removes a further parent of a node: one link, if there are more.
    ///
    /// # Safety
    ///
    /// As for [`add_parent`](Self::add_parent).
    pub unsafe fn remove_parent(&self, node: u32, parent: Node) {
        let Some(cell) = self.links.further.get(node) else { return };
        let is_last = cell.0.with_mut(|parents| {
            // SAFETY: the caller is the only one that accesses them.
            let parents = unsafe { &mut *parents };
            let Some(list) = parents else { return true };
            if let Some(at) = list.iter().rposition(|above| *above == parent) {
                list.remove(at);
            }
            let is_last = list.is_empty();
            if is_last {
                *parents = None;
            }
            is_last
        });
        // Relaxed: as in `add_parent`.
        self.slot(node).is_shared.store(!is_last, Relaxed);
    }

    /// Removes all that is known of the links of a node, which is about to be removed.
    ///
    /// # Safety
    ///
    /// As for [`add_parent`](Self::add_parent).
    pub unsafe fn forget_links(&self, node: u32) {
        let slot = self.slot(node);
        // Relaxed: the caller is the only one that knows the node.
        slot.links.store(0, Relaxed);
        if slot.is_shared.swap(false, Relaxed)
            && let Some(cell) = self.links.further.get(node)
        {
            // SAFETY: the caller is the only one that accesses them.
            cell.0.with_mut(|parents| unsafe { *parents = None });
        }
    }

    /// Counts links that begin at a node, or below it, there and at all nodes that it is below. The
    /// caller holds the node to write it.
    pub fn count_links(&self, node: u32, change: i32) {
        let mut next = node;
        while let Some(slot) = self.nodes.get(next) {
            // Relaxed: a task that reads the count holds all below, and so is ordered after this.
            slot.links.fetch_add(change.cast_unsigned(), Relaxed);
            next = slot.parent.load(Relaxed);
        }
    }

    /// Returns the children of a node that are below it without a link, each once.
    ///
    /// # Safety
    ///
    /// The caller holds the node and those children, to read at least.
    pub unsafe fn own_children(&self, node: u32) -> impl Iterator<Item = Node> {
        // SAFETY: forwarded.
        let children = unsafe { self.slot(node).children() };
        let is_own = move |&(at, child): &(usize, &Node)| {
            let slot = self.slot(child.index);
            // Relaxed: the caller's claim keeps other nodes from coming below this one, and its own
            // from leaving.
            slot.parent.load(Relaxed) == node
                && !(slot.is_shared.load(Relaxed)
                    // SAFETY: forwarded: the child is held.
                    && unsafe { self.further_parents(child.index) }.iter().any(|above| above.index == node)
                    && children[..at].contains(child))
        };
        children.iter().enumerate().filter(is_own).map(|(_, child)| *child)
    }
}
