//! The tree: its handle, its root, and its operations.
//!
//! # Structure changes
//!
//! A split first makes the new right node reachable by the right link. A follow-up operation then
//! adds its separator to the level above (`separator`). A removal that leaves few entries in a leaf
//! starts an operation that merges the leaf with a sibling (`merge`). After many merges nodes move
//! together (`compact`). Only the tasks of these two and those of
//! snapshots hold several nodes. A dead
//! node's right link leads to the node that took over its keys, so an operation that still visits
//! the dead node continues there.
//!
//! | file | contents |
//! |---|---|
//! | `handle` | the handle of a tree, with its operations: [`Tree`] |
//! | `with_state` | operations that carry the caller's state |
//! | `root` | what all operations of a tree share |
//! | `links` | links between nodes, and their marks |
//! | `in_place` | operations that a plain thread runs itself |
//! | `bulk` | building a tree from sorted entries |
//! | `load_error` | why a bulk load failed |
//! | `lookup` | looking up a key |
//! | `range` | the operations on ranges of keys |
//! | `key_range` | the keys of a scan |
//! | `scan` | reading leaves in order |
//! | `order` | the two orders, and how one leaf is read |
//! | `sinks` | what scans do with entries |
//! | `snapshot` | reading a range at one moment, by a task that holds its leaves |
//! | `snapshot_in_place` | the same on a plain thread, beside writers |
//! | `write` | changing an entry |
//! | `many/` | many lookups or changes at once |
//! | `value_words` | words of leaves that stand for values |
//! | `split` | splitting a full node |
//! | `separator` | adding the separator of a new node to the level above |
//! | `merge` | merging a sparse node with a neighbour |
//! | `compact` | moving nodes out of memory that holds few of them |
//! | `check` | checking all invariants |

mod bulk;
mod check;
mod compact;
mod handle;
mod in_place;
mod key_range;
mod links;
mod load_error;
mod lookup;
mod many;
mod merge;
mod order;
mod range;
mod root;
mod scan;
mod separator;
mod sinks;
mod snapshot;
mod snapshot_in_place;
mod split;
mod value_words;
mod with_state;
mod write;

pub use check::{Defect, Report};
pub use handle::{DefaultLayout, Tree};
pub(crate) use key_range::KeyRange;
pub use load_error::LoadError;
pub(crate) use order::{Ascending, Descending, Order};
pub(crate) use range::LeafEntries;
pub use snapshot::SnapshotError;
pub use with_state::{WithState, with_state};
