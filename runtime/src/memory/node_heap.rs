//! The heap of a node: blocks that no core has, handed out and taken back by the batch.
//!
//! A core heap comes here once for a batch of allocations, and exchanges a whole magazine under the lock. Neither looks
//! into a block that is free: it stays in whatever cache it is in until somebody allocates it.
//! Pages are cut into *chunks* of [`CHUNK`] bytes, each for blocks of one class; the chunk's first block is its
//! header, which a block finds by masking its own address, and which says what node the block goes home to. Pages
//! stay with the heap until it is dropped.
//!
//! When no more pages can be had, chunks whose blocks are all free and here may become chunks of another class; what
//! is left then is what other nodes have. If there is nothing at all, a request is refused.

pub use super::chunk::Class;
use super::chunk::{CHUNK, ChunkHeader, header_of, take_whole_chunks};
use super::forbidden::{allow, forbid};
use super::magazine::{Depot, Magazine};
use super::pages::{PageSource, Pages, Span, pages_or_fewer};
use super::quota::Quota;
use crate::sync::{Padded, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Bytes of the first pages of a heap; each further time it asks for twice as many.
const FIRST_PAGES: usize = 256 << 10;
/// Bytes that a heap asks for at most.
const MOST_PAGES: usize = 16 << 20;

/// How many free blocks may be looked at in vain for each request that is refused without a look.
const LOOKED_AT_PER_REQUEST: usize = 16;

/// The start of a block of memory of some [`Class`], aligned to a cache line.
///
/// The heap never touches a block: it is zero at first, and later what the last owner left.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Block(core::mem::MaybeUninit<[u8; 64]>);

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
    /// Blocks of each class that pages are cut into.
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
    /// How many requests to leave unanswered before free blocks are looked through again.
    patience: usize,
    stats: NodeStats,
}

/// The heap of one node.
pub struct NodeHeap {
    node: u16,
    source: Arc<dyn PageSource>,
    quota: Arc<Quota>,
    state: SpinMutex<State>,
}

impl NodeHeap {
    /// An empty heap whose pages `source` supplies from `node`, as many as `quota` grants.
    pub fn new(node: u16, source: Arc<dyn PageSource>, quota: Arc<Quota>) -> Self {
        let shelf = |class: Class| Shelf { depot: Depot::new(class.batch()), spans: Vec::new() };
        let state = SpinMutex::new(State {
            shelves: Class::ALL.map(shelf),
            chunks: Vec::new(),
            regions: Vec::new(),
            next_pages: FIRST_PAGES,
            patience: 0,
            stats: NodeStats::default(),
        });
        Self { node, source, quota, state }
    }

    /// A block for a caller that has no core heap; `None` if there is no memory left. Its contents are arbitrary.
    pub fn alloc_one(&self, class: Class) -> Option<NonNull<Block>> {
        self.take_one(class).inspect(|block| allow(block.cast(), class.size()))
    }

