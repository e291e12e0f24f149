//! The heap of a node: blocks that no core has, handed out and taken back by the batch.
//!
//! A core heap comes here once for a batch of allocations, and exchanges a whole magazine under the lock. Neither looks
//! into a block that is free: it stays in whatever cache it is in until somebody allocates it.
//! Pages are cut into *chunks* of [`CHUNK`] bytes, each for blocks of one class; the chunk's first block is its
//! header, which a block finds by masking its own address, and which says what node the block goes home to. Pages
//! stay with the heap until it is dropped.

use super::magazine::{Depot, Magazine};
use super::pages::{PageSource, Pages, Span, pages_or_fewer};
use crate::sync::{Padded, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Size and alignment of a chunk.
pub(crate) const CHUNK: usize = 64 << 10;
/// Bytes of the first pages of a heap; each further time it asks for twice as many.
const FIRST_PAGES: usize = 256 << 10;
/// Bytes that a heap asks for at most.
const MOST_PAGES: usize = 16 << 20;

/// A size of blocks.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// 64 bytes.
    #[default]
    B64,
    /// 128 bytes.
    B128,
    /// 256 bytes.
    B256,
    /// 512 bytes.
    B512,
}

impl Class {
    /// All classes, smallest first.
    pub const ALL: [Self; 4] = [Self::B64, Self::B128, Self::B256, Self::B512];

    /// The smallest class whose blocks hold `bytes` bytes; `None` if there is none.
    #[inline(always)]
    pub const fn for_size(bytes: usize) -> Option<Self> {
        match bytes {
            0..=64 => Some(Self::B64),
            65..=128 => Some(Self::B128),
            129..=256 => Some(Self::B256),
            257..=512 => Some(Self::B512),
            _ => None,
        }
    }

    /// Bytes of a block of this class.
    #[inline(always)]
    pub const fn size(self) -> usize {
        64 << self as usize
    }

    /// Blocks in a batch: a page of them, but enough to make the way to the node heap rare.
    pub(crate) const fn batch(self) -> usize {
        match self {
            Self::B64 => 128,
            Self::B128 => 64,
            Self::B256 | Self::B512 => 16,
        }
    }
}

/// The start of a block of memory of some [`Class`], aligned to a cache line.
///
/// The heap never touches a block: it is zero at first, and later what the last owner left.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Block(core::mem::MaybeUninit<[u8; 64]>);

/// What the first bytes of a chunk say about all of its blocks. Written before any of them is given out, never
/// again after; so whoever has a block has received the header with it.
#[derive(Clone, Copy)]
struct ChunkHeader {
    node: u16,
    class: Class,
}

/// The header of the chunk that `block` lies in.
///
/// # Safety
///
/// `block` is a block of a node heap.
unsafe fn header_of(block: NonNull<u8>) -> ChunkHeader {
    let chunk = block.as_ptr().map_addr(|address| address & !(CHUNK - 1));
    // SAFETY: a chunk is aligned to its size and in one mapping with its blocks; its header was written before.
    unsafe { chunk.cast::<ChunkHeader>().read() }
}

/// What a node heap has done and has, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Batches, full or not, that core heaps and single allocations took.
    pub fetched: u64,
    /// Batches, full or not, that core heaps gave back.
    pub returned: u64,
    /// Blocks allocated one by one, without a core heap.
    pub single_allocs: u64,
    /// Blocks freed one by one.
    pub single_frees: u64,
    /// Blocks of each class cut from pages so far.
    pub cut: [u64; 4],
    /// Blocks of each class that are free and here, in no core heap.
    pub free: [u64; 4],
    /// Bytes of pages.
    pub bytes: u64,
    /// How many of them are meant for huge pages.
    pub huge_bytes: u64,
}

/// Blocks of one class.
struct Shelf {
    depot: Depot,
    /// Opened chunks, in blocks.
    spans: Vec<Span>,
}

