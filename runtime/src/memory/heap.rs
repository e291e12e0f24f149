//! The heap of a core, which allocates task descriptors and the state of claims without a lock or
//! an atomic instruction.
//!
//! For each class it has a *magazine*: an array of at most two batches of free blocks. The last
//! block, which is still in the cache, is used first. An empty magazine gets a batch from the node
//! heap; a full one returns the batch that it would use last. So a core that frees what others
//! allocate keeps at most two batches of a class and passes on the rest. A core that alternates
//! around a boundary moves no batches back and forth.
//!
//! A batch leaves the node heap under its lock, so that two cores never get the same block. Model:
//! `model/heap.rs`.

use super::forbidden::{allow, forbid};
pub use super::heaps::Heaps;
use super::magazine::{InlineBlocks, Magazine};
pub use super::node_heap::{Block, SizeClass};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// The exchanges of a core heap with its node, at one moment. Allocations without the node are not
/// counted: they are the tasks spawned, less these few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreStats {
    /// Batches, full or not, taken from the node.
    pub fetched: u64,
    /// Batches returned to nodes.
    pub returned: u64,
}

/// The heap of one core.
pub struct CoreHeap {
    /// The free blocks of each class.
    loaded: [Magazine<InlineBlocks>; 4],
    /// An empty array for a batch of each class, if there was one already: batches are moved in
    /// these.
    carriers: [Option<Magazine>; 4],
    heaps: Arc<Heaps>,
    node: u16,
    stats: CoreStats,
}

impl CoreHeap {
    /// Creates an empty heap for a core on `node`, which must be one of `heaps`.
    pub fn new(heaps: Arc<Heaps>, node: u16) -> Self {
        assert!(usize::from(node) < heaps.nodes(), "node {node} has no heap");
        let loaded = SizeClass::ALL.map(|_| Magazine::inline());
        Self { loaded, carriers: Default::default(), heaps, node, stats: CoreStats::default() }
    }

    /// Allocates a block of `class`: the one freed last, if there is one. Its contents are
    /// arbitrary. Returns `None` if there is no memory left.
    #[inline(always)]
    pub fn alloc(&mut self, class: SizeClass) -> Option<NonNull<Block>> {
        let block = match self.loaded[class as usize].pop() {
            Some(block) => Some(block.cast()),
            None => self.refill(class),
        };
        block.inspect(|block| allow(block.cast(), class.size()))
    }

    /// Frees a block, wherever it was allocated.
    ///
    /// # Safety
    ///
    /// The block is of this `class`, was not freed yet, and is no longer used. It comes from the
    /// same [`Heaps`], or a core heap above them, with the provenance that it had then.
    #[inline(always)]
    pub unsafe fn free(&mut self, class: SizeClass, block: NonNull<Block>) {
        debug_assert!(
            // SAFETY: the block comes from a node heap.
            unsafe { Heaps::is_of(class, block) },
            "a block is freed in the class that it was allocated in"
        );
        forbid(block.cast(), class.size());
        // SAFETY: this function's contract: the block is free; two batches of any class have room.
        if !unsafe { self.loaded[class as usize].push(block.cast(), 2 * class.batch()) } {
            // SAFETY: this function's contract; the block was not taken.
            unsafe { self.overflow(class, block) }
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self, class: SizeClass) -> Option<NonNull<Block>> {
        let loaded = &mut self.loaded[class as usize];
        let carrier = self.carriers[class as usize].get_or_insert_with(|| Magazine::new(class.batch()));
        if !self.heaps.fetch(self.node, class, carrier) {
            return None;
        }
        self.stats.fetched += 1;
        loaded.take(carrier);
        loaded.prefetch();
        loaded.pop().map(NonNull::cast)
    }

    /// Frees a block when its magazine is full.
    ///
    /// # Safety
    ///
    /// As for [`free`](Self::free).
    #[cold]
    #[inline(never)]
    unsafe fn overflow(&mut self, class: SizeClass, block: NonNull<Block>) {
        self.shed(class);
        // SAFETY: this function's contract: the block is free; two batches of any class have room.
        let taken = unsafe { self.loaded[class as usize].push(block.cast(), 2 * class.batch()) };
        debug_assert!(taken, "the magazine is not full any more");
    }

    /// Returns a batch of free blocks, or all if there are fewer, to their nodes.
    fn shed(&mut self, class: SizeClass) {
        let carrier = &mut self.carriers[class as usize];
        let mut batch = carrier.take().unwrap_or_else(|| Magazine::new(class.batch()));
        self.loaded[class as usize].shed(&mut batch);
        self.stats.returned += 1;
        // SAFETY: only blocks of this class and these heaps are freed here.
        *carrier = unsafe { self.heaps.put(class, batch) };
    }

    /// Returns all free blocks to their nodes: when memory is short, and at the end.
    #[cold]
    pub fn flush(&mut self) {
        for class in SizeClass::ALL {
            while self.loaded[class as usize].len() != 0 {
                self.shed(class);
            }
        }
    }

    #[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
    /// Returns the heaps below this one.
    pub fn heaps(&self) -> &Arc<Heaps> {
        &self.heaps
    }

    #[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
    /// Returns this heap's exchanges with its node.
    pub fn stats(&self) -> CoreStats {
        self.stats
    }

    #[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
    /// Returns the number of free blocks of each class in this heap.
    pub fn free_blocks(&self) -> [usize; 4] {
        SizeClass::ALL.map(|class| self.loaded[class as usize].len())
    }
}

impl Drop for CoreHeap {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::pages::GlobalPages;
    use super::*;
    use alloc::vec::Vec;
    use std::sync::mpsc::sync_channel;
    use std::thread;

