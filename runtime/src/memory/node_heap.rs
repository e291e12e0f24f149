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
    /// Bytes before each block that its user has besides.
    lead: usize,
    source: Arc<dyn PageSource>,
    quota: Arc<Quota>,
    state: SpinMutex<State>,
}

impl NodeHeap {
    /// An empty heap whose pages `source` supplies from `node`, as many as `quota` grants. Before each of its blocks
    /// there are `lead` bytes besides, a multiple of a cache line.
    pub fn new(node: u16, source: Arc<dyn PageSource>, quota: Arc<Quota>, lead: usize) -> Self {
        debug_assert!(lead.is_multiple_of(align_of::<Block>()), "blocks begin with a cache line");
        let shelf = |class: Class| Shelf { depot: Depot::new(class.batch()), spans: Vec::new() };
        let state = SpinMutex::new(State {
            shelves: Class::ALL.map(shelf),
            chunks: Vec::new(),
            regions: Vec::new(),
            next_pages: FIRST_PAGES,
            patience: 0,
            stats: NodeStats::default(),
        });
        Self { node, lead, source, quota, state }
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
                if let Some(span) = Span::cut(&mut shelf.spans, class.stride(self.lead), class.batch()) {
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
        // SAFETY: the blocks were just cut from memory that nothing uses, and lie so far from each other.
        unsafe { magazine.fill(start, class.stride(self.lead), blocks) }
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
        // What is before a block of this class may be where there was one of another.
        allow(start, CHUNK);
        // SAFETY: the chunk was just cut from the unused ones, so that nobody has a block of it, and starts at a multiple
        // of its size; the first block after the header is inside of it.
        let first = unsafe {
            start.cast().write(ChunkHeader { node: self.node, class });
            start.byte_add(class.first(self.lead))
        };
        self.state.lock().shelves[class as usize].spans.push(Span::new(first, class.in_chunk(self.lead)));
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
            if shelf.depot.len() < class.in_chunk(self.lead) {
                continue;
            }
            looked_at += shelf.depot.len();
            // SAFETY: the blocks are free, and in chunks of this node, which uses their numbers under its lock only.
            let whole = unsafe { take_whole_chunks(class, self.lead, &mut shelf.depot, chunks) };
            stats.cut[class as usize] -= (whole * class.in_chunk(self.lead)) as u64;
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
    /// bytes, if there is a limit. Before each block there are `lead` bytes besides, a multiple of a cache line.
    pub fn new(nodes: usize, source: Arc<dyn PageSource>, limit: Option<u64>, lead: usize) -> Arc<Self> {
        let quota = Arc::new(Quota::new(limit));
        let node = |node| Padded(NodeHeap::new(node as u16, source.clone(), quota.clone(), lead));
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
mod tests;