struct State {
    shelves: [Shelf; 4],
    /// Chunks not opened yet.
    chunks: Vec<Span>,
    regions: Vec<Pages>,
    next_pages: usize,
    stats: NodeStats,
}

/// The heap of one node.
pub struct NodeHeap {
    node: u16,
    source: Arc<dyn PageSource>,
    state: SpinMutex<State>,
}

impl NodeHeap {
    /// An empty heap whose pages `source` supplies from `node`.
    pub fn new(node: u16, source: Arc<dyn PageSource>) -> Self {
        let shelf = |class: Class| Shelf { depot: Depot::new(class.batch()), spans: Vec::new() };
        let state = SpinMutex::new(State {
            shelves: Class::ALL.map(shelf),
            chunks: Vec::new(),
            regions: Vec::new(),
            next_pages: FIRST_PAGES,
            stats: NodeStats::default(),
        });
        Self { node, source, state }
    }

    /// A block for a caller that has no core heap. Its contents are arbitrary.
    pub fn alloc_one(&self, class: Class) -> NonNull<Block> {
        {
            let mut state = self.state.lock();
            state.stats.single_allocs += 1;
            if let Some(block) = state.shelves[class as usize].depot.take_one() {
                return block.cast();
            }
        }
        let mut magazine = Magazine::new(class.batch());
        self.fetch(class, &mut magazine);
        let block = magazine.pop();
        // SAFETY: the blocks were fetched for this very class, and go back to it.
        let empty = unsafe { self.state.lock().shelves[class as usize].depot.put(magazine) };
        // The lock is not held any more.
        drop(empty);
        match block {
            Some(block) => block.cast(),
            None => unreachable!("a fetched magazine is never empty"),
        }
    }

    #[cfg(test)]
    /// Frees a block for a caller that has no core heap.
    ///
    /// # Safety
    ///
    /// The block is of this `class`, comes from this node's pages, was not freed yet, and is no longer used.
    pub unsafe fn free_one(&self, class: Class, block: NonNull<Block>) {
        let mut state = self.state.lock();
        state.stats.single_frees += 1;
        // SAFETY: the caller's promise.
        unsafe { state.shelves[class as usize].depot.put_one(block.cast()) };
    }

    /// Fills `magazine`, which is an empty one of this class, or exchanges it: between one block and a batch.
    pub(crate) fn fetch(&self, class: Class, magazine: &mut Magazine) {
        let (start, blocks) = loop {
            let chunk = {
                let mut state = self.state.lock();
                let State { shelves, chunks, stats, .. } = &mut *state;
                let shelf = &mut shelves[class as usize];
                if shelf.depot.exchange(magazine) {
                    stats.fetched += 1;
                    return;
                }
                if let Some(span) = Span::cut(&mut shelf.spans, class.size(), class.batch()) {
                    let (start, blocks) = span.into_parts();
                    stats.fetched += 1;
                    stats.cut[class as usize] += blocks as u64;
                    break (start, blocks);
                }
                Span::cut(chunks, CHUNK, 1)
            };
            // Entering the kernel and touching fresh memory takes long, so it is done without the lock. Should
            // another core do the same meanwhile, there is more than needed, which is no harm.
            match chunk {
                Some(chunk) => self.open(class, chunk),
                None => self.grow(class),
            }
        };
        // SAFETY: the blocks were just cut from memory that nothing uses, and are of this size.
        unsafe { magazine.fill(start, class.size(), blocks) }
    }

    /// Takes the blocks of a magazine back from a core heap. Returns an empty one for it if there is one at hand.
    ///
    /// # Safety
    ///
    /// They are of this class and this node, and the magazine is of this class.
    pub(crate) unsafe fn put(&self, class: Class, magazine: Magazine) -> Option<Magazine> {
        let mut state = self.state.lock();
        state.stats.returned += 1;
        // SAFETY: the caller's promise.
        unsafe { state.shelves[class as usize].depot.put(magazine) }
    }

