//! The heap of a core: where task descriptors come from and go to, without a lock or an atomic instruction.
//!
//! For each class a core has a *magazine*: a LIFO list of at most one batch of free blocks, so that the block used
//! last, which is still in the cache, is used next; and perhaps a spare batch. An empty list takes the spare, a full
//! one becomes the spare, and only if that does not help a batch moves to or from the node heap. So a core that
//! frees what others allocate keeps less than two batches of a class and passes on the rest, and a core that hovers
//! around a boundary does not move batches to and fro.

pub use super::node_heap::{Block, Class, Heaps};
use super::pages::{List, next, set_next};
use crate::sync::{AtomicPtr, AtomicUsize, Relaxed};
use alloc::sync::Arc;
use core::cell::Cell;
use core::ptr::{NonNull, null_mut};

/// Free blocks of one size at one core: the list in use and perhaps a spare batch.
///
/// One thread at a time uses it, which the absence of `Sync` sees to. Others may look at its length, for which the
/// two fields that it follows from are atomic; nothing is ordered by them, and they cost what plain fields cost.
pub(crate) struct Magazine {
    head: Cell<*mut u8>,
    /// How many blocks the list lacks to a batch: counting down to zero saves comparing to the batch's size.
    room: AtomicUsize,
    /// First block of a full batch, or null.
    spare: AtomicPtr<u8>,
}

// SAFETY: the magazine owns its blocks, and memory does not care which thread uses it.
unsafe impl Send for Magazine {}

impl Magazine {
    /// An empty magazine for batches of `batch` blocks.
    pub const fn new(batch: usize) -> Self {
        Self { head: Cell::new(null_mut()), room: AtomicUsize::new(batch), spare: AtomicPtr::new(null_mut()) }
    }

    /// The block freed last, if the list has any.
    #[inline(always)]
    pub fn pop(&self) -> Option<NonNull<u8>> {
        let head = NonNull::new(self.head.get())?;
        // SAFETY: the block is in this list, which is ours.
        self.head.set(unsafe { next(head) });
        self.room.store(self.room.load(Relaxed) + 1, Relaxed);
        Some(head)
    }

    /// Takes a block back; `false` if the list is full and did not.
    ///
    /// # Safety
    ///
    /// `block` is free, of this magazine's size, and becomes the magazine's.
    #[inline(always)]
    pub unsafe fn push(&self, block: NonNull<u8>) -> bool {
        let room = self.room.load(Relaxed);
        if room == 0 {
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe { set_next(block, self.head.get()) };
        self.head.set(block.as_ptr());
        self.room.store(room - 1, Relaxed);
        true
    }

    /// Makes the spare batch the list, which is empty. `false` if there is no spare.
    pub fn use_spare(&self) -> bool {
        let spare = self.spare.load(Relaxed);
        if !spare.is_null() {
            self.spare.store(null_mut(), Relaxed);
            self.head.set(spare);
            self.room.store(0, Relaxed);
        }
        !spare.is_null()
    }

    /// Makes `list`, of at most `batch` blocks, the list, which is empty.
    pub fn load(&self, list: List, batch: usize) {
        self.head.set(list.head());
        self.room.store(batch - list.len(), Relaxed);
    }

    /// Makes the list, which is full, the spare; returns the spare batch that was there before.
    pub fn store(&self, batch: usize) -> Option<List> {
        let old = self.spare.load(Relaxed);
        self.spare.store(self.head.replace(null_mut()), Relaxed);
        self.room.store(batch, Relaxed);
        // SAFETY: a spare is a full batch, and no longer ours.
        (!old.is_null()).then(|| unsafe { List::from_raw(old, batch) })
    }

    /// Takes everything out: list and spare, where they have blocks.
    pub fn drain(&self, batch: usize) -> [Option<List>; 2] {
        let (head, len) = (self.head.replace(null_mut()), batch - self.room.load(Relaxed));
        let spare = self.spare.load(Relaxed);
        self.room.store(batch, Relaxed);
        self.spare.store(null_mut(), Relaxed);
        [(head, len), (spare, batch)].map(|(head, len)| {
            // SAFETY: the list is as long as `room` says and a spare is a full batch; both are no longer ours.
            (!head.is_null()).then(|| unsafe { List::from_raw(head, len) })
        })
    }

    /// How many blocks are here; exact if nobody uses the magazine now.
    pub fn len(&self, batch: usize) -> usize {
        let spare = if self.spare.load(Relaxed).is_null() { 0 } else { batch };
        spare + batch - self.room.load(Relaxed)
    }
}

/// What a core heap had to do with its node, at one moment. What it did alone is not counted: it is the tasks that
/// were spawned, less these few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreStats {
    /// Times that an empty list was replaced by the spare batch.
    pub spares_used: u64,
    /// Batches, full or not, taken from the node.
    pub fetched: u64,
    /// Batches given back to nodes.
    pub returned: u64,
}

