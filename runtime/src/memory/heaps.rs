//! The heaps of all NUMA nodes of a machine, with one memory limit.
//!
//! An allocation prefers one node and falls back to the others. A freed block returns to the node
//! that its chunk's header names.

use super::chunk::header_of;
use super::magazine::Magazine;
use super::node_heap::{Block, NodeHeap, NodeStats, SizeClass};
use super::pages::PageSource;
use super::quota::Quota;
use crate::sync::Padded;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The node heaps of a machine.
pub struct Heaps {
    /// Each on cache lines of its own, as each has a lock.
    nodes: Box<[Padded<NodeHeap>]>,
    quota: Arc<Quota>,
}

impl Heaps {
    /// Creates empty heaps for `nodes` nodes (0 counts as 1). `source` supplies their pages:
    /// together no more than `limit` bytes, if there is a limit. Before each block there are `lead`
    /// additional bytes, a multiple of a cache line.
    pub fn new(nodes: usize, source: Arc<dyn PageSource>, limit: Option<u64>, lead: usize) -> Arc<Self> {
        let quota = Arc::new(Quota::new(limit));
        let node = |node| Padded(NodeHeap::new(node as u16, source.clone(), quota.clone(), lead));
        let nodes = (0..nodes.clamp(1, 1 << 16)).map(node).collect();
        Arc::new(Self { nodes, quota })
    }

    /// Returns the limit in bytes of pages, and the number of refused requests.
    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Returns all node heaps, that of `node` first.
    fn from(&self, node: u16) -> impl Iterator<Item = &NodeHeap> {
        let (before, rest) = self.nodes.split_at(usize::from(node));
        rest.iter().chain(before).map(|node| &node.0)
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the heap of node `node`, which must exist.
    pub fn node(&self, node: u16) -> &NodeHeap {
        &self.nodes[usize::from(node)].0
    }

    /// Allocates a block from `node`, or from another node if there is no memory left, for a caller
    /// without a core heap. Returns `None` if no node has any.
    pub fn alloc_one(&self, node: u16, class: SizeClass) -> Option<NonNull<Block>> {
        let block = self.from(node).find_map(|node| node.alloc_one(class));
        if block.is_none() {
            self.quota.refuse();
        }
        block
    }

    /// Fetches as [`NodeHeap::fetch`] does, at `node`, or at another node if there is no memory
    /// left.
    pub(crate) fn fetch(&self, node: u16, class: SizeClass, magazine: &mut Magazine) -> bool {
        let fetched = self.from(node).any(|node| node.fetch(class, magazine));
        if !fetched {
            self.quota.refuse();
        }
        fetched
    }

    /// Frees a block of any node, for a caller without a core heap.
    ///
    /// # Safety
    ///
    /// The block is of this `class`, was not freed yet, and is no longer used. It comes from these
    /// heaps, or a core heap above them, with the provenance that it had then.
    pub unsafe fn free_one(&self, class: SizeClass, block: NonNull<Block>) {
        // SAFETY: by the contract the block is one of these heaps.
        let header = unsafe { header_of(block.cast()) };
        debug_assert_eq!(header.class, class, "a block is freed in the class that it was allocated in");
        // SAFETY: this function's contract, and the header names the block's node.
        unsafe { self.node(header.node).free_one(class, block) };
    }

    /// Takes the blocks of a magazine back from a core heap, each to the node that it came from.
    /// Returns an empty magazine if there is one.
    ///
    /// # Safety
    ///
    /// They are of this class and from these heaps, and the magazine is of this class.
    pub(crate) unsafe fn put(&self, class: SizeClass, mut magazine: Magazine) -> Option<Magazine> {
        if let [only] = &*self.nodes {
            // SAFETY: this function's contract; there is no other node.
            return unsafe { only.0.put(class, magazine) };
        }
        // SAFETY: by the contract all blocks in the magazine are from these heaps.
        let node_of = |block: NonNull<u8>| unsafe { header_of(block) }.node;
        let mut empty = None;
        while let Some(node) = magazine.blocks().first().map(|first| node_of(*first)) {
            if magazine.blocks().iter().all(|block| node_of(*block) == node) {
                // SAFETY: this function's contract, and the headers name this node.
                return unsafe { self.node(node).put(class, magazine) }.or(empty);
            }
            let mut same = empty.take().unwrap_or_else(|| Magazine::new(class.batch()));
            magazine.split(&mut same, |block| node_of(block) == node);
            // SAFETY: this function's contract, and the headers name this node.
            empty = unsafe { self.node(node).put(class, same) };
        }
        Some(magazine)
    }

    /// Returns true if `block` is of this class. For assertions, as it reads the chunk's header.
    ///
    /// # Safety
    ///
    /// `block` comes from a node heap.
    pub(crate) unsafe fn is_of(class: SizeClass, block: NonNull<Block>) -> bool {
        // SAFETY: this function's contract.
        unsafe { header_of(block.cast()).class == class }
    }

    /// Returns the exchanges and memory of all node heaps together.
    pub fn stats(&self) -> NodeStats {
        self.nodes.iter().fold(NodeStats::default(), |sum, node| {
            let add = |a: [u64; 4], b: [u64; 4]| core::array::from_fn(|class| a[class] + b[class]);
            let stats = node.0.stats();
            NodeStats {
                fetched: sum.fetched + stats.fetched,
                returned: sum.returned + stats.returned,
                single_allocs: sum.single_allocs + stats.single_allocs,
                single_frees: sum.single_frees + stats.single_frees,
                cut: add(sum.cut, stats.cut),
                free: add(sum.free, stats.free),
                bytes: sum.bytes + stats.bytes,
                huge_bytes: sum.huge_bytes + stats.huge_bytes,
            }
        })
    }
}