    /// Makes an unused chunk one of blocks of `class`.
    fn open(&self, class: Class, chunk: Span) {
        let (start, _) = chunk.into_parts();
        // SAFETY: the chunk was just cut from the unused ones and starts at a multiple of its size; the first block
        // after the header is inside of it.
        let first = unsafe {
            start.cast().write(ChunkHeader { node: self.node, class });
            start.byte_add(class.size())
        };
        let blocks = CHUNK / class.size() - 1;
        self.state.lock().shelves[class as usize].spans.push(Span::new(first, blocks));
    }

    /// Gets pages, fewer than wanted if need be; gives up if there are none for a single chunk.
    #[cold]
    fn grow(&self, class: Class) {
        let wanted = self.state.lock().next_pages;
        let Some(pages) = pages_or_fewer(&*self.source, wanted, CHUNK, CHUNK, Some(self.node)) else {
            alloc::alloc::handle_alloc_error(block_layout(class))
        };
        let mut state = self.state.lock();
        state.next_pages = (pages.bytes * 2).min(MOST_PAGES);
        state.stats.bytes += pages.bytes as u64;
        state.stats.huge_bytes += if pages.huge { pages.bytes as u64 } else { 0 };
        state.chunks.push(Span::new(pages.ptr, pages.bytes / CHUNK));
        state.regions.push(pages);
    }

    /// What the heap has done and has.
    pub fn stats(&self) -> NodeStats {
        let state = self.state.lock();
        NodeStats {
            free: Class::ALL.map(|class| state.shelves[class as usize].depot.len() as u64),
            ..state.stats
        }
    }
}

impl Drop for NodeHeap {
    fn drop(&mut self) {
        for pages in self.state.lock().regions.drain(..) {
            // SAFETY: the pages came from this source. Who uses a block keeps its heap, so there are no users left.
            unsafe { self.source.release(pages) };
        }
    }
}

const fn block_layout(class: Class) -> Layout {
    match Layout::from_size_align(class.size(), align_of::<Block>()) {
        Ok(layout) => layout,
        Err(_) => panic!("class sizes are valid layouts"),
    }
}

/// The node heaps of a machine.
pub struct Heaps {
    /// Each on lines of its own, as each has a lock.
    nodes: Box<[Padded<NodeHeap>]>,
}

