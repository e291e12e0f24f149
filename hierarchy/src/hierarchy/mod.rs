//! A hierarchy of data, for tasks on its sub-trees.
//!
//! Its nodes lie in *granules* of the runtime: each record with all that belongs to the node, in a granule that is fixed as long
//! as the hierarchy is not [renumbered](Hierarchy::renumber). A node's *reach* is where its sub-tree lies, as a few intervals of
//! granules. A task that names a node claims its reach; so whether two tasks may meet is decided by intervals of granules, and
//! tasks of which none writes what another one touches run side by side.
//!
//! A record is changed by who has claimed its granule, and so is its reach: it is part of the record, and the record's own
//! granule is part of the reach. So nothing is shared but a directory that says where each node lies, which is advice: a claim
//! is [planned](xtasking::Granules::planned), and made anew if what it went by has changed when it is granted.
//!
//! | file | what it holds |
//! |---|---|
//! | `build` | the builder, which lays the nodes out |
//! | `layout` | which node comes into which granule |
//! | `reach` | where a sub-tree lies |
//! | `slab` | the records of a granule |
//! | `touch` | what a task says it touches |
//! | `view` | what it sees then |
//! | `survey` | long looks at many nodes |
//! | `change` | nodes and links that come and go |
//! | `renumber` | a new layout, when granules have grown too full |

mod build;
mod change;
mod layout;
mod reach;
mod renumber;
mod slab;
mod survey;
mod touch;
mod view;

pub use build::HierarchyBuilder;
pub use slab::Slab;
pub use survey::{IntoNodes, Survey, Surveyed, Surveyor};
pub use touch::{At, Look, Seen, Touch};
pub use view::{Below, View};

use crate::Shape;
use xtasking::Granules;

/// Trees, or a directed acyclic graph, of nodes with data, which tasks work on by sub-trees. Clones are the same hierarchy.
///
/// A task names [nodes](Self::node), each with all below it or [alone](At::alone), to be read or written. It runs when it has
/// them: those that it writes alone, those that it only reads with other readers. Its body reaches them by a [`View`].
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_hierarchy::{Hierarchy, Node, Shape, View};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// // 0 has the children 1 and 2, which have two leaves each.
/// let shape = Shape::from_edges(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)])?;
/// let tree = Hierarchy::builder(shape).build(&rt, |node| u64::from(node.0));
///
/// // These run side by side, this one with an object besides.
/// let sum = rt.plain(0u64).build();
/// rt.task(()).claim(tree.node(Node(1)).write()).spawn_with(|(), held, _| {
///     View::new(held).for_each_below(Node(1), |value| *value += 10);
/// });
/// rt.task(sum.write()).claim(tree.node(Node(2)).read()).spawn_with(|sum, held, _| {
///     let view = View::new(held);
///     *sum = view.below(Node(2)).map(|node| view[node]).sum();
/// });
/// // This one comes after both.
/// let all = rt.task(sum.read()).claim(tree.node(Node(0)).read()).submit_with(|sum, held, _| {
///     let view = View::new(held);
///     (*sum, view.below(Node(0)).map(|node| view[node]).sum::<u64>())
/// });
/// assert_eq!(all.join()?, (2 + 5 + 6, 21 + 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **Errors.** Tasks have results and handles like all others. Data that a task leaves half-written as it panics are poisoned:
/// later tasks that claim their granules fail with [`JoinError::Poisoned`](xtasking::JoinError::Poisoned), until a task
/// [mends](Self::write_poisoned) them.
///
/// **Costs.** A node costs 80 bytes on a machine of 64 bits besides its data, 4 for each child, and 16 in the directory.
pub struct Hierarchy<T: Send + Sync + 'static> {
    granules: Granules<Slab<T>>,
}

impl Hierarchy<()> {
    /// For a hierarchy of that shape, with data of any type.
    pub fn builder(shape: Shape) -> HierarchyBuilder {
        HierarchyBuilder::new(shape)
    }
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// The granules, to be claimed by their numbers: for who has laid the nodes out [himself](HierarchyBuilder::granule_by).
    pub fn granules(&self) -> &Granules<Slab<T>> {
        &self.granules
    }

    /// How many granules there are.
    pub fn granule_count(&self) -> u32 {
        self.granules.count()
    }

    /// Whether a task panicked while it wrote some node.
    pub fn is_poisoned(&self) -> bool {
        (0..self.granules.count()).any(|granule| self.granules.is_poisoned(granule))
    }

    /// Lets tasks at all nodes again; the caller has made sure (or does not care) that their data make sense. No task should be
    /// on its way to them meanwhile: beside others, data are mended [by a task](Self::write_poisoned). (The shape makes sense in
    /// any case: it is changed by no code but this crate's.)
    pub fn clear_poison(&self) {
        self.granules.clear_poison();
    }
}

impl<T: Send + Sync + 'static> Clone for Hierarchy<T> {
    fn clone(&self) -> Self {
        Self { granules: self.granules.clone() }
    }
}

impl<T: Send + Sync + 'static> std::fmt::Debug for Hierarchy<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hierarchy").field("granules", &self.granules.count()).finish()
    }
}
