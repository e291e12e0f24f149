//! Memory: task descriptors (core heap → node heap → pages), bulk memory for objects, and
//! reclamation.
//!
//! | file | what is in it |
//! |---|---|
//! | `arena` | slots: bulk memory for objects of one size |
//! | `shard` | the slots that one worker has set aside |
//! | `chunk` | chunks of pages, and the size classes of their blocks |
//! | `epoch` | epochs: when a retired object can be freed |
//! | `epoch_box` | a shared box that outlives the tasks that use it |
//! | `extents` | regions of slots, and the free slots sorted by where they are |
//! | `forbidden` | free memory as AddressSanitizer sees it |
//! | `heap` | the heap of a core, without locks or atomics |
//! | `heaps` | the heaps of all NUMA nodes, with one memory limit |
//! | `lists` | free blocks linked through themselves |
//! | `magazine` | arrays of free blocks, and depots of them |
//! | `node_heap` | the heap of a NUMA node |
//! | `pages` | sources of memory in bulk, and what is not cut up yet |
//! | `quota` | the memory limit of all heaps together |
//! | `readers` | threads that read nodes without a task |
//! | `retire` | retired objects, and how their owners free them |
//! | `slot_pool` | slots that no shard has, and when memory goes back to the system |
//! | `typed` | memory that is of one type for ever |

mod arena;
mod chunk;
mod epoch;
mod epoch_box;
mod extents;
mod forbidden;
mod heap;
mod heaps;
mod lists;
mod magazine;
mod node_heap;
pub(crate) mod pages;
mod quota;
mod readers;
mod retire;
mod shard;
mod slot_pool;
mod typed;

pub(crate) use arena::Slots;
pub(crate) use epoch::{Epochs, Ledger, OFFLINE, ReaderToken, slot};
pub(crate) use epoch_box::{Boxed, EpochBox};
pub(crate) use heap::CoreHeap;
pub(crate) use heaps::Heaps;
pub(crate) use node_heap::SizeClass;
pub use pages::{GlobalPages, PageSource, Pages};
pub(crate) use readers::preferred as preferred_slot;
pub(crate) use retire::{Deferred, Reclaim, Retired};
pub(crate) use typed::{Kind, TypedPages};