/// The heap of one core.
pub struct CoreHeap {
    magazines: [Magazine; 4],
    heaps: Arc<Heaps>,
    node: u16,
    stats: CoreStats,
}

impl CoreHeap {
    /// An empty heap for a core on `node`, which must be one of `heaps`.
    pub fn new(heaps: Arc<Heaps>, node: u16) -> Self {
        assert!(usize::from(node) < heaps.nodes(), "node {node} has no heap");
        let magazines = Class::ALL.map(|class| Magazine::new(class.batch()));
        Self { magazines, heaps, node, stats: CoreStats::default() }
    }

    /// A block of `class`, the one freed last if there is one. Its contents are arbitrary.
    ///
    /// Fails as the global allocator does when there is no memory left.
    #[inline]
    pub fn alloc(&mut self, class: Class) -> NonNull<Block> {
        match self.magazines[class as usize].pop() {
            Some(block) => block.cast(),
            None => self.refill(class),
        }
    }

    /// Frees a block, wherever it was allocated.
    ///
    /// # Safety
    ///
    /// The block is of this `class`, comes from the same [`Heaps`] (or a core heap above them) with the provenance
    /// that it had then, was not freed yet, and is no longer used.
    #[inline]
    pub unsafe fn free(&mut self, class: Class, block: NonNull<Block>) {
        debug_assert!(
            // SAFETY: the block comes from a node heap.
            unsafe { Heaps::is_of(class, block) },
            "a block is freed in the class that it was allocated in"
        );
        // SAFETY: the caller's promise.
        if !unsafe { self.magazines[class as usize].push(block.cast()) } {
            // SAFETY: the same promise; the block was not taken.
            unsafe { self.overflow(class, block) }
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self, class: Class) -> NonNull<Block> {
        let magazine = &self.magazines[class as usize];
        if magazine.use_spare() {
            self.stats.spares_used += 1;
        } else {
            magazine.load(self.heaps.node(self.node).fetch(class), class.batch());
            self.stats.fetched += 1;
        }
        match magazine.pop() {
            Some(block) => block.cast(),
            None => unreachable!("neither a spare nor a fetched batch is empty"),
        }
    }

    /// Frees a block that found its magazine full.
    ///
    /// # Safety
    ///
    /// As for [`free`](Self::free).
    #[cold]
    #[inline(never)]
    unsafe fn overflow(&mut self, class: Class, block: NonNull<Block>) {
        let magazine = &self.magazines[class as usize];
        if let Some(batch) = magazine.store(class.batch()) {
            self.stats.returned += 1;
            // SAFETY: whatever was freed here is of this class and these heaps.
            unsafe { self.heaps.put(class, batch) };
        }
        // SAFETY: the caller's promise.
        let taken = unsafe { magazine.push(block.cast()) };
        debug_assert!(taken, "the list was just emptied");
    }

    #[cfg(test)]
    /// The heaps below this one.
    pub fn heaps(&self) -> &Arc<Heaps> {
        &self.heaps
    }

    #[cfg(test)]
    /// What this heap had to do with its node.
    pub fn stats(&self) -> CoreStats {
        self.stats
    }

    #[cfg(test)]
    /// Free blocks of each class that are here.
    pub fn free_blocks(&self) -> [usize; 4] {
        Class::ALL.map(|class| self.magazines[class as usize].len(class.batch()))
    }
}

impl Drop for CoreHeap {
    fn drop(&mut self) {
        for class in Class::ALL {
            for list in self.magazines[class as usize].drain(class.batch()).into_iter().flatten() {
                // SAFETY: whatever was freed here is of this class and these heaps, and a list is at most a batch.
                unsafe { self.heaps.put(class, list) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::GlobalPages;
    use super::*;
    use alloc::vec::Vec;
    use std::sync::mpsc::sync_channel;
    use std::thread;

    /// Miri is a thousand times slower.
    const SCALE: usize = if cfg!(miri) { 2000 } else { 1 };

    fn heaps(nodes: usize) -> Arc<Heaps> {
        Heaps::new(nodes, Arc::new(GlobalPages))
    }

    /// Nobody holds a block any more: all that were ever cut are back in their node's heap.
    fn assert_whole(heaps: &Heaps) {
        for node in 0..heaps.nodes() {
            let stats = heaps.node(node as u16).stats();
            assert_eq!(stats.cut, stats.free, "node {node}");
        }
    }

    /// A block that may go to another thread.
    struct Sent(NonNull<Block>, Class);
    // SAFETY: a block may be used and freed by any thread.
    unsafe impl Send for Sent {}

    #[test]
    fn last_in_first_out() {
        let mut heap = CoreHeap::new(heaps(1), 0);
        for class in Class::ALL {
            let (a, b) = (heap.alloc(class), heap.alloc(class));
            // SAFETY: the blocks are ours, and freed once.
            unsafe {
                heap.free(class, a);
                heap.free(class, b);
            }
            assert_eq!((heap.alloc(class), heap.alloc(class)), (b, a));
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
        let class = Class::B128;
        let batch = class.batch();
        let blocks: Vec<_> = (0..4 * batch).map(|_| heap.alloc(class)).collect();
        assert_eq!(heap.stats(), CoreStats { fetched: 4, ..CoreStats::default() });
        for (freed, block) in blocks.into_iter().enumerate() {
            // SAFETY: the block is ours, and freed once.
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
            let blocks: Vec<_> = (0..span).map(|_| heap.alloc(class)).collect();
            // SAFETY: the blocks are ours, and freed once.
            blocks.into_iter().for_each(|block| unsafe { heap.free(class, block) });
        }
        assert_eq!((heap.stats().fetched, heap.stats().returned), (before.fetched, before.returned));
        drop(heap);
        assert_whole(&heaps);
    }

    #[test]
    fn a_partial_batch_is_used() {
        let heaps = heaps(1);
        let block = heaps.alloc_one(0, Class::B64);
        let mut heap = CoreHeap::new(heaps.clone(), 0);
        let other = heap.alloc(Class::B64);
        assert_eq!(heap.free_blocks()[0], Class::B64.batch() - 2);
        // SAFETY: the blocks are ours, and freed once, each where the other came from.
        unsafe {
            heap.free(Class::B64, block);
            heaps.free_one(Class::B64, other);
        }
        drop(heap);
        assert_whole(&heaps);
    }

    #[test]
    fn one_allocates_another_frees() {
        let heaps = heaps(2);
        let (sender, receiver) = sync_channel::<Vec<Sent>>(4);
        let producer = {
            let heaps = heaps.clone();
            move || {
                let mut heap = CoreHeap::new(heaps, 0);
                for round in 0..20_000 / SCALE {
                    let class = Class::ALL[round % 4];
                    let blocks = (0..100).map(|index| {
                        let block = heap.alloc(class);
                        // SAFETY: the block is ours, and holds two words.
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
                        // SAFETY: the block was sent to us alone; it is freed once.
                        unsafe {
                            assert_eq!(block.cast::<[usize; 2]>().read(), [round, index]);
                            heap.free(class, block);
                        }
                    }
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(producer);
            scope.spawn(consumer);
        });
        assert_whole(&heaps);
        // At most 7 sends of 100 blocks are under way, in classes of up to 512 bytes; the rest is held by magazines.
        let stats = heaps.stats();
        assert!(stats.bytes <= 4 << 20, "{stats:?}");
        assert_eq!(stats.cut, heaps.node(0).stats().free, "what was freed on node 1 went home to node 0");
    }

    #[test]
    fn everybody_frees_what_everybody_allocates() {
        const THREADS: usize = 4;
        let heaps = heaps(2);
        let inboxes: [crate::sync::SpinMutex<Vec<Sent>>; THREADS] = Default::default();
        thread::scope(|scope| {
            for me in 0..THREADS {
                let (heaps, inboxes) = (heaps.clone(), &inboxes);
                scope.spawn(move || {
                    let node = (me % 2) as u16;
                    let mut heap = CoreHeap::new(heaps.clone(), node);
                    let mut random = me as u64 + 1;
                    for round in 0..100_000 / SCALE {
                        random =
                            random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                        let bits = (random >> 33) as usize;
                        let class = Class::ALL[bits % 4];
                        // One in eight comes and goes without a core heap, as an external thread's would.
                        let external = bits & 0x70 == 0;
                        let block = if external { heaps.alloc_one(node, class) } else { heap.alloc(class) };
                        // SAFETY: the block is ours, and that long.
                        unsafe { block.cast::<u8>().write_bytes(class as u8 + 1, class.size()) };
                        inboxes[(bits >> 8) % THREADS].lock().push(Sent(block, class));
                        let got = if round % 16 == 0 {
                            core::mem::take(&mut *inboxes[me].lock())
                        } else {
                            Vec::new()
                        };
                        for Sent(block, class) in got {
                            // SAFETY: the block was sent to us alone and is wholly written; it is freed once.
                            unsafe {
                                let bytes =
                                    core::slice::from_raw_parts(block.as_ptr().cast::<u8>(), class.size());
                                assert!(bytes.iter().all(|byte| *byte == class as u8 + 1));
                                if external { heaps.free_one(class, block) } else { heap.free(class, block) }
                            }
                        }
                    }
                });
            }
        });
        for inbox in &inboxes {
            for Sent(block, class) in inbox.lock().drain(..) {
                // SAFETY: nobody else has the block; it is freed once.
                unsafe { heaps.free_one(class, block) };
            }
        }
        assert_whole(&heaps);
    }
}
