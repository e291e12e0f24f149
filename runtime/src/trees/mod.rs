//! Trees: nodes with data, of which tasks claim sub-trees.
//!
//! A [`Tree`] begins as one node, and its tasks change it: they insert, remove and move nodes. A
//! task [claims](crate::TaskBuilder::claim) nodes, each alone or with all below it, to read or to
//! write, at once or by a [plan](Tree::planned). Two tasks wait for each other only if their claims
//! overlap and one of them writes. A claim costs what the way from its nodes to the root costs,
//! whatever the size of the tree. Nothing is fixed when the tree is made, and moves and growth do
//! not make later claims overlap.
//!
//! ```
//! use xtasking::{Runtime, trees::TreeError};
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let tree = rt.tree(String::from("root"));
//! let root = tree.root();
//! let build = rt.task(()).claim(tree.write_alone(root)).submit_with(move |(), mut nodes, _| {
//!     let left = nodes.insert(root, String::from("left"))?;
//!     let right = nodes.insert(root, String::from("right"))?;
//!     nodes.insert(right, String::from("leaf"))?;
//!     Ok::<_, TreeError>((left, right))
//! });
//! let (left, right) = build.join()??;
//!
//! // Moves the right sub-tree below the left node. Tasks elsewhere may run meanwhile.
//! let claim = tree.planned(move |plan| plan.relocate(right, left));
//! let moved = rt.task(()).claim(claim);
//! moved.submit_with(move |(), ((), mut nodes), _| nodes.relocate(right, left)).join()??;
//!
//! let list = rt.task(()).claim(tree.read(left)).submit_with(move |(), nodes, _| {
//!     Ok::<_, TreeError>(nodes.subtree(left)?.map(|(_, name)| name.clone()).collect::<Vec<_>>())
//! });
//! assert_eq!(list.join()??, ["left", "right", "leaf"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Gates and clusters
//!
//! A *gate* is a node with at least 64 nodes below. The root is always one, and so are all nodes
//! above a gate. A *cluster* is a maximal sub-tree without gates; it is named by its top node,
//! which is right below a gate. A claim registers each of its targets:
//!
//! 1. At all gates above the target it has an *intention* to read or write. Intentions are only
//!    counted, by each worker in its own table with plain stores; so is the claim to read a gate's
//!    node alone. Threads that are no workers share one table.
//! 2. In a cluster it has an *exact* entry, with its node. Clusters are hashed to stripes, each
//!    under a spin lock. Two entries of one cluster clash if one writes and their nodes are equal,
//!    or one is above the other and not alone.
//! 3. At a gate, to write its node alone, or to read or write all below, it has an entry in the
//!    queue of the gate. The gate's *flag* is up while the queue is not empty.
//!
//! | at a gate | clashes with |
//! |---|---|
//! | intend to read | write all |
//! | intend to write | read all, write all |
//! | read alone | write alone, write all |
//! | write alone | read alone, write alone, read all, write all |
//! | read all | intend to write, write alone, write all |
//! | write all | everything |
//!
//! # Counts beside flags
//!
//! ```text
//! a claim that counts:      ins += 1      fence (SeqCst)    read the flag
//! a claim with an entry:    raise flag    fence (SeqCst)    sum up outs, then ins
//! a task that leaves:       outs += 1     fence (SeqCst)    read the flag; if it is up, grant
//! ```
//!
//! Of any two that clash one sees the other. The outs are summed up first: see `counts`. The models
//! `model::trees` run these steps through all executions. `docs/explanation/trees.md` lists the
//! planted faults that they find.
//!
//! # States of a claim
//!
//! | state | what it holds | what is next |
//! |---|---|---|
//! | planning | what its plan has named so far | sent, or gives all back and waits |
//! | waiting | entries in queues, granted or not | its last grant |
//! | ready | all that it has registered | the plan runs again, or it waits anew |
//! | running | what its plan has named | the body returns or panics |
//! | over | nothing: each entry that it gives back may make others ready | |
//!
//! A plan that gets everything at once runs once, and its result goes to the body.
//!
//! # Order and deadlock
//!
//! A claim that plans never waits while it holds anything. A claim that waits registers in one
//! step: it takes the locks of its queues in ascending order, then raises its flags and counts, and
//! begins anew if another claim has raised a flag where it has only counted. Let the fence in that
//! step be its moment. Of two claims that clash at a gate, or in a cluster, the one whose moment is
//! earlier stands first. So each claim waits for earlier ones only, and for tasks that run. Of the
//! waiters in a queue the first 16 are compared with those behind; the rest stand in strict order.
//! Where 256 entries of others hold, newcomers wait. But the first waiter waits for real clashes
//! only: the holders may have come later.
//!
//! A claim that is [unordered](TreeClaim::unordered) may have at once, while it plans, what others
//! wait for. As it waits for nothing while it holds that, the order of those that wait stays the
//! same. The first waiter of a queue is overtaken 64 times at most. An unordered claim that has to
//! wait registers one target, and plans again when it has that, four times; then it waits as all
//! others.
//!
//! # Validation
//!
//! A path is read while nothing is held, and again when all of it was registered. From then on it
//! is pinned: no node of it can be moved, removed, or change its cluster, as that takes a claim to
//! write the whole sub-tree. If the path has changed before, the claim gives back and registers
//! anew, and so loses its place. It also loses it if its plan or the links that it follows name
//! more nodes after the grant, and in the first refused runs of an unordered claim.
//!
//! A task that changes the tree enters the new place of what it moves *before* it publishes it:
//! otherwise claims would come by the new way while it still writes. Other claims with entries
//! there that clash came by a place that the node had earlier. They are marked as *displaced*, and
//! register anew even if they find the node back where it was. Records of gates are used again only
//! when no claim is there.
//!
//! Whether two nodes of a cluster clash changes with the tree, while claims wait. An entry of a
//! waiting claim whose node has left the cluster is *outdated*, and clashes with nothing: else an
//! earlier claim could come to wait for a later one.
//!
//! # Changes
//!
//! When a cluster has more than 64 nodes, a follow-up task claims it and splits it: its larger
//! sub-trees become gates, the others clusters. A gate with few nodes and no gates below becomes a
//! cluster in the same way.
//!
//! The way to a node in a chain of n nodes has n / 64 gates or more, up to n: each node with more
//! than 64 below is one. A claim at the end of a chain costs that many counts.
//!
//! # Links
//!
//! A node is below one parent, and may have further ones by *links*. Gates, clusters and entries
//! know only the first. A claim of a node with all below covers what is below by links, too. As
//! soon as it holds the sub-tree, it follows the links that lead out, and names their ends as
//! further targets with all below; and so on. Each node counts the links that begin at it or below
//! it, so that the search goes only where there are some. Of more than 32 ends the claim takes the
//! gates above, which are fewer.
//!
//! What the search has found stays until the claim ends. To make a link, to take it away or to move
//! it takes its parent, to write, and that is held. If an end is not to be had at once, the claim
//! gives back all, waits for all, and follows the links anew: like a plan, so there is no deadlock.
//! It finds a link that was made meanwhile, as that took the parent.
//!
//! A link takes its parent and its node, to write alone, and all ancestors of the parent, by all
//! ways, to read alone. Of two links that close a cycle together each writes a node that is an
//! ancestor for the other: so they exclude each other, and the second finds the first. A move holds
//! all below the node, by links as well, and so no link is made from there meanwhile.
//!
//! A body may link a node that it does not hold with all below. So each walk checks first that the
//! task holds the ends of all links; what a claim has followed only makes sure of that.
//!
//! The data of a link lie beside the children of its parent, and are claimed with these.
//!
//! Follow-ups that split and merge do not follow links: they change places only. Nor do lists of
//! what moves with a node.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `node`, `segments`, `short_list` | nodes and their handles; tables that grow; lists |
//! | `mode`, `gate`, `counts` | uses of a gate and their clashes; gates; counts of each worker |
//! | `queue`, `rights` | queues of gates and clusters; what a claim holds |
//! | `target_list`, `counted_list`, `key_map` | targets of a claim; what it counts; maps |
//! | `table` | nodes, gates, stripes and counts of a tree |
//! | `register`, `enqueue`, `release` | the protocol: at once, to wait, give back and grant |
//! | `covers` | whether a claim covers a node |
//! | `change`, `split` | changes of the tree by a task that holds it |
//! | `parents`, `closure`, `links` | further parents; what is below by links; changes of links |
//! | `link_data` | data of links |
//! | `poison` | nodes that were written by a task that panicked |
//! | `tree`, `inner`, `claim` | the handle, what it keeps, and claims |
//! | `plan`, `tree_plan`, `probe` | requests, plans, and how they register what they name |
//! | `state`, `state_ptr`, `dispatch` | the state of a claim; how its task is sent |
//! | `nodes`, `linking`, `subtree`, `error` | what a body gets |

