//! Memory: which runs there are, what is mapped how, page frames by node, the heap.
//!
//! | file | what is in it |
//! |---|---|
//! | `heap` | the global allocator: small blocks by size, others in whole frames |
//! | `node_pages` | the pages of the runtimes, on the node that they ask for |
//! | `paging` | page tables: nothing is both written and run |
//! | `spans` | the runs of usable memory, cut by node |
//! | `stacks` | stacks with an unmapped gap below each |
//! | `zone` | a buddy allocator of the frames of one run |
//! | `zones` | all zones, by node and by address |

#[cfg(bare)]
mod heap;
#[cfg(bare)]
mod node_pages;
#[cfg(bare)]
pub(crate) mod paging;
mod spans;
#[cfg(bare)]
pub(crate) mod stacks;
mod zone;
#[cfg(bare)]
pub(crate) mod zones;

#[cfg(bare)]
pub(crate) use node_pages::NodePages;
pub(crate) use spans::{Span, Spans};

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
/// Bytes of a large page.
pub(crate) const LARGE_PAGE: usize = 2 << 20;
