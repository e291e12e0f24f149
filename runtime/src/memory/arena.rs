//! Bulk memory for objects of one size, such as the nodes of a tree.
//!
//! The memory is cut into *slots*. Every worker has a *shard*: a magazine of free slots, linked
//! through themselves, and a run of slots that were never used, which it hands out in order. Shards
//! exchange whole batches through a pool under one lock. So a worker that only frees supplies one
//! that only allocates. Regions are on huge pages where there are any, since such objects are
//! accessed at random. The memory of free slots is [given back](super::slot_pool).
//!
//! A *compaction* empties memory with few slots in use: the allocator says which slots their user
//! should move, and takes no new ones from there.

use super::forbidden;
use super::lists::{LINK_BYTES, List};
use super::pages::{HUGE_PAGE, PageSource, Pages, pages_or_fewer};
use super::shard::Shard;
use super::slot_pool::{SlotPool, SlotStats, Supply, sparse_extents};
use crate::sync::{AtomicBool, Padded, Relaxed, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Bytes of the first region; each further one is twice as large.
const FIRST_REGION_BYTES: usize = HUGE_PAGE;
/// The largest size of a region in bytes.
const MAX_REGION_BYTES: usize = 64 << 20;
/// The largest alignment of slots in bytes.
const MAX_ALIGN: usize = 4096;
/// About how many bytes a shard takes from the depot at once.
const BATCH_BYTES: usize = 64 << 10;
/// About how many bytes one call gives back to the system at most.
const GIVEN_BACK_BYTES: usize = 8 << 20;

/// Memory for objects of one size. Neither initialises nor drops them; dropping it frees all of it.
///
/// Slots are zeroed when they are allocated for the first time. A slot that is freed keeps its
/// first 16 bytes, for a header; the next 16 are overwritten.
///
/// Slots are adjacent, so their size decides which cache sets they map to. With a power of two the
/// first lines of all slots share a few sets; with an odd number of lines they spread over all
/// sets.
pub struct Slots {
    shards: Box<[Padded<Shard>]>,
    stride: usize,
    batch: usize,
    layout: Layout,
    node: Option<u16>,
    source: Arc<dyn PageSource>,
    /// Whether the pool is sorting: for a look without the lock.
    is_sorting: AtomicBool,
    shared: Padded<SpinMutex<SharedSlots>>,
}

/// What all shards share, under the lock.
struct SharedSlots {
    pool: SlotPool,
    next_region: usize,
    bytes: usize,
    huge_bytes: usize,
}

impl Slots {
    /// Creates an allocator without slots; each slot will be fit for `layout`. It has `shards`
    /// shards, and takes regions from `source`, on `node` if there is one.
    ///
    /// The size of a slot is a multiple of a cache line and of the alignment.
    ///
    /// # Panics
    ///
    /// Panics if the alignment is larger than 4096 bytes, or the size larger than 256 MiB.
    pub fn new(source: Arc<dyn PageSource>, layout: Layout, shards: usize, node: Option<u16>) -> Self {
        let layout = layout.align_to(64).map_or(layout, |layout| layout.pad_to_align());
        assert!(layout.align() <= MAX_ALIGN, "slots are aligned to at most {MAX_ALIGN} bytes");
        assert!(layout.size() <= 1 << 28, "slots are at most 256 MiB large");
        let stride = layout.size().max(layout.align());
        let batch = (BATCH_BYTES / stride).clamp(4, 64);
        let shard = |_| Padded(Shard::new(batch));
        let next_region = FIRST_REGION_BYTES.max(stride * batch);
        let pool = SlotPool::new(stride, batch, shards);
        let shared = SharedSlots { pool, next_region, bytes: 0, huge_bytes: 0 };
        Self {
            shards: (0..shards).map(shard).collect(),
            stride,
            batch,
            layout,
            node,
            source,
            is_sorting: AtomicBool::new(false),
            shared: Padded(SpinMutex::new(shared)),
        }
    }

    /// Returns the layout that slots are fit for.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes from one slot to the next.
    pub fn slot_bytes(&self) -> usize {
        self.stride
    }

    /// Allocates a slot through `shard`: the one freed last there, if there is one. Its contents
    /// are arbitrary. Returns `None` if there is no memory left.
    ///
    /// # Safety
    ///
    /// No other thread uses the shard meanwhile, and earlier uses by other threads happened before
    /// this.
    #[inline]
    pub unsafe fn alloc_on(&self, shard: usize) -> Option<NonNull<u8>> {
        let shard = &self.shards[shard].0;
        let slot = match shard.magazine.pop().or_else(|| shard.bump(self.stride)) {
            Some(slot) => Some(slot),
            None => self.refill(shard),
        };
        slot.inspect(|slot| self.allow(*slot))
    }

    /// Frees a slot through `shard`, wherever it was allocated.
    ///
    /// # Safety
    ///
    /// The slot comes from this allocator, was not freed yet, and is no longer used. No other
    /// thread uses the shard meanwhile, and earlier uses by other threads happened before this.
    #[inline]
    pub unsafe fn free_on(&self, shard: usize, slot: NonNull<u8>) {
        let shard = &self.shards[shard].0;
        self.forbid(slot);
        // SAFETY: this function's contract: the slot is free, and only this thread uses the shard.
        if !unsafe { shard.magazine.push(slot) } {
            // SAFETY: this function's contract; the slot was not taken.
            unsafe { self.overflow(shard, slot) }
        }
    }

    /// Allocates a slot for a thread without a shard. Its contents are arbitrary. Returns `None` if
    /// there is no memory left.
    pub fn alloc_shared(&self) -> Option<NonNull<u8>> {
        self.take_shared().inspect(|slot| self.allow(*slot))
    }

    fn take_shared(&self) -> Option<NonNull<u8>> {
        loop {
            let slot = self.with_pool(SlotPool::take_one);
            if slot.is_some() || !self.grow() {
                return slot;
            }
        }
    }

    /// Frees a slot for a thread without a shard.
    ///
    /// # Safety
    ///
    /// The slot comes from this allocator, was not freed yet, and is no longer used.
    pub unsafe fn free_shared(&self, slot: NonNull<u8>) {
        self.forbid(slot);
        self.with_pool(|pool| pool.put_one(slot));
        self.give_back();
    }

    /// Works on the pool, and publishes whether it is sorting.
    fn with_pool<R>(&self, work: impl FnOnce(&mut SlotPool) -> R) -> R {
        let mut shared = self.shared.0.lock();
        let result = work(&mut shared.pool);
        let is_sorting = shared.pool.is_sorting();
        if is_sorting != self.is_sorting.load(Relaxed) {
            self.is_sorting.store(is_sorting, Relaxed);
        }
        result
    }

    /// Gives memory without slots in use back to the system, a little at a time.
    fn give_back(&self) {
        let mut bytes = 0;
        while bytes < GIVEN_BACK_BYTES {
            let Some(surplus) = self.with_pool(SlotPool::take_surplus) else { return };
            bytes += surplus.bytes;
            // Whole slots, to which the source may write.
            let slots = (0..surplus.bytes).step_by(self.stride);
            forbidden::allow(surplus.start, surplus.bytes);
            // SAFETY: the memory is in one region, and all slots in it are free and in no list.
            // Nothing is allocated there before `renew`.
            let discarded = unsafe { self.source.discard(surplus.start, surplus.bytes) };
            // SAFETY: each offset is within the memory that was taken out.
            slots.for_each(|at| self.forbid(unsafe { surplus.start.byte_add(at) }));
            self.with_pool(|pool| pool.renew(surplus, discarded));
        }
    }

    /// Marks a slot as free: nothing but its links may be accessed.
    #[inline(always)]
    fn forbid(&self, slot: NonNull<u8>) {
        // SAFETY: a slot is longer than its links.
        forbidden::forbid(unsafe { slot.byte_add(LINK_BYTES) }, self.stride - LINK_BYTES);
    }

    /// Marks a slot as allocated.
    #[inline(always)]
    fn allow(&self, slot: NonNull<u8>) {
        forbidden::allow(slot, self.stride);
    }

    /// Gives all slots that a shard has set aside to the pool if this is sorting. To be called
    /// after some slots were freed.
    ///
    /// # Safety
    ///
    /// As for [`flush`](Self::flush).
    pub unsafe fn flush_if_sorting(&self, shard: usize) {
        // Relaxed: a later call sees it, if this one does not.
        if self.is_sorting.load(Relaxed) {
            // SAFETY: this function's contract.
            unsafe { self.flush(shard) };
        }
    }

    /// Gives all slots that a shard has set aside to the pool.
    ///
    /// # Safety
    ///
    /// No other thread uses the shard meanwhile, and earlier uses by other threads happened before
    /// this.
    pub unsafe fn flush(&self, shard: usize) {
        let shard = &self.shards[shard].0;
        let lists = shard.magazine.drain(self.batch);
        self.with_pool(|pool| {
            for mut list in lists.into_iter().flatten() {
                while let Some(slot) = list.pop() {
                    pool.put_one(slot);
                }
            }
            while let Some(slot) = shard.bump(self.stride) {
                pool.put_one(slot);
            }
        });
        self.give_back();
    }

    /// Allocates a slot for a shard whose list is empty and whose run is used up.
    #[cold]
    #[inline(never)]
    fn refill(&self, shard: &Shard) -> Option<NonNull<u8>> {
        loop {
            if let Some(slot) = shard.magazine.pop().or_else(|| shard.bump(self.stride)) {
                return Some(slot);
            }
            if shard.magazine.use_spare() {
                continue;
            }
            match self.with_pool(|pool| pool.take(self.batch)) {
                Some(Supply::Batch(list)) => shard.magazine.load(list, self.batch),
                Some(Supply::Handful(handful)) => {
                    let mut list = List::EMPTY;
                    for slot in handful.slots(self.stride).rev() {
                        // SAFETY: the slot is free, and long enough for a link.
                        unsafe { list.push(slot) };
                    }
                    shard.magazine.load(list, self.batch);
                }
                Some(Supply::Run(start, slots)) => {
                    shard.fresh.set(start);
                    shard.fresh_left.store(slots, Relaxed);
                }
                None if self.grow() => {}
                None => return None,
            }
        }
    }

    /// Frees a slot when its shard's magazine is full.
    ///
    /// # Safety
    ///
    /// As for [`free_on`](Self::free_on).
    #[cold]
    #[inline(never)]
    unsafe fn overflow(&self, shard: &Shard, slot: NonNull<u8>) {
        if let Some(batch) = shard.magazine.store(self.batch) {
            // SAFETY: only slots of this allocator are freed here.
            self.with_pool(|pool| unsafe { pool.put(batch) });
            self.give_back();
        }
        // SAFETY: this function's contract: the slot is free, and only this thread uses the shard.
        let taken = unsafe { shard.magazine.push(slot) };
        debug_assert!(taken, "the list was just emptied");
    }

    /// Takes a new region from the source, outside of the lock, as this may enter the kernel.
    /// Returns false if there is no memory for a single slot. If another thread does the same
    /// meanwhile, there is more than needed, which is harmless.
    #[cold]
    fn grow(&self) -> bool {
        let wanted = self.shared.0.lock().next_region;
        let least = self.stride.next_multiple_of(MAX_ALIGN);
        let Some(pages) = pages_or_fewer(&*self.source, wanted, least, MAX_ALIGN, self.node) else {
            return false;
        };
        let mut shared = self.shared.0.lock();
        shared.next_region = (pages.bytes * 2).min(MAX_REGION_BYTES).max(self.stride * self.batch);
        shared.bytes += pages.bytes;
        shared.huge_bytes += if pages.huge { pages.bytes } else { 0 };
        shared.pool.add(pages);
        true
    }

    /// Takes all regions out, each with the number of slots from its start on that may be in use.
    /// No slot may be allocated or freed afterwards; of free ones only the headers are accessible.
    pub fn take_regions(&self) -> Vec<(Pages, usize)> {
        self.shared.0.lock().pool.take_regions().collect()
    }

    /// Returns the slots and memory at this moment.
    pub fn stats(&self) -> SlotStats {
        let shared = self.shared.0.lock();
        let set_aside: usize = self
            .shards
            .iter()
            .map(|shard| shard.0.magazine.len(self.batch) + shard.0.fresh_left.load(Relaxed))
            .sum();
        let (cut, pooled) = shared.pool.slots();
        let free = pooled + set_aside;
        SlotStats {
            live: cut.saturating_sub(free),
            free,
            bytes: shared.bytes,
            huge_bytes: shared.huge_bytes,
            resident_bytes: shared.pool.touched_slots() * self.stride,
        }
    }

    /// Begins a compaction if it is worth while, and none is under way. Flush all shards then, and
    /// [close](Self::close_sparse) the memory that is to be emptied.
    pub fn begin_compaction(&self) -> bool {
        self.is_sorting.load(Relaxed) && self.with_pool(SlotPool::begin_compaction)
    }

    /// Closes the memory in which few slots are in use, for the compaction that has begun: no slots
    /// are taken from there, unless there is no other memory. Returns false if there is none.
    pub fn close_sparse(&self) -> bool {
        let usage = self.with_pool(|pool| pool.usage());
        // Sorting takes a while, and others need the lock.
        let sparse = sparse_extents(usage, self.batch);
        let has_closed = self.with_pool(|pool| pool.close(sparse));
        self.give_back();
        has_closed
    }

    /// Returns true if a compaction should move what is in the slot at this address.
    pub fn should_move(&self, address: usize) -> bool {
        self.with_pool(|pool| pool.is_closed(address))
    }

    /// Ends the compaction.
    pub fn end_compaction(&self) {
        self.with_pool(SlotPool::end_compaction);
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for (pages, _) in self.take_regions() {
            forbidden::allow(pages.ptr, pages.bytes);
            // SAFETY: the pages came from this source. Slots must not be used after this value is
            // dropped, by the contract of its users.
            unsafe { self.source.release(pages) };
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests;
