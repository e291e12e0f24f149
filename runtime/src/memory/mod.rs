//! Memory: descriptors (core heap → node heap → pages), bulk memory for objects, and reclamation.

mod arena;
mod chunk;
mod epoch;
mod forbidden;
mod heap;
mod lists;
mod magazine;
mod node_heap;
pub(crate) mod pages;
mod quota;
mod retire;

pub(crate) use arena::Slots;
pub(crate) use epoch::{Epochs, Ledger, OFFLINE, slot};
pub(crate) use heap::CoreHeap;
pub(crate) use node_heap::{Class as SizeClass, Heaps};
pub use pages::{GlobalPages, PageSource, Pages};
pub(crate) use retire::{Reclaim, Retired};