    fn take_one(&self, class: Class) -> Option<NonNull<Block>> {
        {
            let mut state = self.state.lock();
            if let Some(block) = state.shelves[class as usize].depot.take_one() {
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
            // SAFETY: the blocks were fetched for this very class, and go back to it.
            unsafe { state.shelves[class as usize].depot.put(magazine) }
        };
        // The lock is not held any more.
        drop(empty);
        block.map(NonNull::cast)
    }

    /// Frees a block for a caller that has no core heap.
    ///
    /// # Safety
    ///
    /// The block is of this `class`, comes from this node's pages, was not freed yet, and is no longer used.
    pub unsafe fn free_one(&self, class: Class, block: NonNull<Block>) {
        let mut state = self.state.lock();
        state.stats.single_frees += 1;
        forbid(block.cast(), class.size());
        // SAFETY: the caller's promise.
        unsafe { state.shelves[class as usize].depot.put_one(block.cast()) };
    }

    /// Fills `magazine`, which is an empty one of this class, or exchanges it: between one block and a batch. `false`
    /// if there is no memory left.
    pub(crate) fn fetch(&self, class: Class, magazine: &mut Magazine) -> bool {
        let (start, blocks) = loop {
            let chunk = {
                let mut state = self.state.lock();
                let State { shelves, chunks, stats, .. } = &mut *state;
                let shelf = &mut shelves[class as usize];
                if shelf.depot.exchange(magazine) {
                    stats.fetched += 1;
                    return true;
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
                None if self.grow() || self.regain() => {}
                None => return false,
            }
        };
        // SAFETY: the blocks were just cut from memory that nothing uses, and are of this size.
        unsafe { magazine.fill(start, class.size(), blocks) }
        true
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
        // SAFETY: the chunk was just cut from the unused ones, so that nobody has a block of it, and starts at a multiple
        // of its size; the first block after the header is inside of it.
        let first = unsafe {
            start.cast().write(ChunkHeader { node: self.node, class });
            start.byte_add(class.size())
        };
        self.state.lock().shelves[class as usize].spans.push(Span::new(first, class.in_chunk()));
    }

    /// Gets pages, fewer than wanted if need be; `false` if there are none for a single chunk.
    #[cold]
    fn grow(&self) -> bool {
        let wanted = self.state.lock().next_pages;
        let Some(granted) = self.quota.take(wanted, CHUNK) else { return false };
        let Some(pages) = pages_or_fewer(&*self.source, granted, CHUNK, CHUNK, Some(self.node)) else {
            self.quota.put(granted);
            // Who asks next does not ask for much.
            self.state.lock().next_pages = CHUNK;
            return false;
        };
        self.quota.put(granted.saturating_sub(pages.bytes));
        let mut state = self.state.lock();
        state.next_pages = (pages.bytes * 2).min(MOST_PAGES);
        state.stats.bytes += pages.bytes as u64;
        state.stats.huge_bytes += if pages.huge { pages.bytes as u64 } else { 0 };
        state.chunks.push(Span::new(pages.ptr, pages.bytes / CHUNK));
        state.regions.push(pages);
        true
    }

    /// Makes unused chunks of those whose blocks are all free and here: so what one class has used up serves the others
    /// when it is free again. `false` if there are none.
    ///
    /// That takes a look at all free blocks. Should it be in vain, it is paid for by so many requests to follow.
    #[cold]
    fn regain(&self) -> bool {
        let mut state = self.state.lock();
        let State { shelves, chunks, patience, stats, .. } = &mut *state;
        if let Some(less) = patience.checked_sub(1) {
            *patience = less;
            return false;
        }
        let (mut looked_at, mut regained) = (0, false);
        for (class, shelf) in Class::ALL.into_iter().zip(shelves) {
            if shelf.depot.len() < class.in_chunk() {
                continue;
            }
            looked_at += shelf.depot.len();
            // SAFETY: the blocks are free, and in chunks of this node, which uses their numbers under its lock only.
            let whole = unsafe { take_whole_chunks(class, &mut shelf.depot, chunks) };
            stats.cut[class as usize] -= (whole * class.in_chunk()) as u64;
            regained |= whole != 0;
        }
        if !regained {
            *patience = looked_at / LOOKED_AT_PER_REQUEST;
        }
        regained
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
            allow(pages.ptr, pages.bytes);
            // SAFETY: the pages came from this source. Who uses a block keeps its heap, so there are no users left.
            unsafe { self.source.release(pages) };
        }
    }
}

/// The node heaps of a machine.
pub struct Heaps {
    /// Each on lines of its own, as each has a lock.
    nodes: Box<[Padded<NodeHeap>]>,
    quota: Arc<Quota>,
}

impl Heaps {
    /// Empty heaps for `nodes` nodes (0 is taken as 1), whose pages `source` supplies: together no more than `limit`
    /// bytes, if there is a limit.
    pub fn new(nodes: usize, source: Arc<dyn PageSource>, limit: Option<u64>) -> Arc<Self> {
        let quota = Arc::new(Quota::new(limit));
        let node = |node| Padded(NodeHeap::new(node as u16, source.clone(), quota.clone()));
        let nodes = (0..nodes.clamp(1, 1 << 16)).map(node).collect();
        Arc::new(Self { nodes, quota })
    }

