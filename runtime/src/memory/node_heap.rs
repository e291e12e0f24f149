//! The heap of a NUMA node: blocks that no core heap has, exchanged by the batch.
//!
//! A core heap comes here once for a batch of allocations, and exchanges a whole magazine under the
//! lock. Neither touches a free block, which stays in whatever cache it is in until it is
//! allocated. Pages are cut into *chunks* of [`CHUNK_BYTES`] bytes, each for blocks of one class.
//! The chunk's first block is its header, which a block finds by masking its own address, and which
//! names the block's node. Pages stay with the heap until it is dropped.
//!
//! When no more pages can be had, chunks whose blocks are all free and in this heap may be reused
//! for another class. After that, other nodes' memory is used. If there is none at all, the request
//! is refused.

pub use super::chunk::SizeClass;
use super::chunk::{CHUNK_BYTES, ChunkHeader, take_whole_chunks};
use super::forbidden::{allow, forbid};
use super::magazine::{Depot, Magazine};
use super::pages::{PageSource, Pages, Span, pages_or_fewer};
use super::quota::Quota;
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Bytes of the first pages of a heap; each further request is twice as large.
const FIRST_REQUEST_BYTES: usize = 256 << 10;
/// The largest request of a heap in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// Free blocks examined by a fruitless `regain_chunks`, for each following request that is refused
/// without one.
const EXAMINED_PER_REFUSAL: usize = 16;

/// The start of a block of memory of some [`SizeClass`], aligned to a cache line.
///
/// The heap never touches a block: it is zero at first, and later whatever the last owner has left.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Block(core::mem::MaybeUninit<[u8; 64]>);

/// The exchanges and memory of a node heap at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Batches, full or not, taken by core heaps and single allocations.
    pub fetched: u64,
    /// Batches, full or not, returned by core heaps.
    pub returned: u64,
    /// Blocks allocated one by one, without a core heap.
    pub single_allocs: u64,
    /// Blocks freed one by one.
    pub single_frees: u64,
    /// Blocks of each class that pages are cut into.
    pub cut: [u64; 4],
    /// Free blocks of each class in this heap, and in no core heap.
    pub free: [u64; 4],
    /// Bytes of pages.
    pub bytes: u64,
    /// Those of them that are intended for huge pages.
    pub huge_bytes: u64,
}

/// Blocks of one class.
struct ClassBlocks {
    depot: Depot,
    /// Opened chunks, in blocks.
    spans: Vec<Span>,
}

struct NodeState {
    by_class: [ClassBlocks; 4],
    /// Chunks not opened yet.
    chunks: Vec<Span>,
    regions: Vec<Pages>,
    next_request: usize,
    /// How many requests to refuse before free blocks are examined again.
    refusals_left: usize,
    stats: NodeStats,
}

/// The heap of one node.
pub struct NodeHeap {
    node: u16,
    /// Additional bytes before each block, for its user.
    lead: usize,
    source: Arc<dyn PageSource>,
    quota: Arc<Quota>,
    state: SpinMutex<NodeState>,
}

impl NodeHeap {
    /// Creates an empty heap. `source` supplies its pages from `node`, within `quota`. Before each
    /// block there are `lead` additional bytes, a multiple of a cache line.
    pub fn new(node: u16, source: Arc<dyn PageSource>, quota: Arc<Quota>, lead: usize) -> Self {
        debug_assert!(lead.is_multiple_of(align_of::<Block>()), "blocks begin with a cache line");
        let class_blocks =
            |class: SizeClass| ClassBlocks { depot: Depot::new(class.batch()), spans: Vec::new() };
        let state = SpinMutex::new(NodeState {
            by_class: SizeClass::ALL.map(class_blocks),
            chunks: Vec::new(),
            regions: Vec::new(),
            next_request: FIRST_REQUEST_BYTES,
            refusals_left: 0,
            stats: NodeStats::default(),
        });
        Self { node, lead, source, quota, state }
    }

    /// Allocates a block for a caller without a core heap. Its contents are arbitrary. Returns
    /// `None` if there is no memory left.
    pub fn alloc_one(&self, class: SizeClass) -> Option<NonNull<Block>> {
        self.take_one(class).inspect(|block| allow(block.cast(), class.size()))
    }

    fn take_one(&self, class: SizeClass) -> Option<NonNull<Block>> {
        {
            let mut state = self.state.lock();
            if let Some(block) = state.by_class[class as usize].depot.take_one() {
                state.stats.single_allocs += 1;
                return Some(block.cast());
            }
        }
        let mut magazine = Magazine::new(class.batch());
        if !self.fetch(class, &mut magazine) {
            return None;
        }
        let block = magazine.pop();
        let empty = {
            let mut state = self.state.lock();
            state.stats.single_allocs += 1;
            // SAFETY: the blocks were fetched for this class, and go back to it.
            unsafe { state.by_class[class as usize].depot.put(magazine) }
        };
        // Dropped after the lock was released.
        drop(empty);
        block.map(NonNull::cast)
    }

    /// Frees a block for a caller without a core heap.
    ///
    /// # Safety
    ///
    /// The block is of this `class`, comes from this node's pages, was not freed yet, and is no
    /// longer used.
    pub unsafe fn free_one(&self, class: SizeClass, block: NonNull<Block>) {
        let mut state = self.state.lock();
        state.stats.single_frees += 1;
        forbid(block.cast(), class.size());
        // SAFETY: this function's contract.
        unsafe { state.by_class[class as usize].depot.put_one(block.cast()) };
    }

