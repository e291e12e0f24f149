//! Generates tasks that name nodes and work on their sub-trees, and counts their false conflicts.
//!
//! A task may name any node whose sub-tree has neither too few nor too many nodes: a task on the
//! root's would exclude all others. By default the range is from one node to a 64th of all. The
//! nodes of a task are distinct; one may be below another. The task reads or writes all of them.
//!
//! **Skew.** The eligible nodes are in depth-first order, and a node's *position* there is drawn:
//! of *n* nodes, position ⌊*n*·*u*^*s*⌋, where *u* is uniform from 0 to 1 and *s* is the index of
//! skew, from 1 to 16. With 1, all nodes are equally likely. The first fraction *f* of the
//! positions is drawn with probability *f*^(1/*s*): the probability of a position falls with its
//! distance from the start by a power law of exponent 1 − 1/*s*, as in Zipf's law. So one region of
//! the hierarchy is hot, rather than nodes scattered over it:
//!
//! | index | 1 | 2 | 4 | 8 | 16 |
//! |---|---|---|---|---|---|
//! | share of draws in the first 1% of positions | 1% | 10% | 32% | 56% | 75% |
//!
//! The hottest node of *n* gets *n*^(−1/*s*) of all draws: of a million, 18% with index 8 and 42%
//! with 16. Tasks that write it run one after another under any lock.
//!
//! **Sizes.** Most named nodes are leaves or a little above them, as most nodes are; [`Sizes`] has
//! the figures of a list of tasks. A minimal size of more than 1 excludes leaves.
//!
//! **Nearness.** The nodes of a task are drawn independently; or all but the first are drawn
//! uniformly from a window of positions around the first one.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `targets` | which nodes may be named |
//! | `tasks` | the tasks |
//! | `sizes` | the sizes of their sub-trees |
//! | [`conflicts`] | which pairs of tasks conflict, and which do so falsely |

pub mod conflicts;
mod options;
mod sizes;
mod targets;
mod tasks;

pub use options::Load;
pub(super) use options::check_range;
pub use sizes::Sizes;
pub use targets::Targets;
pub use tasks::{Access, Task, TaskSettings, Tasks};