    /// How many bytes of pages there may be, and how many requests were refused.
    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// All node heaps, that of `node` first.
    fn from(&self, node: u16) -> impl Iterator<Item = &NodeHeap> {
        let (before, rest) = self.nodes.split_at(usize::from(node));
        rest.iter().chain(before).map(|node| &node.0)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The heap of node `node`, which must exist.
    pub fn node(&self, node: u16) -> &NodeHeap {
        &self.nodes[usize::from(node)].0
    }

    /// A block from `node`, or from another one if there is no memory left, for a caller that has no core heap. `None`
    /// if no node has any.
    pub fn alloc_one(&self, node: u16, class: Class) -> Option<NonNull<Block>> {
        let block = self.from(node).find_map(|node| node.alloc_one(class));
        if block.is_none() {
            self.quota.refuse();
        }
        block
    }

    /// As [`NodeHeap::fetch`] at `node`, or at another one if there is no memory left.
    pub(crate) fn fetch(&self, node: u16, class: Class, magazine: &mut Magazine) -> bool {
        let fetched = self.from(node).any(|node| node.fetch(class, magazine));
        if !fetched {
            self.quota.refuse();
        }
        fetched
    }

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

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::pages::GlobalPages;
    use super::*;

    fn heaps(nodes: usize) -> Arc<Heaps> {
        Heaps::new(nodes, Arc::new(GlobalPages), None)
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
                let block = heaps.alloc_one(0, class).unwrap();
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
            let block = heaps.alloc_one(node, class).unwrap();
            let mark = 0x78 + node as u8;
            // SAFETY: the block is ours until it is freed; after that only this thread knows the heap.
            unsafe {
                block.cast::<u8>().write_bytes(mark, class.size());
                heaps.free_one(class, block);
                // A sanitizer would object, as to anybody else who looks.
                allow(block.cast(), class.size());
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
            let block = heaps.alloc_one([1, 2, 1, 0][index % 4], Class::B64).unwrap();
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
                assert!(heaps.node(node).fetch(Class::B64, &mut magazine));
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
                assert!(heaps.node(0).fetch(class, &mut magazine));
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
                assert!(heaps.node(0).fetch(class, &mut magazine));
                assert_eq!((magazine.blocks().as_ptr(), magazine.blocks()), (array, &*blocks));
            }
            // For what is given back next, there is an empty array.
            let mut magazine = Magazine::new(class.batch());
            assert!(heaps.node(0).fetch(class, &mut magazine));
            // SAFETY: blocks of this class and from these heaps, given back once.
            assert!(unsafe { heaps.put(class, magazine) }.is_some_and(|empty| empty.len() == 0));
        }
    }

    #[test]
    fn growth_falls_back_to_less() {
        /// Supplies no more than a chunk at once, and nothing at first.
        struct Poor(crate::sync::AtomicBool);
        // SAFETY: what it supplies is what `GlobalPages` does.
        unsafe impl PageSource for Poor {
            fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
                if bytes > CHUNK || !self.0.swap(true, crate::sync::Relaxed) {
                    return None;
                }
                GlobalPages.pages(bytes, align, node, huge)
            }
            unsafe fn release(&self, pages: Pages) {
                // SAFETY: it came from `GlobalPages`.
                unsafe { GlobalPages.release(pages) }
            }
        }
        // What could not be had does not count.
        let quota = Arc::new(Quota::new(Some(2 * CHUNK as u64)));
        let heap = NodeHeap::new(0, Arc::new(Poor(crate::sync::AtomicBool::new(false))), quota);
        assert!(heap.alloc_one(Class::B64).is_none());
        (0..2000).for_each(|_| assert!(heap.alloc_one(Class::B64).is_some()));
        assert_eq!(heap.stats().bytes, 2 * CHUNK as u64);
    }