mod change;
mod claim;
mod closure;
mod counted_list;
mod counts;
mod covers;
mod dispatch;
mod enqueue;
mod error;
mod gate;
mod inner;
mod key_map;
mod link_data;
mod linking;
mod links;
mod mode;
mod node;
mod nodes;
mod parents;
mod plan;
mod poison;
mod probe;
mod queue;
mod register;
mod release;
mod rights;
mod segments;
mod short_list;
mod split;
mod state;
mod state_ptr;
mod subtree;
mod table;
mod target_list;
mod tree;
mod tree_plan;

pub use claim::{InTree, TreeClaim};
pub use error::TreeError;
pub use node::Node;
pub use nodes::Nodes;
pub use plan::{Named, Planned, Request};
pub use subtree::{Subtree, SubtreeMut};
pub use tree::{Tree, TreeRef};
pub use tree_plan::TreePlan;

use table::TreeTable;

/// The protocol, for the models.
#[cfg(all(test, model = "loom"))]
pub(crate) mod protocol {
    pub(crate) use super::change::Holder;
    pub(crate) use super::counts::Site;
    pub(crate) use super::node::Node;
    pub(crate) use super::poison::OnPoison;
    pub(crate) use super::probe::PlanProbe;
    pub(crate) use super::queue::{ClaimPtr, OwnedClaim, Ready};
    pub(crate) use super::register::Added;
    pub(crate) use super::rights::{Registration, Rights, Target};
    pub(crate) use super::table::TreeTable;
}
