//! Tasks that name nodes, for whose sub-trees they stand, and how often they are taken to meet without need.
//!
//! Any node may be named whose sub-tree has neither too few nodes nor too many: with the root's, a task would keep all
//! others out. By default that is from one node to a 64th of all. A task names some such nodes, each once; one may be below
//! another. It reads or writes all of them.
//!
//! **Skew.** The nodes that may be named stand in depth-first order, and a node's *position* is what is drawn: of *n* nodes,
//! position ⌊*n*·*u*^*s*⌋, where *u* is evenly spread from 0 to 1 and *s* is the index of skew, from 1 to 16. With 1, all
//! nodes are equally likely. The first fraction *f* of the positions is drawn with probability *f*^(1/*s*): how likely a
//! position is falls with its distance from the start by a power law of exponent 1 − 1/*s*, as by Zipf's law. So one region
//! of the hierarchy is hot, not nodes scattered over it:
//!
//! | index | 1 | 2 | 4 | 8 | 16 |
//! |---|---|---|---|---|---|
//! | of all draws are in the first 1% of positions | 1% | 10% | 32% | 56% | 75% |
//!
//! The hottest node of *n* has *n*^(−1/*s*) of all draws: of a million, 18% with index 8 and 42% with 16. Tasks that all write
//! it come one after another, whoever runs them.
//!
//! **Sizes.** What is named are mostly leaves and nodes a little above them, as most nodes are: what [`Sizes`] tells of a
//! list of tasks. A least size of more than 1 leaves these out.
//!
//! **Nearness.** The nodes of a task are drawn one by one, or all but the first from a window of positions around the first
//! one, all of the window being equally likely.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `targets` | which nodes may be named |
//! | `tasks` | the tasks |
//! | `sizes` | how large their sub-trees are |
//! | [`meetings`] | which of them meet, and which are taken to |

pub mod meetings;
mod options;
mod sizes;
mod targets;
mod tasks;

pub use options::Load;
pub use sizes::Sizes;
pub use targets::Targets;
pub use tasks::{Access, Settings, Task, Tasks};