    /// All blocks of a class that there are.
    fn drain(heaps: &Heaps, class: Class) -> Vec<NonNull<Block>> {
        core::iter::from_fn(|| heaps.alloc_one(0, class)).collect()
    }

    /// Frees blocks.
    fn free(heaps: &Heaps, class: Class, blocks: impl IntoIterator<Item = NonNull<Block>>) {
        // SAFETY: the tests free blocks of this class that they have allocated, once.
        blocks.into_iter().for_each(|block| unsafe { heaps.free_one(class, block) });
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
    fn nodes_share_the_limit_and_what_they_have() {
        let heaps = Heaps::new(3, Arc::new(GlobalPages), Some(7 * CHUNK as u64 - 1));
        let other = heaps.alloc_one(2, Class::B64).unwrap();
        let blocks = drain(&heaps, Class::B64);
        // The first pages are four chunks, so there are two for the others.
        assert_eq!((heaps.stats().bytes, heaps.quota().refused()), (6 * CHUNK as u64, 1));
        assert_eq!(blocks.len() + 1, 6 * Class::B64.in_chunk());
        assert!((0..3).all(|node| heaps.alloc_one(node, Class::B64).is_none()));
        free(&heaps, Class::B64, [other]);
        let mut magazine = Magazine::new(Class::B64.batch());
        assert!(heaps.fetch(1, Class::B64, &mut magazine) && magazine.pop() == Some(other.cast()));
        assert!(!heaps.fetch(1, Class::B64, &mut magazine));
        assert_eq!(heaps.quota().refused(), 5);
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
    fn what_one_class_has_used_up_serves_the_others_when_it_is_free() {
        let heaps = Heaps::new(1, Arc::new(GlobalPages), Some(8 * CHUNK as u64));
        for (one, other) in [(Class::B64, Class::B512), (Class::B512, Class::B128), (Class::B128, Class::B64)]
        {
            let mut blocks = drain(&heaps, one);
            assert_eq!(
                (blocks.len(), heaps.stats().cut[one as usize]),
                (8 * one.in_chunk(), blocks.len() as u64)
            );
            assert!(heaps.alloc_one(0, other).is_none());
            // One block of one chunk is in use, and stays as it is.
            let kept = blocks.swap_remove(5 * one.in_chunk() + 3);
            // SAFETY: the block is ours and that long.
            unsafe { kept.cast::<u8>().write_bytes(7, one.size()) };
            free(&heaps, one, blocks);
            let others = drain(&heaps, other);
            assert_eq!(others.len(), 7 * other.in_chunk());
            for block in &others {
                // SAFETY: the block is ours and that long.
                unsafe { block.cast::<u8>().write_bytes(8, other.size()) };
            }
            // SAFETY: the block is ours, and wholly written.
            let bytes = unsafe { core::slice::from_raw_parts(kept.as_ptr().cast::<u8>(), one.size()) };
            assert!(bytes.iter().all(|byte| *byte == 7));
            let rest = drain(&heaps, one);
            assert_eq!(rest.len(), one.in_chunk() - 1);
            free(&heaps, other, others);
            free(&heaps, one, rest.into_iter().chain([kept]));
            let stats = heaps.stats();
            assert_eq!((stats.cut, stats.bytes), (stats.free, 8 * CHUNK as u64));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
    fn looking_in_vain_is_seldom_and_not_for_ever() {
        let heaps = Heaps::new(1, Arc::new(GlobalPages), Some(4 * CHUNK as u64));
        let mut blocks = drain(&heaps, Class::B64);
        let kept: Vec<_> =
            (0..4).rev().map(|chunk| blocks.swap_remove(chunk * Class::B64.in_chunk())).collect();
        free(&heaps, Class::B64, blocks);
        // Each chunk has a block in use.
        assert!(heaps.alloc_one(0, Class::B256).is_none());
        free(&heaps, Class::B64, kept);
        let requests = (1..).find(|_| heaps.alloc_one(0, Class::B256).is_some());
        assert_eq!(requests, Some(4 * (Class::B64.in_chunk() - 1) / LOOKED_AT_PER_REQUEST + 1));
    }
}
