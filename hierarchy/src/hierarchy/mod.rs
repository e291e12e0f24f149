//! A hierarchy of data, for tasks on its sub-trees.
//!
//! The nodes lie in *granules* of the runtime. A node's record holds all that belongs to the node;
//! its granule changes only when the hierarchy is [renumbered](Hierarchy::renumber). A node's
//! *reach* is the set of granules in which its sub-tree lies, as a few intervals. A task that names
//! a node claims its reach. So whether two tasks conflict is decided by intervals of granules, and
//! tasks that do not conflict run in parallel.
//!
//! Only a task that has claimed a granule for writing changes the records in it. The reach is part
//! of the record, and the record's own granule is part of the reach. Hence the only data that tasks
//! share without a claim is a directory that says where each node lies. The directory is a hint: a
//! claim is [planned](xtasking::Granules::planned) by it, and planned anew if what the plan read
//! has changed by the time of the grant.
//!
//! | file | contents |
//! |---|---|
//! | `build` | the builder, which assigns nodes to granules |
//! | `layout` | which node comes into which granule |
//! | `reach` | where a sub-tree lies |
//! | `slab` | the records of a granule, and the directory |
//! | `claim` | nodes that a task reads or writes |
//! | `plan` | plans of claims, and what a plan reads |
//! | `view` | what a task accesses while it runs |
//! | `survey` | consistent reads of many nodes, in many short tasks |
//! | `change` | inserting, removing, linking and unlinking nodes |
//! | `renumber` | a new layout, when granules have grown too full |

mod build;
mod change;
mod claim;
mod layout;
mod plan;
mod reach;
mod renumber;
mod slab;
mod survey;
mod view;

pub use build::HierarchyBuilder;
pub use claim::{NodeClaim, NodeRef};
pub use plan::{NodePlanView, NodeView};
pub use slab::Slab;
pub use survey::{Survey, SurveyIntoIter, SurveyResult, Surveyor};
pub use view::{View, ViewSubtree};

use crate::Shape;
use xtasking::Granules;

/// Trees, or a directed acyclic graph, of nodes with data, on which tasks work by sub-trees. Clones
/// refer to the same hierarchy.
///
/// A task names [nodes](Self::node), each with its descendants or [alone](NodeRef::alone), to be
/// read or written. The task runs once its claim is granted: writers have exclusive access, readers
/// share it. Its body accesses the nodes through a [`View`].
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_hierarchy::{Hierarchy, Node, Shape, View};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// // Node 0 has the children 1 and 2, which have two leaves each.
/// let shape = Shape::from_edges(7, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)])?;
/// let tree = Hierarchy::builder(shape).build(&rt, |node| u64::from(node.0));
///
/// // These two tasks may run in parallel. The second one also accesses an object.
/// let sum = rt.plain(0u64).build();
/// rt.task(()).claim(tree.node(Node(1)).write()).spawn_with(|(), held, _| {
///     View::new(held).for_each_in_subtree(Node(1), |value| *value += 10);
/// });
/// rt.task(sum.write()).claim(tree.node(Node(2)).read()).spawn_with(|sum, held, _| {
///     let view = View::new(held);
///     *sum = view.subtree(Node(2)).map(|node| view[node]).sum();
/// });
/// // This task runs after both.
/// let all = rt.task(sum.read()).claim(tree.node(Node(0)).read()).submit_with(|sum, held, _| {
///     let view = View::new(held);
///     (*sum, view.subtree(Node(0)).map(|node| view[node]).sum::<u64>())
/// });
/// assert_eq!(all.join()?, (2 + 5 + 6, 21 + 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **Errors.** Tasks have results and handles as usual. If a task panics, the data that it may have
/// left half-written are poisoned. Later tasks that claim these granules fail with
/// [`JoinError::Poisoned`](xtasking::JoinError::Poisoned), until a task
/// [repairs](Self::write_poisoned) the data.
///
/// **Memory.** On a 64-bit machine a node takes 80 bytes besides its data, 4 bytes for each child,
/// and 16 bytes in the directory.
pub struct Hierarchy<T: Send + Sync + 'static> {
    granules: Granules<Slab<T>>,
}

impl Hierarchy<()> {
    /// Returns a builder for a hierarchy of that shape, with data of any type.
    pub fn builder(shape: Shape) -> HierarchyBuilder {
        HierarchyBuilder::new(shape)
    }
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Returns the granules, to be claimed by number. This is for callers that [assign
    /// granules](HierarchyBuilder::granule_by) themselves.
    pub fn granules(&self) -> &Granules<Slab<T>> {
        &self.granules
    }

    /// Returns the number of granules.
    pub fn granule_count(&self) -> u32 {
        self.granules.count()
    }

    /// Returns true if a task panicked while it wrote some node.
    pub fn is_poisoned(&self) -> bool {
        (0..self.granules.count()).any(|granule| self.granules.is_poisoned(granule))
    }

    /// Makes all nodes accessible again after a panic. The caller must have made sure that the data
    /// are consistent. No task that claims a poisoned node may be pending; while other tasks run,
    /// use [`write_poisoned`](Self::write_poisoned) instead. The shape is consistent in any case,
    /// as only this crate's code changes it.
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