    /// Miri is a thousand times slower.
    const SCALE: usize = if cfg!(miri) { 2000 } else { 1 };

    fn heaps(nodes: usize) -> Arc<Heaps> {
        Heaps::new(nodes, Arc::new(GlobalPages), None, 0)
    }

    /// Asserts that no block is allocated: all that were ever cut are back in their node's heap.
    fn assert_whole(heaps: &Heaps) {
        for node in 0..heaps.nodes() {
            let stats = heaps.node(node as u16).stats();
            assert_eq!(stats.cut, stats.free, "node {node}");
        }
    }

    /// A block that may be sent to another thread.
    struct Sent(NonNull<Block>, SizeClass);
    // SAFETY: a block may be used and freed by any thread.
    unsafe impl Send for Sent {}

    #[test]
    fn the_block_freed_last_is_allocated_first() {
        let mut heap = CoreHeap::new(heaps(1), 0);
        for class in SizeClass::ALL {
            let (a, b) = (heap.alloc(class).unwrap(), heap.alloc(class).unwrap());
            // SAFETY: the blocks are this test's, and freed once.
            unsafe {
                heap.free(class, a);
                heap.free(class, b);
            }
            assert_eq!((heap.alloc(class), heap.alloc(class)), (Some(b), Some(a)));
        }
        let heaps = heap.heaps().clone();
        drop(heap);
        assert_eq!(
            heaps.stats().cut.iter().zip(heaps.stats().free).map(|(cut, free)| cut - free).sum::<u64>(),
            8
        );
    }

    #[test]
    fn magazines_move_by_the_batch() {
        let heaps = heaps(1);
        let mut heap = CoreHeap::new(heaps.clone(), 0);
        let class = SizeClass::B128;
        let batch = class.batch();
        let blocks: Vec<_> = (0..4 * batch).map(|_| heap.alloc(class).unwrap()).collect();
        assert_eq!(heap.stats(), CoreStats { fetched: 4, returned: 0 });
        for (freed, block) in blocks.into_iter().enumerate() {
            // SAFETY: the block is this test's, and freed once.
            unsafe { heap.free(class, block) };
            assert!(
                heap.free_blocks()[class as usize] <= 2 * batch
                    && heap.stats().returned <= (freed / batch) as u64
            );
        }
        assert_eq!((heap.stats().returned, heap.free_blocks()[class as usize]), (2, 2 * batch));
        // Around the boundary nothing moves between core and node.
        let before = heap.stats();
        for span in [1, 2, batch / 2, batch] {
            let blocks: Vec<_> = (0..span).map(|_| heap.alloc(class).unwrap()).collect();
            // SAFETY: the blocks are this test's, and freed once.
            blocks.into_iter().for_each(|block| unsafe { heap.free(class, block) });
        }
        assert_eq!((heap.stats().fetched, heap.stats().returned), (before.fetched, before.returned));
        drop(heap);
        assert_whole(&heaps);
    }

