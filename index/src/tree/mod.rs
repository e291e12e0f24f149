//! The tree: its handle, its root, and its operations.
//!
//! # Structure changes
//!
//! A split first makes the new right node reachable by the right link. A follow-up operation then
//! adds its separator to the level above (`separator`). The removal of a leaf's last entry starts
//! an operation that merges the leaf with a sibling (`merge`). Its tasks are the only ones that
//! hold several nodes. A dead node's right link leads to the node that took over its keys, so an
//! operation that still visits the dead node continues there.
//!
//! | file | contents |
//! |---|---|
//! | `handle` | the handle of a tree, with its operations: [`Tree`] |
//! | `with_state` | operations that carry the caller's state |
//! | `root` | what all operations of a tree share, and how long it lives |
//! | `links` | links between nodes, and their marks |
//! | `bulk` | building a tree from sorted entries |
//! | `lookup` | looking up a key |
//! | `scan` | reading entries in order |
//! | `write` | changing an entry |
//! | `write_outcome` | the result of adding or replacing an entry |
//! | `split` | splitting a full node |
//! | `separator` | adding the separator of a new node to the level above |
//! | `merge` | merging an empty node with a neighbour |
//! | `check` | checking all invariants |

mod bulk;
mod check;
mod handle;
mod links;
mod lookup;
mod merge;
mod root;
mod scan;
mod separator;
mod split;
mod with_state;
mod write;
mod write_outcome;

pub use check::{Defect, Report};
pub use handle::{DefaultLayout, Tree};
pub use with_state::{WithState, with_state};
pub use write_outcome::WriteOutcome;