    /// Fills `magazine`, which must be empty and of this class, or exchanges it: between one block
    /// and a batch. Returns false if there is no memory left.
    pub(crate) fn fetch(&self, class: SizeClass, magazine: &mut Magazine) -> bool {
        let (start, blocks) = loop {
            let chunk = {
                let mut state = self.state.lock();
                let NodeState { by_class, chunks, stats, .. } = &mut *state;
                let class_blocks = &mut by_class[class as usize];
                if class_blocks.depot.exchange(magazine) {
                    stats.fetched += 1;
                    return true;
                }
                if let Some(span) = Span::cut(&mut class_blocks.spans, class.stride(self.lead), class.batch())
                {
                    let (start, blocks) = span.into_parts();
                    stats.fetched += 1;
                    stats.cut[class as usize] += blocks as u64;
                    break (start, blocks);
                }
                Span::cut(chunks, CHUNK_BYTES, 1)
            };
            // Entering the kernel and touching fresh memory takes long, so it is done without the
            // lock. If another core does the same meanwhile, there is more than needed, which is
            // harmless.
            match chunk {
                Some(chunk) => self.open(class, chunk),
                None if self.grow() || self.regain_chunks() => {}
                None => return false,
            }
        };
        // SAFETY: the blocks were just cut from unused memory, at this distance from each other.
        unsafe { magazine.fill(start, class.stride(self.lead), blocks) }
        true
    }

    /// Takes the blocks of a magazine back from a core heap. Returns an empty one if there is one.
    ///
    /// # Safety
    ///
    /// They are of this class and this node, and the magazine is of this class.
    pub(crate) unsafe fn put(&self, class: SizeClass, magazine: Magazine) -> Option<Magazine> {
        let mut state = self.state.lock();
        state.stats.returned += 1;
        // SAFETY: this function's contract.
        unsafe { state.by_class[class as usize].depot.put(magazine) }
    }

    /// Makes an unused chunk one for blocks of `class`.
    fn open(&self, class: SizeClass, chunk: Span) {
        let (start, _) = chunk.into_parts();
        // The lead of a block of this class may be where a block of another class was.
        allow(start, CHUNK_BYTES);
        // SAFETY: the chunk was just cut from the unused ones, so no block of it is allocated. It
        // starts at a multiple of its size, and the first block after the header is inside of it.
        let first = unsafe {
            start.cast().write(ChunkHeader { node: self.node, class });
            start.byte_add(class.first(self.lead))
        };
        self.state.lock().by_class[class as usize].spans.push(Span::new(first, class.in_chunk(self.lead)));
    }

    /// Takes pages from the source, fewer than wanted if need be. Returns false if there are none
    /// for a single chunk.
    #[cold]
    fn grow(&self) -> bool {
        let wanted = self.state.lock().next_request;
        let Some(granted) = self.quota.take(wanted, CHUNK_BYTES) else { return false };
        let Some(pages) = pages_or_fewer(&*self.source, granted, CHUNK_BYTES, CHUNK_BYTES, Some(self.node))
        else {
            self.quota.put(granted);
            // The next request asks for less.
            self.state.lock().next_request = CHUNK_BYTES;
            return false;
        };
        self.quota.put(granted.saturating_sub(pages.bytes));
        let mut state = self.state.lock();
        state.next_request = (pages.bytes * 2).min(MAX_REQUEST_BYTES);
        state.stats.bytes += pages.bytes as u64;
        state.stats.huge_bytes += if pages.huge { pages.bytes as u64 } else { 0 };
        state.chunks.push(Span::new(pages.ptr, pages.bytes / CHUNK_BYTES));
        state.regions.push(pages);
        true
    }

    /// Makes chunks unused whose blocks are all free and in this heap, so that memory used up by
    /// one class can serve the others. Returns false if there are none.
    ///
    /// It examines all free blocks. If that is fruitless, a number of following requests are
    /// refused without it.
    #[cold]
    fn regain_chunks(&self) -> bool {
        let mut state = self.state.lock();
        let NodeState { by_class, chunks, refusals_left, stats, .. } = &mut *state;
        if let Some(less) = refusals_left.checked_sub(1) {
            *refusals_left = less;
            return false;
        }
        let (mut examined, mut regained) = (0, false);
        for (class, class_blocks) in SizeClass::ALL.into_iter().zip(by_class) {
            if class_blocks.depot.len() < class.in_chunk(self.lead) {
                continue;
            }
            examined += class_blocks.depot.len();
            // SAFETY: the blocks are free and in chunks of this node, which uses their numbers
            // under its lock only.
            let whole = unsafe { take_whole_chunks(class, self.lead, &mut class_blocks.depot, chunks) };
            stats.cut[class as usize] -= (whole * class.in_chunk(self.lead)) as u64;
            regained |= whole != 0;
        }
        if !regained {
            *refusals_left = examined / EXAMINED_PER_REFUSAL;
        }
        regained
    }

    /// Returns the exchanges and memory of the heap.
    pub fn stats(&self) -> NodeStats {
        let state = self.state.lock();
        NodeStats {
            free: SizeClass::ALL.map(|class| state.by_class[class as usize].depot.len() as u64),
            ..state.stats
        }
    }
}

impl Drop for NodeHeap {
    fn drop(&mut self) {
        for pages in self.state.lock().regions.drain(..) {
            allow(pages.ptr, pages.bytes);
            // SAFETY: the pages came from this source. The user of a block keeps its heap alive, so
            // no block is in use.
            unsafe { self.source.release(pages) };
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests;