impl Heaps {
    /// Empty heaps for `nodes` nodes (0 is taken as 1), whose pages `source` supplies.
    pub fn new(nodes: usize, source: Arc<dyn PageSource>) -> Arc<Self> {
        let node = |node| Padded(NodeHeap::new(node as u16, source.clone()));
        Arc::new(Self { nodes: (0..nodes.clamp(1, 1 << 16)).map(node).collect() })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The heap of node `node`, which must exist.
    pub fn node(&self, node: u16) -> &NodeHeap {
        &self.nodes[usize::from(node)].0
    }

    /// A block from `node`, for a caller that has no core heap.
    pub fn alloc_one(&self, node: u16, class: Class) -> NonNull<Block> {
        self.node(node).alloc_one(class)
    }

    #[cfg(test)]
    /// Frees a block of any node, for a caller that has no core heap.
    ///
    /// # Safety
    ///
    /// The block is of this `class`, comes from these heaps (or a core heap above them) with the provenance that it
    /// had then, was not freed yet, and is no longer used.
    pub unsafe fn free_one(&self, class: Class, block: NonNull<Block>) {
        // SAFETY: the block is one of ours.
        let header = unsafe { header_of(block.cast()) };
        debug_assert_eq!(header.class, class, "a block is freed in the class that it was allocated in");
        // SAFETY: the caller's promise, and the header names the block's node.
        unsafe { self.node(header.node).free_one(class, block) };
    }

    /// Takes the blocks of a magazine back from a core heap, each to the node that it came from. Returns an empty
    /// magazine for it if there is one at hand.
    ///
    /// # Safety
    ///
    /// They are of this class and from these heaps, and the magazine is of this class.
    pub(crate) unsafe fn put(&self, class: Class, mut magazine: Magazine) -> Option<Magazine> {
        if let [only] = &*self.nodes {
            // SAFETY: the caller's promise; there is no other node.
            return unsafe { only.0.put(class, magazine) };
        }
        // SAFETY: all blocks in the magazine are ours.
        let node_of = |block: NonNull<u8>| unsafe { header_of(block) }.node;
        let mut empty = None;
        while let Some(node) = magazine.blocks().first().map(|first| node_of(*first)) {
            if magazine.blocks().iter().all(|block| node_of(*block) == node) {
                // SAFETY: the caller's promise, and the headers name this node.
                return unsafe { self.node(node).put(class, magazine) }.or(empty);
            }
            let mut same = empty.take().unwrap_or_else(|| Magazine::new(class.batch()));
            magazine.split(&mut same, |block| node_of(block) == node);
            // SAFETY: as above.
            empty = unsafe { self.node(node).put(class, same) };
        }
        Some(magazine)
    }

    /// Whether `block` is in the right class: for assertions, as it touches the chunk's header.
    ///
    /// # Safety
    ///
    /// `block` comes from a node heap.
    pub(crate) unsafe fn is_of(class: Class, block: NonNull<Block>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { header_of(block.cast()).class == class }
    }

    /// What all node heaps together have done and have.
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

#[cfg(test)]
mod tests {
    use super::super::pages::GlobalPages;
    use super::*;

    fn heaps(nodes: usize) -> Arc<Heaps> {
        Heaps::new(nodes, Arc::new(GlobalPages))
    }

    #[test]
    fn classes_fit() {
        for bytes in 0..=512 {
            let class = Class::for_size(bytes).unwrap();
            assert!(class.size() >= bytes && (class == Class::B64 || class.size() < 2 * bytes));
        }
        assert_eq!(Class::for_size(513), None);
        assert!(Class::ALL.iter().enumerate().all(|(index, class)| *class as usize == index));
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow; the core heap's tests do the same")]
    fn blocks_are_disjoint_and_reused() {
        let heaps = heaps(1);
        let mut blocks = Vec::new();
        for round in 0..2 {
            for (index, class) in Class::ALL.into_iter().cycle().take(10_000).enumerate() {
                let block = heaps.alloc_one(0, class);
                assert!(block.addr().get().is_multiple_of(64));
                // SAFETY: the block is ours and that long.
                unsafe { block.cast::<u8>().write_bytes(index as u8, class.size()) };
                blocks.push((block, class, index as u8));
            }
            for (block, class, byte) in blocks.drain(..) {
                // SAFETY: the block is ours, wholly written, and freed once.
                unsafe {
                    let bytes = core::slice::from_raw_parts(block.as_ptr().cast::<u8>(), class.size());
                    assert!(bytes.iter().all(|other| *other == byte));
                    heaps.free_one(class, block);
                }
            }
            let stats = heaps.stats();
            assert_eq!((stats.cut, stats.bytes), (stats.free, heaps.node(0).stats().bytes));
            assert_eq!(stats.single_allocs, 10_000 * (round + 1));
            assert_eq!(stats.single_frees, stats.single_allocs);
            // 2500 of each class are 2.4 MB: pages of 256 KiB, 512 KiB, 1 MiB and 2 MiB.
            assert_eq!(stats.bytes, 15 * (256 << 10));
        }
    }

    #[test]
    fn blocks_find_their_node_and_are_left_alone() {
        let heaps = heaps(3);
        for (node, class) in [(2, Class::B64), (0, Class::B512), (1, Class::B64)] {
            let block = heaps.alloc_one(node, class);
            let mark = 0x78 + node as u8;
            // SAFETY: the block is ours until it is freed; after that only this thread knows the heap.
            unsafe {
                block.cast::<u8>().write_bytes(mark, class.size());
                heaps.free_one(class, block);
                let bytes = core::slice::from_raw_parts(block.as_ptr().cast::<u8>(), class.size());
                assert!(bytes.iter().all(|byte| *byte == mark));
            }
            let stats = heaps.node(node).stats();
            assert_eq!((stats.single_frees, stats.free), (1, stats.cut));
        }
    }

    #[test]
    fn mixed_batches_are_sorted() {
        let heaps = heaps(3);
        let batch = Class::B64.batch();
        let mut magazine = Magazine::new(batch);
        for index in 0..batch {
            let block = heaps.alloc_one([1, 2, 1, 0][index % 4], Class::B64);
            // SAFETY: the block was just allocated, and nobody else uses it; the magazine has this batch.
            assert!(unsafe { magazine.push(block.cast(), batch) });
        }
        // SAFETY: blocks of this class and from these heaps.
        let empty = unsafe { heaps.put(Class::B64, magazine) };
        assert!(empty.is_none_or(|empty| empty.len() == 0));
        for node in 0..3 {
            let stats = heaps.node(node).stats();
            assert_eq!((stats.free, stats.returned), (stats.cut, 1));
            // Each block went home.
            let mut magazine = Magazine::new(batch);
            while heaps.node(node).stats().free[0] != 0 {
                heaps.node(node).fetch(Class::B64, &mut magazine);
                while let Some(block) = magazine.pop() {
                    // SAFETY: the block comes from a node heap.
                    assert_eq!(unsafe { header_of(block) }.node, node);
                }
            }
        }
    }

    #[test]
    fn fetched_magazines_are_exchanged() {
        let heaps = heaps(1);
        for class in Class::ALL {
            let mut magazines = Vec::new();
            for _ in 0..3 {
                let mut magazine = Magazine::new(class.batch());
                heaps.node(0).fetch(class, &mut magazine);
                magazines.push((magazine.blocks().as_ptr(), magazine.blocks().to_vec(), magazine));
            }
            let mut known: Vec<_> = magazines
                .into_iter()
                .map(|(array, blocks, magazine)| {
                    // SAFETY: blocks of this class and from these heaps, given back once.
                    assert!(unsafe { heaps.put(class, magazine) }.is_none());
                    (array, blocks)
                })
                .collect();
            // The arrays come back with the same blocks, the last first.
            while let Some((array, blocks)) = known.pop() {
                let mut magazine = Magazine::new(class.batch());
                heaps.node(0).fetch(class, &mut magazine);
                assert_eq!((magazine.blocks().as_ptr(), magazine.blocks()), (array, &*blocks));
            }
            // For what is given back next, there is an empty array.
            let mut magazine = Magazine::new(class.batch());
            heaps.node(0).fetch(class, &mut magazine);
            // SAFETY: blocks of this class and from these heaps, given back once.
            assert!(unsafe { heaps.put(class, magazine) }.is_some_and(|empty| empty.len() == 0));
        }
    }

    #[test]
    fn growth_falls_back_to_less() {
        /// Supplies no more than a chunk at once.
        struct Poor;
        // SAFETY: what it supplies is what `GlobalPages` does.
        unsafe impl PageSource for Poor {
            fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
                (bytes <= CHUNK).then(|| GlobalPages.pages(bytes, align, node, huge))?
            }
            unsafe fn release(&self, pages: Pages) {
                // SAFETY: it came from `GlobalPages`.
                unsafe { GlobalPages.release(pages) }
            }
        }
        let heap = NodeHeap::new(0, Arc::new(Poor));
        (0..2000).for_each(|_| _ = heap.alloc_one(Class::B64));
        assert_eq!(heap.stats().bytes, 2 * CHUNK as u64);
    }
}
