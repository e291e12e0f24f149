//! Nodes: their handles, and what the tree knows of each.

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Relaxed, UnsafeCell};
use core::fmt;
use smallvec::SmallVec;

/// A bit of a number of nodes: a task was spawned that will split the cluster, or merge the gate.
pub(super) const IS_DUE: u32 = 1 << 31;

/// The index of no node and no gate.
pub(super) const NONE: u32 = u32::MAX;

/// A handle to a node of a tree. It has no use in another tree.
///
/// A handle is never valid again after its node was removed, even if another node takes its place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub(super) index: u32,
    /// Odd, so that no slot without a node has it.
    pub(super) generation: u32,
}

impl Node {
    /// Returns the handle as a number, to keep it in an atomic or outside of the program. It is
    /// never 0.
    ///
    /// ```
    /// use xtasking::{Runtime, trees::Node};
    ///
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let root = rt.tree(()).root();
    /// assert_eq!(Node::from_bits(root.to_bits()), root);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn to_bits(self) -> u64 {
        (self.index as u64) << 32 | self.generation as u64
    }

    /// Returns the handle that [`to_bits`](Self::to_bits) has made a number of. From other numbers
    /// it makes handles of nodes that may not exist.
    pub const fn from_bits(bits: u64) -> Self {
        // Odd, as no slot without a node has such a generation.
        Self { index: (bits >> 32) as u32, generation: bits as u32 | 1 }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({}.{})", self.index, self.generation / 2)
    }
}

/// The children of a node, in order; a short list lies in its slot.
pub(crate) type Children = SmallVec<[Node; 2]>;

/// The place of a node. Its data lie in another table, as this one does not depend on their type.
#[repr(align(64))]
pub(crate) struct NodeSlot {
    /// Odd while a node is here; counted up when a node comes and when it goes.
    pub generation: AtomicU32,
    pub parent: AtomicU32,
    /// Top node of the cluster, unless the node is a gate.
    pub cluster: AtomicU32,
    /// For the top of a cluster: the first gate above.
    pub above: AtomicU32,
    /// The gate that the node is; [`NONE`] if it is in a cluster.
    pub gate: AtomicU32,
    /// For the top of a cluster: the number of its nodes, and [`IS_DUE`] if it will be split.
    pub size: AtomicU32,
    /// Stamp of the task that wrote the node last.
    pub writer: AtomicU64,
    /// Read by tasks that hold the node, changed by one that holds it to write.
    pub children: UnsafeCell<Children>,
    pub is_poisoned: AtomicBool,
    /// The node may have children or further parents; also if it has lost them. A walk does not
    /// read those of a node where this is false.
    pub has_relatives: AtomicBool,
    /// The node has further parents, by links.
    pub is_shared: AtomicBool,
    /// Number of links that begin at the node or below it.
    pub links: AtomicU32,
}

impl Default for NodeSlot {
    fn default() -> Self {
        let none = || AtomicU32::new(NONE);
        Self {
            generation: AtomicU32::new(0),
            parent: none(),
            cluster: none(),
            above: none(),
            gate: none(),
            size: AtomicU32::new(0),
            writer: AtomicU64::new(0),
            children: UnsafeCell::new(Children::new()),
            is_poisoned: AtomicBool::new(false),
            has_relatives: AtomicBool::new(false),
            is_shared: AtomicBool::new(false),
            links: AtomicU32::new(0),
        }
    }
}

// SAFETY: `children` is accessed by tasks that hold the node: many that read it, or one that writes
// it. All else is atomic.
unsafe impl Sync for NodeSlot {}

impl NodeSlot {
    /// Returns the handle of the node that is here, at this index; or was, if it has gone.
    pub fn node(&self, index: u32) -> Node {
        // Relaxed: the caller holds the node, or validates what it does with the handle.
        let generation = self.generation.load(Relaxed);
        Node { index, generation: generation.wrapping_sub(1) | 1 }
    }

    /// Returns the handle of the node that is here, at this index. If it has gone, that is none
    /// that was ever handed out.
    #[inline(always)]
    pub fn present(&self, index: u32) -> Node {
        // Relaxed: the caller comes here from a node below, whose place it has acquired.
        Node { index, generation: self.generation.load(Relaxed) }
    }

    /// Returns the children.
    ///
    /// # Safety
    ///
    /// The caller holds the node, to read at least, for as long as the result is borrowed.
    #[inline(always)]
    pub unsafe fn children(&self) -> &Children {
        // SAFETY: tasks that write the node are kept out, by the contract of this function.
        self.children.with(|children| unsafe { &*children })
    }

    /// Returns the children, to change them.
    ///
    /// # Safety
    ///
    /// The caller holds the node to write it, and has borrowed nothing else of its children.
    #[expect(clippy::mut_from_ref, reason = "a holder that writes is the only one")]
    pub unsafe fn children_mut(&self) -> &mut Children {
        // Relaxed: tasks that read it hold the node, too.
        self.has_relatives.store(true, Relaxed);
        // SAFETY: the caller is the only one that accesses them.
        self.children.with_mut(|children| unsafe { &mut *children })
    }
}