    #[test]
    fn a_partial_batch_is_used() {
        let heaps = heaps(1);
        let block = heaps.alloc_one(0, SizeClass::B64).unwrap();
        let mut heap = CoreHeap::new(heaps.clone(), 0);
        let other = heap.alloc(SizeClass::B64).unwrap();
        assert_eq!(heap.free_blocks()[0], SizeClass::B64.batch() - 2);
        // SAFETY: the blocks are this test's, and freed once, each through the other's origin.
        unsafe {
            heap.free(SizeClass::B64, block);
            heaps.free_one(SizeClass::B64, other);
        }
        drop(heap);
        assert_whole(&heaps);
    }

    #[test]
    fn one_thread_frees_what_another_allocates() {
        let heaps = heaps(2);
        let (sender, receiver) = sync_channel::<Vec<Sent>>(4);
        let producer = {
            let heaps = heaps.clone();
            move || {
                let mut heap = CoreHeap::new(heaps, 0);
                for round in 0..20_000 / SCALE {
                    let class = SizeClass::ALL[round % 4];
                    let blocks = (0..100).map(|index| {
                        let block = heap.alloc(class).unwrap();
                        // SAFETY: the block is this thread's, and holds two words.
                        unsafe { block.cast::<[usize; 2]>().write([round, index]) };
                        Sent(block, class)
                    });
                    sender.send(blocks.collect()).unwrap();
                }
            }
        };
        let consumer = {
            let heaps = heaps.clone();
            move || {
                let mut heap = CoreHeap::new(heaps, 1);
                for (round, blocks) in receiver.into_iter().enumerate() {
                    for (index, Sent(block, class)) in blocks.into_iter().enumerate() {
                        // SAFETY: the block was sent to this thread alone; it is freed once.
                        unsafe {
                            assert_eq!(block.cast::<[usize; 2]>().read(), [round, index]);
                            heap.free(class, block);
                        }
                    }
                }
            }
        };
        thread::scope(|scope| {
            let (producer, consumer) = (scope.spawn(producer), scope.spawn(consumer));
            // ThreadSanitizer does not see that a scope waits.
            [producer, consumer].into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_whole(&heaps);
        // At most 7 sends of 100 blocks are in transit, in classes of up to 512 bytes; magazines
        // hold the rest.
        let stats = heaps.stats();
        assert!(stats.bytes <= 4 << 20, "{stats:?}");
        assert_eq!(stats.cut, heaps.node(0).stats().free, "blocks freed on node 1 return to node 0");
    }

    #[test]
    fn each_thread_frees_what_others_allocate() {
        const THREADS: usize = 4;
        let heaps = heaps(2);
        let inboxes: [crate::sync::SpinMutex<Vec<Sent>>; THREADS] = Default::default();
        thread::scope(|scope| {
            let threads = std::array::from_fn::<_, THREADS, _>(|me| {
                let (heaps, inboxes) = (heaps.clone(), &inboxes);
                scope.spawn(move || {
                    let node = (me % 2) as u16;
                    let mut heap = CoreHeap::new(heaps.clone(), node);
                    let mut random = me as u64 + 1;
                    for round in 0..100_000 / SCALE {
                        random =
                            random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                        let bits = (random >> 33) as usize;
                        let class = SizeClass::ALL[bits % 4];
                        // One in eight is allocated and freed without a core heap, as by an
                        // external thread.
                        let external = bits & 0x70 == 0;
                        let block = if external { heaps.alloc_one(node, class) } else { heap.alloc(class) };
                        let block = block.unwrap();
                        // SAFETY: the block is this thread's, and that long.
                        unsafe { block.cast::<u8>().write_bytes(class as u8 + 1, class.size()) };
                        inboxes[(bits >> 8) % THREADS].lock().push(Sent(block, class));
                        let got = if round % 16 == 0 {
                            core::mem::take(&mut *inboxes[me].lock())
                        } else {
                            Vec::new()
                        };
                        for Sent(block, class) in got {
                            // SAFETY: the block was sent to this thread alone and is wholly
                            // written; it is freed once.
                            unsafe {
                                let bytes =
                                    core::slice::from_raw_parts(block.as_ptr().cast::<u8>(), class.size());
                                assert!(bytes.iter().all(|byte| *byte == class as u8 + 1));
                                if external { heaps.free_one(class, block) } else { heap.free(class, block) }
                            }
                        }
                    }
                })
            });
            // ThreadSanitizer does not see that a scope waits.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        for inbox in &inboxes {
            for Sent(block, class) in inbox.lock().drain(..) {
                // SAFETY: no other thread has the block; it is freed once.
                unsafe { heaps.free_one(class, block) };
            }
        }
        assert_whole(&heaps);
    }
}
